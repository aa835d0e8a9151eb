// Every algorithm for neighbour collectives against a message along each edge, and the MPI library's own: same bytes in
// the whole buffer, gaps and chunks at the border of a grid included. On grids, tori and graphs of every kind, made by
// MPI_Cart_create, MPI_Graph_create and MPI_Dist_graph_create_adjacent; blocking, started, and as persistent calls.
//
//   mpirun -n P neighbours [--sample K]
//
// Exits with 1 and the first difference if there is one.
#include "engine/mpi/process_topology.hpp"
#include "rubato/mpi.hpp"

#include "support/mpi_experiment.hpp"
#include "support/timings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

namespace {

using namespace rubato;
using rubato::testing::data;
using rubato::testing::fail;
using rubato::testing::kind;
using rubato::testing::refusal;
using rubato::testing::table;

int me = 0;
int ranks = 1;
long checked = 0;

/// The same for both ends of an edge, whichever of several edges between them it is.
std::int64_t uneven(std::int64_t count, int a, int b) { return b < 0 ? count : count * ((a + b) % 4) / 2; }

/// One rank's part of a call.
class experiment {
public:
    experiment(const graph& g, collective what, const kind& k, std::int64_t count) : traits_(traits(what)) {
        const auto sources = g.sources(rank(me));
        const auto destinations = g.destinations(rank(me));
        call_.what = what;
        call_.send_type = call_.recv_type = k.type;
        std::int64_t sent = count;
        if (traits_.irregular) {
            // A rank gives all its neighbours the same chunk in an allgatherv.
            const auto size = [&](int from, int to) {
                return traits_.wide_input ? uneven(count, from, to) : uneven(count, from, 0);
            };
            for (const neighbour& n : destinations) in_.add(size(me, n.rank));
            for (const neighbour& n : sources) out_.add(n.exists() ? size(n.rank, me) : count);
            call_.send_count = sent = size(me, 0);
            if (traits_.wide_input) {
                call_.send_chunks = in_.chunks();
                sent = in_.all;
            }
            call_.recv_chunks = out_.chunks();
            received_ = out_.all;
        } else {
            call_.send_count = call_.recv_count = count;
            if (traits_.wide_input) sent = count * static_cast<std::int64_t>(destinations.size());
            received_ = count * static_cast<std::int64_t>(sources.size());
        }
        input_ = data(k, sent);
        input_.fill(sent, static_cast<std::uint64_t>(me) + 1);
        output_ = data(k, received_);
        output_.fill(received_, 77 + static_cast<std::uint64_t>(me));
    }

    struct made {
        data in{};
        data out{};
        mpi::call c{};
    };
    made call() const {
        made m{input_, output_, call_};
        m.c.send = m.in.at(0);
        m.c.recv = m.out.at(0);
        return m;
    }
    /// The same as a w-form: each chunk has its own datatype, and its place is in bytes.
    made typed_call(const kind& k) {
        made m = call();
        MPI_Aint lower = 0;
        MPI_Aint extent = 0;
        MPI_Type_get_extent(k.type, &lower, &extent);
        const auto typed = [&](mpi::chunks& each, w_form& w) {
            w.types.assign(each.counts.size(), k.type);
            w.places.clear();
            for (const std::int64_t at : each.displacements) w.places.push_back(at * extent);
            each.displacements = w.places;
            each.types = w.types;
        };
        typed(m.c.send_chunks, sent_);
        typed(m.c.recv_chunks, got_);
        m.c.send_type = m.c.recv_type = MPI_BYTE;
        return m;
    }
    /// What a message along each edge gives.
    data by_messages(const graph& g, MPI_Comm comm) const {
        made m = call();
        const mpi::call& c = m.c;
        const auto place = [](const mpi::chunks& each, std::int64_t count, std::size_t i) {
            return each.counts.empty() ? static_cast<std::int64_t>(i) * count : each.displacements[i];
        };
        const auto size = [](const mpi::chunks& each, std::int64_t count, std::size_t i) {
            return static_cast<int>(each.counts.empty() ? count : each.counts[i]);
        };
        std::vector<MPI_Request> all;
        const auto sources = g.sources(rank(me));
        for (std::size_t i = 0; i < sources.size(); ++i)
            if (sources[i].exists())
                MPI_Irecv(m.out.at(place(c.recv_chunks, c.recv_count, i)), size(c.recv_chunks, c.recv_count, i),
                          c.recv_type, sources[i].rank, static_cast<int>(i), comm, &all.emplace_back());
        const auto destinations = g.destinations(rank(me));
        for (std::size_t i = 0; i < destinations.size(); ++i) {
            if (!destinations[i].exists()) continue;
            const bool wide = traits_.wide_input;
            MPI_Isend(m.in.at(wide ? place(c.send_chunks, c.send_count, i) : 0),
                      wide ? size(c.send_chunks, c.send_count, i) : static_cast<int>(c.send_count), c.send_type,
                      destinations[i].rank, destinations[i].chunk, comm, &all.emplace_back());
        }
        MPI_Waitall(static_cast<int>(all.size()), all.data(), MPI_STATUSES_IGNORE);
        return result(m);
    }
    data result(const made& m) const {
        if (!(m.in == input_)) fail(fmt::format("the input was changed: {}", m.in.difference(input_)));
        return m.out;
    }

private:
    struct w_form {
        std::vector<MPI_Datatype> types{};
        std::vector<std::int64_t> places{};
    };

