# Asks for sets of sm_75 and sm_120 with an nvcc that knows sm_75 alone.
cmake_minimum_required(VERSION 3.24)
include(${PROJECT_SOURCE_DIR}/cmake/catena_archs.cmake)
catena_require_nvcc("catena_add_instances(my_kernels)" "${CMAKE_COMMAND};-E;echo;sm_75" 75-real)
message("sm_75 is known")
catena_require_nvcc("catena_add_instances(my_kernels)" "${CMAKE_COMMAND};-E;echo;sm_75" 75-real 120-real)
