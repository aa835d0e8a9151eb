// Rubato on one communicator of a program that does not know of it. A guide (dropin/direct/director.hpp) decides which
// calls run a plan of Rubato and which the MPI library's own collective; this binds the guide to MPI.
#pragma once

#include "dropin/direct/director.hpp"
#include "dropin/direct/rules.hpp"
#include "engine/mpi/call_facts.hpp"
#include "rubato/algorithm.hpp"
#include "rubato/tuned_rules.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::dropin {

/// Modes auto, force and rules. One thread at a time; several of these may be used by several threads if MPI allows it.
/// Making one and destroying it are collective, unless it has ended before; destroy it before MPI_Finalize.
class autopilot {
public:
    /// In bytes of the largest buffer: what mode auto does not leave alone.
    static constexpr std::int64_t smallest = dropin::smallest;

    /// Equal on all ranks, but for what directors know of their rank. What follows from the communicator is filled in.
    struct settings : director::settings {
        /// Use these wherever they can solve the problem; of each collective one at most.
        std::vector<const algorithm*> force{};
        std::shared_ptr<const rubato::rules> rules{};  ///< use what these say; neither: mode auto
        std::string model{};                           ///< of the network, as text; empty: measured when first needed
        bool background = false;            ///< early forms, where the background thread may call MPI on all ranks
        bool reproducible = false;          ///< floating-point reductions are left to the native call
        std::vector<collective> leave{};    ///< collectives that are also left to the native call
        own_clock clock{};                  ///< that all ranks share; none: ranks synchronise their own
        std::vector<std::int32_t> hosts{};  ///< of each rank; empty: as MPI reports them

        /// Mode auto: what makes a call is found out.
        bool finds_out() const { return force.empty() && !rules; }
        /// Whether a call of this kind may be made by anything but the native collective.
        bool may_replace(collective what) const;
    };
    using explainer = guide::explainer;

    /// Collective over `user`, an intra-communicator. Throws `error`, on all ranks, if a setting is wrong.
    autopilot(MPI_Comm user, const settings& how, explainer explain);
    ~autopilot();

    /// Whether a call could be made by anything but the native collective. Equal on all ranks. In mode auto small ones
    /// could not; how large a call is whose sizes not all ranks know is found out later. Only calls that it concerns
    /// come to run().
    static bool concerns(const settings& how, const engine::call_facts& c);
    /// Such a call, as all ranks know it.
    static directed_call known(const engine::call_facts& c, std::uint64_t meetings) {
        return {c.what, rank(c.traits().rooted ? c.root : 0), std::max<std::int64_t>(0, c.agreed_bytes),
                c.largest_buffer(), meetings};
    }

    /// Makes the call, by Rubato or by `native`, which calls the MPI library. Returns an MPI error code; that of
    /// `native` if it was called. Throws only what an error handler of the program throws: where a native call would
    /// end the program, so does this. `meetings`: as directed_call has them.
    int run(const engine::call_facts& c, std::uint64_t meetings, const std::function<int()>& native);
    /// Modes force and rules: starts a non-blocking call, as run() makes one, if the background thread may go on with
    /// it on all ranks: a program may wait for something else before it comes to wait for this. `c` is kept until it
    /// has ended. `freed` is called, in any thread, when MPI has freed the request.
    int start(std::shared_ptr<const engine::call_facts> c, MPI_Request* request, const std::function<int()>& native,
              std::function<void(MPI_Request)> freed = {});
    /// What a later run may begin with; nothing in other modes. Equal on all ranks.
    std::vector<experience> learned() const;
    /// Ends what is under way, without waiting for other ranks; false if something is left. All ranks call it until it
    /// is true, each when it likes, and make no other calls any more.
    bool end();

private:
    class state;
    std::unique_ptr<state> state_;
};

/// Ends the program: something failed on this rank alone, and the ranks that wait for it cannot be told.
[[noreturn]] void give_up(MPI_Comm comm, const std::exception& e);

}  // namespace rubato::dropin
