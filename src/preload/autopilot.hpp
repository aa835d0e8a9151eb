// Rubato on one communicator of a program that does not know of it. A guide (direct/director.hpp) decides which calls
// run a plan of Rubato and which the MPI library's own collective; this binds the guide to MPI.
#pragma once

#include "direct/director.hpp"
#include "direct/rules.hpp"
#include "mpi/call_facts.hpp"
#include "rubato/tuned_rules.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::preload {

/// Modes auto, force and rules. One thread at a time; several of these may be used by several threads if MPI allows it.
/// Making one and destroying it are collective, unless it has ended before; destroy it before MPI_Finalize.
class autopilot {
public:
    /// In bytes of the largest buffer: what mode auto does not leave alone.
    static constexpr std::int64_t smallest = direct::smallest;

    /// Equal on all ranks.
    struct settings {
        std::string force{};                           ///< use this algorithm wherever it can solve the problem
        std::shared_ptr<const rubato::rules> rules{};  ///< use what these say; neither: mode auto
        double margin = 0.1;        ///< by how much a plan must be better than the native call to be tried, as a share
        double spend = 0.01;        ///< share of the run time that finding out may take
        std::string model{};        ///< of the network, as text; empty: measured when first needed
        bool background = false;    ///< early forms, where the background thread may call MPI on all ranks
        bool reproducible = false;  ///< floating-point reductions are left to the native call
        std::vector<collective> leave{};       ///< collectives that are also left to the native call
        own_clock clock{};                     ///< that all ranks share; none: ranks synchronise their own
        effort* process = nullptr;             ///< shared by this process's autopilots; null: there is no other
        std::vector<std::int32_t> hosts{};     ///< of each rank; empty: as MPI reports them
        std::vector<experience> remembered{};  ///< mode auto: of an earlier run, on this communicator
        time_ns in_calls{};                    ///< that it concerned, before it was made: of this rank
        std::vector<seen_call> seen{};         ///< that it concerned; times are of this rank
        std::optional<time_ns> came{};         ///< when this rank came to the call for which it is made

        /// Mode auto: what makes a call is found out.
        bool finds_out() const { return force.empty() && !rules; }
    };
    using explainer = guide::explainer;

    /// Collective over `user`, an intra-communicator. Throws `error`, on all ranks, if a setting is wrong.
    autopilot(MPI_Comm user, const settings& how, explainer explain);
    ~autopilot();
    autopilot(const autopilot&) = delete;
    autopilot& operator=(const autopilot&) = delete;

    /// Whether a call could be made by anything but the native collective. Equal on all ranks. In mode auto small ones
    /// could not; how large a call is whose sizes not all ranks know is found out later. Only calls that it concerns
    /// come to run().
    static bool concerns(const settings& how, const mpi::call_facts& c);
    /// Such a call, as all ranks know it.
    static directed_call known(const mpi::call_facts& c) {
        return {c.what, rank(c.traits().rooted ? c.root : 0), std::max<std::int64_t>(0, c.agreed_bytes),
                c.largest_buffer()};
    }

    /// Makes the call, by Rubato or by `native`, which calls the MPI library. Returns an MPI error code; that of
    /// `native` if it was called. Throws only what an error handler of the program throws: where a native call would
    /// end the program, so does this.
    int run(const mpi::call_facts& c, const std::function<int()>& native);
    /// Modes force and rules: starts a non-blocking call, as run() makes one, if the background thread may go on with
    /// it on all ranks: a program may wait for something else before it comes to wait for this. `c` is kept until it
    /// has ended. `freed` is called, in any thread, when MPI has freed the request.
    int start(std::shared_ptr<const mpi::call_facts> c, MPI_Request* request, const std::function<int()>& native,
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

}  // namespace rubato::preload
