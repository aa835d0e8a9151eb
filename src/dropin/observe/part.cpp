#include "dropin/observe/part.hpp"

#include "dropin/observe/part_layout.hpp"

#include <cmath>
#include <map>

namespace rubato::dropin {
namespace {

/// A recorder writes no larger numbers. The limits also keep all that is computed from them within 64 bits.
constexpr std::int32_t most_ranks = 1 << 22;
constexpr std::size_t most_members = std::size_t{1} << 24;  ///< of all communicators
constexpr std::int64_t most_time = std::int64_t{1} << 55;
constexpr std::uint64_t most_calls = std::uint64_t{1} << 44;
constexpr double most_drift = 1e-3;

bool plausible(std::int64_t ns) { return ns > -longest_time.count() && ns < longest_time.count(); }

/// One record, read from its beginning on.
class cursor {
public:
    explicit cursor(std::span<const std::byte> bytes) : rest_(bytes) {}

    template <class T>
    bool take(T& to) {
        if (rest_.size() < sizeof(T)) return false;
        std::memcpy(&to, rest_.data(), sizeof(T));
        rest_ = rest_.subspan(sizeof(T));
        return true;
    }
    bool take_text(std::string& to, std::uint32_t length) {
        if (rest_.size() < length) return false;
        to.assign(reinterpret_cast<const char*>(rest_.data()), length);
        rest_ = rest_.subspan(length);
        return true;
    }

private:
    std::span<const std::byte> rest_;
};

class decoder {
public:
    std::optional<part> decode(std::span<const std::byte> bytes) {
        file_head head{};
        if (!cursor(bytes).take(head) || head.magic != magic) return std::nullopt;
        size_ = bytes.size();
        bytes = bytes.first(std::min<std::size_t>(bytes.size(), head.used));
        for (std::size_t at = sizeof(file_head); at < bytes.size();) {
            record_head record{};
            if (!cursor(bytes.subspan(at)).take(record) || record.bytes < sizeof record || record.bytes % 8 != 0) break;
            const std::size_t end = std::min<std::size_t>(bytes.size(), at + record.bytes);
            take(static_cast<record_kind>(record.kind),
                 cursor(bytes.subspan(at + sizeof record, end - at - sizeof record)));
            at = end;
        }
        if (!known_) return std::nullopt;
        finish();
        return std::move(made_);
    }

private:
    struct raw_channel {
        std::vector<sums> rows{};
        std::vector<event> events{};
        std::map<std::uint32_t, std::uint64_t> skipped{};  ///< by operation
    };

    void take(record_kind kind, cursor in) {
        switch (kind) {
            case record_kind::process: take_process(in); break;
            case record_kind::clock: take_clock(in); break;
            case record_kind::note: take_note(in); break;
            case record_kind::site: take_site(in); break;
            case record_kind::channel: take_channel(in); break;
            case record_kind::sums: take_sums(in); break;
            case record_kind::old_events: take_events<old_event>(in); break;
            case record_kind::events: take_events<event>(in); break;
            case record_kind::whereabouts: take_whereabouts(in); break;
            case record_kind::kept: take_kept(in); break;
            case record_kind::calls: take_calls(in); break;
        }
    }

    void take_process(cursor& in) {
        process_part p{};
        if (known_ || !in.take(p) || p.ranks < 1 || p.ranks > most_ranks || p.rank < 0 || p.rank >= p.ranks) return;
        process& who = made_.who;
        who.rank = p.rank;
        who.ranks = p.ranks;
        known_ = in.take_text(who.program, p.lengths[0]) && in.take_text(who.host, p.lengths[1]) &&
                 in.take_text(who.library, p.lengths[2]);
    }

    void take_clock(cursor& in) {
        clock_part c{};
        if (in.take(c) && plausible(c.own) && plausible(c.common))
            made_.clock.push_back({time_ns(c.own), time_ns(c.common)});
    }

    void take_note(cursor& in) {
        note_part n{};
        std::string text;
        if (in.take(n) && in.take_text(text, n.lengths[0])) made_.notes.push_back(std::move(text));
    }

