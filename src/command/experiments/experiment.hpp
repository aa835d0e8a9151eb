// The data of one rank's calls of a collective: new in each call, and known, so that every result can be checked.
#pragma once

#include "rubato/mpi.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace rubato::command {

struct datatype {
    std::string_view name;
    MPI_Datatype type;
    std::size_t size;
    void (*set)(std::byte* at, int value);
    std::string (*text)(const std::byte* at);
};

class experiment {
public:
    struct settings {
        collective what{};
        std::int64_t bytes = 0;  ///< of the vector, or of the whole wider buffer; among neighbours, of a chunk
        std::string datatype = "double";
        std::string op = "sum";
        std::int32_t root = 0;
        std::shared_ptr<const graph> neighbours{};  ///< for neighbour collectives, of `world`
    };
    /// Throws if there is no such datatype, operator or root, the operator is not for the datatype, or neighbours are
    /// missing.
    experiment(const settings& s, int me, int ranks);

    struct named_op {
        std::string_view name{};
        MPI_Op op = MPI_OP_NULL;
        std::optional<int> neutral{};  ///< of operators by which one value can hide others
    };

    collective what() const { return call_.what; }
    /// Of the vector, or of the whole wider buffer, in whole elements.
    std::int64_t bytes() const { return static_cast<std::int64_t>(std::max(input_.size(), output_.size())); }
    /// The same of another size.
    experiment of_bytes(std::int64_t bytes) const;

    /// The call, with new data for each number.
    mpi::call prepare(std::uint64_t number);
    /// Empty, or what is wrong with the result of the call that was prepared last.
    std::string wrong() const;

private:
    std::vector<std::byte> values(int rank) const;
    std::vector<std::byte> combined(const std::vector<bool>& ranks) const;
    std::string compare(std::size_t at, const std::vector<std::byte>& want, std::int64_t offset,
                        std::int64_t count) const;

    problem problem_of_call() const;

    settings settings_;
    datatype type_;
    int me_;
    int ranks_;
    named_op op_{};
    mpi::call call_{};
    std::uint64_t number_ = 0;
    std::vector<std::int64_t> in_counts_{}, in_places_{}, out_counts_{}, out_places_{};
    std::vector<std::byte> input_{}, output_{};
};

}  // namespace rubato::command
