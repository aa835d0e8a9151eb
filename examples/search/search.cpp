// Map-reduce: counting strings in a text (Hoefler 2008, V.1.8). Rank 0 has the text and scatters packets of it; all
// ranks search theirs, and their counts are summed up at rank 0. The next packets are under way while a rank searches,
// and so are the sums of the last ones.
#include "common/application.hpp"
#include "rubato/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>

namespace {

using applications::pace;
using counts = std::vector<std::int64_t>;

struct options {
    std::int64_t kilobytes = 32;
    std::int64_t packets = 8;
    std::int64_t strings = 16;
    std::int64_t window = 3;
};

constexpr std::int64_t longest_string = 6;

std::string random_text(std::int64_t size, std::uint32_t seed) {
    std::mt19937 random(seed);
    std::string text(static_cast<std::size_t>(size), ' ');
    for (char& c : text) c = "acgt"[random() % 4];
    return text;
}

/// Map: how often each string begins in the first `size` characters.
void add_counts(std::string_view text, std::int64_t size, const std::vector<std::string>& strings, counts& to) {
    for (std::size_t s = 0; s < strings.size(); ++s)
        for (std::size_t at = text.find(strings[s]); at < static_cast<std::size_t>(size);
             at = text.find(strings[s], at + 1))
            ++to[s];
}

/// One step's packet; at rank 0 also those of all others. Packets overlap, so that no string is cut.
struct packet {
    std::string all{};
    std::string mine{};
    applications::started scatter{};
};

struct result_buffer {
    counts here{};
    counts sum{};  // at rank 0
    applications::started reduction{};
};

class search : public applications::application {
public:
    search(const options& o, int me, int ranks)
        : size_(o.kilobytes * 1000), steps_(o.packets), window_(o.window), me_(me), ranks_(ranks) {
        for (std::int64_t s = 0; s < o.strings; ++s)
            strings_.push_back(random_text(2 + s % (longest_string - 1), static_cast<std::uint32_t>(s)));
        if (me != 0) return;
        text_ = random_text(steps_ * ranks_ * size_, 12345);
        wanted_.resize(strings_.size());
        add_counts(text_, std::ssize(text_), strings_, wanted_);
        text_.append(longest_string - 1, '.');  // the last packet overlaps with nothing
    }

    void reset() override { found_.assign(strings_.size(), 0); }

    void run(applications::collectives& how, const pace& computing) override {
        const std::int64_t window = how.overlaps() ? window_ : 1;
        std::vector<packet> packets(static_cast<std::size_t>(window));
        std::vector<result_buffer> results(packets.size());
        const auto packet_of = [&](std::int64_t i) -> packet& { return packets[static_cast<std::size_t>(i % window)]; };
        if (how.overlaps())
            for (std::int64_t i = 0; i < std::min(window, steps_); ++i) send_out(how, i, packet_of(i));
        rubato::pipeline_window(
            steps_, results,
            [&](std::int64_t i, result_buffer& to) {
                packet& p = packet_of(i);
                if (!how.overlaps()) send_out(how, i, p);
                p.scatter.wait();
                to.here.assign(strings_.size(), 0);
                computing(1, [&] { add_counts(p.mine, size_, strings_, to.here); });
                if (how.overlaps() && i + window < steps_) send_out(how, i + window, p);
            },
            [&](result_buffer& full) {
                full.sum.resize(strings_.size());
                full.reduction = how.start(rubato::mpi::call::reduce(full.here.data(), full.sum.data(),
                                                                     std::ssize(full.here), MPI_INT64_T, MPI_SUM, 0));
            },
            [&](result_buffer& sent) {
                sent.reduction.wait();
                if (me_ == 0) std::ranges::transform(found_, sent.sum, found_.begin(), std::plus{});
            });
    }

    std::string fault() override {
        if (me_ != 0) return {};
        for (std::size_t s = 0; s < strings_.size(); ++s)
            if (found_[s] != wanted_[s])
                return fmt::format("'{}' was found {} times instead of {}", strings_[s], found_[s], wanted_[s]);
        return {};
    }

private:
    void send_out(applications::collectives& how, std::int64_t step, packet& p) const {
        const std::int64_t length = size_ + longest_string - 1;
        p.mine.resize(static_cast<std::size_t>(length));
        if (me_ == 0) {
            p.all.clear();
            for (int r = 0; r < ranks_; ++r)
                p.all.append(text_, static_cast<std::size_t>((step * ranks_ + r) * size_),
                             static_cast<std::size_t>(length));
        }
        p.scatter =
            how.start(rubato::mpi::call::scatter(p.all.data(), length, MPI_CHAR, p.mine.data(), length, MPI_CHAR, 0));
    }

    std::int64_t size_;
    std::int64_t steps_;
    std::int64_t window_;
    int me_;
    int ranks_;
    std::vector<std::string> strings_{};
    // At rank 0:
    std::string text_{};
    counts wanted_{};
    counts found_{};
};

}  // namespace

int main(int argc, char** argv) {
    options o;
    const auto make = [&] {
        return std::make_unique<search>(o, applications::rank_in(MPI_COMM_WORLD),
                                        applications::size_of(MPI_COMM_WORLD));
    };
    return applications::run(
        argc, argv,
        {.name = "search",
         .about =
             "Counts strings in a text by map and reduce, with a window of packets under way. Start it with mpirun.",
         .footer = "A step is a packet. Checked: every count, against a search of the whole text on one rank.\n\n"
                   "Examples:\n"
                   "  mpirun -n 4 search\n"
                   "  mpirun -n 2 search --kilobytes 100 --packets 32 --strings 64 --repetitions 20\n",
         .options = {{"kilobytes", &o.kilobytes, 1, 100000, "size of a packet"},
                     {"packets", &o.packets, 1, 1 << 20, "of each rank"},
                     {"strings", &o.strings, 1, 1 << 20, "that are counted"},
                     {"window", &o.window, 1, 1024, "packets and sums that are under way at once"}},
         .calls = {rubato::collective::scatter, rubato::collective::reduce},
         .make = make});
}
