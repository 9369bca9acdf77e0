# catena_add_plugin(<target> <kernels> <libggml-base.so>): a module that ggml loads in place of one of its backends.
# <kernels>: cuda, or host to try it without a GPU. LLAMA_DIR has llama.cpp's sources, of the version that the module
# will meet; OUTPUT_NAME of the target is ggml-<backend>-catena.
set(CATENA_PLUGIN_DIR ${CMAKE_CURRENT_LIST_DIR})
function(catena_add_plugin target kernels ggml_base)
  set(ggml ${LLAMA_DIR}/ggml)
  if(NOT EXISTS ${ggml}/src/ggml-backend-impl.h)
    message(FATAL_ERROR "${target}: ${ggml}/src/ggml-backend-impl.h is not there: set LLAMA_DIR to llama.cpp's sources.")
  endif()
  file(STRINGS ${ggml}/CMakeLists.txt lines REGEX "^set\\(GGML_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+\\)$")
  string(REGEX MATCHALL "[0-9]+" version "${lines}")
  list(JOIN version "." version)
  if(version VERSION_LESS 0.25)
    message(FATAL_ERROR "${target}: ggml in ${LLAMA_DIR} is '${version}', and the plug-in needs 0.25: use "
                        "integrations/llama.cpp/apply instead.")
  endif()
  # A folder within another project's repository has that one's commit, which says nothing.
  execute_process(COMMAND git -C ${LLAMA_DIR} rev-parse --show-toplevel --short HEAD
                  OUTPUT_VARIABLE git OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  file(REAL_PATH ${LLAMA_DIR} sources)
  set(commit unknown)
  if(git MATCHES "^${sources}\n([0-9a-f]+)$")
    set(commit ${CMAKE_MATCH_1})
  endif()

  add_library(${target} MODULE ${CATENA_PLUGIN_DIR}/plugin.cpp ${CATENA_PLUGIN_DIR}/backend.cpp
                               ${CATENA_PLUGIN_DIR}/${kernels}.cpp)
  target_compile_features(${target} PRIVATE cxx_std_17)
  target_compile_definitions(${target} PRIVATE
    CATENA_GGML_VERSION="${version}" CATENA_GGML_COMMIT="${commit}" GGML_BACKEND_DL GGML_BACKEND_SHARED GGML_BACKEND_BUILD)
  target_include_directories(${target} SYSTEM PRIVATE ${ggml}/include ${ggml}/src)
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden)
  # It stays loaded once ggml has asked for its score: what it found then is known when it is used.
  target_link_options(${target} PRIVATE -Wl,-z,nodelete -Wl,--no-undefined -Wl,--exclude-libs,ALL)
  target_link_libraries(${target} PRIVATE ${ggml_base} ${CMAKE_DL_LIBS})
endfunction()
