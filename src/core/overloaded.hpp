// One function of several, for std::visit: a new alternative that none of them takes does not compile.
#pragma once

namespace rubato {

template <class... F>
struct overloaded : F... {
    using F::operator()...;
};

}  // namespace rubato
