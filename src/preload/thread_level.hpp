// What is decided before MPI_Init, while ranks cannot communicate: whether MPI is asked for a higher thread level than
// the program wants. Needs no MPI.
#pragma once

#include <functional>
#include <string_view>

namespace rubato::preload {

/// The value of a variable; empty if there is none.
using environment = std::function<std::string_view(const char* name)>;

/// Whether the launcher says that ranks are on more than one host; false if it does not tell. Equal on all ranks.
bool is_between_hosts(const environment& value_of);

/// Whether MPI is asked for MPI_THREAD_MULTIPLE, for the background thread. Wrong settings are reported later.
bool raises_thread_level(const environment& value_of);

}  // namespace rubato::preload
