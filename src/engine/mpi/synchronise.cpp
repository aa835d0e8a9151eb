#include "engine/mpi/private_communicator.hpp"

#include "engine/mpi/datatype.hpp"

namespace rubato::engine {
namespace {

class mpi_pings : public ping_layer {
public:
    mpi_pings(MPI_Comm comm, int tag) : comm_(comm), tag_(tag) {}

    void send(rank to, std::int64_t number) override {
        check(MPI_Send(&number, 1, MPI_INT64_T, to.value, tag_, comm_), "MPI_Send");
    }
    std::int64_t recv(rank from) override {
        std::int64_t number = 0;
        check(MPI_Recv(&number, 1, MPI_INT64_T, from.value, tag_, comm_, MPI_STATUS_IGNORE), "MPI_Recv");
        return number;
    }

private:
    MPI_Comm comm_;
    int tag_;
};

}  // namespace

void synchronise(MPI_Comm comm, int tag, common_clock& clock, const sync_settings& settings) {
    mpi_pings layer(comm, tag);
    rubato::synchronise(layer, rank(rank_in(comm)), size_of(comm), clock, settings);
}

}  // namespace rubato::engine
