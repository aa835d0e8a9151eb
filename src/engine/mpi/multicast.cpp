// The one exception to messages by MPI: a broadcast by UDP to all hosts at once (Hoefler 2008, II.3.2). It is no
// schedule, as what a rank does depends on what it has heard. The root casts all fragments; what a rank misses comes by
// MPI messages along a chain of ranks (engine/execute/multicast_chain.hpp). Nobody sends receipts, and there are no
// time-outs. A message of up to 4000 bytes goes down the chain whole, and a rank that has heard it leaves at once. Of a
// large one only what was lost goes down: when a batch has passed, a rank tells its predecessor what it lacks, which
// sends what it has of that, and the rest when it comes. Sockets stay open between calls, so datagrams wait for a late
// rank in its buffer, which should have 8 MiB (sysctl -w net.core.rmem_max=8388608). A random key names group and port
// and guards against chance, not against people: datagrams are neither encrypted nor signed. Losses are summed over all
// ranks every 16 calls and judged 16 calls later by all; where more is lost than pays (a half of small messages, a
// quarter of large ones), calls go by a tree for 4096 calls.
#include "rubato/multicast.hpp"
#include "base/core/splitmix.hpp"
#include "base/core/wire.hpp"
#include "engine/execute/loss_watch.hpp"
#include "engine/mpi/chain_notes.hpp"
#include "engine/mpi/inner_communicator.hpp"
#include "engine/mpi/multicast_group.hpp"
#include "engine/mpi/private_communicator.hpp"
#include "engine/mpi/process.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>

namespace rubato::mpi {

class loss_sum final : public engine::loss_watch::sum {
public:
    /// On `comm`, which must be ours, and on which all ranks begin sums in the same order.
    explicit loss_sum(MPI_Comm comm) : comm_(comm) {}
    /// After an error the sum may never end, and MPI may use its memory until the process ends.
    ~loss_sum() override {
        if (now_->request != MPI_REQUEST_NULL) (void)now_.release();
    }
    loss_sum(const loss_sum&) = delete;
    loss_sum& operator=(const loss_sum&) = delete;

    void begin(const engine::loss_watch::tally& mine) override {
        now_->mine = mine;
        engine::check(PMPI_Iallreduce(&now_->mine, &now_->all, base::numbers_in(mine), MPI_INT64_T, MPI_SUM, comm_,
                                      &now_->request),
                      "MPI_Iallreduce");
    }
    engine::loss_watch::tally end() override {
        engine::wait_for(now_->request);
        return now_->all;
    }

private:
    struct under_way {
        engine::loss_watch::tally mine{}, all{};
        MPI_Request request = MPI_REQUEST_NULL;
    };
    MPI_Comm comm_;
    std::unique_ptr<under_way> now_ = std::make_unique<under_way>();
};

/// Calls with messages of one kind.
struct sized_calls {
    sized_calls(double most_lost, MPI_Comm comm) : watch(most_lost), sum(comm) {}

    bool casts() { return watch.casts(sum); }
    void finish() { watch.finish(sum); }

    engine::loss_watch watch;
    loss_sum sum;
};

namespace {

/// With the head of a note it is sent at once by all MPI libraries, whether or not its receiver waits for it.
constexpr std::int64_t most_small = 4000;
/// Batches are long enough that notes about them cost little, and so many that they follow each other as in a pipeline.
constexpr std::int64_t batches_wanted = 32;
constexpr std::int64_t least_batch = 8;  // fragments
constexpr std::int64_t most_in_batch = std::int64_t{64} << 10;

// The share of fragments that may be lost. Small messages: with P ranks of which a share e misses a message, the
// longest row of such ranks in the chain is log P / log(1/e), and each in it takes the time of a message. A binomial
// tree takes log2 P, so one half is where both are equal. Large messages: a share e that is lost takes as much longer,
// and pipelined trees take some quarter longer than the bound.
constexpr double most_lost_of_small = 0.5;
constexpr double most_lost_of_large = 0.25;

std::uint64_t draw_key() {
    std::random_device random;
    return std::uint64_t{random()} << 32 | random();
}

}  // namespace

class multicast::state final : private engine::multicast_chain::post {
public:
    state(communicator& on, const multicast_settings& how)
        : on_(on),
          comm_(engine::inner_communicator(on).comm()),
          me_(engine::rank_in(comm_.get())),
          ranks_(engine::size_of(comm_.get())),
          mail_(comm_.get(), ranks_) {
        line_up();
        agree_on(how);
    }
    ~state() override {
        if (engine::is_finalized()) return;
        // While an error is thrown, other ranks may never arrive here.
        if (broken_ || std::uncaught_exceptions() > exceptions_) {
            comm_.abandon();
            return;
        }
        try {
            finish();
        } catch (const std::exception& e) {
            comm_.abandon();
            std::fprintf(stderr, "rubato: while ending multicast: %s\n", e.what());
        }
    }
    state(const state&) = delete;
    state& operator=(const state&) = delete;

