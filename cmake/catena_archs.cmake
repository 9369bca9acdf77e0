# CATENA_ARCHS: the GPU architectures of the registry (include/catena/arch/arch.hpp), such as sm_90. Each
# has an instance set.
set(registry ${PROJECT_SOURCE_DIR}/include/catena/arch/arch.hpp)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${registry})
file(STRINGS ${registry} CATENA_ARCHS REGEX "^ *{\"sm_[0-9]+\"")
list(TRANSFORM CATENA_ARCHS REPLACE "^ *{\"(sm_[0-9]+)\".*" "\\1")
if(NOT CATENA_ARCHS)
  message(FATAL_ERROR "no architectures found in ${registry}")
endif()
