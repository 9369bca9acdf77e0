# cmake -DCOMPILER=... -DINCLUDE=... -DSOURCE=... -P violation.cmake
# Compiles a snippet, which must be refused with the sentence that its first line quotes, or accepted if it
# quotes none.
file(STRINGS ${SOURCE} first LIMIT_COUNT 1)
execute_process(COMMAND ${COMPILER} -std=c++20 -fsyntax-only -I${INCLUDE} ${SOURCE}
                RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(NOT first MATCHES "^// Refused with: (.+)$")
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "refused, though right:\n${said}")
  endif()
  return()
endif()
set(sentence "${CMAKE_MATCH_1}")
string(FIND "${said}" "${sentence}" at)
if(code EQUAL 0)
  message(FATAL_ERROR "compiled, though it should be refused with: ${sentence}")
elseif(at EQUAL -1)
  message(FATAL_ERROR "expected: ${sentence}\nfound:\n${said}")
endif()
