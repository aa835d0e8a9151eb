#include "common/collectives.hpp"

namespace applications {

std::string_view name_of(form f) {
    switch (f) {
        case form::blocking: return "blocking";
        case form::native: return "native";
        case form::rubato: break;
    }
    return "rubato";
}

void started::wait() {
    if (native_) native_->wait();
    native_.reset();
    ours_.wait();
}

collectives::collectives(MPI_Comm comm, form how, const rubato::algorithm* algorithm)
    : comm_(comm), form_(how), algorithm_(algorithm) {
    if (how == form::rubato) ours_.emplace(comm);
}

started collectives::start(const rubato::mpi::call& c) {
    switch (form_) {
        case form::blocking: mpi_call(comm_, c, true); return {};
        case form::native: return started(std::make_unique<mpi_call>(comm_, c, false));
        case form::rubato: break;
    }
    rubato::mpi::selection chosen;
    if (algorithm_ != nullptr && algorithm_->what == c.what) chosen.use = algorithm_;
    chosen.segments = 0;
    return started(ours_->start(chosen, c));
}

double sum_over(MPI_Comm comm, double mine) {
    double all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, comm);
    return all;
}

}  // namespace applications
