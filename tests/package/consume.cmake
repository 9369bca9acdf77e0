# Installs the build into a fresh prefix, then configures, builds and runs the consumer against it.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${CATENA_BUILD} --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${WORK}/build -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX} -DEXAMPLES=${EXAMPLES}
    "-DCMAKE_PREFIX_PATH=${WORK}/prefix;${CATENA_PREFIX_PATH}")
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer)
