# The package: find_package(catena [COMPONENTS host command generator tool tests]), catena.pc, and archives by CPack.
include(CMakePackageConfigHelpers)

set(catena_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/catena)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/catena-config.cmake.in
  ${PROJECT_BINARY_DIR}/catena-config.cmake INSTALL_DESTINATION ${catena_package_dir} PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/catena-config-version.cmake
  COMPATIBILITY SameMinorVersion)
catena_install(FILES ${PROJECT_BINARY_DIR}/catena-config.cmake ${PROJECT_BINARY_DIR}/catena-config-version.cmake
                     cmake/catena_archs.cmake DESTINATION ${catena_package_dir})

# An export set for each component, of an install and of the build folder.
set(catena_export_sets catena_targets)
foreach(component IN ITEMS exec_host:host generator:generator tool:tool instance_tests:tests command:command)
  string(REPLACE : ";" component ${component})
  list(POP_FRONT component target)
  if(TARGET catena_${target})
    list(APPEND catena_export_sets catena_${component}_targets)
  endif()
endforeach()
if(NOT CATENA_INSTALL)
  set(catena_not_installed COMPONENT catena_not_installed EXCLUDE_FROM_ALL)
endif()
foreach(set IN LISTS catena_export_sets)
  install(EXPORT ${set} NAMESPACE catena:: DESTINATION ${catena_package_dir} ${catena_not_installed})
  export(EXPORT ${set} NAMESPACE catena:: FILE ${PROJECT_BINARY_DIR}/${set}.cmake)
endforeach()
if(TARGET catena_generator)
  catena_install(FILES cmake/catena_add_instances.cmake cmake/catena_options.cmake DESTINATION ${catena_package_dir})
endif()

# For builds without CMake: the headers and the compiled planner. It finds its prefix by itself.
file(RELATIVE_PATH catena_pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" catena_pc_prefix "${catena_pc_prefix}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/catena.pc.in ${PROJECT_BINARY_DIR}/catena.pc @ONLY)
catena_install(FILES ${PROJECT_BINARY_DIR}/catena.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(PROJECT_IS_TOP_LEVEL)
  set(CPACK_GENERATOR TGZ DEB)
  set(CPACK_PACKAGE_CONTACT "Catena developers")
  set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_STRIP_FILES ON)
  include(CPack)
endif()
