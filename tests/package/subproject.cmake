# With the sources of Catena as a subproject, a catalogue with ops of one's own becomes tables and host kernels, which run.
file(REMOVE_RECURSE ${WORK})
execute_process(COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/subproject -B ${WORK} -G ${GENERATOR}
                        -DCMAKE_CXX_COMPILER=${CXX} -DEXAMPLES=${EXAMPLES} -DCATENA_SOURCE=${CATENA_SOURCE} -DFETCH=${FETCH}
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK} --target own_ops COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${WORK}/own_ops COMMAND_ERROR_IS_FATAL ANY)
file(GLOB_RECURSE cuda ${WORK}/my_ops/*.cu)
file(STRINGS ${WORK}/CMakeCache.txt nvcc REGEX "^CMAKE_CUDA_COMPILER:")
if(nvcc OR NOT cuda)
  message(FATAL_ERROR "the kernels' sources should be there, and no nvcc: ${cuda}, ${nvcc}")
endif()
