# cmake -DEXPECTED=<program> -DPROGRAMS=<programs...> -P same_output.cmake
# Every program prints what EXPECTED prints.
execute_process(COMMAND ${EXPECTED} OUTPUT_VARIABLE expected COMMAND_ERROR_IS_FATAL ANY)
if(expected STREQUAL "")
  message(FATAL_ERROR "${EXPECTED} prints nothing")
endif()
foreach(program IN LISTS PROGRAMS)
  execute_process(COMMAND ${program} OUTPUT_VARIABLE output RESULT_VARIABLE failed)
  if(failed OR NOT output STREQUAL expected)
    message(FATAL_ERROR "${program} prints\n${output}where ${EXPECTED} prints\n${expected}"
                        "its flags change the bits of results")
  endif()
endforeach()
