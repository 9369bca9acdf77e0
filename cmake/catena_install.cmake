# The package: find_package(catena [COMPONENTS host command generator tool tests]), catena.pc, and archives by CPack.
include(CMakePackageConfigHelpers)

set(catena_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/catena)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/catena-config.cmake.in
  ${PROJECT_BINARY_DIR}/catena-config.cmake INSTALL_DESTINATION ${catena_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/catena-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/catena-config.cmake
              ${PROJECT_BINARY_DIR}/catena-config-version.cmake DESTINATION ${catena_package_dir})
install(EXPORT catena_targets NAMESPACE catena:: DESTINATION ${catena_package_dir})
if(TARGET exec_host)
  install(EXPORT catena_host_targets NAMESPACE catena:: DESTINATION ${catena_package_dir})
endif()
if(TARGET catena_generator)
  install(EXPORT catena_generator_targets NAMESPACE catena:: DESTINATION ${catena_package_dir})
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/catena_add_instances.cmake DESTINATION ${catena_package_dir})
endif()
if(TARGET catena_tool)
  install(EXPORT catena_tool_targets NAMESPACE catena:: DESTINATION ${catena_package_dir})
endif()
if(TARGET catena_instance_tests)
  install(EXPORT catena_tests_targets NAMESPACE catena:: DESTINATION ${catena_package_dir})
endif()
if(TARGET catena_command)
  install(EXPORT catena_command_targets NAMESPACE catena:: DESTINATION ${catena_package_dir})
endif()

# For builds without CMake: the headers and the compiled planner. It finds its prefix by itself.
file(RELATIVE_PATH catena_pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" catena_pc_prefix "${catena_pc_prefix}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/catena.pc.in ${PROJECT_BINARY_DIR}/catena.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/catena.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

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
