// One function of several, for std::visit: a new alternative that none of them takes does not compile.
#pragma once

namespace rubato::base {

template <class... F>
struct overloaded : F... {
    using F::operator()...;
};
template <class... F>
overloaded(F...) -> overloaded<F...>;  // clang 14 needs it

}  // namespace rubato::base
