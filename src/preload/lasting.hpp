// Objects that outlive everything else.
#pragma once

namespace rubato::preload {

/// MPI may call back at the very end, so the object is never destroyed; making it allocates nothing.
template <class T>
union lasting {
    T value;
    lasting() : value() {}
    ~lasting() {}  // NOLINT(modernize-use-equals-default): a default one would be deleted
    lasting(const lasting&) = delete;
    lasting& operator=(const lasting&) = delete;
};

}  // namespace rubato::preload
