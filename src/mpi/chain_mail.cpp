#include "mpi/chain_mail.hpp"

#include "core/wire.hpp"
#include "mpi/datatype.hpp"

#include <cstring>
#include <utility>

namespace rubato::mpi {
namespace {

constexpr int note_tag = 0;

/// A rank that hears all it needs takes no notes. So that MPI need not keep them all, they are received after so many
/// calls.
constexpr std::uint64_t calls_between_looks = 16;

/// What a message begins with.
struct note_head {
    std::uint64_t call;
    std::int64_t bytes;
    std::int64_t kind;
    std::int64_t batch;
    std::uint64_t fragments;
};

}  // namespace

chain_mail::~chain_mail() {
    if (!under_way_.empty()) keep(std::move(under_way_));
}

void chain_mail::keep(std::deque<posted> sent) {
    static auto& kept = *new std::deque<std::deque<posted>>;
    kept.push_back(std::move(sent));
}

void chain_mail::begin(std::uint64_t call, std::int64_t bytes) {
    call_ = call;
    bytes_ = bytes;
    come_.erase(come_.begin(), come_.lower_bound(call));
    if (++begun_ % calls_between_looks != 0) return;
    while (look(false)) {
    }
}

void chain_mail::send(rank to, chain_note n) {
    const note_head head{call_, bytes_, static_cast<std::int64_t>(n.what), n.batch, n.fragments};
    posted& p = under_way_.emplace_back();
    p.raw.resize(sizeof head + n.data.size());
    std::memcpy(p.raw.data(), &head, sizeof head);
    if (!n.data.empty()) std::memcpy(p.raw.data() + sizeof head, n.data.data(), n.data.size());
    check(MPI_Isend(p.raw.data(), static_cast<int>(p.raw.size()), MPI_BYTE, to.value, note_tag, comm_, &p.request),
          "MPI_Isend");
    ++sent_to_[static_cast<std::size_t>(to.value)];
}

bool chain_mail::receive(chain_note& n) {
    std::deque<letter>& mine = come_[call_];
    while (mine.empty())
        if (!look(false)) return false;
    letter first = std::move(mine.front());
    mine.pop_front();
    if (first.bytes != bytes_) throw different_sizes();
    n = std::move(first.note);
    return true;
}

bool chain_mail::look(bool wait) {
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status{};
    int found = 0;
    if (wait) check(MPI_Mprobe(MPI_ANY_SOURCE, note_tag, comm_, &message, &status), "MPI_Mprobe");
    // The first look may bring what only the second one finds.
    for (int looks = 0; looks < 2 && !wait && found == 0; ++looks)
        check(MPI_Improbe(MPI_ANY_SOURCE, note_tag, comm_, &found, &message, &status), "MPI_Improbe");
    if (!wait && found == 0) return false;
    int size = 0;
    check(MPI_Get_count(&status, MPI_BYTE, &size), "MPI_Get_count");
    std::vector<std::byte> raw(static_cast<std::size_t>(size));
    check(MPI_Mrecv(raw.data(), size, MPI_BYTE, &message, MPI_STATUS_IGNORE), "MPI_Mrecv");
    ++received_;
    note_head head{};
    std::memcpy(&head, raw.data(), sizeof head);
    if (head.call < call_) return true;  // it has ended here, as this rank had heard all of it
    raw.erase(raw.begin(), raw.begin() + sizeof head);
    come_[head.call].push_back(
        {head.bytes, {static_cast<chain_note::kind>(head.kind), head.batch, head.fragments, std::move(raw)}});
    return true;
}

std::size_t chain_mail::under_way() {
    while (!under_way_.empty()) {
        int done = 0;
        check(MPI_Test(&under_way_.front().request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        if (done == 0) break;
        under_way_.pop_front();
    }
    return under_way_.size();
}

void chain_mail::drop_until(std::int64_t received) {
    while (received_ < received) (void)look(true);
    come_.clear();
}

}  // namespace rubato::mpi
