# What Rubato is built with. All packages are searched first, so that one line names all that are missing.
#
# An optional part has an option: OFF; ON: what it needs must be there; or AUTO: the part is left out, with
# a line, if something is missing.
set(part_unless_given OFF)
if(PROJECT_IS_TOP_LEVEL)
  set(part_unless_given AUTO)
endif()
set(RUBATO_MPI AUTO CACHE STRING "Build what needs an MPI library: ON, OFF, or AUTO (if there is one)")
set(RUBATO_TESTS ${part_unless_given} CACHE STRING "Build the tests: ON, OFF, or AUTO (if what they need is there)")
set(RUBATO_BENCHMARKS ${part_unless_given} CACHE STRING
    "Build the benchmarks: ON, OFF, or AUTO (if what they need is there)")

# rubato_find(LIST PACKAGE NAME ...): find_package(NAME ...). If that fails, the Debian package is added to the list.
macro(rubato_find list package name)
  find_package(${name} QUIET ${ARGN})
  if(NOT ${name}_FOUND)
    list(APPEND ${list} ${package})
  endif()
endmacro()

# rubato_part(OPTION WHAT LIST): decides about a part for which the packages in the list are missing.
macro(rubato_part option what list)
  if(${option} STREQUAL AUTO AND ${list})
    list(JOIN ${list} " " packages)
    message(NOTICE "rubato: ${what} left out; missing: ${packages} (the names in Debian)")
    set(${option} OFF)
  elseif(${option})
    list(APPEND missing ${${list}})
  endif()
endmacro()

rubato_find(missing libfmt-dev fmt)
rubato_find(missing libcli11-dev CLI11)
rubato_find(missing nlohmann-json3-dev nlohmann_json)
find_path(RUBATO_LIBDW_INCLUDE elfutils/libdwfl.h)
find_library(RUBATO_LIBDW dw)
mark_as_advanced(RUBATO_LIBDW_INCLUDE RUBATO_LIBDW)
if(NOT RUBATO_LIBDW_INCLUDE OR NOT RUBATO_LIBDW)
  list(APPEND missing libdw-dev)
endif()

set(RUBATO_OTF2 AUTO CACHE STRING "Export and import OTF2 traces: ON, OFF, or AUTO (if the library is there)")
if(RUBATO_OTF2)
  find_path(RUBATO_OTF2_INCLUDE otf2/otf2.h)
  find_library(RUBATO_OTF2_LIBRARY NAMES otf2 open-trace-format2)
  mark_as_advanced(RUBATO_OTF2_INCLUDE RUBATO_OTF2_LIBRARY)
  if(NOT RUBATO_OTF2_INCLUDE OR NOT RUBATO_OTF2_LIBRARY)
    list(APPEND missing_for_otf2 libopen-trace-format2-dev)
  endif()
  rubato_part(RUBATO_OTF2 "OTF2 traces are" missing_for_otf2)
endif()
if(RUBATO_MPI)
  rubato_find(missing_for_mpi libopenmpi-dev MPI COMPONENTS C)
  rubato_part(RUBATO_MPI "the library for MPI, the drop-in and the commands that run on MPI are" missing_for_mpi)
endif()
if(RUBATO_TESTS)
  rubato_find(missing_for_tests libgtest-dev GTest)
  rubato_find(missing_for_tests libboost-dev Boost)  # only headers
  rubato_find(missing_for_tests libhwy-dev hwy)  # only headers
  rubato_part(RUBATO_TESTS "the tests are" missing_for_tests)
endif()
if(RUBATO_BENCHMARKS)
  rubato_find(missing_for_benchmarks libbenchmark-dev benchmark)
  rubato_find(missing_for_benchmarks libboost-dev Boost)  # only headers
  rubato_find(missing_for_benchmarks libhwy-dev hwy)  # only headers
  rubato_part(RUBATO_BENCHMARKS "the benchmarks are" missing_for_benchmarks)
endif()

if(missing)
  list(REMOVE_DUPLICATES missing)
  list(JOIN missing " " missing)
  # The space at its beginning keeps it in one line.
  message(FATAL_ERROR " packages are missing: ${missing}; install them (these are the names in Debian) or set CMAKE_PREFIX_PATH")
endif()
