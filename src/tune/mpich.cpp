// MPICH 4.0: a selection file is a tree of conditions with algorithms as leaves. It takes the place of MPICH's own, so
// it must cover every collective and every case, also those that are not tuned: these are in mpich_own.cpp. The first
// condition that holds is followed, and there is no way back.
//
// Left out: collectives of which MPICH has one algorithm of ours, or none.
#include "tune/library.hpp"
#include "tune/mpich_own.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace rubato::tune {
namespace {

struct mpich_algorithm {
    std::string_view id;
    std::string_view native;
    bool power_of_two = false;
    std::string_view otherwise{};  ///< set: it needs an operator of MPI and an element for each rank, else this is used
};

constexpr std::array in_mpich{
    mpich_algorithm{"allgather/bruck", "Allgather_intra_brucks"},
    mpich_algorithm{"allgather/recursive_doubling", "Allgather_intra_recursive_doubling", true},
    mpich_algorithm{"allgather/ring", "Allgather_intra_ring"},
    mpich_algorithm{"allreduce/recursive_doubling", "Allreduce_intra_recursive_doubling"},
    mpich_algorithm{"allreduce/rabenseifner", "Allreduce_intra_reduce_scatter_allgather", false,
                    "Allreduce_intra_recursive_doubling"},
    mpich_algorithm{"alltoall/bruck", "Alltoall_intra_brucks"},
    mpich_algorithm{"alltoall/direct", "Alltoall_intra_scattered"},
    mpich_algorithm{"alltoall/pairwise", "Alltoall_intra_pairwise"},
    mpich_algorithm{"bcast/binomial", "Bcast_intra_binomial"},
    mpich_algorithm{"bcast/scatter_allgather", "Bcast_intra_scatter_recursive_doubling_allgather", true},
    mpich_algorithm{"bcast/scatter_ring", "Bcast_intra_scatter_ring_allgather"},
    mpich_algorithm{"reduce/binomial", "Reduce_intra_binomial"},
    mpich_algorithm{"reduce/butterfly", "Reduce_intra_reduce_scatter_gather", false, "Reduce_intra_binomial"},
};

const mpich_algorithm& same_as(const algorithm& a) { return *std::ranges::find(in_mpich, a.id, &mpich_algorithm::id); }

/// What MPICH's conditions call the size of a message: the chunk, or the buffer with a chunk for each rank.
std::string_view size_name(collective what) {
    return what == collective::allgather ? "total_msg_size" : "avg_msg_size";
}
std::int64_t size_in_file(collective what, std::int32_t ranks, std::int64_t bytes) {
    return what == collective::alltoall ? bytes / ranks : bytes;
}

/// A leaf, or the branches that an algorithm needs.
mpich_tree branch(const mpich_algorithm& a) {
    if (a.otherwise.empty()) return mpich_leaf(a.native);
    mpich_tree built_in;
    built_in["count<pow2"] = mpich_leaf(a.otherwise);
    built_in["count=any"] = mpich_leaf(a.native);
    mpich_tree all;
    all["is_op_built_in=yes"] = built_in;
    all["is_op_built_in=no"] = mpich_leaf(a.otherwise);
    return all;
}

mpich_tree by_message_size(const size_rules& r, const mpich_tree& own) {
    mpich_tree tree;
    for (std::size_t i = 0; i < r.sizes.size(); ++i) {
        const mpich_tree chosen = r.sizes[i].use ? branch(same_as(*r.sizes[i].use->use)) : own;
        if (i + 1 == r.sizes.size()) {
            tree[fmt::format("{}=any", size_name(r.what))] = chosen;
        } else {
            // MPICH reads an int.
            const std::int64_t below = std::min<std::int64_t>(size_in_file(r.what, r.ranks, r.sizes[i + 1].from),
                                                              std::numeric_limits<std::int32_t>::max());
            tree[fmt::format("{}<{}", size_name(r.what), below)] = chosen;
        }
    }
    return tree;
}

/// Tuned ranks up to the next ones; beyond twice the last, and below the first, MPICH's own choice.
mpich_tree by_ranks(std::span<const size_rules> groups, const mpich_tree& own) {
    mpich_tree tree;
    tree[fmt::format("comm_size<{}", groups.front().ranks)] = own;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const std::int32_t below = i + 1 < groups.size() ? groups[i + 1].ranks : 2 * groups[i].ranks;
        tree[fmt::format("comm_size<{}", below)] = by_message_size(groups[i], own);
    }
    tree["comm_size=any"] = own;
    return tree;
}

class mpich_library final : public library {
public:
    std::vector<const algorithm*> algorithms_for(collective what, std::int32_t ranks) const override {
        std::vector<const algorithm*> found;
        for (const mpich_algorithm& s : in_mpich) {
            const algorithm& a = find_algorithm(s.id);
            if (a.what == what && (!s.power_of_two || is_power_of_two(ranks))) found.push_back(&a);
        }
        return found;
    }

    std::optional<way> otherwise(collective what, std::int32_t ranks, std::int64_t bytes) const override {
        const std::string native = mpich_own_choice(what, ranks, bytes);
        const auto found = std::ranges::find(in_mpich, native, &mpich_algorithm::native);
        return found == in_mpich.end() ? std::nullopt : std::optional(way{&find_algorithm(found->id)});
    }

    std::optional<way> named(collective, std::int32_t, std::string_view, std::int64_t) const override {
        return std::nullopt;
    }

    std::string file(std::span<const decided> all, const std::string&) const override {
        mpich_tree tree = mpich_own_trees();
        const std::vector<size_rules> groups = by_size(all);
        for (std::size_t i = 0; i < groups.size();) {
            std::size_t end = i;
            while (end < groups.size() && groups[end].what == groups[i].what) ++end;
            mpich_tree& intra = mpich_tuned_place(tree, groups[i].what);
            intra = by_ranks(std::span(groups).subspan(i, end - i), mpich_tree(intra));
            i = end;
        }
        return tree.dump(1) + '\n';
    }
};

}  // namespace

const library& mpich() {
    static const mpich_library it;
    return it;
}

}  // namespace rubato::tune
