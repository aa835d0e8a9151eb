#include "command/experiments/experiment.hpp"

#include "engine/mpi/datatype.hpp"
#include "schedules/schedule/promises.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>

namespace rubato::command {
namespace {

/// A buffer repeats so many elements: few, so that the right result is quickly computed, and a prime number, so that a
/// block in a wrong place is noticed.
constexpr std::int64_t period = 251;

template <class T>
datatype make(std::string_view name, MPI_Datatype type) {
    return {name, type, sizeof(T),
            [](std::byte* at, int value) {
                const T v = static_cast<T>(value);
                std::memcpy(at, &v, sizeof v);
            },
            [](const std::byte* at) {
                T v;
                std::memcpy(&v, at, sizeof v);
                return fmt::format("{}", v);
            }};
}

/// The one of that name, or an error that names all.
template <class T, std::size_t n>
T find(const std::array<T, n>& all, const std::string& name, std::string_view what) {
    std::string names;
    for (const T& known : all) {
        if (known.name == name) return known;
        names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
    }
    throw error(fmt::format("unknown {} '{}'", what, name), fmt::format("there are {}", names), "use one of them");
}

datatype find_datatype(const std::string& name) {
    const std::array all{
        make<std::int8_t>("int8", MPI_INT8_T),
        make<std::int16_t>("int16", MPI_INT16_T),
        make<int>("int", MPI_INT),
        make<std::int64_t>("int64", MPI_INT64_T),
        make<unsigned>("unsigned", MPI_UNSIGNED),
        make<float>("float", MPI_FLOAT),
        make<double>("double", MPI_DOUBLE),
    };
    return find(all, name, "datatype");
}

experiment::named_op find_op(const std::string& name, const datatype& type) {
    using op = experiment::named_op;
    const std::array all{op{"sum", MPI_SUM},    op{"prod", MPI_PROD, 1},  op{"min", MPI_MIN, 100},
                         op{"max", MPI_MAX, 0}, op{"land", MPI_LAND, 1},  op{"lor", MPI_LOR, 0},
                         op{"lxor", MPI_LXOR},  op{"band", MPI_BAND, -1}, op{"bor", MPI_BOR, 0},
                         op{"bxor", MPI_BXOR}};
    const op found = find(all, name, "operator");
    const bool of_numbers = name == "sum" || name == "prod" || name == "min" || name == "max";
    if (!of_numbers && (type.type == MPI_FLOAT || type.type == MPI_DOUBLE))
        throw error(fmt::format("operator '{}' of {}", name, type.name), "MPI has it for integers alone",
                    "use --datatype int, or sum, prod, min or max");
    return found;
}

/// What is in an output before the call.
std::vector<std::byte> untouched(std::size_t bytes) { return std::vector(bytes, std::byte{0xa5}); }

/// Fills with copies of what its first bytes are.
void repeat(std::vector<std::byte>& all, std::size_t known) {
    for (std::size_t have = known; have < all.size(); have *= 2)
        std::memcpy(all.data() + have, all.data(), std::min(have, all.size() - have));
}

}  // namespace

experiment::experiment(const settings& s, int me, int ranks)
    : settings_(s), type_(find_datatype(s.datatype)), me_(me), ranks_(ranks) {
    const collective_traits& t = traits(s.what);
    call_.what = s.what;
    if (t.rooted) {
        if (s.root < 0 || s.root >= ranks)
            throw error(fmt::format("no rank {} to be the root", s.root),
                        fmt::format("there are ranks 0 to {}", ranks - 1), "give one of them by --root");
        call_.root = s.root;
    }
    call_.send_type = call_.recv_type = type_.type;
    if (t.reduces) op_ = find_op(s.op, type_);
    call_.op = op_.op;
    std::int64_t count = s.bytes / static_cast<std::int64_t>(type_.size);
    count /= t.sized_chunks(ranks);
    if (!t.moves_data()) count = 0;
    call_.send_count = call_.recv_count = count;
    const problem p = problem_of_call();
    rubato::check(p);
    const std::int32_t in_chunks = p.input_chunks(rank(me));
    const std::int32_t out_chunks = p.output_chunks(rank(me));
    if (t.irregular) {
        const auto even = [count](std::int32_t n, auto& counts, auto& places) {
            counts.assign(static_cast<std::size_t>(n), count);
            for (std::int32_t i = 0; i < n; ++i) places.push_back(i * count);
            return mpi::chunks{counts, places};
        };
        if (t.wide_input) call_.send_chunks = even(in_chunks, in_counts_, in_places_);
        if (t.wide_output) call_.recv_chunks = even(out_chunks, out_counts_, out_places_);
        if (t.measured_by_input()) call_.recv_chunks = call_.send_chunks;
    }
    input_.resize(static_cast<std::size_t>(count * in_chunks) * type_.size);
    output_.resize(static_cast<std::size_t>(count * out_chunks) * type_.size);
}

problem experiment::problem_of_call() const {
    problem p;
    p.what = call_.what;
    p.ranks = ranks_;
    p.root = rank(call_.root);
    if (traits(p.what).on_graph) p.neighbours = settings_.neighbours;
    return p;
}

experiment experiment::of_bytes(std::int64_t bytes) const {
    settings other = settings_;
    other.bytes = bytes;
    return {other, me_, ranks_};
}

/// The first elements of a rank's input. Small integers, so that sums are exact. Where a value can hide others, as in a
/// maximum, only one rank's value is not neutral; that rank and value differ from element to element.
std::vector<std::byte> experiment::values(int rank) const {
    std::vector<std::byte> result(period * type_.size);
    for (std::int64_t i = 0; i < period; ++i) {
        std::uint64_t h = (number_ * 0x9e3779b97f4a7c15U) ^ (static_cast<std::uint64_t>(i) << 32U);
        if (!op_.neutral) h ^= static_cast<std::uint64_t>(rank);
        h = (h ^ (h >> 31U)) * 0xbf58476d1ce4e5b9U;
        h ^= h >> 29U;
        int value = static_cast<int>(h % 5);
        if (op_.neutral && h / 5 % static_cast<std::uint64_t>(ranks_) != static_cast<unsigned>(rank))
            value = *op_.neutral;
        type_.set(&result[static_cast<std::size_t>(i) * type_.size], value);
    }
    return result;
}

/// The combined inputs of these ranks, one at least.
std::vector<std::byte> experiment::combined(const std::vector<bool>& ranks) const {
    std::vector<std::byte> result;
    for (int r = 0; r < ranks_; ++r) {
        if (!ranks[static_cast<std::size_t>(r)]) continue;
        const std::vector<std::byte> other = values(r);
        if (result.empty())
            result = other;
        else
            engine::check(MPI_Reduce_local(other.data(), result.data(), period, type_.type, call_.op),
                          "MPI_Reduce_local");
    }
    return result;
}

mpi::call experiment::prepare(std::uint64_t number) {
    number_ = number;
    const auto fill = [this](std::vector<std::byte>& buffer) {
        const std::vector<std::byte> first = values(me_);
        std::memcpy(buffer.data(), first.data(), std::min(first.size(), buffer.size()));
        if (!buffer.empty()) repeat(buffer, std::min(first.size(), buffer.size()));
    };
    output_ = untouched(output_.size());
    mpi::call c = call_;
    c.recv = output_.data();
    const collective_traits& t = traits(c.what);
    if (t.one_buffer()) {
        if (t.has_input(me_, c.root)) fill(output_);
    } else {
        fill(input_);
        c.send = input_.data();
    }
    return c;
}

/// Compares `count` elements of the output from element `at` on with those of a repeated series from `offset` on.
std::string experiment::compare(std::size_t at, const std::vector<std::byte>& want, std::int64_t offset,
                                std::int64_t count) const {
    for (std::int64_t i = 0; i < count;) {
        const std::int64_t from = (offset + i) % period;
        const std::int64_t n = std::min(period - from, count - i);
        const std::byte* const got = &output_[(at + static_cast<std::size_t>(i)) * type_.size];
        const std::byte* const expected = &want[static_cast<std::size_t>(from) * type_.size];
        if (std::memcmp(got, expected, static_cast<std::size_t>(n) * type_.size) != 0) {
            const auto [g, e] = std::mismatch(got, got + static_cast<std::size_t>(n) * type_.size, expected);
            const auto k = static_cast<std::size_t>(g - got) / type_.size;
            return fmt::format("rank {}: element {} is {} instead of {}", me_, at + static_cast<std::size_t>(i) + k,
                               type_.text(got + k * type_.size), type_.text(expected + k * type_.size));
        }
        i += n;
    }
    return {};
}

std::string experiment::wrong() const {
    const problem p = problem_of_call();
    const schedules::promises promised(p, 1);
    // A rank whose only buffer is its input still has it there.
    const collective_traits& t = traits(p.what);
    const bool keeps = t.one_buffer() && t.has_input(me_, call_.root);
    const std::int64_t count = call_.recv_count;
    for (block b = 0; b < promised.blocks(me_, keeps ? buffer::input : buffer::output); ++b) {
        const std::optional<schedules::value> want = keeps ? promised.at_start(me_, b) : promised.at_end(me_, b);
        const auto at = static_cast<std::size_t>(b * count);
        std::string found = want ? compare(at, combined(want->by->from), want->origin * count, count)
                                 : compare(at, untouched(period * type_.size), 0, count);
        if (!found.empty()) return found;
    }
    return {};
}

}  // namespace rubato::command
