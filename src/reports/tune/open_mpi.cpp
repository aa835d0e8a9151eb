// Open MPI 4.1: coll/tuned. A rule file has, for each collective, communicator sizes, and for each of these, message
// sizes with an algorithm; algorithm 0 is Open MPI's own choice. A size is that of the vector, or of the buffer with a
// chunk for each rank.
//
// Left out: gather and scatter, for which coll/tuned reads arguments that count on some ranks only, so that ranks could
// disagree; barrier and the v-forms, whose size it does not look at; collectives that have one algorithm of ours.
#include "reports/tune/library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rubato::reports {
namespace {

/// How the segment size of a rule follows from ours: an algorithm may cut parts of a vector.
enum class cut : std::uint8_t { never, vector, half, share };

struct open_mpi_algorithm {
    std::string_view id;
    int number;
    std::string_view native;  ///< its name
    cut segments = cut::never;
};

constexpr std::array in_open_mpi{
    open_mpi_algorithm{"allgather/bruck", 2, "bruck"},
    open_mpi_algorithm{"allgather/recursive_doubling", 3, "recursive_doubling"},
    open_mpi_algorithm{"allgather/ring", 4, "ring"},
    open_mpi_algorithm{"allgather/neighbour_exchange", 5, "neighbor"},
    open_mpi_algorithm{"allreduce/linear", 1, "basic_linear"},
    open_mpi_algorithm{"allreduce/recursive_doubling", 3, "recursive_doubling"},
    open_mpi_algorithm{"allreduce/ring", 4, "ring"},
    open_mpi_algorithm{"allreduce/segmented_ring", 5, "segmented_ring", cut::share},
    open_mpi_algorithm{"allreduce/rabenseifner", 6, "rabenseifner"},
    open_mpi_algorithm{"alltoall/direct", 1, "linear"},
    open_mpi_algorithm{"alltoall/pairwise", 2, "pairwise"},
    open_mpi_algorithm{"alltoall/bruck", 3, "modified_bruck"},
    open_mpi_algorithm{"bcast/linear", 1, "basic_linear"},
    open_mpi_algorithm{"bcast/chain", 3, "pipeline", cut::vector},
    open_mpi_algorithm{"bcast/split_binary", 4, "split_binary_tree", cut::half},
    open_mpi_algorithm{"bcast/binary", 5, "binary_tree", cut::vector},
    open_mpi_algorithm{"bcast/binomial", 6, "binomial"},
    open_mpi_algorithm{"bcast/knomial", 7, "knomial"},
    open_mpi_algorithm{"bcast/scatter_allgather", 8, "scatter_allgather"},
    open_mpi_algorithm{"bcast/scatter_ring", 9, "scatter_allgather_ring"},
    open_mpi_algorithm{"reduce/linear", 1, "linear"},
    open_mpi_algorithm{"reduce/chain", 3, "pipeline", cut::vector},
    open_mpi_algorithm{"reduce/binary", 4, "binary", cut::vector},
    open_mpi_algorithm{"reduce/binomial", 5, "binomial"},
    open_mpi_algorithm{"reduce/butterfly", 7, "rabenseifner"},
    open_mpi_algorithm{"reduce_scatter/halving", 2, "recursive_halving"},
    open_mpi_algorithm{"reduce_scatter/ring", 3, "ring"},
};

/// What coll/tuned chooses by itself: groups of ranks below a number, in them sizes below a number with an algorithm.
/// Sizes are those of a chunk in allgather and alltoall. Operators commute.
struct choice_table {
    collective what;
    int number;  ///< of the collective, in rule files
    /// Which algorithm does the work, as ours are called: coll/tuned passes some calls on to another one.
    int (*done)(int chosen, std::int32_t ranks, std::int64_t bytes);
    std::string_view choices;
};

constexpr std::int64_t element = 8;
constexpr int as_chosen(int chosen, std::int32_t, std::int64_t) { return chosen; }
/// A chain without a fan-out is a pipeline.
constexpr int chain_is_pipeline(int chosen, std::int32_t, std::int64_t) { return chosen == 2 ? 3 : chosen; }
constexpr int allgather_done(int chosen, std::int32_t ranks, std::int64_t) {
    if (chosen == 3 && !is_power_of_two(ranks)) return 2;
    if (chosen == 5 && ranks % 2 != 0) return 4;
    return chosen == 6 ? 3 : chosen;  // two ranks: they exchange what they have
}
constexpr int allreduce_done(int chosen, std::int32_t ranks, std::int64_t bytes) {
    if (chosen == 4 || chosen == 5) return bytes < element * ranks ? 3 : 4;  // it is given no segment size
    return chosen == 6 && bytes < element * ranks ? 1 : chosen;
}
/// Any number of requests are open at once.
constexpr int alltoall_done(int chosen, std::int32_t, std::int64_t) {
    return chosen == 4 ? 1 : chosen == 5 ? 2 : chosen;
}

constexpr std::array own_choices{
    choice_table{collective::allgather, 0, allgather_done,
                 "3:=6|32:=3|64:1Ki=3,64Ki=5,=4|128:512=3,64Ki=5,=4|256:512=3,128Ki=5,512Ki=4,1Mi=5,=4|"
                 "512:32=3,128=2,1Ki=3,128Ki=5,512Ki=4,1Mi=5,=4|1024:64=3,256=2,2Ki=3,=5|"
                 "2048:4=3,8=2,16=3,32=2,256=3,512=2,4Ki=3,=5|4096:32=2,128=3,512=2,4Ki=3,=5|"
                 ":2=3,8=2,16=3,512=2,4Ki=3,=5"},
    choice_table{collective::allreduce, 2, allreduce_done,
                 "4:8=4,4Ki=3,8Ki=4,16Ki=3,64Ki=4,256Ki=5,=6|8:16=4,8Ki=3,=6|16:8Ki=3,=6|32:64=5,4Ki=3,=6|"
                 "64:128=5,=6|128:256Ki=3,=6|256:128Ki=2,256Ki=3,=6|512:4Ki=2,=6|2048:2Ki=2,16Ki=3,=6|"
                 "4096:2Ki=2,4Ki=5,16Ki=3,=6|:2Ki=2,16Ki=5,32Ki=3,=6"},
    choice_table{collective::alltoall, 3, alltoall_done,
                 "3:2=2,4=5,16=2,64=5,256=2,4Ki=5,32Ki=2,256Ki=4,1Mi=5,=2|8:8Ki=4,16Ki=1,64Ki=4,512Ki=1,1Mi=2,=1|"
                 "16:256Ki=4,=1|32:4=4,512=3,8Ki=4,32Ki=1,256Ki=4,512Ki=1,=4|64:512=3,512Ki=1,=4|"
                 "128:1Ki=3,2Ki=1,4Ki=4,256Ki=1,=2|256:1Ki=3,2Ki=4,256Ki=1,=2|512:1Ki=3,8Ki=4,32Ki=1,=2|"
                 "1024:512=3,8Ki=4,16Ki=1,128Ki=4,256Ki=1,=2|2048:512=3,1Ki=4,2Ki=1,16Ki=4,256Ki=1,=4|"
                 "4096:1Ki=3,4Ki=4,8Ki=1,128Ki=4,=1|:2Ki=3,8Ki=4,16Ki=1,32Ki=4,64Ki=1,=4"},
    choice_table{collective::bcast, 7, chain_is_pipeline,
                 "4:32=3,256=5,512=3,1Ki=7,32Ki=1,128Ki=5,256Ki=2,512Ki=1,1Mi=6,=5|8:64=5,128=6,2Ki=5,8Ki=6,1Mi=1,=2|"
                 "16:8=7,64=5,4Ki=7,16Ki=5,32Ki=6,=1|32:4Ki=7,1Mi=6,=8|64:2Ki=6,=7|128:=7|"
                 "256:2=6,16Ki=5,32Ki=1,64Ki=5,=7|1024:16Ki=7,32Ki=4,=7|2048:512Ki=7,=8|4096:256Ki=7,=8|"
                 ":8Ki=7,16Ki=5,256Ki=7,=8"},
    choice_table{collective::reduce, 11, chain_is_pipeline,
                 "4:8=7,16=4,32=3,256Ki=1,512Ki=3,1Mi=2,=3|8:4Ki=4,64Ki=2,256Ki=5,512Ki=1,1Mi=5,=1|16:8Ki=4,=5|"
                 "32:4Ki=4,=5|256:=5|512:8Ki=5,16Ki=6,=5|2048:=5|4096:512=5,1Ki=6,8Ki=5,16Ki=6,=5|"
                 ":16=5,32=6,1Ki=5,2Ki=6,8Ki=5,16Ki=6,=5"},
    choice_table{
        collective::reduce_scatter, 12, as_chosen,
        "4:64Ki=3,128Ki=4,=3|8:8=1,256Ki=2,=3|32:256Ki=2,=3|64:64=1,2Ki=2,512Ki=4,=3|"
        "128:256=1,512=2,2Ki=4,4Ki=2,=4|256:256=1,512=2,=4|512:256=1,1Ki=2,=4|"
        "1024:512=1,2Ki=2,8Ki=4,16Ki=2,=4|2048:512=1,4Ki=2,16Ki=4,32Ki=2,=4|4096:512=1,4Ki=2,=4|:1Ki=1,8Ki=2,=4"},
};

const choice_table* table_of(collective what) {
    const auto found = std::ranges::find(own_choices, what, &choice_table::what);
    return found == own_choices.end() ? nullptr : &*found;
}

int own_choice(const choice_table& t, std::int32_t ranks, std::int64_t size) {
    for (std::string_view groups = t.choices; !groups.empty();) {
        std::string_view group = take(groups, "|");
        const std::string_view below = take(group, ":");
        if (!below.empty() && ranks >= parse_integer(below, "number of ranks", 1, 1 << 20)) continue;
        while (!group.empty()) {
            std::string_view entry = take(group, ",");
            const std::string_view limit = take(entry, "=");
            if (limit.empty() || size < parse_bytes(limit))
                return static_cast<int>(parse_integer(entry, "algorithm", 1, 9));
        }
    }
    return 0;
}

/// That are cut into segments one by one.
std::int64_t parts(const open_mpi_algorithm& s, std::int32_t ranks) {
    return s.segments == cut::half ? 2 : s.segments == cut::share ? ranks : 1;
}

bool is_of(const open_mpi_algorithm& s, collective what) { return find_algorithm(s.id).what == what; }

class open_mpi_library final : public library {
public:
    std::vector<const algorithm*> algorithms_for(collective what, std::int32_t ranks) const override {
        std::vector<const algorithm*> found;
        for (const open_mpi_algorithm& s : in_open_mpi) {
            problem p;
            p.what = what;
            p.ranks = ranks;
            if (is_of(s, what) && !unmet_need(find_algorithm(s.id), p)) found.push_back(&find_algorithm(s.id));
        }
        return found;
    }

