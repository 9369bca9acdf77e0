# Catena for ggml-cuda: from its sources in CATENA_DIR, or as an installed package. One set of kernels serves each
# GPU: those of CATENA_CUDA_ARCHS, or else those that CMAKE_CUDA_ARCHITECTURES names.
set(CATENA_KNOWN_ARCHS sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120)
if(NOT CATENA_CUDA_ARCHS OR CATENA_CUDA_ARCHS STREQUAL "AUTO")  # AUTO is what Catena's project leaves in the cache
  set(CATENA_CUDA_ARCHS "")
  foreach(arch IN LISTS CMAKE_CUDA_ARCHITECTURES)
    string(REGEX REPLACE "^([0-9]+).*$" "sm_\\1" arch "${arch}")
    if(arch IN_LIST CATENA_KNOWN_ARCHS)
      list(APPEND CATENA_CUDA_ARCHS ${arch})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES CATENA_CUDA_ARCHS)
endif()
if(NOT CATENA_CUDA_ARCHS)
  message(FATAL_ERROR "GGML_CUDA_CATENA: Catena has no kernels for CMAKE_CUDA_ARCHITECTURES=${CMAKE_CUDA_ARCHITECTURES}: "
                      "set CATENA_CUDA_ARCHS to some of ${CATENA_KNOWN_ARCHS}, or GGML_CUDA_CATENA=OFF.")
endif()

if(CATENA_DIR)
  add_subdirectory(${CATENA_DIR} ${CMAKE_BINARY_DIR}/catena EXCLUDE_FROM_ALL)
else()
  find_package(catena REQUIRED)
endif()
foreach(arch IN LISTS CATENA_CUDA_ARCHS)
  if(NOT TARGET catena::instances_${arch})
    message(FATAL_ERROR "GGML_CUDA_CATENA: this Catena has no set ${arch}: set CATENA_CUDA_ARCHS to sets that it was "
                        "built with.")
  endif()
  target_link_libraries(ggml-cuda PRIVATE catena::instances_${arch})
endforeach()
target_link_libraries(ggml-cuda PRIVATE catena::planner)
target_compile_definitions(ggml-cuda PRIVATE GGML_CUDA_CATENA)
