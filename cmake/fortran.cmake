# Fortran for programs with MPI, if there is a compiler. Modules and libraries must be those of the same MPI library.
find_program(CMAKE_Fortran_COMPILER NAMES $ENV{FC} gfortran)
if(CMAKE_Fortran_COMPILER)
  enable_language(Fortran)
  string(REPLACE mpicc mpifort wrapper "${MPI_C_COMPILER}")
  find_program(MPI_Fortran_COMPILER NAMES ${wrapper})
  find_package(MPI COMPONENTS Fortran)
endif()