    void take_site(cursor& in) {
        site_part s{};
        site made;
        if (!in.take(s) || s.number != sites_.size()) return;
        made.offset = s.offset;
        if (in.take_text(made.module, s.lengths[0]) && in.take_text(made.symbol, s.lengths[1]))
            sites_.push_back(std::move(made));
    }

    void take_channel(cursor& in) {
        channel_part c{};
        if (!in.take(c) || c.number != made_.channels.size()) return;
        part_channel made;
        made.ordinal = c.ordinal;
        made.calls = std::min(c.calls, most_calls);
        made.lost = std::min(c.lost, most_calls);
        for (std::uint32_t i = 0; i < c.runs; ++i) {
            member_run r{};
            if (!in.take(r) || r.count < 1 ||
                r.count > made_.who.ranks - static_cast<std::int64_t>(made.members.size()) ||
                members_ + static_cast<std::size_t>(r.count) > most_members)
                return;
            members_ += static_cast<std::size_t>(r.count);
            for (std::int64_t k = 0; k < r.count; ++k)
                made.members.push_back(static_cast<std::int32_t>(r.first + k * r.step));
        }
        made_.channels.push_back(std::move(made));
        raw_.emplace_back();
    }

    void take_sums(cursor& in) {
        block_part b{};
        if (!in.take(b) || b.channel >= raw_.size() || b.first != raw_[b.channel].rows.size()) return;
        sums one{};
        for (std::uint32_t i = 0; i < b.count && in.take(one); ++i) raw_[b.channel].rows.push_back(one);
    }

    static event with_outside(const old_event& e) { return {e.tag, e.arrival, e.exit, unknown_time.count()}; }
    static event with_outside(const event& e) { return e; }

    template <class Event>
    void take_events(cursor& in) {
        block_part b{};
        if (!in.take(b) || b.channel >= raw_.size()) return;
        raw_channel& to = raw_[b.channel];
        if (b.first == 0) to.skipped[b.operation] = b.skipped;
        const std::uint64_t skipped = to.skipped[b.operation];
        Event one{};
        for (std::uint32_t i = 0; i < b.count && in.take(one); ++i)
            if (one.tag >> row_bits != 0 && kept(invocation_of(one.tag), skipped))
                to.events.push_back(with_outside(one));
    }

    void take_kept(cursor& in) {
        kept_part k{};
        if (!in.take(k)) return;
        made_.every_call = true;
        made_.missing = std::min(k.missing, most_calls);
        made_.calls.reserve(std::min<std::size_t>(k.calls, size_ / sizeof(call)));
    }

    void take_calls(cursor& in) {
        for (call c{}; in.take(c) && c.row != 0;)
            if (plausible(c.arrival) && plausible(c.exit) && c.exit >= c.arrival && c.exit - c.arrival <= most_time &&
                c.bytes >= 0 && c.bytes <= most_time)
                made_.calls.push_back(
                    {c.invocation, c.channel, c.row - 1, c.bytes, time_ns(c.arrival), time_ns(c.exit)});
    }

    void take_whereabouts(cursor& in) {
        watched_part w{};
        whereabouts one{};
        if (!in.take(w)) return;
        for (std::uint32_t i = 0; i < most_threads && in.take(one); ++i)
            if (i < w.threads) threads_.push_back(one);
        for (watched_request r{}; in.take(r);)
            if (r.number > 0) requests_.push_back(r);
    }

    part_thread thread_from(std::size_t number, const whereabouts& t) const {
        part_thread made{number,
                         t.own.turn,
                         t.own.turn % whereabouts::states == whereabouts::inside,
                         time_ns(t.own.since),
                         t.own.in,
                         t.own.what,
                         t.own.how,
                         t.own.root,
                         t.own.channel,
                         t.own.invocation};
        if (t.known.site == t.own.site && t.known.site_number < sites_.size()) made.from = sites_[t.known.site_number];
        if (t.own.count >= 0 && t.known.type == t.own.type && t.known.bytes > 0)
            made.bytes = t.own.count * t.known.bytes;
        return made;
    }
    static bool sane(const whereabouts& t) {
        return t.own.turn >= whereabouts::states && t.own.turn % whereabouts::states <= whereabouts::inside &&
               plausible(t.own.since) && static_cast<std::size_t>(t.own.what) < collectives().size() &&
               t.own.how <= form::persistent && t.own.in <= waiting::finalize && t.own.count < most_time &&
               t.known.bytes < (std::int64_t{1} << 8);
    }

