#include "algorithms/pattern/host_view.hpp"
#include "algorithms/pattern/neighbours.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace rubato {
namespace {

/// What a rank gives: its number, and which chunk of its input.
using item = std::pair<std::int32_t, std::uint32_t>;
using items = std::vector<item>;

/// One rank's part in an exchange in which ranks of a host meet others' data at their leader.
class host_exchange {
public:
    host_exchange(const problem& p, rank me) : p_(p), me_(me), h_(p, me), b_(p, me, 1) {
        for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(p.input_chunks(me)); ++i)
            at_.emplace(item{me.value, i}, b_.input(i));
    }

    schedule build() && {
        hand_to_leader();
        if (h_.leads()) exchange_with_hosts();
        exchange_in_host();
        hand_to_members();
        return std::move(b_).finish();
    }

private:
    std::int32_t host_of(std::int32_t r) const { return p_.hosts.empty() ? r : p_.hosts[static_cast<std::size_t>(r)]; }
    bool is_here(std::int32_t r) const { return host_of(r) == host_of(me_.value); }

    /// What rank r needs for each chunk of its output; nothing at the border of a grid.
    std::vector<std::optional<item>> needed_by(rank r) const {
        std::vector<std::optional<item>> all;
        for (const neighbour& n : p_.neighbours->sources(r)) {
            all.emplace_back();
            if (n.exists()) all.back() = {n.rank, traits(p_.what).wide_input ? static_cast<std::uint32_t>(n.chunk) : 0};
        }
        return all;
    }
    /// What these ranks need of others for which `from` holds, each once, in one order for all.
    template <class From>
    items needed(std::span<const rank> by, const From& from) const {
        std::set<item> all;
        for (const rank r : by)
            for (const auto& i : needed_by(r))
                if (i && from(i->first)) all.insert(*i);
        return {all.begin(), all.end()};
    }
    /// What the ranks of one host need of another's.
    items between(std::size_t from, std::size_t to) const {
        return needed(h_.members(to), [&](std::int32_t r) { return host_of(r) == static_cast<std::int32_t>(from); });
    }
    /// What a rank of this host needs of other hosts.
    items from_outside(rank r) const {
        return needed(std::span(&r, 1), [&](std::int32_t o) { return !is_here(o); });
    }
    /// What others need of a rank of this host.
    items for_outside(rank r) const {
        std::set<item> all;
        const auto to = p_.neighbours->destinations(r);
        for (std::uint32_t i = 0; i < to.size(); ++i)
            if (to[i].exists() && !is_here(to[i].rank)) all.emplace(r.value, traits(p_.what).wide_input ? i : 0);
        return {all.begin(), all.end()};
    }

    /// In one line, for a message.
    slice packed(const items& what) {
        if (what.size() == 1) return at_.at(what.front());
        const slice line = b_.scratch_chunks(static_cast<std::uint32_t>(what.size()));
        for (std::uint32_t k = 0; k < line.count; ++k) b_.copy(at_.at(what[k]), line.sub(k));
        return line;
    }
    void send(rank to, const items& what) {
        if (!what.empty()) b_.send(to, packed(what));
    }
    void receive(rank from, const items& what) {
        if (what.empty()) return;
        const slice line = b_.scratch_chunks(static_cast<std::uint32_t>(what.size()));
        b_.recv(from, line);
        for (std::uint32_t k = 0; k < line.count; ++k) at_.insert_or_assign(what[k], line.sub(k));
    }

    void hand_to_leader() {
        if (!h_.leads()) return send(h_.leader(h_.mine()), for_outside(me_));
        for (const rank r : h_.members(h_.mine()))
            if (r != me_) receive(r, for_outside(r));
    }
    /// Hosts at distance 1, 2, ... around: in each turn every leader sends to one and receives from one.
    void exchange_with_hosts() {
        const std::size_t n = h_.hosts();
        for (std::size_t i = 1; i < n; ++i) {
            const std::size_t to = (h_.mine() + i) % n;
            const std::size_t from = (h_.mine() + n - i) % n;
            send(h_.leader(to), between(h_.mine(), to));
            receive(h_.leader(from), between(from, h_.mine()));
        }
    }
    void exchange_in_host() {
        std::vector<rank> here = h_.in_rank_order(h_.mine());
        const auto n = here.size();
        const auto mine = static_cast<std::size_t>(std::ranges::find(here, me_) - here.begin());
        const auto between_two = [&](rank from, rank to) {
            return needed(std::span(&to, 1), [from](std::int32_t r) { return r == from.value; });
        };
        for (std::size_t i = 1; i < n; ++i) {
            const rank to = here[(mine + i) % n];
            const rank from = here[(mine + n - i) % n];
            send(to, between_two(me_, to));
            receive(from, between_two(from, me_));
        }
    }
    /// And every rank puts what it has where it belongs.
    void hand_to_members() {
        if (!h_.leads()) {
            receive(h_.leader(h_.mine()), from_outside(me_));
        } else {
            for (const rank r : h_.members(h_.mine()))
                if (r != me_) send(r, from_outside(r));
        }
        const auto wanted = needed_by(me_);
        for (std::uint32_t i = 0; i < wanted.size(); ++i)
            if (wanted[i]) b_.copy(at_.at(*wanted[i]), b_.output(i));
    }

    const problem& p_;
    rank me_;
    host_view h_;
    builder b_;
    std::map<item, slice> at_{};  // what this rank has
};

}  // namespace

schedule between_hosts(const problem& p, rank me) { return host_exchange(p, me).build(); }

}  // namespace rubato
