# catena_export(<set> <targets...>): they stand in an export set, so that a project that Catena is a part of may export
# targets that link them. There catena_x is catena::x. They are installed if CATENA_INSTALL is on.
function(catena_export set)
  foreach(target IN LISTS ARGN)
    string(REGEX REPLACE "^catena_" "" name ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  endforeach()
  if(CATENA_INSTALL)
    install(TARGETS ${ARGN} EXPORT ${set})
  else()
    install(TARGETS ${ARGN} EXPORT ${set} COMPONENT catena_not_installed EXCLUDE_FROM_ALL)
  endif()
endfunction()

# catena_install(<FILES or DIRECTORY> ...): install(...) if CATENA_INSTALL is on.
function(catena_install)
  if(CATENA_INSTALL)
    install(${ARGN})
  endif()
endfunction()

# catena_add_library(<name> [HOST] SOURCES <files...> [LIBS <targets...>])
#
# A static library catena_<name>, which is catena::<name> for others, installed and exported with the package. LIBS are
# public. HOST: it needs the host executor, so consumers ask for the package's component `host`.
function(catena_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "HOST" "" "SOURCES;LIBS")
  set(target catena_${name})
  add_library(${target} STATIC ${arg_SOURCES})
  add_library(catena::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${target} PUBLIC catena ${arg_LIBS})
  # Rows are names that the compiler takes apart.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${catena_long_constants}>)
  if(arg_HOST)
    target_link_libraries(${target} PUBLIC catena_exec_host)
    catena_export(catena_host_targets ${target})
  else()
    catena_export(catena_targets ${target})
  endif()
endfunction()
