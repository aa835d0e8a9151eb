#include "algorithms/pattern/lined_up_tree.hpp"

#include <algorithm>
#include <bit>

namespace rubato {

lined_up_tree::lined_up_tree(rank root, rank me, const std::vector<rank>& after_root) : line_{root} {
    line_.insert(line_.end(), after_root.begin(), after_root.end());
    mine_ = static_cast<std::size_t>(std::ranges::find(line_, me) - line_.begin());
}

std::optional<rank> lined_up_tree::parent() const {
    if (mine_ == 0) return std::nullopt;
    return line_[mine_ - std::bit_floor(mine_)];
}

tree lined_up_tree::shape() const {
    tree t;
    t.parent = parent();
    for (const std::size_t child : children(mine_)) t.children.push_back(line_[child]);
    return t;
}

std::vector<std::size_t> lined_up_tree::children(std::size_t at) const {
    std::vector<std::size_t> below;
    for (std::size_t step = at == 0 ? 1 : 2 * std::bit_floor(at); at + step < size(); step *= 2)
        below.push_back(at + step);
    return below;
}

void lined_up_tree::collect(std::size_t at, std::vector<rank>& ranks) const {
    ranks.push_back(line_[at]);
    for (const std::size_t child : children(at)) collect(child, ranks);
}

std::vector<parcel> lined_up_tree::branches() const {
    std::vector<parcel> all;
    for (const std::size_t child : children(mine_)) {
        all.push_back({line_[child], {}});
        collect(child, all.back().ranks);
    }
    return all;
}

void gather_lined_up(builder& b, rank me, const lined_up_tree& t, slice output) {
    std::vector<parcel> branches = t.branches();
    std::ranges::reverse(branches);  // they hand over in the reverse order
    if (!t.parent()) {
        take_parcels(b, output, branches);
        b.copy(b.input(), output.sub(chunk_of(me)));
        return;
    }
    std::uint32_t chunks = 1;
    for (const parcel& one : branches) chunks += static_cast<std::uint32_t>(one.ranks.size());
    const slice data = chunks == 1 ? b.input() : b.scratch_chunks(chunks);
    std::uint32_t end = chunks;
    for (const auto& [child, ranks] : branches) {
        const auto n = static_cast<std::uint32_t>(ranks.size());
        end -= n;
        b.recv(child, data.sub(end, n));
    }
    b.copy(b.input(), data.sub(0));
    b.send(*t.parent(), data);
}

}  // namespace rubato
