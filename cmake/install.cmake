# The installable package: find_package(rubato) and pkg-config.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS rubato_library EXPORT rubatoTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/rubato DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} PATTERN mpi.hpp EXCLUDE PATTERN pat.h EXCLUDE)
set(pkg_config_files rubato.pc)
if(RUBATO_MPI)
  install(TARGETS rubato_mpi EXPORT rubatoTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(FILES include/rubato/mpi.hpp include/rubato/pat.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rubato)
  list(APPEND pkg_config_files rubato_mpi.pc)
endif()

foreach(file IN LISTS pkg_config_files)
  configure_file(cmake/${file}.in ${PROJECT_BINARY_DIR}/${file} @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${file} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rubato)
configure_package_config_file(cmake/rubatoConfig.cmake.in ${PROJECT_BINARY_DIR}/rubatoConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rubatoConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rubatoConfig.cmake ${PROJECT_BINARY_DIR}/rubatoConfigVersion.cmake
  DESTINATION ${package_dir})
install(EXPORT rubatoTargets NAMESPACE rubato:: DESTINATION ${package_dir})