    void finish() {
        for (const watched_request& r : requests_)
            if (r.channel < made_.channels.size()) made_.channels[r.channel].starts[r.number - 1] = r.starts;
        for (std::size_t i = 0; i < threads_.size(); ++i)
            if (sane(threads_[i])) made_.threads.push_back(thread_from(i, threads_[i]));
        for (std::size_t c = 0; c < raw_.size(); ++c) {
            part_channel& to = made_.channels[c];
            for (const sums& s : raw_[c].rows) to.rows.push_back(row_from(s));
            for (const event& e : raw_[c].events) {
                if (row_of(e.tag) >= to.rows.size() || to.rows[row_of(e.tag)].calls == 0 || !plausible(e.arrival) ||
                    !plausible(e.exit) || e.exit < e.arrival || e.exit - e.arrival > most_time)
                    continue;
                const bool known = e.outside >= 0 && e.outside <= most_time;
                to.events.push_back({invocation_of(e.tag), row_of(e.tag), time_ns(e.arrival), time_ns(e.exit),
                                     known ? time_ns(e.outside) : unknown_time});
            }
            std::ranges::sort(to.events, {}, &part_event::invocation);
            const auto same = [](const part_event& a, const part_event& b) { return a.invocation == b.invocation; };
            to.events.erase(std::unique(to.events.begin(), to.events.end(), same), to.events.end());
        }
        std::erase_if(made_.calls, [&](const part_call& c) {
            return c.channel >= made_.channels.size() || c.row >= made_.channels[c.channel].rows.size() ||
                   made_.channels[c.channel].rows[c.row].calls == 0;
        });
        std::ranges::sort(made_.clock, {}, &clock_point::own);
    }

    part_row row_from(const sums& s) const {
        const bool sane = s.calls > 0 && s.calls <= most_calls && s.site < sites_.size() &&
                          s.what < collectives().size() && s.how <= static_cast<std::uint8_t>(form::persistent) &&
                          s.size_class < 64 && s.bytes >= 0 && s.bytes <= most_time && s.time >= 0 &&
                          s.time <= most_time && s.apart >= 0 && s.apart <= most_time && s.waited >= 0 &&
                          s.waited <= most_time && s.ended <= most_calls;
        if (!sane) return {};
        return {sites_[s.site],
                static_cast<collective>(s.what),
                static_cast<form>(s.how),
                s.root,
                s.size_class,
                s.calls,
                s.bytes,
                time_ns(s.time),
                s.ended,
                time_ns(s.apart),
                time_ns(s.waited)};
    }

    part made_{};
    bool known_ = false;
    std::size_t size_ = 0;     ///< bytes
    std::size_t members_ = 0;  ///< of the communicators so far
    std::vector<site> sites_{};
    std::vector<raw_channel> raw_{};
    std::vector<whereabouts> threads_{};
    std::vector<watched_request> requests_{};
};

}  // namespace

time_ns part::to_common(time_ns own) const {
    if (clock.empty()) return own;
    const clock_point& first = clock.front();
    const clock_point& last = clock.back();
    const time_ns since = own - first.own;
    double drift = 0;
    if (last.own > first.own)
        drift = static_cast<double>((last.common - last.own - (first.common - first.own)).count()) /
                static_cast<double>((last.own - first.own).count());
    if (std::abs(drift) > most_drift) drift = 0;
    return first.common + since + time_ns(std::llround(static_cast<double>(since.count()) * drift));
}

std::optional<part> decode(std::span<const std::byte> bytes) { return decoder().decode(bytes); }

}  // namespace rubato::dropin
