#include "engine/mpi/mpi_stage.hpp"

#include "engine/mpi/choice.hpp"
#include "engine/mpi/dynamic_run.hpp"
#include "engine/mpi/predefined.hpp"

#include <algorithm>
#include <stdexcept>

namespace rubato::engine {

intent intent_of(const call_facts& c, const mpi::selection& how, const std::vector<std::int32_t>& hosts,
                 const std::shared_ptr<const graph>& neighbours) {
    intent i;
    i.bytes = c.bytes;
    i.use = how.use != nullptr ? how.use : &default_algorithm(c.what, c.ranks, c.agreed_bytes);
    i.what.what = c.what;
    i.what.ranks = c.ranks;
    if (c.traits().rooted) i.what.root = rubato::rank(c.root);
    if (c.traits().on_graph) i.what.neighbours = neighbours;
    const bool given = how.use != nullptr && how.segments != 0;
    i.what.segments = given ? how.segments : default_segments(*i.use, c.agreed_bytes);
    i.what.radix = how.radix;
    if (i.use->arrival_aware || how.use == nullptr) i.what.arrivals = how.arrivals;
    if (i.use->uses_round_time()) i.what.round_time = how.round_time;
    if (i.use->host_aware) i.what.hosts = how.hosts.empty() ? hosts : how.hosts;
    if (c.traits().reduces) {
        // Later, when data is combined, MPI would end the program.
        if (!combines(c.in.type, c.op)) throw mpi::mpi_error("a reduction of this datatype", MPI_ERR_OP);
        i.what.commutative = c.commutative;
        i.what.idempotent = c.idempotent();
        i.type = c.type_number;
        i.op = c.op_number;
    }
    return i;
}

mpi_stage::mpi_stage(MPI_Comm comm, int me, int ranks, tag_layout tags, std::size_t most_early)
    : comm_(comm),
      me_(me),
      ranks_(ranks),
      tags_(tags),
      most_early_(most_early),
      messages_(ranks),
      announcements_(comm, tags.beside(0), ranks),
      roll_post_(comm, tags.beside(2), ranks) {}

/// After a failure MPI may still use what has not completed: that is kept until the process ends.
mpi_stage::~mpi_stage() {
    if (!exchanges_.empty()) {
        static auto& kept = *new std::deque<std::deque<posted>>;
        kept.push_back(std::move(exchanges_));
    }
    if (counts_ && counts_->request != MPI_REQUEST_NULL) (void)counts_.release();
}

mpi_call_resources::mpi_call_resources(mpi_stage& on) : on_(on), transport_(on.comm_, on.tags_, on.messages_) {}

bool mpi_call_resources::prepare_early(const intent& what, const plan& p, std::uint64_t number) {
    const bool reduces = traits(what.what.what).reduces;
    if (reduces && (what.type < 0 || what.op < 0)) return false;
    const bool named = on_.named_.number == number;
    if (!named && what.bytes == intent::unknown) return false;
    const type_info unit =
        reduces ? inspect(predefined_types()[static_cast<std::size_t>(what.type)].type) : type_info{};
    layout sizes = named ? on_.named_.sizes : layout::uniform(what.bytes / unit.size);
    sizes.skips_empty = traits(what.what.what).skips_empty();
    const auto needed = static_cast<std::size_t>(sizes.scratch_units(p.steps()) * unit.size);
    if (needed > on_.most_early_) return false;
    buffers_.bind_early(sizes, unit, p);
    transport_.bind(unit, reduces ? predefined_ops()[static_cast<std::size_t>(what.op)].op : MPI_OP_NULL, number,
                    p.steps().parts);
    return true;
}

void mpi_call_resources::prepare(const void* given, plan_cache::entry& entry, std::uint64_t number, bool begun) {
    const call_facts& c = *static_cast<const call_facts*>(given);
    const schedule& s = entry.steps.steps();
    if (c.in_place && !entry.safe_in_place)
        entry.safe_in_place = !c.traits().measured_by_input() && safe_in_place(s, c.in_place_shift() * s.parts);
    const bool safe = entry.safe_in_place.value_or(true);
    if (begun && !buffers_.bind_after(c, entry.steps, safe, on_.comm_)) {
        if (on_.named_.number == number)
            throw error("a call with other sizes than were named", "its messages are already under way",
                        "pass the sizes that were named");
        // Other ranks wait for what this one has begun. So it runs to the end without the program's data, as after a
        // message that was too long.
        buffers_.bind_nowhere(c);
        transport_.note_other_lengths();
    } else if (!begun) {
        buffers_.bind(c, entry.steps, safe, on_.comm_);
        transport_.bind(buffers_.unit(), c.op, number, s.parts);
    }
    call_ = &c;
}

std::unique_ptr<improvisation> mpi_call_resources::improvise(const intent& what, const void* given,
                                                             std::uint64_t number) {
    const call_facts& c = *static_cast<const call_facts*>(given);
    rubato::check(*what.use, what.what);
    buffers_.bind(c, dynamic_run::places(), true, on_.comm_);
    transport_.bind(buffers_.unit(), c.op, number, 0);
    return std::make_unique<dynamic_run>(*what.use, what.what, rank(on_.me_), buffers_.sizes(), buffers_.where(),
                                         transport_, on_.comm_,
                                         on_.tags_.tag(on_.tags_.first_tag(number), dynamic_run::note_message));
}

transport& mpi_call_resources::messages() {
    if (on_.clock_ == nullptr) return transport_;
    if (!recording_) recording_.emplace(transport_, *on_.clock_, on_.recorded_);
    return *recording_;
}

std::int64_t mpi_call_resources::bytes_on(rank other) const {
    return call_ != nullptr ? call_->bytes_on(other.value) : intent::unknown;
}

std::exception_ptr mpi_call_resources::finish() {
    buffers_.finish(on_.comm_);
    call_ = nullptr;
    return transport_.wrong_lengths();
}

void mpi_call_resources::abandon() noexcept {
    transport_.abandon();
    buffers_.leak();
}

void mpi_stage::exchange(std::int64_t mine) {
    posted& e = exchanges_.emplace_back();
    e.mine = mine;
    e.data.resize(static_cast<std::size_t>(ranks_));
    check(PMPI_Iallgather(&e.mine, 1, MPI_INT64_T, e.data.data(), 1, MPI_INT64_T, comm_, &e.request), "MPI_Iallgather");
}

bool mpi_stage::exchanged(std::vector<std::int64_t>& all, bool wait) {
    posted& e = exchanges_.front();
    int done = 1;
    if (wait)
        check(PMPI_Wait(&e.request, MPI_STATUS_IGNORE), "MPI_Wait");
    else
        check(PMPI_Test(&e.request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done == 0) return false;
    all = std::move(e.data);
    exchanges_.pop_front();
    return true;
}

bool mpi_stage::hear(std::vector<std::int64_t>& told) {
    rank from;
    return announcements_.receive(from, told);
}

/// Not by a blocking collective: ranks end the communicator when they like.
void mpi_stage::count_sent() {
    messages_.cancel_receives();
    counts_ = std::make_unique<counting>();
    counts_->sent = messages_.sent_to();
    for (std::size_t r = 0; r < counts_->sent.size(); ++r)
        counts_->sent[r] += announcements_.sent_to()[r] + roll_post_.sent_to()[r];
    check(PMPI_Ireduce_scatter_block(counts_->sent.data(), &counts_->expected, 1, MPI_INT64_T, MPI_SUM, comm_,
                                     &counts_->request),
          "MPI_Ireduce_scatter_block");
}

bool mpi_stage::drop_message() {
    int there = 0;
    MPI_Status status{};
    MPI_Count n = 0;
    check(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &there, &status), "MPI_Iprobe");
    if (there == 0) return false;
    check(MPI_Get_elements_x(&status, MPI_BYTE, &n), "MPI_Get_elements_x");
    std::vector<std::byte> dropped(static_cast<std::size_t>(std::max<MPI_Count>(n, 1)));
    MPI_Datatype all = large_type(n, type_info{});
    check(MPI_Recv(dropped.data(), 1, all, status.MPI_SOURCE, status.MPI_TAG, comm_, MPI_STATUS_IGNORE), "MPI_Recv");
    check(MPI_Type_free(&all), "MPI_Type_free");
    ++dropped_;
    return true;
}

bool mpi_stage::drain() {
    if (!counts_) count_sent();
    int counted = 0;
    check(PMPI_Test(&counts_->request, &counted, MPI_STATUS_IGNORE), "MPI_Test");
    while (drop_message()) {
    }  // others may need that to count theirs
    if (counted == 0) return false;
    const std::int64_t got = messages_.received() + announcements_.received() + roll_post_.received() + dropped_;
    // It would wait for ever.
    if (got > counts_->expected) throw std::logic_error("more messages have come than were sent");
    return got == counts_->expected && messages_.sends_have_left() && announcements_.sends_have_left() &&
           roll_post_.sends_have_left();
}

}  // namespace rubato::engine
