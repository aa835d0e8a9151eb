// What the applications share: they run in several forms by turns, every result is checked, and the times are compared.
#pragma once

#include "common/collectives.hpp"
#include "common/pace.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace applications {

class application {
public:
    virtual ~application() = default;

    /// Where it communicates.
    virtual MPI_Comm comm() const { return MPI_COMM_WORLD; }
    /// Before each run, not timed: overwrites the last result, so that it does not pass as the next one.
    virtual void reset() = 0;
    virtual void run(collectives& how, const pace& computing) = 0;
    /// What is wrong with this rank's result; empty if nothing is. All ranks call it.
    virtual std::string fault() = 0;
    /// What it has looked for; empty if nothing.
    virtual std::string found() const { return {}; }
};

/// An option of an application, which `value` has the default of.
struct integer_option {
    const char* name;
    std::int64_t* value;
    std::int64_t low;
    std::int64_t high;
    const char* about;
};

struct description {
    const char* name;
    const char* about;
    const char* footer;
    std::vector<integer_option> options;
    std::vector<rubato::collective> calls;  ///< that it overlaps
    /// Collective; throws `rubato::error` if options are wrong, before it communicates.
    std::function<std::unique_ptr<application>()> make;
};

/// All of main. Returns 0, 1 if a result is wrong, 2 if an option is.
int run(int argc, char** argv, const description& what);

/// The part of `whole` that rank `of` of `ranks` has, where sizes differ by one at most.
struct share_of {
    std::int64_t begin;
    std::int64_t end;
    share_of(std::int64_t whole, int of, int ranks) : begin(whole * of / ranks), end(whole * (of + 1) / ranks) {}
    std::int64_t size() const { return end - begin; }
};

int rank_in(MPI_Comm comm);
int size_of(MPI_Comm comm);

}  // namespace applications
