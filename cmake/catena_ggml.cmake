# Finds ggml, which the tests and the example of its adapter use; nothing else needs it. Any installed ggml
# with its CMake package serves, from 0.9.6 on: name its prefix in CMAKE_PREFIX_PATH. scripts/test makes one.
function(catena_find_ggml)
  find_package(ggml CONFIG QUIET HINTS ${PROJECT_SOURCE_DIR}/build/ggml)
  if(ggml_FOUND)
    message(STATUS "ggml: ${ggml_DIR}")
    # A static ggml-cuda does not say that it wants the CUDA runtime and cuBLAS.
    if(GGML_CUDA AND NOT GGML_SHARED_LIB AND NOT GGML_STATIC)
      find_package(CUDAToolkit REQUIRED)
      set_property(TARGET ggml::ggml-cuda APPEND PROPERTY
                   INTERFACE_LINK_LIBRARIES CUDA::cudart_static CUDA::cublas)
    endif()
    if(GGML_CUDA AND NOT GGML_CUDA_GRAPHS)
      message(WARNING "This ggml-cuda was built without CUDA graphs: as a peer of the benchmarks it is slower than it "
                      "need be. Build it with -DGGML_CUDA_GRAPHS=ON, as scripts/gpu-peer does.")
    endif()
  else()
    message(STATUS "ggml: not found, its adapter is not tested (scripts/test gets it, or set CMAKE_PREFIX_PATH)")
  endif()
endfunction()
catena_find_ggml()
