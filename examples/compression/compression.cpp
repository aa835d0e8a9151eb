// Parallel compression with a gather of unknown sizes: Hoefler 2008, V.1.2 to V.1.5. Ranks compress blocks with libbz2;
// rank 0 gathers first how long they have become, then what they are, in order, while the next blocks are compressed.
#include "common/application.hpp"
#include "rubato/pipeline.hpp"

#include <bzlib.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace {

using applications::pace;
using bytes = std::vector<char>;

struct options {
    std::int64_t kilobytes = 64;
    std::int64_t blocks = 8;
    std::int64_t tile = 1;
    std::int64_t window = 3;
};

/// The text that is to be compressed, by blocks.
bytes make_block(std::int64_t number, std::int64_t size) {
    std::mt19937 random(static_cast<std::uint32_t>(number));
    constexpr std::string_view letters = "eeeetttaaooiinnsshhrdlu ,.";
    bytes text(static_cast<std::size_t>(size));
    for (char& c : text) c = letters[random() % letters.size()];
    return text;
}

void append_compressed(bytes& block, bytes& to) {
    // libbz2 promises that this is enough.
    auto size = static_cast<unsigned>(block.size() + block.size() / 100 + 600);
    const std::size_t before = to.size();
    to.resize(before + size);
    const int status =
        BZ2_bzBuffToBuffCompress(&to[before], &size, block.data(), static_cast<unsigned>(block.size()), 9, 0, 0);
    if (status != BZ_OK)
        throw rubato::error("a block was not compressed", fmt::format("libbz2's error code is {}", status),
                            "give a smaller --kilobytes if memory is short");
    to.resize(before + size);
}

/// A buffer of the pipeline: blocks of this rank that are gathered together.
struct tile_buffer {
    bytes compressed{};
    std::int64_t size = 0;
    applications::started gather_of_sizes{}, gather{};
    // At rank 0:
    std::vector<std::int64_t> sizes{}, places{};
    bytes gathered{};
};

class compression : public applications::application {
public:
    compression(const options& o, int me, int ranks)
        : block_size_(o.kilobytes * 1000), steps_(o.blocks), tile_(o.tile), window_(o.window), me_(me), ranks_(ranks) {}

    void reset() override { output_.clear(); }

    void run(applications::collectives& how, const pace& computing) override {
        const std::int64_t tile = how.overlaps() ? std::min(tile_, steps_) : steps_;
        std::vector<tile_buffer> buffers(how.overlaps() ? static_cast<std::size_t>(window_) : 1);
        tile_buffer* without_gather = nullptr;  // its sizes are under way
        const auto start_gather = [&](tile_buffer& b) {
            start_data(how, b);
            without_gather = nullptr;
        };
        rubato::pipeline_tiled_window(
            steps_, tile, buffers,
            [&](std::int64_t i, tile_buffer& to) {
                bytes block = make_block(number(i, tile), block_size_);
                computing(1, [&] { append_compressed(block, to.compressed); });
            },
            [&](tile_buffer& full) {
                start_sizes(how, full);
                // Those of the tile before have come meanwhile.
                if (without_gather != nullptr) start_gather(*without_gather);
                without_gather = &full;
            },
            [&](tile_buffer& sent) {
                if (without_gather == &sent) start_gather(sent);
                sent.gather.wait();
                output_.insert(output_.end(), sent.gathered.begin(), sent.gathered.end());
                sent.compressed.clear();
            });
    }

    /// Rank 0 unpacks everything.
    std::string fault() override {
        if (me_ != 0) return {};
        bytes block(static_cast<std::size_t>(block_size_));
        const char* next = output_.data();
        const char* const end = next + output_.size();
        constexpr std::ptrdiff_t most_at_once = 1 << 30;  // a block is smaller
        for (std::int64_t number = 0; number < steps_ * ranks_; ++number) {
            bz_stream stream{};
            BZ2_bzDecompressInit(&stream, 0, 0);
            stream.next_in = const_cast<char*>(next);
            stream.avail_in = static_cast<unsigned>(std::min<std::ptrdiff_t>(end - next, most_at_once));
            stream.next_out = block.data();
            stream.avail_out = static_cast<unsigned>(block.size());
            const int status = BZ2_bzDecompress(&stream);
            next = stream.next_in;
            BZ2_bzDecompressEnd(&stream);
            if (status != BZ_STREAM_END || stream.avail_out != 0 || block != make_block(number, block_size_))
                return fmt::format("block {} is not what was compressed", number);
        }
        return next == end ? "" : "there is something behind the last block";
    }

private:
    /// The block of this rank's i-th step. Within a tile, ranks have consecutive blocks, so what is gathered is in
    /// order.
    std::int64_t number(std::int64_t i, std::int64_t tile) const {
        const std::int64_t first = i / tile * tile;
        return first * ranks_ + me_ * std::min(tile, steps_ - first) + i - first;
    }

    void start_sizes(applications::collectives& how, tile_buffer& b) const {
        b.size = std::ssize(b.compressed);
        b.sizes.resize(static_cast<std::size_t>(ranks_));
        b.gather_of_sizes =
            how.start(rubato::mpi::call::gather(&b.size, 1, MPI_INT64_T, b.sizes.data(), 1, MPI_INT64_T, 0));
    }

    void start_data(applications::collectives& how, tile_buffer& b) const {
        b.gather_of_sizes.wait();
        if (me_ == 0) {
            std::int64_t all = 0;
            b.places.clear();
            for (const std::int64_t size : b.sizes) {
                b.places.push_back(all);
                all += size;
            }
            b.gathered.resize(static_cast<std::size_t>(all));
        }
        b.gather = how.start(rubato::mpi::call::gatherv(b.compressed.data(), b.size, MPI_BYTE, b.gathered.data(),
                                                        {b.sizes, b.places}, MPI_BYTE, 0));
    }

    std::int64_t block_size_;
    std::int64_t steps_;
    std::int64_t tile_;
    std::int64_t window_;
    int me_;
    int ranks_;
    bytes output_{};  // at rank 0
};

}  // namespace

int main(int argc, char** argv) {
    options o;
    const auto make = [&] {
        return std::make_unique<compression>(o, applications::rank_in(MPI_COMM_WORLD),
                                             applications::size_of(MPI_COMM_WORLD));
    };
    return applications::run(
        argc, argv,
        {.name = "compression",
         .about =
             "Parallel compression whose gather overlaps the compression of the next blocks. Start it with mpirun.",
         .footer = "A step is a block. The blocking form gathers everything at the end. Checked: what rank 0 has "
                   "gathered is\n"
                   "unpacked and is the text, block by block.\n\n"
                   "Examples:\n"
                   "  mpirun -n 4 compression\n"
                   "  mpirun -n 2 compression --kilobytes 200 --blocks 32 --tile 2 --repetitions 20\n",
         .options = {{"kilobytes", &o.kilobytes, 1, 100000, "size of a block"},
                     {"blocks", &o.blocks, 1, 1 << 20, "of each rank"},
                     {"tile", &o.tile, 1, 1 << 20, "blocks of a rank that are gathered together"},
                     {"window", &o.window, 1, 1024, "tiles that are under way at once"}},
         .calls = {rubato::collective::gather, rubato::collective::gatherv},
         .make = make});
}
