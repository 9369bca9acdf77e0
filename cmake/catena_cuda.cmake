# Enables the CUDA language when it is wanted and there. Sets CATENA_HAS_CUDA.
set(CATENA_HAS_CUDA OFF)
if(NOT CATENA_CUDA)
  return()
endif()

if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  # The toolkit's usual place is often not on PATH.
  find_program(CATENA_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
  mark_as_advanced(CATENA_NVCC)
  if(CATENA_NVCC)
    set(CMAKE_CUDA_COMPILER ${CATENA_NVCC})
  endif()
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 90-real)  # each instance set names its own
endif()

include(CheckLanguage)
check_language(CUDA)
if(CMAKE_CUDA_COMPILER)
  enable_language(CUDA)
  if(NOT cuda_std_20 IN_LIST CMAKE_CUDA_COMPILE_FEATURES)
    # CMake up to 3.25.1 does not know that nvcc speaks C++20 since 12.0.
    list(APPEND CMAKE_CUDA_COMPILE_FEATURES cuda_std_20)
    set(CMAKE_CUDA20_COMPILE_FEATURES cuda_std_20)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CATENA_HAS_CUDA ON)
elseif(NOT CATENA_CUDA STREQUAL "AUTO")
  message(FATAL_ERROR "CATENA_CUDA is ${CATENA_CUDA}, but there is no working nvcc: "
                      "set CUDACXX to it, or CATENA_CUDA=OFF.")
endif()
message(STATUS "Device code: ${CATENA_HAS_CUDA}")
