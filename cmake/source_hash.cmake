# cmake -DROOT=... -DOUTPUT=... -P source_hash.cmake: writes a function that returns a hash of all sources. Ranks with
# different hashes have different builds, and do not work together.
file(GLOB_RECURSE files ${ROOT}/src/*.cpp ${ROOT}/src/*.hpp ${ROOT}/src/*.def ${ROOT}/include/*.hpp ${ROOT}/include/*.h)
list(SORT files)
set(all "")
foreach(each IN LISTS files)
  file(SHA256 ${each} hash)
  file(RELATIVE_PATH name ${ROOT} ${each})
  string(APPEND all "${name} ${hash}\n")
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING ${hash} 0 15 digits)  # 60 bits: its negative fits, too
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#include \"base/core/build.hpp\"\n
std::int64_t rubato::base::source_hash() { return 0x${digits}; }\n")
