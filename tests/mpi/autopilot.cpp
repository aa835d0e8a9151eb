// Mode auto and mode force on MPI. Results equal the native collective's, all ranks decide alike, a plan replaces a
// slow native collective, and calls that Rubato cannot make stay native.
//
//   mpirun -n P autopilot
#include "dropin/preload/autopilot.hpp"

#include "dropin/observe/notes.hpp"
#include "support/mpi_experiment.hpp"

#include <array>
#include <chrono>
#include <deque>
#include <random>
#include <thread>

namespace {

using namespace rubato;
using namespace std::chrono_literals;
using dropin::autopilot;
using testing::data;
using testing::experiment;
using testing::fail;
using testing::kind;

constexpr const char* fast = "loggp:L=10us,o=2us,g=2us,G=1ns,combine=0.1ns,rendezvous=64KiB";

int me = 0;
int ranks = 1;

/// All ranks must have decided the same.
void compare(const std::string& explained) {
    const auto mine = static_cast<std::int64_t>(std::hash<std::string>()(explained) >> 2);
    std::int64_t both[2]{mine, -mine};
    MPI_Allreduce(MPI_IN_PLACE, both, 2, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
    if (both[0] != -both[1]) testing::fail(fmt::format("other ranks have decided otherwise than here:\n{}", explained));
}

struct pilot {
    std::string explained{};
    int native_calls = 0;
    autopilot it;

    explicit pilot(const autopilot::settings& how)
        : it(MPI_COMM_WORLD, how,
             [this](const dropin::decision& d) { explained += fmt::format("{}\n", dropin::to_line(d)); }) {}

    /// Makes the call, by a plan or natively; a native call takes `native_takes` longer.
    void make(const experiment& e, time_ns native_takes, time_ns late) {
        const data want = e.native();
        experiment::made m = e.call();
        std::this_thread::sleep_for(late);
        const int before = native_calls;
        const int code = it.run(engine::call_facts(m.c, me, ranks, {}), 0, [&] {
            ++native_calls;
            std::this_thread::sleep_for(native_takes);
            m.out = want;
            return MPI_SUCCESS;
        });
        if (code != MPI_SUCCESS) testing::fail(fmt::format("{}: error {}", traits(m.c.what).name, code));
        if (!e.promises_nothing_here() && !(e.result(m) == want))
            testing::fail(fmt::format("{}, {}: {}", traits(m.c.what).name,
                                      native_calls > before ? "native" : "by a plan", e.result(m).difference(want)));
    }
};

const kind& doubles() {
    static const kind k = testing::plain<double>("double", MPI_DOUBLE);
    return k;
}

experiment of_doubles(collective what, std::int64_t count, int root) {
    return {MPI_COMM_WORLD, what, doubles(), traits(what).reduces ? MPI_SUM : MPI_OP_NULL, count, root, false};
}

/// One rank is always late, and the native collective takes this long. Does a plan replace it?
bool replaced(const std::string& model, time_ns native_takes) {
    autopilot::settings how;
    how.careful.spend = 100;
    how.model = model;
    pilot p(how);
    const experiment e = of_doubles(collective::allreduce, 10000, 0);
    for (int i = 0; i < 30; ++i) p.make(e, native_takes, me == ranks - 1 ? 3ms : 0ms);
    compare(p.explained);
    const auto said = [&](const char* what) { return p.explained.find(what) != std::string::npos; };
    if (!said(R"("decision":"tried")")) testing::fail(fmt::format("nothing was tried: {}", p.explained));
    return said(R"("decision":"kept")") && p.native_calls <= 25;
}

/// On a busy machine a plan may be slow, too. Then the native collective is made slower.
void check_wins(const std::string& model) {
#ifdef MPICH_VERSION
    replaced(model, 40ms);  // or not: MPICH spins, and where cores are short a plan may take any time
#else
    for (time_ns native_takes = 40ms; !replaced(model, native_takes); native_takes *= 4)
        if (native_takes > 500ms) testing::fail("a native collective that is slow was not replaced");
#endif
}

/// Collectives of any kind in any order.
void check_random(std::uint64_t seed) {
    static const std::vector<kind> kinds = testing::kinds();
    std::mt19937_64 random(seed);
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    autopilot::settings how;
    how.careful.spend = 100;
    how.model = fast;
    how.background = seed % 2 == 0;
    how.careful.margin = 0.01;
    if (seed == 3) how.leave = {collective::bcast, collective::alltoall};
    if (seed == 4) how.reproducible = true;
    pilot p(how);
    // A few calls many times, so that there is something to decide.
    std::deque<experiment> all;  // they must stay where they are
    while (all.size() < 6) {
        const collective what = collectives()[below(collectives().size())].what;
        if (traits(what).on_graph) continue;  // the world has no topology
        const kind& k = kinds[below(kinds.size())];
        const bool reduces = traits(what).reduces;
        if (reduces && k.ops.empty()) continue;
        const MPI_Op op = reduces ? k.ops[below(k.ops.size())] : MPI_OP_NULL;
        const std::int64_t count = std::array{3, 2000, 6000, 9000}[below(4)];
        const int root = static_cast<int>(below(static_cast<std::size_t>(ranks)));
        const bool in_place = below(4) == 0 && what != collective::alltoallv;
        all.emplace_back(MPI_COMM_WORLD, what, k, op, count, root, in_place);
    }
    for (int i = 0; i < 100; ++i) p.make(all[below(all.size())], 1ms, time_ns(i % ranks == me ? 300us : 0us));
    compare(p.explained);
}

/// Forces every algorithm on large and small calls of its collective; calls of other collectives stay native.
void check_forced(bool background) {
    for (const algorithm& a : algorithms()) {
        if ((background && !a.early) || traits(a.what).on_graph) continue;
#ifdef MPICH_VERSION
        if ((&a - algorithms().data()) % 4 != 0) continue;
#endif
        autopilot::settings how;
        how.careful.spend = 100;
        how.force = {&a};
        how.background = background;
        how.model = fast;
        pilot p(how);
        for (const std::int64_t count : {7, 5000}) {
            const experiment e = of_doubles(a.what, count, ranks - 1);
            for (int i = 0; i < 4; ++i) p.make(e, 0us, me == 0 ? 200us : 0us);
        }
        problem plain;
        plain.what = a.what;
        plain.ranks = ranks;
        if (!unmet_need(a, plain) && p.native_calls > 0) testing::fail(fmt::format("{} was not used", a.id));
        const int before = p.native_calls;
        p.make(of_doubles(a.what == collective::bcast ? collective::gather : collective::bcast, 5000, 0), 0us, 0us);
        if (p.native_calls != before + 1) testing::fail(fmt::format("{} forced another collective", a.id));
        compare(p.explained);
    }
}

/// What a rank finds out about a call, and what it refuses.
void check_facts() {
    const auto facts = [](const mpi::call& c) { return engine::call_facts(c, me, ranks, {}); };
    std::vector<double> x(100), y(100 * static_cast<std::size_t>(ranks));
    const auto refused = [&](const char* what, const mpi::call& c) {
        if (!facts(c).wrong) testing::fail(fmt::format("{} is taken", what));
    };
    refused("a negative count", mpi::call::allreduce(x.data(), y.data(), -1, MPI_DOUBLE, MPI_SUM));
    refused("no datatype", mpi::call::allreduce(x.data(), y.data(), 100, MPI_DATATYPE_NULL, MPI_SUM));
    refused("no operator", mpi::call::allreduce(x.data(), y.data(), 100, MPI_DOUBLE, MPI_OP_NULL));
    const std::vector<std::int64_t> few(static_cast<std::size_t>(ranks - 1), 1);
    refused("too few counts", mpi::call::reduce_scatter(x.data(), y.data(), few, MPI_DOUBLE, MPI_SUM));
    refused("nowhere to receive", mpi::call::allreduce(x.data(), MPI_IN_PLACE, 100, MPI_DOUBLE, MPI_SUM));
    refused("no buffer", mpi::call::allreduce(x.data(), nullptr, 100, MPI_DOUBLE, MPI_SUM));
    refused("one buffer", mpi::call::allreduce(x.data(), x.data(), 100, MPI_DOUBLE, MPI_SUM));
    if (facts(mpi::call::allreduce(nullptr, nullptr, 0, MPI_DOUBLE, MPI_SUM)).wrong)
        testing::fail("no data needs a buffer");

    const auto expect = [](bool yes, const char* what) {
        if (!yes) testing::fail(fmt::format("facts of a call: {}", what));
    };
    const engine::call_facts untyped =
        facts(mpi::call::gather(x.data(), 100, MPI_DOUBLE, y.data(), 100, MPI_DATATYPE_NULL, 1));
    expect((untyped.wrong != nullptr) == (me == 1), "its root alone sees what is wrong with a gather's output");
    expect(untyped.agreed_bytes == 800, "what is wrong at the root alone does not hide the size");
    const engine::call_facts all_untyped =
        facts(mpi::call::scatter(y.data(), 100, MPI_DOUBLE, x.data(), 100, MPI_DATATYPE_NULL, 1));
    expect(all_untyped.agreed_bytes == engine::intent::unknown, "what is wrong on all ranks hides it from all");
    std::vector<std::int64_t> counts, places;
    for (int r = 0; r < ranks; ++r) {
        counts.push_back(r + 1);
        places.push_back(100L * r);
    }
    const engine::call_facts gatherv =
        facts(mpi::call::gatherv(x.data(), me + 1, MPI_DOUBLE, y.data(), {counts, places}, MPI_DOUBLE, 1));
    expect(gatherv.bytes == 8L * (me + 1), "a rank knows its own chunk");
    expect(gatherv.agreed_bytes == engine::intent::unknown, "not all know all chunks of a gatherv");
    expect(gatherv.bytes_on(0) == (me == 1 ? 8 : engine::intent::unknown), "its root knows them");
    expect(gatherv.out.used == (me == 1), "its root alone has an output");
    expect(gatherv.largest_buffer() == (me == 1 ? 4L * ranks * (ranks + 1) : 8L * (me + 1)),
           "its root has the largest buffer");
    // Some ranks may have no data, and the chunks may lie apart.
    expect(!facts(mpi::call::alltoallv(y.data(), {counts, places}, MPI_DOUBLE, y.data(), {counts, places}, MPI_DOUBLE))
                .wrong,
           "one buffer for an alltoallv");
    const engine::call_facts in_place =
        facts(mpi::call::allgatherv(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, y.data(), {counts, places}, MPI_DOUBLE));
    expect(in_place.in_place && in_place.in.first == 100L * me && in_place.bytes == 8L * (me + 1),
           "in place the input is the own chunk");
    expect(in_place.agreed_bytes == 4L * (ranks + 1), "all know the chunks of an allgatherv");
    const engine::call_facts exscan = facts(mpi::call::exscan(MPI_IN_PLACE, y.data(), 100, MPI_INT, MPI_MAX));
    expect(exscan.in_place && exscan.in.address == y.data() && exscan.out.used == (me != 0), "of an exscan in place");
    expect(exscan.exact() && exscan.idempotent() && exscan.commutative, "the greatest of integers");
    const engine::call_facts sum = facts(mpi::call::scan(x.data(), y.data(), 100, MPI_DOUBLE, MPI_SUM));
    expect(!sum.exact() && !sum.idempotent() && sum.commutative, "a sum of floating point numbers");
}

bool concerned(const autopilot::settings& how, const mpi::call& c) {
    return autopilot::concerns(how, engine::call_facts(c, me, ranks, {}));
}

void check_native() {
    autopilot::settings how;
    how.careful.spend = 100;
    how.model = fast;
    std::vector<double> x(40000), y(x.size() * static_cast<std::size_t>(ranks));
    const mpi::call c = mpi::call::allreduce(x.data(), y.data(), 40000, MPI_DOUBLE, MPI_SUM);
    if (!concerned(how, c)) testing::fail("a large call is left alone");
    if (concerned(how, mpi::call::allreduce(x.data(), y.data(), 2000, MPI_DOUBLE, MPI_SUM)))
        testing::fail("a small call is looked at");
    const mpi::call gathered = mpi::call::allgather(x.data(), 2000, MPI_DOUBLE, y.data(), 2000, MPI_DOUBLE);
    if (concerned(how, gathered) != (ranks * 16000 >= 16384))
        testing::fail("an allgather is as large as what comes out of it");
    if (concerned(how, mpi::call::reduce(x.data(), y.data(), 40000, MPI_DOUBLE, MPI_SUM, ranks)))
        testing::fail("a root that is not there is looked at");
    autopilot::settings left = how;
    left.leave = {collective::allreduce};
    if (concerned(left, c)) testing::fail("what is to be left alone is looked at");

    // Sums of floating point numbers in reproducible mode, and return codes of native calls.
    how.reproducible = true;
    how.force = {&find_algorithm("allreduce/ring")};
    pilot p(how);
    const auto native = [&p] {
        ++p.native_calls;
        return MPI_ERR_OTHER;
    };
    const auto made = [&](const mpi::call& one) { return p.it.run(engine::call_facts(one, me, ranks, {}), 0, native); };
    if (made(c) != MPI_ERR_OTHER) testing::fail("a sum of doubles was reordered");
    std::vector<int> i(10000, 1), j(i.size());
    if (made(mpi::call::allreduce(i.data(), j.data(), 10000, MPI_INT, MPI_SUM)) != MPI_SUCCESS || j.back() != ranks)
        testing::fail("a sum of integers was not made");
}

void check_settings() {
    autopilot::settings how;
    how.careful.spend = 100;
    how.model = "nonsense";
    const std::string said = testing::refusal("nonsense", [&] { pilot p(how); });
    if (said.find("nonsense") == std::string::npos) testing::fail(fmt::format("'{}' does not say what is wrong", said));
}

}  // namespace

int main(int argc, char** argv) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    check_settings();
    check_facts();
    check_native();
    check_wins(fast);
    check_wins("");
    for (std::uint64_t seed = 1; seed <= 5; ++seed) check_random(seed);
    check_forced(false);
    check_forced(true);
    MPI_Finalize();
    if (me == 0) fmt::print("{} ranks are directed alike\n", ranks);
}
