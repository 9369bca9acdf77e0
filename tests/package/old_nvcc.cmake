# Asks for sets of sm_75 and sm_120 with an nvcc that knows sm_75 alone.
cmake_minimum_required(VERSION 3.24)
set(CATENA_ARCHS sm_75 sm_120)
include(${PROJECT_SOURCE_DIR}/cmake/catena_add_instances.cmake)
catena_require_nvcc("catena_add_instances(my_kernels)" "${CMAKE_COMMAND};-E;echo;sm_75" sm_75)
message("sm_75 is known")
catena_require_nvcc("catena_add_instances(my_kernels)" "${CMAKE_COMMAND};-E;echo;sm_75" sm_75 sm_120)