    const collective_traits& traits_;
    mpi::call call_{};
    w_form sent_{}, got_{};
    table in_{}, out_{};
    std::int64_t received_ = 0;
    data input_{}, output_{};
};

/// MPI_Graph_create wants every edge in both directions.
MPI_Comm with_ring_graph() {
    std::vector<int> ends;
    std::vector<int> edges;
    edges.reserve(1);  // Open MPI refuses a null pointer even if there are none
    for (int r = 0; r < ranks; ++r) {
        for (const int by : {1, ranks - 1})
            if (ranks > 1) edges.push_back((r + by) % ranks);
        ends.push_back(static_cast<int>(edges.size()));
    }
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Graph_create(MPI_COMM_WORLD, ranks, ends.data(), edges.data(), 0, &made);
    return made;
}

enum class form { blocking, started, persistent };

void run(mpi::communicator& ours, const mpi::selection& how, const mpi::call& c, form f) {
    switch (f) {
        case form::blocking: return ours.run(how, c);
        case form::started: return ours.start(how, c).wait();
        case form::persistent: {
            mpi::persistent_call again = ours.prepare(how, c);
            for (int i = 0; i < 2; ++i) {
                again.start();
                again.wait();
            }
            return;
        }
    }
}

void check_on(MPI_Comm comm, const std::string& name, const std::vector<kind>& kinds, std::int64_t sample) {
    mpi::communicator ours(comm);
    if (!ours.neighbours()) fail(fmt::format("{}: no graph", name));
    std::int64_t cases = ranks;
    for (const algorithm& a : algorithms()) {
        if (!traits(a.what).on_graph || traits(a.what).reduces) continue;
        problem p;
        p.what = a.what;
        p.ranks = ranks;
        p.neighbours = ours.neighbours();
        if (unmet_need(a, p)) continue;
        const auto timings = rubato::testing::timings(a, ranks, 0);
        for (const kind& k : kinds) {
            for (const std::int64_t count : {0, 1, 10, 3000}) {
                experiment e(*ours.neighbours(), a.what, k, count);
                for (const form f : {form::blocking, form::started, form::persistent}) {
                    if (++cases % sample != 0) continue;
                    const auto& when = timings[static_cast<std::size_t>(cases) % timings.size()];
                    mpi::selection how(a);
                    how.arrivals = when.arrivals;
                    how.hosts = when.hosts;
                    const data want = e.by_messages(*ours.neighbours(), comm);
                    if (engine::libraries_agree(*ours.neighbours())) {
                        experiment::made native = e.call();
                        mpi::run_native(comm, native.c);
                        if (!(e.result(native) == want))
                            fail(fmt::format("the native {} of {} {} on {}: {}", traits(a.what).name, count, k.name,
                                             name, e.result(native).difference(want)));
                    }
                    for (const bool typed : {false, true}) {
                        if (typed && a.what != collective::neighbor_alltoallv) continue;
                        experiment::made mine = typed ? e.typed_call(k) : e.call();
                        run(ours, how, mine.c, f);
                        const data got = e.result(mine);
                        ++checked;
                        if (!(got == want))
                            fail(fmt::format("{} of {} {} on {}, form {}, w-form {}, arrivals {}: {}", a.id, count,
                                             k.name, name, static_cast<int>(f), typed, when.pattern,
                                             got.difference(want)));
                    }
                }
            }
        }
    }
}

/// Neighbour reductions, which MPI does not have, against MPI_Reduce_local over the sources in the order of ranks.
void check_reductions(MPI_Comm comm, const std::string& name, const std::vector<kind>& kinds) {
    mpi::communicator ours(comm);
    std::set<std::int32_t, std::greater<>> sources;
    for (const neighbour& n : ours.neighbours()->sources(rank(me)))
        if (n.exists()) sources.insert(n.rank);
    const auto check = [&](const algorithm& a, const kind& k, MPI_Op op, std::int64_t count, form f) {
        const auto given = [&](std::int32_t r) {
            data d(k, count);
            d.fill(count, static_cast<std::uint64_t>(r) + 1);
            return d;
        };
        const auto n = static_cast<int>(count);
        data in = given(me);
        data out = given(77 + me);
        data want = out;
        for (const std::int32_t s : sources) {
            data one = given(s);
            if (s == *sources.begin())
                MPI_Sendrecv(one.at(0), n, k.type, 0, 0, want.at(0), n, k.type, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
            else
                MPI_Reduce_local(one.at(0), want.at(0), n, k.type, op);
        }
        run(ours, a, mpi::call::neighbor_reduce(in.at(0), out.at(0), count, k.type, op), f);
        ++checked;
        if (!(in == given(me))) fail(fmt::format("{} changed its input", a.id));
        if (!(out == want))
            fail(fmt::format("{} of {} {} on {}, form {}: {}", a.id, count, k.name, name, static_cast<int>(f),
                             out.difference(want)));
    };
    for (const algorithm& a : algorithms()) {
        if (a.what != collective::neighbor_reduce) continue;
        for (const kind& k : kinds) {
            for (const MPI_Op op : k.ops) {
                int commutes = 0;
                MPI_Op_commutative(op, &commutes);
                if (commutes == 0 && a.has(need::commutative)) continue;
                for (const std::int64_t count : {0, 1, 10, 3000})
                    for (const form f : {form::blocking, form::started, form::persistent}) check(a, k, op, count, f);
            }
        }
    }
}

/// One edge, from rank 0 to rank 1: other arguments mean nothing, and may be missing.
void check_missing_arguments() {
    if (ranks < 2) return;
    MPI_Comm comm = engine::with_neighbours(MPI_COMM_WORLD, "edges:0>1");
    {
        mpi::communicator ours(comm);
        const bool sends = me == 0;
        const bool receives = me == 1;
        std::vector<int> in(100, 7);
        std::vector<int> out(100, 1);
        const auto right = [&](const char* what) {
            if (out != std::vector<int>(100, receives ? 7 : 1)) fail(fmt::format("one edge: {}", what));
            out.assign(100, 1);
            ++checked;
        };
        for (const char* id : {"neighbor_allgather/direct", "neighbor_allgather/sorted"}) {
            ours.neighbor_allgather(id, sends ? in.data() : nullptr, 100, MPI_INT, receives ? out.data() : nullptr, 100,
                                    MPI_INT);
            right(id);
        }
        ours.neighbor_alltoall({}, sends ? in.data() : nullptr, sends ? 100 : 0, MPI_INT,
                               receives ? out.data() : nullptr, receives ? 100 : 0, MPI_INT);
        right("alltoall without counts");
        ours.neighbor_reduce({}, in.data(), receives ? out.data() : nullptr, 100, MPI_INT, MPI_SUM);
        right("reduce");
        const std::vector<std::int64_t> all(1, 100);
        const std::vector<std::int64_t> first(1, 0);
        const std::vector<MPI_Datatype> types(1, MPI_INT);
        const mpi::chunks one{all, first, types};
        const mpi::chunks none{};
        const auto c =
            mpi::call::neighbor_alltoallv(sends ? in.data() : nullptr, sends ? one : none, MPI_DATATYPE_NULL,
                                          receives ? out.data() : nullptr, receives ? one : none, MPI_DATATYPE_NULL);
        ours.run({}, c);
        right("w-form");
#ifdef OPEN_MPI  // MPICH 4.0.2 reads too far if more comes than goes
        mpi::run_native(comm, c);
        right("native w-form");
#endif
    }
    MPI_Comm_free(&comm);
}

/// Around a ring, each to the next one: chunks without elements need no datatype. The lists need not live on.
void check_empty_chunks() {
    if (ranks < 3) return;  // before and behind are different ranks
    MPI_Comm comm = engine::with_neighbours(MPI_COMM_WORLD, "ring");
    {
        mpi::communicator ours(comm);
        int got = -1;
        const auto made = [&](const mpi::chunks& to, const mpi::chunks& from) {
            return mpi::call::neighbor_alltoallv(&me, to, MPI_DATATYPE_NULL, &got, from, MPI_DATATYPE_NULL);
        };
        std::optional<mpi::persistent_call> again;
        {
            const std::vector<std::int64_t> to{0, 1};
            const std::vector<std::int64_t> from{1, 0};
            const std::vector<std::int64_t> places{0, 0};
            const std::vector<MPI_Datatype> sent{MPI_DATATYPE_NULL, MPI_INT};
            const std::vector<MPI_Datatype> received{MPI_INT, MPI_DATATYPE_NULL};
            ours.run({}, made({to, places, sent}, {from, places, received}));
            if (got != (me + ranks - 1) % ranks) fail("a chunk without a datatype");
            again.emplace(ours.prepare({}, made({to, places, sent}, {from, places, received})));
        }
        for (int i = 0; i < 2; ++i) {
            got = -1;
            again->start();
            again->wait();
            if (got != (me + ranks - 1) % ranks) fail("a persistent w-form");
            ++checked;
        }
    }
    MPI_Comm_free(&comm);
}

/// Along a line, data with gaps: what the program writes at the border while the call is under way stays.
void check_border() {
    MPI_Comm comm = engine::with_neighbours(MPI_COMM_WORLD, fmt::format("grid:{}", ranks));
    MPI_Datatype gaps = MPI_DATATYPE_NULL;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gaps);
    MPI_Type_commit(&gaps);
    {
        mpi::communicator ours(comm);
        std::vector<int> in(40, me);
        std::vector<int> out(40, -1);
        mpi::request r = ours.start({}, mpi::call::neighbor_alltoall(in.data(), 10, gaps, out.data(), 10, gaps));
        if (me == 0) std::fill_n(out.begin(), 20, -2);
        if (me == ranks - 1) std::fill_n(out.begin() + 20, 20, -2);
        r.wait();
        for (int i = 0; i < 40; ++i) {
            const int from = i < 20 ? me - 1 : me + 1;
            const bool border = from < 0 || from == ranks;
            if (out[static_cast<std::size_t>(i)] != (border ? -2 : i % 2 == 1 ? -1 : from))
                fail(fmt::format("at the border: element {} is {}", i, out[static_cast<std::size_t>(i)]));
        }
        ++checked;
    }
    MPI_Type_free(&gaps);
    MPI_Comm_free(&comm);
}

void check_errors() {
    mpi::communicator ours(MPI_COMM_WORLD);
    int x = 0;
    int y = 0;
    refusal("no topology", [&] { ours.neighbor_alltoall({}, &x, 1, MPI_INT, &y, 1, MPI_INT); });
    MPI_Comm ring = engine::with_neighbours(MPI_COMM_WORLD, "ring");
    {
        mpi::communicator around(ring);
        std::vector<int> all(2);
        refusal("a negative count", [&] { around.neighbor_allgather({}, &x, -1, MPI_INT, all.data(), 1, MPI_INT); });
        const std::vector<std::int64_t> ones(2, 1);
        const std::vector<MPI_Datatype> one_type(1, MPI_INT);
        refusal("too few datatypes", [&] {
            around.neighbor_alltoallv({}, all.data(), {ones, ones, one_type}, MPI_INT, all.data(), {ones, ones},
                                      MPI_INT);
        });
        refusal("too few counts", [&] { around.neighbor_allgatherv({}, &x, 1, MPI_INT, all.data(), {}, MPI_INT); });
        refusal("another collective's algorithm",
                [&] { around.neighbor_allgather("alltoall/direct", &x, 1, MPI_INT, all.data(), 1, MPI_INT); });
        around.neighbor_allgather({}, &me, 1, MPI_INT, all.data(), 1, MPI_INT);
        if (all[0] != (me + ranks - 1) % ranks || all[1] != (me + 1) % ranks)
            fail("a call after refused ones is wrong");
    }
    MPI_Comm_free(&ring);
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    std::int64_t sample = 1;
    if (argc == 3 && std::string(argv[1]) == "--sample") sample = parse_integer(argv[2], "step", 1, 1 << 30);
    try {
        const std::vector<kind> kinds = rubato::testing::kinds();
        for (const std::string& text : graphs_to_try(ranks)) {
            MPI_Comm comm = engine::with_neighbours(MPI_COMM_WORLD, text);
            check_on(comm, text, kinds, sample);
            check_reductions(comm, text, kinds);
            MPI_Comm_free(&comm);
        }
        MPI_Comm comm = with_ring_graph();
        check_on(comm, "a graph", kinds, sample);
        MPI_Comm_free(&comm);
        check_missing_arguments();
        check_empty_chunks();
        check_border();
        check_errors();
    } catch (const std::exception& e) {
        fail(e.what());
    }
    if (me == 0) fmt::print("{} ranks: {} neighbour collectives equal the native ones\n", ranks, checked);
    MPI_Finalize();
    return checked > 0 ? 0 : 1;
}