    void bcast(void* data, std::int64_t count, MPI_Datatype type, int root) {
        if (broken_)
            throw error("a broadcast after one that has failed", "this rank and others may count calls differently",
                        "correct the call that has failed");
        broken_ = true;  // unless it ends well
        make(data, count, type, root);
        broken_ = false;
    }

    bool works() const { return group_->why_not().empty() && !(small_->watch.rests() && large_->watch.rests()); }
    std::string why_not() const {
        std::string why = group_->why_not();
        for (const auto& [calls, size] : {std::pair(&*small_, "small"), std::pair(&*large_, "large")})
            if (calls->watch.rests())
                why += fmt::format("{}{:.0f} % of the fragments of {} messages were lost", why.empty() ? "" : "; ",
                                   100 * calls->watch.lost(), size);
        return why;
    }
    std::string advice() const { return group_->advice(); }
    multicast_counts counts() const {
        multicast_counts all = counts_;
        all.sent = group_->sent();
        all.received = group_->received();
        return all;
    }

private:
    void agree_on(const multicast_settings& how) {
        struct {
            std::uint64_t key;
            std::int64_t root_waits_for;
            std::int64_t delay;
            std::int64_t insist;
        } said{draw_key(), static_cast<std::int64_t>(how.root_waits_for), how.delay.count(), how.insist ? 1 : 0};
        engine::check(PMPI_Bcast(&said, base::numbers_in(said), MPI_INT64_T, 0, comm_.get()), "MPI_Bcast");
        if (said.delay < 0)
            throw error(fmt::format("a delay of {}", format_time(time_ns(said.delay))), "the root cannot cast earlier",
                        "give 0 or more");
        key_ = said.key;
        root_waits_for_ = static_cast<multicast_settings::wait>(said.root_waits_for);
        delay_ = time_ns(said.delay);
        const bool insist = said.insist != 0;
        small_.emplace(insist ? 1 : most_lost_of_small, comm_.get());
        large_.emplace(insist ? 1 : most_lost_of_large, comm_.get());
        const char* const variable = std::getenv("RUBATO_MULTICAST_INTERFACE");
        const std::string named = how.interface_name.empty() && variable != nullptr ? variable : how.interface_name;
        group_.emplace(comm_.get(), on_.hosts(), engine::multicast_group::settings{key_, named, insist});
    }

    /// The chain is a ring of all ranks, cut before the root. Ranks of a host are neighbours in it, so that what was
    /// lost comes to a host once.
    void line_up() {
        const std::vector<std::int32_t>& hosts = on_.hosts();
        ring_.resize(static_cast<std::size_t>(ranks_));
        std::iota(ring_.begin(), ring_.end(), 0);
        std::ranges::stable_sort(ring_, {}, [&hosts](std::int32_t r) { return hosts[static_cast<std::size_t>(r)]; });
        place_ = std::ranges::find(ring_, me_) - ring_.begin();
    }

    engine::multicast_chain::place place_in_chain(rubato::rank root) const {
        const auto beside = [this](std::int64_t step) {
            return rubato::rank(ring_[static_cast<std::size_t>((place_ + step + ranks_) % ranks_)]);
        };
        engine::multicast_chain::place p;
        if (me_ != root.value) p.before = beside(-1);
        if (beside(1) != root) p.after = beside(1);
        if (root_waits_for_ == multicast_settings::wait::one_rank) {
            // Drawn alike on all ranks.
            const auto step = 1 + static_cast<std::int32_t>(
                                      base::splitmix(key_ ^ call_).below(static_cast<std::uint64_t>(ranks_ - 1)));
            const rubato::rank drawn((root.value + step) % ranks_);
            if (me_ == root.value) p.awaited = drawn;
            if (me_ == drawn.value) p.tells = root;
        }
        return p;
    }

