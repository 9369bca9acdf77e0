# Which ggml the sources in LLAMA_DIR and the binaries in LLAMA_BIN have, and whether the drop-in can lie there.
set(CATENA_BY_SOURCE "put Catena into the sources by integrations/llama.cpp/apply, and build them")

# Sets GGML_HERE_VERSION and GGML_HERE_COMMIT, which is `unknown` outside of git.
macro(catena_check_sources)
  if(NOT EXISTS ${LLAMA_DIR}/ggml/src/ggml-cuda/ggml-cuda.cu)
    message(FATAL_ERROR "LLAMA_DIR='${LLAMA_DIR}' has no ggml/src/ggml-cuda: set LLAMA_DIR to llama.cpp's sources.")
  endif()
  file(STRINGS ${LLAMA_DIR}/ggml/CMakeLists.txt lines REGEX "^set\\(GGML_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+\\)$")
  string(REGEX MATCHALL "[0-9]+" GGML_HERE_VERSION "${lines}")
  list(JOIN GGML_HERE_VERSION "." GGML_HERE_VERSION)
  if(GGML_HERE_VERSION VERSION_LESS 0.25)
    message(FATAL_ERROR "ggml in LLAMA_DIR='${LLAMA_DIR}' is '${GGML_HERE_VERSION}', and the drop-in needs 0.25: "
                        "${CATENA_BY_SOURCE}.")
  endif()
  # A folder within another project's repository has that one's commit, which says nothing.
  execute_process(COMMAND git -C ${LLAMA_DIR} rev-parse --show-toplevel --short HEAD
                  OUTPUT_VARIABLE git OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  file(REAL_PATH ${LLAMA_DIR} real)
  set(GGML_HERE_COMMIT unknown)
  if(git MATCHES "^${real}\n([0-9a-f]+)$")
    set(GGML_HERE_COMMIT ${CMAKE_MATCH_1})
  endif()
endmacro()

# Sets GGML_BASE.
macro(catena_check_binaries)
  find_library(GGML_BASE ggml-base PATHS ${LLAMA_BIN} NO_DEFAULT_PATH)
  if(NOT GGML_BASE)
    message(FATAL_ERROR "libggml-base.so is not in LLAMA_BIN='${LLAMA_BIN}': name the folder with llama.cpp's "
                        "binaries. If they are statically linked, they load no backends: ${CATENA_BY_SOURCE}.")
  endif()
  file(GLOB backends ${LLAMA_BIN}/libggml-cpu*.so)
  set(loads OFF)
  foreach(backend IN LISTS backends)
    file(STRINGS ${backend} loads LIMIT_COUNT 1 REGEX "ggml_backend_init")
    if(loads)
      break()
    endif()
  endforeach()
  if(NOT loads)
    message(FATAL_ERROR "The binaries in LLAMA_BIN='${LLAMA_BIN}' load no backends, since they were built without "
                        "GGML_BACKEND_DL: take others, or ${CATENA_BY_SOURCE}.")
  endif()
endmacro()

macro(catena_check_that_they_match)
  unset(runs CACHE)
  try_run(runs compiles ${CMAKE_BINARY_DIR}/which_ggml ${CMAKE_CURRENT_LIST_DIR}/drop-in/which_ggml.c
          LINK_OPTIONS -Wl,--allow-shlib-undefined LINK_LIBRARIES ${GGML_BASE}
          COMPILE_OUTPUT_VARIABLE compiler_said RUN_OUTPUT_VARIABLE said)
  if(NOT "${runs}" STREQUAL 0 OR NOT said MATCHES "^([0-9.]+) ([^ \n]+)")
    message(FATAL_ERROR "${GGML_BASE} does not say which ggml it is: configure where llama.cpp's binaries run.\n"
                        "${compiler_said}${said}")
  endif()
  set(version_there ${CMAKE_MATCH_1})
  set(commit_there ${CMAKE_MATCH_2})
  string(REGEX REPLACE "-.*" "" digits "${commit_there}")
  set(match OFF)
  if(digits STREQUAL "unknown" OR GGML_HERE_COMMIT STREQUAL "unknown" OR
     digits MATCHES "^${GGML_HERE_COMMIT}" OR GGML_HERE_COMMIT MATCHES "^${digits}")
    set(match ON)
  endif()
  if(NOT match OR NOT version_there STREQUAL GGML_HERE_VERSION)
    message(FATAL_ERROR "LLAMA_DIR='${LLAMA_DIR}' is ggml ${GGML_HERE_VERSION} (${GGML_HERE_COMMIT}), and the binaries "
                        "in LLAMA_BIN='${LLAMA_BIN}' are ${version_there} (${commit_there}): check out the commit of "
                        "the binaries, or the tag of their release.")
  endif()
  if(GGML_HERE_COMMIT STREQUAL "unknown")
    set(GGML_HERE_COMMIT ${commit_there})
  endif()
endmacro()
