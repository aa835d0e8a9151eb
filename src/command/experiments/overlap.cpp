#include "command/experiments/overlap.hpp"

#include "base/statistics/statistics.hpp"
#include "engine/mpi/datatype.hpp"
#include "rubato/layout.hpp"

#include <fmt/format.h>

#include <time.h>
#include <array>
#include <numeric>

namespace rubato::command {
namespace {

time_ns processor_time() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

mpi::settings without_background() {
    mpi::settings s;
    s.background = false;
    return s;
}

std::vector<contestant> contestants_without_blocking(const contest& c, const contest_settings& s) {
    std::vector<contestant> all = contestants_of(c, s);
    std::erase_if(all, [&c](const contestant& k) {
        if (k.casts) throw error("multicast cannot overlap", "its broadcast is a blocking one", "leave it out");
        if (k.native_number != 0 && !c.names.empty())
            throw error(fmt::format("'{}' cannot overlap", k.known.name),
                        "the MPI library's non-blocking collectives do not let one choose", "use 'native'");
        return k.native_number != 0;
    });
    return all;
}

}  // namespace

/// One rank's times.
struct overlap_campaign::spent {
    time_ns total{};
    time_ns initiation{};
    time_ns testing{};
    time_ns waiting{};
    time_ns processor{};
};

struct overlap_campaign::request {
    std::function<void()> start = [] {};
    std::function<bool()> test = [] { return true; };
    std::function<void()> wait = [] {};
};

overlap_campaign::overlap_campaign(campaign_settings how, const workload& work, std::vector<std::int32_t> tests,
                                   timed_calls& calls, reports::recorder* write,
                                   std::vector<reports::measured_case> done)
    : case_runner(std::move(how), calls, write, std::move(done)),
      work_(work),
      tests_(std::move(tests)),
      ours_(world, without_background()) {
    int level = 0;
    engine::check(MPI_Query_thread(&level), "MPI_Query_thread");
    threads_ = level == MPI_THREAD_MULTIPLE;
    if (threads_)
        watched_.emplace(world);
    else if (me_ == 0)
        fmt::print(stderr, "rubato: no second thread: the MPI library does not let several threads call it\n");
}

void overlap_campaign::run_case(const contest& c, const reports::measured_case& what) {
    calls_.synchronise();
    experiment data(how_.data_of(c, what.bytes), me_, ranks_);
    std::vector<contestant> who = contestants_without_blocking(c, how_.contest_of(ranks_, what.bytes));
    begin_case(what, who);
    std::vector<entry> all;
    for (const contestant& k : who) {
        const std::vector<entry> more = entries_of(k, data);
        all.insert(all.end(), more.begin(), more.end());
    }
    const time_ns begin = own_time();
    for (std::int32_t i = 0; i < how_.repetitions && (i == 0 || !time_is_up(begin)); ++i)
        for (reports::overlap& o : repeat(all, data)) {
            o.in_case = what.number;
            o.repetition = i;
            if (write_ != nullptr) write_->add(o);
        }
}

/// All ways to call a contestant. First calls open connections and show how long to compute.
std::vector<overlap_campaign::entry> overlap_campaign::entries_of(const contestant& c, experiment& data) {
    constexpr int calls_to_calibrate = 5;
    for (std::int32_t i = 0; i < how_.warmups; ++i)
        for (const way w : {way::blocking, way::nonblocking, way::background})
            if (w != way::background || has_background(c)) (void)measure({&c, w}, data);
    std::vector<double> blocking;
    blocking.reserve(calls_to_calibrate);
    for (int i = 0; i < calls_to_calibrate; ++i)
        blocking.push_back(static_cast<double>(measure({&c, way::blocking}, data).total.count()));
    const std::int64_t units = work_.units_for(time_ns(static_cast<std::int64_t>(base::median(blocking))));

    std::vector<entry> all{{&c, way::blocking}, {&c, way::nonblocking}, {&c, way::computation, 0, units}};
    if (threads_) all.push_back({&c, way::thread, 0, units});
    if (has_background(c)) {
        all.push_back({&c, way::background});
        all.push_back({&c, way::background, 0, units});
    }
    for (const std::int32_t n : tests_) all.push_back({&c, way::nonblocking, n, units});
    return all;
}

/// Calls all entries once, in random order, then relates their times: each computation is measured beside calls and
/// alone, under the same conditions.
std::vector<reports::overlap> overlap_campaign::repeat(const std::vector<entry>& all, experiment& data) {
    std::vector<std::size_t> order(all.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    shuffle(order, random_);
    std::vector<reports::overlap> measured(all.size());
    for (const std::size_t i : order) measured[i] = measure(all[i], data);
    std::vector<reports::overlap> complete;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].how == way::computation) continue;
        for (std::size_t k = 0; k < all.size() && all[i].units > 0; ++k)
            if (all[k].how == way::computation && all[k].who == all[i].who) {
                measured[i].computation = measured[k].total;
                measured[i].overhead -= measured[k].overhead;
            }
        complete.push_back(std::move(measured[i]));
    }
    return complete;
}

