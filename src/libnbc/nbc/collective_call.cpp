#include "libnbc/nbc/start.hpp"

#include "engine/mpi/choice.hpp"
#include "engine/mpi/datatype.hpp"
#include "engine/mpi/inner_communicator.hpp"
#include "engine/mpi/mpi_stage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace rubato::libnbc {
namespace {

using engine::misuse;
using mpi::call;

/// Counts and displacements as Rubato takes them. The caller may change its own.
struct wide_chunks {
    std::vector<std::int64_t> counts{}, places{};

    mpi::chunks of(const narrow_chunks& given, int n) {
        if (given.counts != nullptr) counts.assign(given.counts, given.counts + n);
        if (given.places != nullptr) places.assign(given.places, given.places + n);
        if (given.byte_places != nullptr) places.assign(given.byte_places, given.byte_places + n);
        std::span<const MPI_Datatype> types;
        if (given.types != nullptr) types = {given.types, static_cast<std::size_t>(n)};
        return {counts, places, types};
    }
};

/// What Rubato would choose, but begun by the program's call: while others may announce theirs, the background thread
/// would look for that in MPI_Finalize, too, which MPICH does not bear.
const algorithm& chosen_for(const engine::call_facts& c) {
    const algorithm& a = engine::default_algorithm(c.what, c.ranks, c.agreed_bytes);
    return a.early ? find_algorithm(a.id.substr(0, a.id.rfind('+'))) : a;
}

bool has_no_type(MPI_Datatype type, const mpi::chunks& each) {
    return type == MPI_DATATYPE_NULL || std::ranges::find(each.types, MPI_DATATYPE_NULL) != each.types.end();
}

/// The steps of this rank.
std::string steps_of(const mpi::communicator& on, const mpi::selection& how, const engine::call_facts& c) {
    const engine::intent what = engine::intent_of(c, how, on.hosts(), on.neighbours());
    return fmt::format("{}\n{}", what.use->id, to_string(build_one(*what.use, what.what, rank(on.rank()))));
}

/// One of Rubato's collectives.
class collective_call final : public operation {
public:
    collective_call(mpi::communicator& on, mpi::selection how, const call& c, narrow_chunks send, narrow_chunks recv)
        : on_(on), how_(std::move(how)), call_(c) {
        const engine::degrees around = engine::degrees_in(on_.neighbours().get(), on_.rank());
        const bool on_graph = traits(c.what).on_graph;
        const int sent = on_graph ? around.destinations : on_.size();
        const int received = on_graph ? around.sources : on_.size();
        call_.send_chunks = sends_.of(send, sent);
        call_.recv_chunks = recvs_.of(recv, received);
        if (traits(c.what).rooted && (c.root < 0 || c.root >= on_.size())) {
            engine::inner_communicator(on_).pass();  // other ranks may make the call
            throw misuse(MPI_ERR_ROOT, fmt::format("root {}", c.root),
                         fmt::format("the communicator has ranks 0 to {}", on_.size() - 1), "pass one of them");
        }
        facts_ = engine::call_facts(call_, on_.rank(), on_.size(), around, false);
        if (how_.use == nullptr) how_.use = &chosen_for(facts_);
        try {
            running_ = on_.start(how_, call_);
        } catch (const mpi::mpi_error&) {
            throw;
        } catch (const error& e) {
            const collective_traits& t = traits(c.what);
            if (t.reduces && c.op == MPI_OP_NULL) throw misuse(MPI_ERR_OP, e);
            if (has_no_type(c.recv_type, call_.recv_chunks) || has_no_type(c.send_type, call_.send_chunks))
                throw misuse(MPI_ERR_TYPE, e);
            throw;
        }
    }

    bool progress(bool wait) override {
        if (!wait) return running_.test();
        running_.wait();
        return true;
    }
    std::string steps() const override { return steps_of(on_, how_, facts_); }

private:
    mpi::communicator& on_;
    mpi::selection how_;
    call call_;
    engine::call_facts facts_{};  // its datatypes may be freed later
    wide_chunks sends_{}, recvs_{};
    mpi::request running_{};
};

}  // namespace

std::unique_ptr<operation> start_collective(mpi::communicator& on, mpi::selection how, const call& c,
                                            narrow_chunks send, narrow_chunks recv) {
    return std::make_unique<collective_call>(on, std::move(how), c, send, recv);
}

}  // namespace rubato::libnbc
