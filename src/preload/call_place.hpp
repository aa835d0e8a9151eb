// The function and line of a call, by librubato_places.so beside the drop-in. It is loaded when a place is first asked
// for, because it needs libraries that the program need not have.
#pragma once

#include "observe/part.hpp"

namespace rubato::preload {

class call_places {
public:
    call_places();

    /// "solve (solver.c:120)", or what is known without that library: "solve (libsolver.so+0x1a2b)".
    std::string text(const observe::site& s) const;

private:
    using finder = bool(const char* module, std::uint64_t offset, const char* symbol, char* to, std::size_t size);
    finder* find_ = nullptr;
};

}  // namespace rubato::preload
