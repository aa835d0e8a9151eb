// Wrong use of the C++ interface for arrivals: a clear error, no hang, and the communicator can still be used.
//
//   mpirun -n P misuse [--core]    --core: asks for a processor core that does not exist
#include "support/mpi_experiment.hpp"

#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <thread>

namespace {

using namespace rubato;
using testing::fail;
using testing::refusal;

int me = 0;
int ranks = 1;
int checked = 0;

/// It must be refused, with all these words.
void refuse(const char* what, const std::function<void()>& f, std::initializer_list<const char*> words) {
    const std::string said = testing::refusal(what, f);
    for (const char* w : words)
        if (said.find(w) == std::string::npos)
            testing::fail(fmt::format("{}: the error does not say '{}': {}", what, w, said));
    ++checked;
}

mpi::call reduce_call(const int* in, int* out, int count, MPI_Op op = MPI_SUM, int root = 0) {
    return mpi::call::reduce(in, out, count, MPI_INT, op, root);
}

void works(mpi::communicator& ours) {
    const int x = me;
    int sum = 0;
    ours.reduce("reduce/binomial+early", &x, &sum, 1, MPI_INT, MPI_SUM, 0);
    if (me == 0 && sum != ranks * (ranks - 1) / 2) testing::fail("a reduction after misuse is wrong");
}

void check_edges() {
    mpi::communicator ours(MPI_COMM_WORLD);
    refuse("an edge before the start", [&] { ours.edge(0.5); }, {"outside of a computation"});
    refuse("an end before the start", [&] { ours.processing_end(); }, {"not started"});
    ours.processing_start();
    for (const double f : {0.0, 1.0, -1.0, 2.0, std::nan(""), std::numeric_limits<double>::infinity()})
        refuse("a wrong fraction", [&] { ours.edge(f); }, {"fraction", "above 0 and below 1"});
    ours.edge(std::numeric_limits<double>::denorm_min());
    works(ours);
    ours.edge(0.5);
    ours.processing_end();
    refuse("an edge after the end", [&] { ours.edge(0.5); }, {"outside of a computation"});
    works(ours);
}

/// All ranks name one call and make another one.
void check_broken_promise(const char* what, const mpi::selection& named, const mpi::call& first,
                          const mpi::selection& called, const mpi::call& second, const char* word = "was named") {
    mpi::communicator ours(MPI_COMM_WORLD);
    works(ours);
    ours.expect(named, first);
    // What is begun, and what is not yet.
    if (checked % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(3));
    refuse(what, [&] { ours.run(called, second); }, {word});
    refuse("a call after a broken promise", [&] { works(ours); }, {"cannot be used any more"});
    refuse("naming after a broken promise", [&] { ours.expect(named, first); }, {"cannot expect"});
    MPI_Barrier(MPI_COMM_WORLD);
}

void check_broken_promises() {
    std::vector<int> in(5000, me);
    std::vector<int> out(static_cast<std::size_t>(5000 * ranks));
    const mpi::selection early("reduce/chain+early");
    const mpi::call sum = reduce_call(in.data(), out.data(), 5000);
    const mpi::call bcast = mpi::call::bcast(in.data(), 5000, MPI_INT, 0);
    const mpi::call floats = mpi::call::reduce(in.data(), out.data(), 5000, MPI_FLOAT, MPI_SUM, 0);
    for (int i = 0; i < 2; ++i) {
        check_broken_promise("another collective", early, sum, "bcast/binomial+early", bcast,
                             "bcast/binomial+early is called where reduce/chain+early was named");
        check_broken_promise("another algorithm", early, sum, "reduce/binomial+early", sum,
                             "reduce/binomial+early is called where reduce/chain+early was named");
        check_broken_promise("another root", early, sum, early,
                             reduce_call(in.data(), out.data(), 5000, MPI_SUM, ranks - 1));
        check_broken_promise("another count", early, sum, early, reduce_call(in.data(), out.data(), 4999));
        check_broken_promise("another operator", early, sum, early, reduce_call(in.data(), out.data(), 5000, MPI_PROD));
        check_broken_promise("another datatype", early, sum, early, floats);
    }
    check_broken_promise("a negative count", early, sum, early, reduce_call(in.data(), out.data(), -1), "count -1");
    // Known to the root alone: its own chunk is as named, another rank's is larger. It has begun before it is called.
    std::vector<std::int64_t> few(static_cast<std::size_t>(ranks), 1);
    std::vector<std::int64_t> many(static_cast<std::size_t>(ranks), 5000);
    few.front() = many.front() = 1;
    std::vector<std::int64_t> places;
    for (int r = 0; r < ranks; ++r) places.push_back(5000L * r);
    const auto gatherv = [&](std::vector<std::int64_t>& counts) {
        return mpi::call::gatherv(in.data(), me == 0 ? 1 : counts.back(), MPI_INT, out.data(), {counts, places},
                                  MPI_INT, 0);
    };
    mpi::communicator ours(MPI_COMM_WORLD);
    works(ours);
    const mpi::selection sorted("gatherv/sorted_linear_sync+early");
    ours.expect(sorted, gatherv(few));
    while (ours.begun_early() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    refuse("other sizes", [&] { ours.run(sorted, gatherv(many)); }, {me == 0 ? "other sizes" : "was named"});
    MPI_Barrier(MPI_COMM_WORLD);
}

void check_order_of_calls() {
    mpi::communicator ours(MPI_COMM_WORLD);
    const int x = 1;
    int sum = 0;
    const mpi::selection early("reduce/binomial+early");
    ours.expect(early, reduce_call(&x, &sum, 1));
    ours.expect(early, reduce_call(&x, &sum, 1));
    refuse("two names", [&] { ours.expect("reduce/chain+early", reduce_call(&x, &sum, 1)); },
           {"reduce/chain+early is expected where reduce/binomial+early was named"});
    mpi::persistent_call call = ours.prepare(early, reduce_call(&x, &sum, 1));
    // The other ranks cannot have arrived, so the call is still under way.
    const auto second = [&] {
        if (me != 0) return;
        call.start();
        refuse("a second start", [&] { call.start(); }, {"still under way"});
    };
    second();
    MPI_Barrier(MPI_COMM_WORLD);
    if (me != 0) call.start();
    call.wait();
    call.wait();
    if (!call.test()) testing::fail("a call that has ended is under way");
    if (me == 0 && sum != ranks) testing::fail("a reduction beside misuse is wrong");
    works(ours);
    // An algorithm that chooses while it runs may be named, too.
    for (const algorithm& a : algorithms()) {
        if (a.dynamic == nullptr || a.what != collective::reduce) continue;
        ours.expect(a, reduce_call(&x, &sum, 1));
        ours.reduce(a, &x, &sum, 1, MPI_INT, MPI_SUM, 0);
        if (me == 0 && sum != ranks) testing::fail(fmt::format("{} after it was named is wrong", a.id));
    }
}

/// A refused call ends its name: a later announcement has other sizes.
void check_refused_name() {
    mpi::settings how;
    how.background = false;
    how.from_bytes = 0;
    mpi::communicator ours(MPI_COMM_WORLD, how);
    works(ours);
    std::vector<int> in(3000, 1);
    std::vector<int> out(3000);
    const mpi::selection early("reduce/chain+early");
    const mpi::call outside = reduce_call(in.data(), out.data(), 3000, MPI_SUM, ranks);
    ours.expect(early, outside);
    refuse("a root outside", [&] { ours.run(early, outside); }, {"root"});
    const std::uint64_t before = ours.begun_early();
    MPI_Barrier(MPI_COMM_WORLD);  // nothing of the next call is announced before it is counted
    if (me == 0)
        while (ours.begun_early() == before) ours.progress();
    ours.run(early, reduce_call(in.data(), out.data(), 7));
    if (me == 0 && out[6] != ranks) testing::fail("a reduction after a refused one is wrong");
    works(ours);
}

/// Rank 0 sends more than others expect. They are told, and all goes on.
void check_other_lengths(MPI_Comm comm) {
    mpi::communicator ours(comm);
    std::vector<int> data(6000, me);
    for (const std::string_view id : {"bcast/linear", "bcast/chain+early"}) {
        works(ours);
        const std::uint64_t before = ours.begun_early();
        // Nothing of the next call is announced before it is counted; and mostly its message is there, and has failed,
        // before a rank waits for it.
        MPI_Barrier(comm);
        if (me == 0) ours.bcast(id, data.data(), 5100, MPI_INT, 0);
        // As announced by rank 0, before this one calls.
        while (me != 0 && id.ends_with("+early") && ours.begun_early() == before)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (me != 0)
            refuse("a message that is too long", [&] { ours.bcast(id, data.data(), 5000, MPI_INT, 0); }, {"runcated"});
        works(ours);
    }
    int class_of_error = MPI_SUCCESS;
    try {
        ours.bcast("bcast/linear", data.data(), me == 0 ? 5100 : 5000, MPI_INT, 0);
    } catch (const mpi::truncated& e) {
        MPI_Error_class(e.code(), &class_of_error);
    }
    if (class_of_error != (me == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE))
        testing::fail("the error of a message that is too long");
    works(ours);
}

std::atomic<int> handled = 0;
void count_error(MPI_Comm*, int*, ...) { ++handled; }

/// An error of the program's own, in a call that names no communicator. Open MPI calls no handler for it.
[[maybe_unused]] void receive_too_much() {
    const std::array<int, 2> sent{1, 2};
    int received = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&received, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
    MPI_Send(sent.data(), 2, MPI_INT, 0, 0, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/// Whatever the error handlers, all goes on; those of the program are called for its own errors.
void check_error_handlers() {
#ifndef MPICH_VERSION  // with MPICH it ends the program, as its handler says
    check_other_lengths(MPI_COMM_WORLD);
#endif
    MPI_Comm returning = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &returning);
    MPI_Comm_set_errhandler(returning, MPI_ERRORS_RETURN);
    check_other_lengths(returning);
    MPI_Comm_free(&returning);

    MPI_Errhandler counting = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(count_error, &counting);
    for (MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(comm, counting);
    for (int i = 0; i < 2; ++i) {
        check_other_lengths(MPI_COMM_WORLD);
        const int called = handled.exchange(0);
#ifdef MPICH_VERSION  // see src/engine/mpi/message_errors.hpp: this program has MPI_THREAD_MULTIPLE
        if (called > (me == 0 ? 0 : 2)) fail("the program's error handler is called too often");
#else
        if (called != 0) testing::fail("the program's error handler is called for a message of Rubato");
#endif
        MPI_Comm inherits = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &inherits);
        for (MPI_Comm comm : {MPI_COMM_WORLD, inherits}) MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
        MPI_Comm_free(&inherits);
        if (handled.exchange(0) != 2)
            testing::fail("the program's error handler is not called for an error of its own");
#ifdef MPICH_VERSION
        receive_too_much();
        if (handled.exchange(0) != 1) fail("the program's error handler is not called for a message of its own");
#endif
    }
    for (MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&counting);
}

/// Buffers and datatypes that cannot be right are refused before anything is sent.
void check_buffers() {
    mpi::communicator ours(MPI_COMM_WORLD);
    std::vector<int> in(8, me);
    std::vector<int> out(static_cast<std::size_t>(8 * ranks));
    const auto gather = [&](const void* send, void* recv, MPI_Datatype type) {
        return [&ours, send, recv, type] { ours.allgather("allgather/ring", send, 8, type, recv, 8, type); };
    };
    refuse("MPI_IN_PLACE to receive in", gather(in.data(), MPI_IN_PLACE, MPI_INT), {"MPI_IN_PLACE"});
    refuse("no buffer to receive in", gather(in.data(), nullptr, MPI_INT), {"no buffer"});
    refuse("no buffer to send", gather(nullptr, out.data(), MPI_INT), {"no buffer"});
    refuse("one buffer", [&] { ours.allreduce("allreduce/ring", in.data(), in.data(), 8, MPI_INT, MPI_SUM); },
           {"one buffer"});
    MPI_Datatype uncommitted = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(1, MPI_INT, &uncommitted);
    refuse("a datatype that is not committed", gather(in.data(), out.data(), uncommitted), {"MPI_Pack"});
    MPI_Type_free(&uncommitted);
    works(ours);
}

void check_settings() {
    for (const char* variable :
         {"RUBATO_BACKGROUND", "RUBATO_BACKGROUND_CORE", "RUBATO_BACKGROUND_INTERVAL", "RUBATO_BACKGROUND_NICE"}) {
        const bool core = variable == std::string("RUBATO_BACKGROUND_CORE");
        setenv(variable, core ? "9999" : "maybe", 1);
        refuse(variable, [] { mpi::communicator(MPI_COMM_WORLD); }, {core ? "9999" : "maybe"});
        unsetenv(variable);
    }
    const auto with = [](const std::function<void(mpi::settings&)>& change) {
        mpi::settings how;
        change(how);
        return [how] { mpi::communicator(MPI_COMM_WORLD, how); };
    };
    refuse("an exchange every 0 calls", with([](auto& s) { s.exchange_every = 0; }), {"every 0"});
    refuse("no such predictor", with([](auto& s) { s.predictor = "oracle"; }), {"oracle"});
    refuse("a long predictor", with([](auto& s) { s.predictor = std::string(200, 'x'); }), {"predictor", "xxx"});
    if (ranks == 1) return;
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm both = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, me == 0 ? 0 : 1, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, me == 0 ? 1 : 0, 0, &both);
    refuse("an inter-communicator", [both] { mpi::communicator{both}; }, {"inter-communicator"});
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

/// Without the background thread everything works, only later. Other ranks may have theirs, so calls are not refused.
void check_missing_core() {
    setenv("RUBATO_BACKGROUND_CORE", "1023", 1);
    mpi::communicator ours(MPI_COMM_WORLD);
    const int x = 1;
    int sum = 0;
    for (int i = 0; i < 3; ++i) {
        works(ours);
        ours.reduce("reduce/binomial", &x, &sum, 1, MPI_INT, MPI_SUM, 0);
        if (me == 0 && sum != ranks) testing::fail("a reduction without the thread is wrong");
    }
}

}  // namespace

int main(int argc, char** argv) {
    int level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    try {
        if (argc > 1) {
            check_missing_core();
        } else {
            check_settings();
            check_edges();
            check_order_of_calls();
            check_refused_name();
            check_error_handlers();
            check_buffers();
            check_broken_promises();
            mpi::communicator ours(MPI_COMM_WORLD);
            works(ours);
        }
    } catch (const std::exception& e) {
        testing::fail(e.what());
    }
    if (me == 0) fmt::print("{} ranks: {} wrong calls are refused\n", ranks, checked);
    MPI_Finalize();
    return 0;
}
