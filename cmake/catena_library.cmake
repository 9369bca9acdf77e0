# catena_add_library(<name> [HOST] SOURCES <files...> [LIBS <targets...>])
#
# A static library catena::<name>, installed and exported with the package. LIBS are public.
# HOST: it needs the host executor, so consumers ask for the package's component `host`.
function(catena_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "HOST" "" "SOURCES;LIBS")
  add_library(${name} STATIC ${arg_SOURCES})
  add_library(catena::${name} ALIAS ${name})
  set_target_properties(${name} PROPERTIES OUTPUT_NAME catena_${name} POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${name} PUBLIC catena ${arg_LIBS})
  # Rows are names that the compiler takes apart.
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-fconstexpr-steps=100000000>)
  if(arg_HOST)
    target_link_libraries(${name} PUBLIC exec_host)
    install(TARGETS ${name} EXPORT catena_host_targets)
  else()
    install(TARGETS ${name} EXPORT catena_targets)
  endif()
endfunction()
