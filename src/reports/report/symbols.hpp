// Where in a program's source an address is.
#pragma once

#include "dropin/observe/part.hpp"

namespace rubato::reports {

/// What is known of a call; each may be missing.
struct code_place {
    std::string module{};  ///< without folders, and the address in it, "libsolver.so+0x1a2b"
    std::string function{};
    std::string file{};
    int line = 0;

    /// "solve (solver.c:120)", "solve (libsolver.so+0x1a2b)", "libsolver.so+0x1a2b"
    std::string text() const;
};

/// From the modules' debugging information, in the modules or installed apart. Never fails: a module may be gone.
std::vector<code_place> find_places(std::span<const dropin::site> sites);

}  // namespace rubato::reports