    std::optional<way> otherwise(collective what, std::int32_t ranks, std::int64_t bytes) const override {
        const choice_table* const t = table_of(what);
        if (t == nullptr) return std::nullopt;
        const bool by_chunk = what == collective::allgather || what == collective::alltoall;
        const int number = t->done(own_choice(*t, ranks, by_chunk ? bytes / ranks : bytes), ranks, bytes);
        const auto found = std::ranges::find_if(
            in_open_mpi, [&](const open_mpi_algorithm& s) { return s.number == number && is_of(s, what); });
        return found == in_open_mpi.end() ? std::nullopt : std::optional(way{&find_algorithm(found->id)});
    }

    std::optional<way> named(collective what, std::int32_t ranks, std::string_view native,
                             std::int64_t segment) const override {
        const auto found = std::ranges::find_if(
            in_open_mpi, [&](const open_mpi_algorithm& s) { return s.native == native && is_of(s, what); });
        if (found == in_open_mpi.end() || (found->segments == cut::never && segment > 0)) return std::nullopt;
        return way{&find_algorithm(found->id), segment * parts(*found, ranks)};
    }

    std::string file(std::span<const decided> all, const std::string& made_by) const override {
        const std::vector<size_rules> groups = by_size(all);
        std::string text;
        int collectives = 0;
        for (std::size_t i = 0; i < groups.size(); ++collectives) {
            std::size_t end = i;
            std::string sizes;
            for (; end < groups.size() && groups[end].what == groups[i].what; ++end) sizes += rules_text(groups[end]);
            const std::int32_t beyond = 2 * groups[end - 1].ranks;
            text += fmt::format("{} # {}\n{} # communicator sizes\n{}{}{}", table_of(groups[i].what)->number,
                                traits(groups[i].what).name, end - i + 2, left_alone(0), sizes, left_alone(beyond));
            i = end;
        }
        return fmt::format("{} # collectives; {}\n{}", collectives, made_by, text);
    }

private:
    static std::string left_alone(std::int32_t ranks) {
        return fmt::format("{} # ranks\n1 # message size: Open MPI's own choice\n0 0 0 0\n", ranks);
    }

    static std::string rules_text(const size_rules& r) {
        std::string text = fmt::format("{} # ranks\n{} # message sizes\n", r.ranks, r.sizes.size());
        for (const size_rules::one& s : r.sizes) text += rule_text(s, r.ranks);
        return text;
    }

    static std::string rule_text(const size_rules::one& s, std::int32_t ranks) {
        if (!s.use) return fmt::format("{} 0 0 0\n", s.from);
        const open_mpi_algorithm& a = *std::ranges::find(in_open_mpi, s.use->use->id, &open_mpi_algorithm::id);
        return fmt::format("{} {} 0 {} # {}\n", s.from, a.number, s.use->segment / parts(a, ranks), a.native);
    }
};

}  // namespace

const library& open_mpi() {
    static const open_mpi_library it;
    return it;
}

}  // namespace rubato::reports
