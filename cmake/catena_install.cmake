# The package: find_package(catena [COMPONENTS host]).
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
