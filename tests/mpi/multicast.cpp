// Broadcasts over multicast that loses some, most or all of its datagrams, with late ranks, noise, all datatypes and
// roots; and that all ranks go another way where multicast does not work. Ranks count as hosts of their own, and
// datagrams go over loopback: run it by tests/mpi/multicast_alone, in a network without a way out.
//
//   mpirun -n P multicast [--beside | --through INTERFACE]
//
// --beside: less of it, while another job does the same. --through: less of it, through another interface, where ranks
// of one machine hear each other only if they ask for it, and which is in five networks.
#include "rubato/multicast.hpp"

#include "support/lossy_sockets.hpp"
#include "support/mpi_experiment.hpp"

#include <chrono>
#include <random>
#include <thread>

namespace {

using namespace rubato;
using testing::fail;
using testing::kind;
using testing::refusal;
using wait = mpi::multicast_settings::wait;

int me = 0;
int ranks = 1;
std::vector<kind> all_kinds;
std::string interface_name = "lo";
std::int64_t notes_sent = 0;
std::int64_t notes_received = 0;

mpi::settings each_on_a_host() {
    mpi::settings s;
    for (int r = 0; r < ranks; ++r) s.hosts.push_back(r);
    return s;
}

mpi::multicast_settings over_loopback(bool insist, wait for_what = wait::nothing) {
    return {.interface_name = interface_name,
            .root_waits_for = for_what,
            .delay = std::chrono::microseconds(300),
            .insist = insist};
}

void check_bcast(mpi::multicast& m, const kind& k, std::int64_t n, int root, std::uint64_t seed) {
    testing::data expected(k, n);
    expected.fill(n, seed);
    testing::data mine(k, n);
    mine.fill(n, me == root ? seed : seed + 1000 + static_cast<std::uint64_t>(me));
    m.bcast(mine.at(0), n, k.type, root);
    if (!(mine == expected))
        testing::fail(fmt::format("{} of {}, root {}, seed {}: {}", n, k.name, root, seed, mine.difference(expected)));
}

/// Calls in a row, most without a pause.
void check_calls(mpi::multicast& m, int calls, std::uint32_t seed) {
    std::mt19937 shared(seed);
    std::mt19937 own(seed + 77 * static_cast<std::uint32_t>(me) + 1);
    const std::int64_t counts[]{0, 1, 10, 100, 170, 360, 499, 1000, 2000, 20000};
    for (int n = 0; n < calls; ++n) {
        const kind& k = all_kinds[shared() % all_kinds.size()];
        const std::int64_t count = n % 20 == 7 ? 60000 : counts[shared() % 10];
        const int root = static_cast<int>(shared() % static_cast<unsigned>(ranks));
        if (own() % 10 == 0) std::this_thread::sleep_for(std::chrono::microseconds(own() % 3000));
        if (own() % 10 == 0) {  // of somebody else in the group: too short, or with a head like ours
            std::uint64_t raw[6]{0x31206f7461627552, own(), static_cast<std::uint64_t>(n), 8, 0, own()};
            testing::cast_noise(std::as_bytes(std::span(raw)).first(own() % sizeof raw + 1));
        }
        check_bcast(m, k, count, root, std::uint64_t{seed} * 1000 + static_cast<std::uint64_t>(n));
    }
}

void expect(bool right, const std::string& what) {
    if (!right) testing::fail(what);
}

/// Before anything is cast that should be lost.
void lose_from_now_on(double share) {
    testing::lose(share);
    MPI_Barrier(MPI_COMM_WORLD);
}

/// Of all ranks.
std::int64_t sum(std::int64_t mine) {
    MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    return mine;
}

void check_losses(mpi::communicator& world, int calls) {
    for (const wait w : {wait::nothing, wait::delay, wait::one_rank})
        for (const double lost : {0.0, 0.01, 0.1, 0.5, 0.9, 1.0}) {
            mpi::multicast m(world, over_loopback(true, w));
            expect(m.works(), "it does not work: " + m.why_not());
            lose_from_now_on(lost);
            check_calls(m, calls, static_cast<std::uint32_t>(100 * lost) + 1000 * static_cast<std::uint32_t>(w));
            testing::lose(0);
            const std::int64_t heard = sum(m.counts().heard);
            const std::int64_t missed = sum(m.counts().missed);
            const double share = static_cast<double>(missed) / static_cast<double>(heard + missed);
            expect(heard + missed > 0, "nothing was counted");
            expect(std::abs(share - lost) < 0.2, fmt::format("{} was to be lost, and {} was", lost, share));
            expect(m.counts().by_tree == 0, "it did not insist");
        }
}

/// Ranks of which one hears nothing: nobody else loses, and all have the data.
void check_one_deaf(mpi::communicator& world) {
    mpi::multicast m(world, over_loopback(true));
    lose_from_now_on(me == ranks / 2 ? 1 : 0);
    check_calls(m, 40, 5);
    testing::lose(0);
    if (me == ranks / 2) expect(m.counts().heard == 0, "the deaf rank has heard something");
    if (me != ranks / 2) expect(m.counts().heard > m.counts().missed, "another rank has lost most");
}

/// Ranks that come so late that they hear all at once need no notes: MPI must not have to keep them.
void check_notes(mpi::communicator& world) {
    for (const std::int64_t count : {10, 3000}) {
        mpi::multicast m(world, over_loopback(true));
        notes_sent = notes_received = 0;
        for (std::uint64_t n = 0; n < 400; ++n) {
            if (me != 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
            check_bcast(m, all_kinds[0], count, 0, n);
        }
        const std::int64_t kept = sum(notes_sent) - sum(notes_received);
        expect(sum(notes_sent) >= 400, "no notes were sent");
        expect(kept < 150L * (ranks - 1), fmt::format("MPI keeps {} notes of {}", kept, sum(notes_sent)));
    }
}

/// The same words on all ranks.
void expect_why(const mpi::multicast& m, const std::string& part) {
    const std::string why = m.why_not();
    expect(why.find(part) != std::string::npos, fmt::format("'{}' instead of '{}'", why, part));
    std::uint64_t hash[2]{std::hash<std::string>()(why), ~std::hash<std::string>()(why)};
    MPI_Allreduce(MPI_IN_PLACE, hash, 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    expect(hash[0] == ~hash[1], "ranks say different things: " + why);
}

/// Without multicast, all calls are trees.
void check_fallback(mpi::communicator& on, const mpi::multicast_settings& how, const std::string& why) {
    mpi::multicast m(on, how);
    expect(!m.works(), "it works: " + why);
    expect_why(m, why);
    check_calls(m, 10, 3);
    expect(m.counts().by_tree == 10 && m.counts().calls == 0, "calls were multicast: " + why);
}

void check_fallbacks(mpi::communicator& world, mpi::communicator& host) {
    check_fallback(host, over_loopback(true), "all ranks are on one host");
    mpi::multicast_settings wrong;
    wrong.interface_name = "nonesuch";
    check_fallback(world, wrong, "rank 0: no interface 'nonesuch'");
    check_fallback(world, {}, "rank 0 has no interface for multicast");
    testing::refuse_groups(me == ranks - 1);
    check_fallback(world, over_loopback(true), fmt::format("rank {}: no multicast through lo", ranks - 1));
    testing::refuse_groups(false);
    testing::lose(me == ranks - 1 ? 1 : 0);
    check_fallback(world, over_loopback(false), fmt::format("rank {}: of 16 datagrams of rank 0, 0 came", ranks - 1));
    testing::lose(0);
}

void check_advice(mpi::communicator& world) {
    testing::give_small_buffers(true);
    const mpi::multicast m(world, over_loopback(false));
    testing::give_small_buffers(false);
    expect(m.advice().starts_with("its socket holds 64 KiB"), "small buffers are not seen: " + m.advice());
}

/// More networks than are tried.
void check_many_networks(mpi::communicator& world) {
    testing::lose(1);
    check_fallback(world, {}, "not tried: 1 more of rank 0's networks");
    testing::lose(0);
}

/// Multicast that begins well and gets worse: all ranks change to the tree at the same call.
void check_change(mpi::communicator& world) {
    mpi::multicast m(world, over_loopback(false));
    expect(m.works() && m.why_not().empty(), "it does not work: " + m.why_not());
    for (int n = 0; n < 64; ++n) check_bcast(m, all_kinds[0], 10, n % ranks, static_cast<std::uint64_t>(n));
    expect(m.counts().by_tree == 0, "it has given up though little was lost");
    lose_from_now_on(1);
    for (int n = 0; n < 100; ++n) check_bcast(m, all_kinds[0], 10, n % ranks, static_cast<std::uint64_t>(n));
    expect_why(m, "100 % of the fragments of small messages were lost");
    expect(m.works(), "large messages were not tried yet");
    for (int n = 0; n < 100; ++n) check_bcast(m, all_kinds[0], 3000, n % ranks, static_cast<std::uint64_t>(n));
    testing::lose(0);
    expect(!m.works(), "it goes on though all is lost");
    const std::uint64_t by_tree = m.counts().by_tree;
    expect(by_tree > 100 && by_tree < 180, fmt::format("{} calls went by the tree", by_tree));
}

void check_two_groups(mpi::communicator& world) {
    mpi::communicator other(MPI_COMM_WORLD, each_on_a_host());
    mpi::multicast first(world, over_loopback(false));
    mpi::multicast second(other, over_loopback(false));
    std::vector<mpi::request> under_way;
    std::vector<std::vector<std::int64_t>> sums(20);
    for (std::uint64_t n = 0; n < 20; ++n) {  // and calls of the communicator that go on meanwhile
        sums[n].assign(5000, static_cast<std::int64_t>(n));
        under_way.push_back(
            world.start({}, mpi::call::allreduce(MPI_IN_PLACE, sums[n].data(), 5000, MPI_INT64_T, MPI_SUM)));
        check_bcast(first, all_kinds[n % all_kinds.size()], 900, static_cast<int>(n) % ranks, n);
        check_bcast(second, all_kinds[0], 900, 0, n + 100);
    }
    mpi::wait_all(under_way);
    for (std::uint64_t n = 0; n < 20; ++n)
        expect(sums[n].back() == static_cast<std::int64_t>(n) * ranks, "a sum is wrong");
}

void check_refusals(mpi::communicator& world) {
    int value = me;
    const auto refused = [&](const char* what, void* data, int count, int root) {
        mpi::multicast m(world, over_loopback(false));
        check_calls(m, 5, 9);
        const std::string why = testing::refusal(what, [&] { m.bcast(data, count, MPI_INT, root); });
        const std::string usual = testing::refusal(what, [&] { world.bcast({}, data, count, MPI_INT, root); });
        expect(why == usual, fmt::format("'{}' instead of '{}'", why, usual));
        testing::refusal("a call after one that has failed", [&] { m.bcast(&value, 1, MPI_INT, 0); });
    };
    refused("a root that there is not", &value, 1, ranks);
    refused("a negative count", &value, -1, 0);
    refused("no buffer", nullptr, 10, 0);
    mpi::multicast_settings early;
    early.root_waits_for = wait::delay;
    early.delay = -time_ns(1);
    testing::refusal("a negative delay", [&] { const mpi::multicast never(world, early); });
}

/// A job hears nothing of another: no more comes than its own ranks have sent.
void check_beside(mpi::communicator& world) {
    mpi::multicast m(world, over_loopback(false));
    expect(m.works(), "it does not work: " + m.why_not());
    for (int n = 0; n < 300; ++n)
        check_bcast(m, all_kinds[static_cast<std::size_t>(n) % all_kinds.size()], 1000, n % ranks,
                    static_cast<std::uint64_t>(n) + 4711);
    const std::int64_t sent = sum(static_cast<std::int64_t>(m.counts().sent));
    const auto received = static_cast<std::int64_t>(m.counts().received);
    expect(received <= sent && received > 0, fmt::format("{} datagrams came of {}", received, sent));
}

}  // namespace

/// The library's notes go through here.
extern "C" int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                         MPI_Request* request) {
    ++notes_sent;
    return PMPI_Isend(data, count, type, to, tag, comm, request);
}
extern "C" int MPI_Mrecv(void* data, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
    ++notes_received;
    return PMPI_Mrecv(data, count, type, message, status);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    all_kinds = testing::kinds();
    try {
        mpi::communicator world(MPI_COMM_WORLD, each_on_a_host());
        if (argc == 3 && std::string(argv[1]) == "--through") {
            interface_name = argv[2];
            check_losses(world, 10);
            check_many_networks(world);
        } else if (argc == 2 && std::string(argv[1]) == "--beside") {
            check_beside(world);
            check_losses(world, 10);
        } else {
            mpi::communicator host(MPI_COMM_WORLD);
            check_losses(world, 40);
            check_one_deaf(world);
            check_notes(world);
            check_fallbacks(world, host);
            check_advice(world);
            check_change(world);
            check_two_groups(world);
            check_refusals(world);
        }
    } catch (const std::exception& e) {
        testing::fail(e.what());
    }
    if (me == 0) fmt::print("{} ranks: broadcasts over multicast are right\n", ranks);
    MPI_Finalize();
    return 0;
}
