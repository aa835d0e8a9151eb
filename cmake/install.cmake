# What is installed: librubato with its headers, the library for one MPI, the drop-in for it, the command, and the files for
# find_package and pkg-config. A build with RUBATO_LIBRARY adds what is for another MPI.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rubato)
file(RELATIVE_PATH pkg_config_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)  # from a .pc file, so that all can be moved
string(REGEX REPLACE "/$" "" pkg_config_prefix ${pkg_config_prefix})

if(NOT RUBATO_LIBRARY)
  install(TARGETS rubato_library EXPORT rubatoTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT rubatoTargets NAMESPACE rubato:: DESTINATION ${package_dir})
  install(DIRECTORY include/rubato DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
          PATTERN mpi*.hpp EXCLUDE PATTERN multicast.hpp EXCLUDE PATTERN reorder.hpp EXCLUDE
          PATTERN pat.h EXCLUDE PATTERN pat.f90 EXCLUDE PATTERN nbc*.h EXCLUDE)
  install(TARGETS rubato_command)

  configure_file(cmake/rubato.pc.in ${PROJECT_BINARY_DIR}/rubato.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/rubato.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

  configure_package_config_file(cmake/rubatoConfig.cmake.in ${PROJECT_BINARY_DIR}/rubatoConfig.cmake
    INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/rubatoConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/rubatoConfig.cmake ${PROJECT_BINARY_DIR}/rubatoConfigVersion.cmake
    DESTINATION ${package_dir})
endif()

if(RUBATO_MPI)
  install(TARGETS rubato_mpi EXPORT rubato_${mpi_name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT rubato_${mpi_name} FILE rubato-${mpi_name}.cmake NAMESPACE rubato:: DESTINATION ${package_dir})
  install(FILES include/rubato/mpi.hpp include/rubato/mpi_call.hpp include/rubato/mpi_settings.hpp
          include/rubato/multicast.hpp include/rubato/reorder.hpp include/rubato/pat.h
          include/rubato/pat.f90 include/rubato/nbc.h include/rubato/nbc_schedule.h
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rubato)
  # `rubato exec` looks for it there.
  install(TARGETS rubato_preload LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/rubato/${mpi_name})
  install(TARGETS rubato_places LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/rubato)

  set(mpi_full_name "Open MPI")
  set(mpi_requires ompi-c)
  if(RUBATO_MPICH)
    set(mpi_full_name MPICH)
    set(mpi_requires mpich)
  endif()
  set(pkg_config_file ${PROJECT_BINARY_DIR}/${mpi_library}.pc)
  configure_file(cmake/rubato_mpi.pc.in ${pkg_config_file} @ONLY)
  install(FILES ${pkg_config_file} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