reports::overlap overlap_campaign::measure(const entry& e, experiment& data) {
    for (int spoilt = 0; spoilt < most_spoilt; ++spoilt)
        if (std::optional<reports::overlap> o = attempt(e, data)) return *o;
    throw not_punctual();
}

/// Nothing if a rank was late.
std::optional<reports::overlap> overlap_campaign::attempt(const entry& e, experiment& data) {
    const contestant& c = *e.who;
    mpi::selection how = selection_of(c);
    if (c.use != nullptr && c.use->arrival_aware) how.arrivals.resize(static_cast<std::size_t>(ranks_));
    // A communicator with a background thread exists only while it is measured, so that others are not disturbed; its
    // first call makes the plan.
    std::optional<mpi::communicator> own;
    if (c.use != nullptr && c.use->early && e.how != way::computation)
        own.emplace(world).run(how, data.prepare(++number_));
    mpi::communicator& comm = own ? *own : e.how == way::background ? *watched_ : ours_;
    const mpi::call job = data.prepare(++number_);
    const auto block = [&] {
        if (c.use != nullptr)
            comm.run(how, job);
        else
            mpi::run_native(world, job);
    };
    std::optional<mpi::native_call> native;
    std::optional<mpi::persistent_call> persistent;
    request r;
    const auto use = [&r](auto& call) {
        r = {[&call] { call.start(); }, [&call] { return call.test(); }, [&call] { call.wait(); }};
    };
    switch (e.how) {
        case way::computation: break;
        case way::blocking: r.wait = block; break;
        case way::thread:
            r.start = [&] { other_.start(block); };
            r.wait = [&] { other_.wait(); };
            break;
        case way::nonblocking:
        case way::background:
            if (c.use != nullptr)
                use(persistent.emplace(comm.prepare(how, job)));
            else
                use(native.emplace(world, job));
            break;
    }
    const time_ns late = calls_.start_together();
    const spent mine = run_beside(r, e);
    const std::string wrong = e.how != way::computation ? said_by_one(data.wrong()) : "";
    if (!wrong.empty()) throw wrong_result(c, wrong);
    if (!calls_.punctual(late)) return std::nullopt;
    return over_ranks(e, mine);
}

/// The computation is cut into equal pieces, with a test after each but the last, until the call has ended.
overlap_campaign::spent overlap_campaign::run_beside(const request& r, const entry& e) const {
    spent s;
    const time_ns processor = processor_time();
    const time_ns begin = own_time();
    r.start();
    s.initiation = own_time() - begin;
    const auto pieces = static_cast<std::uint32_t>(e.tests) + 1;
    bool ended = false;
    for (std::uint32_t i = 0; i < pieces && e.units > 0; ++i) {
        work_.run(part_offset(e.units, pieces, i + 1) - part_offset(e.units, pieces, i));
        if (ended || i + 1 == pieces) continue;
        const time_ns before = own_time();
        ended = r.test();
        s.testing += own_time() - before;
    }
    const time_ns before = own_time();
    r.wait();
    const time_ns end = own_time();
    s.waiting = end - before;
    s.total = end - begin;
    s.processor = processor_time() - processor;
    return s;
}

reports::overlap overlap_campaign::over_ranks(const entry& e, const spent& mine) const {
    const auto mean = [this](time_ns t) { return time_ns(among_ranks(t.count(), MPI_SUM) / ranks_); };
    reports::overlap o;
    o.name = e.who->known.name;
    switch (e.how) {
        case way::blocking: o.method = "blocking"; break;
        case way::thread: o.method = "thread"; break;
        case way::nonblocking: o.method = e.units > 0 ? "nonblocking+compute" : "nonblocking"; break;
        case way::background: o.method = e.units > 0 ? "background+compute" : "background"; break;
        case way::computation: break;
    }
    o.tests = e.tests;
    o.total = time_ns(among_ranks(mine.total.count(), MPI_MAX));
    o.initiation = mean(mine.initiation);
    o.testing = mean(mine.testing);
    o.waiting = mean(mine.waiting);
    o.overhead = mean(mine.processor);
    return o;
}

}  // namespace rubato::command
