# catena_link_kernels(<target>): Catena's planner and kernels for a backend of ggml, from Catena's sources in CATENA_DIR,
# or as an installed package. One set of kernels serves each GPU: those of CATENA_CUDA_ARCHS, or else those that
# CMAKE_CUDA_ARCHITECTURES names.
function(catena_link_kernels target)
  set(known_archs sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120)
  if(NOT CATENA_CUDA_ARCHS OR CATENA_CUDA_ARCHS STREQUAL "AUTO")  # AUTO is what Catena's project leaves in the cache
    set(CATENA_CUDA_ARCHS "")
    foreach(arch IN LISTS CMAKE_CUDA_ARCHITECTURES)
      string(REGEX REPLACE "^([0-9]+).*$" "sm_\\1" arch "${arch}")
      if(arch IN_LIST known_archs)
        list(APPEND CATENA_CUDA_ARCHS ${arch})
      endif()
    endforeach()
    list(REMOVE_DUPLICATES CATENA_CUDA_ARCHS)
  endif()
  if(NOT CATENA_CUDA_ARCHS)
    message(FATAL_ERROR "${target}: Catena has no kernels for CMAKE_CUDA_ARCHITECTURES=${CMAKE_CUDA_ARCHITECTURES}: "
                        "set CATENA_CUDA_ARCHS to some of ${known_archs}, or build without Catena.")
  endif()

  if(NOT TARGET catena::planner AND CATENA_DIR)
    add_subdirectory(${CATENA_DIR} ${CMAKE_BINARY_DIR}/catena EXCLUDE_FROM_ALL)
  elseif(NOT TARGET catena::planner)
    find_package(catena REQUIRED)
  endif()
  foreach(arch IN LISTS CATENA_CUDA_ARCHS)
    if(NOT TARGET catena::instances_${arch})
      message(FATAL_ERROR "${target}: this Catena has no set ${arch}: set CATENA_CUDA_ARCHS to sets that it was "
                          "built with.")
    endif()
    target_link_libraries(${target} PRIVATE catena::instances_${arch})
  endforeach()
  target_link_libraries(${target} PRIVATE catena::planner)
endfunction()