    void make(void* data, std::int64_t count, MPI_Datatype type, int root) {
        if (!group_->why_not().empty()) return by_tree(data, count, type, root);
        ++call_;
        rubato::check(problem{.what = collective::bcast, .ranks = ranks_, .root = rubato::rank(root)});
        const engine::call_facts known(call::bcast(data, count, type, root), me_, ranks_, {});
        if (known.wrong) std::rethrow_exception(known.wrong);
        engine::check_committed(type, comm_.get());
        if (known.bytes == 0) return;
        sized_calls& calls = known.bytes <= most_small ? *small_ : *large_;
        if (!calls.casts()) return by_tree(data, count, type, root);
        ++counts_.calls;
        const auto bytes = static_cast<std::size_t>(known.bytes);
        const engine::type_info t = engine::inspect(type);
        if (t.dense) {
            calls.watch.add(cast({static_cast<std::byte*>(data), bytes}, rubato::rank(root)));
        } else {
            packed_.resize(bytes);
            if (me_ == root) engine::pack(t, data, count, packed_.data(), comm_.get());
            calls.watch.add(cast(packed_, rubato::rank(root)));
            if (me_ != root) engine::unpack(t, packed_.data(), data, count, comm_.get());
        }
    }

    engine::loss_watch::tally cast(std::span<std::byte> data, rubato::rank root) {
        engine::fragmentation cut{std::ssize(data), group_->fragment()};
        cut.whole = cut.bytes <= most_small;
        const std::int64_t most = std::clamp<std::int64_t>(most_in_batch / cut.fragment_bytes, 1, 64);
        cut.per_batch = std::clamp(cut.fragments() / batches_wanted, std::min(least_batch, most), most);
        group_->begin(call_, cut.bytes);
        mail_.begin(call_, cut.bytes);
        if (me_ == root.value && root_waits_for_ == multicast_settings::wait::delay)
            for (const time_ns begin = own_time() + delay_; own_time() < begin;) engine::let_others_go_on();
        engine::multicast_chain chain(data, cut, place_in_chain(root), *this);
        while (!chain.progress()) engine::let_others_go_on();
        counts_.heard += chain.heard();
        counts_.missed += chain.missed();
        return {chain.heard(), chain.missed()};
    }

    bool cast(const engine::multicast_chain::datagram& d) override { return group_->cast(d); }
    bool hear(engine::multicast_chain::datagram& d) override { return group_->hear(d); }
    void send(rubato::rank to, engine::chain_note n) override { mail_.send(to, std::move(n)); }
    bool receive(engine::chain_note& n) override { return mail_.receive(n); }
    std::size_t under_way() override { return mail_.under_way(); }

    void by_tree(void* data, std::int64_t count, MPI_Datatype type, int root) {
        ++counts_.by_tree;
        on_.bcast({}, data, count, type, root);
    }

    void finish() {
        for (sized_calls* calls : {&*small_, &*large_}) calls->finish();
        std::int64_t expected = 0;
        MPI_Request request = MPI_REQUEST_NULL;
        engine::check(PMPI_Ireduce_scatter_block(mail_.sent_to().data(), &expected, 1, MPI_INT64_T, MPI_SUM,
                                                 comm_.get(), &request),
                      "MPI_Ireduce_scatter_block");
        engine::wait_for(request);
        mail_.drop_until(expected);
    }

    communicator& on_;
    engine::private_communicator comm_;
    int me_;
    int ranks_;
    std::vector<std::int32_t> ring_{};
    std::int64_t place_ = 0;  // in it
    std::uint64_t key_ = 0;
    multicast_settings::wait root_waits_for_{};
    time_ns delay_{};
    std::optional<engine::multicast_group> group_{};
    engine::chain_notes mail_;
    std::optional<sized_calls> small_{}, large_{};
    std::uint64_t call_ = 0;  // the last
    std::vector<std::byte> packed_{};
    multicast_counts counts_{};
    bool broken_ = false;
    int exceptions_ = std::uncaught_exceptions();
};

multicast::multicast(communicator& on, const multicast_settings& how) : state_(std::make_unique<state>(on, how)) {}
multicast::~multicast() = default;
multicast::multicast(multicast&&) noexcept = default;
multicast& multicast::operator=(multicast&&) noexcept = default;

void multicast::bcast(void* data, std::int64_t count, MPI_Datatype type, int root) {
    state_->bcast(data, count, type, root);
}
bool multicast::works() const { return state_->works(); }
std::string multicast::why_not() const { return state_->why_not(); }
std::string multicast::advice() const { return state_->advice(); }
multicast_counts multicast::counts() const { return state_->counts(); }

}  // namespace rubato::mpi
