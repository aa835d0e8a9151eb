// What the program and its libraries may call, from the tables of names by which they are linked.
#pragma once

namespace rubato::preload {

/// Whether something that is loaded, apart from MPI's libraries and Rubato's, names a function that makes a window for
/// one-sided communication. Of what is loaded later nothing is known.
bool may_make_windows();

}  // namespace rubato::preload
