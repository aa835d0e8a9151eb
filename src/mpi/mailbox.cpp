#include "mpi/mailbox.hpp"

#include "mpi/datatype.hpp"

#include <utility>

namespace rubato::mpi {

mailbox::~mailbox() {
    if (!under_way_.empty()) keep(std::move(under_way_));
}

void mailbox::keep(std::deque<posted> sent) {
    static auto& kept = *new std::deque<std::deque<posted>>;
    kept.push_back(std::move(sent));
}

void mailbox::send(rank to, std::vector<std::int64_t> text) {
    (void)sends_have_left();
    posted& p = under_way_.emplace_back();
    p.text = std::move(text);
    check(MPI_Isend(p.text.data(), static_cast<int>(p.text.size()), MPI_INT64_T, to.value, tag_, comm_, &p.request),
          "MPI_Isend");
    ++sent_to_[static_cast<std::size_t>(to.value)];
}

bool mailbox::receive(rank& from, std::vector<std::int64_t>& text) {
    int there = 0;
    MPI_Status status{};
    check(MPI_Iprobe(MPI_ANY_SOURCE, tag_, comm_, &there, &status), "MPI_Iprobe");
    if (there == 0) return false;
    int n = 0;
    check(MPI_Get_count(&status, MPI_INT64_T, &n), "MPI_Get_count");
    text.resize(static_cast<std::size_t>(n));
    check(MPI_Recv(text.data(), n, MPI_INT64_T, status.MPI_SOURCE, tag_, comm_, MPI_STATUS_IGNORE), "MPI_Recv");
    from = rank(status.MPI_SOURCE);
    ++received_;
    return true;
}

bool mailbox::sends_have_left() {
    while (!under_way_.empty()) {
        int done = 0;
        check(MPI_Test(&under_way_.front().request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        if (done == 0) return false;
        under_way_.pop_front();
    }
    return true;
}

}  // namespace rubato::mpi
