#include "nbc/collective_call.hpp"

#include "mpi/choice.hpp"
#include "mpi/datatype.hpp"
#include "mpi/looked_at_calls.hpp"
#include "mpi/mpi_stage.hpp"
#include "nbc/mpi_data.hpp"

#include <fmt/format.h>

#include <numeric>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace rubato::nbc {
namespace {

using mpi::call;
using mpi::misuse;

using wide_numbers = std::vector<std::int64_t>;

/// What Rubato would choose, but begun by the program's call: while others may announce theirs, the background thread
/// would look for that in MPI_Finalize, too, which MPICH does not bear.
const algorithm& chosen_for(const mpi::call_facts& c) {
    const algorithm& a = mpi::default_algorithm(c.what, c.ranks, c.agreed_bytes);
    return a.early ? find_algorithm(a.id.substr(0, a.id.rfind('+'))) : a;
}

/// The steps of this rank.
std::string steps_of(const mpi::communicator& on, const mpi::selection& how, const mpi::call_facts& c) {
    const intent what = mpi::intent_of(c, how, on.hosts());
    return fmt::format("{}\n{}", what.use->id, to_string(build_one(*what.use, what.what, rank(on.rank()))));
}

/// One of Rubato's collectives.
class collective_call final : public operation {
public:
    collective_call(mpi::communicator& on, mpi::selection how, const call& c, narrow_chunks send, narrow_chunks recv)
        : on_(on), how_(std::move(how)), call_(c) {
        call_.send_chunks = {widened(send_counts_, send.counts), widened(send_places_, send.places)};
        call_.recv_chunks = {widened(recv_counts_, recv.counts), widened(recv_places_, recv.places)};
        if (traits(c.what).rooted && (c.root < 0 || c.root >= on_.size())) {
            mpi::looked_at_calls(on_).pass();  // other ranks may make the call
            throw misuse(MPI_ERR_ROOT, fmt::format("root {}", c.root),
                         fmt::format("the communicator has ranks 0 to {}", on_.size() - 1), "pass one of them");
        }
        facts_ = mpi::call_facts(call_, on_.rank(), on_.size(), false);
        if (how_.use == nullptr) how_.use = &chosen_for(facts_);
        try {
            running_ = on_.start(how_, call_);
        } catch (const mpi::mpi_error&) {
            throw;
        } catch (const error& e) {
            const collective_traits& t = traits(c.what);
            if (t.reduces && c.op == MPI_OP_NULL) throw misuse(MPI_ERR_OP, e);
            if (c.recv_type == MPI_DATATYPE_NULL || c.send_type == MPI_DATATYPE_NULL) throw misuse(MPI_ERR_TYPE, e);
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
    std::span<const std::int64_t> widened(wide_numbers& into, const int* from) const {
        if (from != nullptr) into.assign(from, from + on_.size());
        return into;
    }

    mpi::communicator& on_;
    mpi::selection how_;
    call call_;
    mpi::call_facts facts_{};  // its datatypes may be freed later
    wide_numbers send_counts_{}, send_places_{}, recv_counts_{}, recv_places_{};
    mpi::request running_{};
};

/// Bytes of each chunk, and where it begins when they lie one after the other. Throws if an argument is wrong.
std::pair<wide_numbers, wide_numbers> packed_sizes(const typed_chunks& s, std::size_t ranks) {
    if (s.counts == nullptr || s.places == nullptr || s.types == nullptr)
        throw misuse(MPI_ERR_ARG, "no counts, displacements or datatypes", "there is one of each per rank",
                     "check the arguments of the collective");
    wide_numbers bytes(ranks);
    for (std::size_t i = 0; i < ranks; ++i) {
        const data d{s.counts[i] > 0 ? s.chunk(i) : nullptr, s.counts[i], s.types[i]};
        check_data(d);
        bytes[i] = d.bytes();
    }
    wide_numbers places(ranks);
    std::exclusive_scan(bytes.begin(), bytes.end(), places.begin(), std::int64_t{0});
    return {std::move(bytes), std::move(places)};
}

class packed_alltoallw final : public operation {
public:
    packed_alltoallw(mpi::communicator& on, const typed_chunks& send, const typed_chunks& recv)
        : on_(on), recv_(recv.address) {
        try {
            pack(send.address == MPI_IN_PLACE ? recv : send, recv);
        } catch (...) {
            mpi::looked_at_calls(on_).pass();  // other ranks may make the call
            throw;
        }
        call_ = call::alltoallv(out_.bytes.data(), {out_.sizes, out_.places}, MPI_BYTE, in_.bytes.data(),
                                {in_.sizes, in_.places}, MPI_BYTE);
        running_ = on_.start({}, call_);
    }

    bool progress(bool wait) override {
        if (wait)
            running_.wait();
        else if (!running_.test())
            return false;
        const typed_chunks to{recv_, counts_.data(), places_.data(), types_.data()};
        for (std::size_t i = 0; i < types_.size(); ++i)
            if (to.counts[i] > 0) mpi::unpack(mpi::inspect(types_[i]), at(in_, i), to.chunk(i), to.counts[i], comm());
        return true;
    }
    std::string steps() const override {
        return steps_of(on_, {}, mpi::call_facts(call_, on_.rank(), on_.size(), false));
    }

private:
    struct packed {
        wide_numbers sizes{}, places{};
        std::vector<std::byte> bytes{};
    };
    void pack(const typed_chunks& from, const typed_chunks& to) {
        const auto ranks = static_cast<std::size_t>(on_.size());
        for (const auto& [side, given] : {std::pair{&out_, &from}, std::pair{&in_, &to}}) {
            std::tie(side->sizes, side->places) = packed_sizes(*given, ranks);
            side->bytes.resize(static_cast<std::size_t>(side->sizes.back() + side->places.back()) + 1);  // never empty
        }
        for (std::size_t i = 0; i < ranks; ++i) {
            types_.push_back(kept_.keep(to.types[i]));
            if (from.counts[i] > 0)
                mpi::pack(mpi::inspect(from.types[i]), from.chunk(i), from.counts[i], at(out_, i), comm());
        }
        counts_.assign(to.counts, to.counts + ranks);
        places_.assign(to.places, to.places + ranks);
    }
    static std::byte* at(packed& p, std::size_t chunk) { return p.bytes.data() + p.places[chunk]; }
    MPI_Comm comm() const { return mpi::looked_at_calls(on_).comm(); }

    mpi::communicator& on_;
    packed out_{}, in_{};
    void* recv_;
    std::vector<int> counts_{}, places_{};
    std::vector<MPI_Datatype> types_{};
    kept_types kept_{};
    call call_{};
    mpi::request running_{};
};

}  // namespace

std::unique_ptr<operation> start_collective(mpi::communicator& on, mpi::selection how, const call& c,
                                            narrow_chunks send, narrow_chunks recv) {
    return std::make_unique<collective_call>(on, std::move(how), c, send, recv);
}

std::unique_ptr<operation> start_alltoallw(mpi::communicator& on, const typed_chunks& send, const typed_chunks& recv) {
    return std::make_unique<packed_alltoallw>(on, send, recv);
}

}  // namespace rubato::nbc
