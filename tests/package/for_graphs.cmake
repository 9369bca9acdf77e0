# An install of CATENA_BUILD in WORK, and what is made with it there: sets for graphs, with their device code where NVCC
# is given.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${CATENA_BUILD} --prefix ${WORK}/prefix)
set(configure ${CMAKE_COMMAND} -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_PREFIX_PATH=${WORK}/prefix)
if(NVCC)
  set(cuda -DCMAKE_CUDA_COMPILER=${NVCC} -DCMAKE_CUDA_ARCHITECTURES=90
           -DCMAKE_PROJECT_INCLUDE=${CMAKE_CURRENT_LIST_DIR}/enable_cuda.cmake)
endif()

# expect_said(<sentence>...): of what was printed last.
function(expect_said)
  foreach(sentence IN LISTS ARGN)
    if(NOT said MATCHES "${sentence}")
      message(FATAL_ERROR "expected: ${sentence}\nsaid: ${said}")
    endif()
  endforeach()
endfunction()

# for_graphs(<graphs> <code> [arguments]): Catena's catalogue for graphs of Qwen3-8B. The build ends as <code>
# says, 0 or not; what it printed is in `said`, the set's rows are in `rows`.
function(for_graphs files code)
  file(GLOB graphs ${GRAPHS}/${files})
  execute_process(COMMAND ${configure} -S ${CMAKE_CURRENT_LIST_DIR}/for_graphs -B ${WORK}/graphs ${cuda}
                          "-DGRAPHS=${graphs}" "-DARGUMENTS=${ARGN}" COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/graphs --target qwen3_sources
                  RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if((code EQUAL 0 AND NOT result EQUAL 0) OR (NOT code EQUAL 0 AND result EQUAL 0))
    message(FATAL_ERROR "a set for ${files} with ${ARGN} ends with ${result}:\n${said}")
  endif()
  set(said "${said}" PARENT_SCOPE)
  file(STRINGS ${WORK}/graphs/qwen3/instances/sm_90/rows.inc rows REGEX "^CATENA_ROW")
  set(rows "${rows}" PARENT_SCOPE)
endfunction()
