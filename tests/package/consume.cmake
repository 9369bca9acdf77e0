# Configures, builds and runs the consumer: with CATENA_SOURCE inside it, or with an install of CATENA_BUILD.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK})
if(CATENA_SOURCE)
  set(catena -DCATENA_SOURCE=${CATENA_SOURCE} -DCATENA_CUDA=OFF)
else()
  run(${CMAKE_COMMAND} --install ${CATENA_BUILD} --prefix ${WORK}/prefix)
  set(catena -DCMAKE_PREFIX_PATH=${WORK}/prefix)
endif()
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${WORK}/build -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX}
    -DEXAMPLES=${EXAMPLES} ${catena})
foreach(program consumer consumer_of_planner)
  run(${CMAKE_COMMAND} --build ${WORK}/build --target ${program})
  run(${WORK}/build/${program})
endforeach()

# The small engine that README shows needs the host executor, which a subproject does not bring.
if(CATENA_BUILD)
  run(${CMAKE_COMMAND} -S ${EXAMPLES}/small_engine -B ${WORK}/small_engine -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX}
      ${catena})
  run(${CMAKE_COMMAND} --build ${WORK}/small_engine)
  execute_process(COMMAND ${WORK}/small_engine/small_engine OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
  file(READ ${EXAMPLES}/../README.md readme)
  string(FIND "${readme}" "$ small_engine\n${said}```" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "README.md does not show what small_engine prints: ${said}")
  endif()
endif()
