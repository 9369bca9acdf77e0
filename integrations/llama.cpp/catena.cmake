# catena_link_kernels(<target>): Catena's planner and kernels for a backend of ggml, from Catena's sources in CATENA_DIR,
# or as an installed package. Kernels serve the GPUs of CATENA_CUDA_ARCHS, or else those of CMAKE_CUDA_ARCHITECTURES; the
# rule is Catena's (catena_archs.cmake).
function(catena_link_kernels target)
  if(NOT TARGET catena::planner AND CATENA_DIR)
    add_subdirectory(${CATENA_DIR} ${CMAKE_BINARY_DIR}/catena EXCLUDE_FROM_ALL)
  elseif(NOT TARGET catena::planner)
    find_package(catena REQUIRED)
  endif()

  set(gpus ${CATENA_CUDA_ARCHS})
  if(NOT gpus OR gpus STREQUAL "AUTO")  # AUTO is what Catena's project leaves in the cache
    set(gpus ${CMAKE_CUDA_ARCHITECTURES})
  endif()
  catena_serve("${gpus}" serve)
  if(serve_NONE)
    catena_nearest("${serve_NONE}" sentence)
    message(STATUS "${target}: ${sentence}: GPUs with it are left to ggml")
  endif()
  if(NOT serve_SETS)
    message(FATAL_ERROR "${target}: Catena has no kernels for '${gpus}': name GPUs that it serves in "
                        "CMAKE_CUDA_ARCHITECTURES or CATENA_CUDA_ARCHS, or build without Catena. ${sentence}.")
  endif()
  foreach(set IN LISTS serve_SETS)
    get_target_property(has catena::instances_${set} CATENA_CODE)
    foreach(code IN LISTS serve_CODE_${set})
      if(has AND code MATCHES "-real$" AND NOT code IN_LIST has)
        message(FATAL_ERROR "${target}: this Catena's kernels of ${set} are compiled to ${has}, and ${code} is needed: "
                            "build it with CATENA_CUDA_ARCHS='${gpus}', or name what it has.")
      endif()
    endforeach()
    target_link_libraries(${target} PRIVATE catena::instances_${set})
  endforeach()
  target_link_libraries(${target} PRIVATE catena::planner)
endfunction()
