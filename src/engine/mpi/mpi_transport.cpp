#include "engine/mpi/mpi_transport.hpp"

#include "engine/mpi/message_errors.hpp"
#include "rubato/mpi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <climits>
#include <thread>
#include <utility>

namespace rubato::engine {

tag_layout::tag_layout(int upper_bound) {
    // At least half of the bits for operations: messages of one operation wrap around more easily than operations.
    // MPI promises 2^15 - 1 at least.
    const unsigned bits =
        std::max(static_cast<unsigned>(std::bit_width(static_cast<unsigned>(upper_bound) + 1)), 16U) - 1;
    const unsigned message_bits = std::min(15U, bits / 2);
    const unsigned signature_bits = message_bits / 2;
    signatures_ = 1U << signature_bits;
    // Sizes often differ by a power of two: of these primes 2 is a primitive root, so as few as possible share one.
    constexpr std::array<std::uint32_t, 5> primes{107, 61, 29, 13, 5};
    const auto* const fits = std::ranges::find_if(primes, [&](std::uint32_t p) { return p <= signatures_; });
    modulus_ = fits != primes.end() ? *fits : 1;
    messages_ = 1U << (message_bits - signature_bits);
    operations_ = (std::uint64_t{1} << (bits - message_bits)) - 1;  // the remaining tags belong to no operation
}

void message_pool::make_room() {
    const std::size_t room = std::min(requests_.capacity(), messages_.capacity());
    if (requests_.size() < room) return;
    requests_.reserve(2 * room + 8);
    messages_.reserve(2 * room + 8);
}

void message_pool::add(MPI_Request request, mpi_transport& of, std::uint32_t step, rank peer, bool receives) {
    requests_.push_back(request);
    messages_.push_back({&of, step, peer, receives});
}

void message_pool::look(bool wait) {
    const int n = static_cast<int>(requests_.size());
    indices_.resize(requests_.size());
    statuses_.resize(requests_.size());
    int done = 0;
    int code = MPI_SUCCESS;
    do {  // MPI_Waitsome would wait for ever for a message that nobody sends
        const message_errors_returned here;
        code = MPI_Testsome(n, requests_.data(), &done, indices_.data(), statuses_.data());
        if (done == 0) note_none_completed();
    } while (wait && code == MPI_SUCCESS && done == 0);
    const auto completed = [&](int i) { return static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)]); };
    if (code == MPI_ERR_IN_STATUS)
        for (int i = 0; i < done; ++i)
            messages_[completed(i)].of->note_failed(requests_[completed(i)],
                                                    statuses_[static_cast<std::size_t>(i)].MPI_ERROR);
    else
        check(code, "MPI_Testsome");
    if (done == MPI_UNDEFINED || done == 0) return;
    for (int i = 0; i < done; ++i) note_completed(completed(i));
    drop_completed(requests_, messages_);
}

void message_pool::wait_for_all(const mpi_transport& of) {
    if (!std::ranges::all_of(messages_, [&of](const under_way& m) { return m.of == &of; })) return look(true);
    // Not by MPI_Waitall: with MPI_THREAD_MULTIPLE, Open MPI 4.1 never returns from it if a message has failed before.
    for (std::size_t i = 0; i < requests_.size(); ++i) {
        int code = MPI_SUCCESS;
        for (int done = 0; done == 0 && code == MPI_SUCCESS;) {
            const message_errors_returned here;
            code = MPI_Test(&requests_[i], &done, MPI_STATUS_IGNORE);
            if (done == 0) note_none_completed();
        }
        if (code != MPI_SUCCESS) messages_[i].of->note_failed(requests_[i], code);
        note_completed(i);
    }
    drop_completed(requests_, messages_);
}

/// Now and then, as asking costs more than looking.
void message_pool::note_none_completed() {
    using namespace std::chrono_literals;
    constexpr std::uint32_t seldom = 64;
    if (++in_vain_ % seldom != 0) return;
    std::this_thread::yield();  // another thread, or a rank that this one waits for, may need this core
    const auto now = std::chrono::steady_clock::now();
    if (in_vain_ == seldom) looked_for_others_ = now;
    if (now - looked_for_others_ < 1s) return;
    looked_for_others_ = now;
    for (std::size_t i = 0; i < messages_.size(); ++i)
        if (messages_[i].receives && requests_[i] != MPI_REQUEST_NULL)
            messages_[i].of->check_plan_of(messages_[i].peer);
}

void message_pool::note_completed(std::size_t i) {
    in_vain_ = 0;
    messages_[i].of->note_completed(messages_[i].step);
    received_ += messages_[i].receives;
}

void message_pool::abandon(const mpi_transport& of) noexcept {
    const message_errors_returned here;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
        if (requests_[i] == MPI_REQUEST_NULL || messages_[i].of != &of) continue;
        if (messages_[i].receives) {
            MPI_Cancel(&requests_[i]);
            MPI_Wait(&requests_[i], MPI_STATUS_IGNORE);
        } else {
            MPI_Request_free(&requests_[i]);
        }
    }
    drop_completed(requests_, messages_);
}

void message_pool::cancel_receives() {
    const message_errors_returned here;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
        if (!messages_[i].receives) continue;
        MPI_Status status{};
        int cancelled = 0;
        check(MPI_Cancel(&requests_[i]), "MPI_Cancel");
        check(MPI_Wait(&requests_[i], &status), "MPI_Wait");
        check(MPI_Test_cancelled(&status, &cancelled), "MPI_Test_cancelled");
        received_ += cancelled == 0;
    }
}

bool message_pool::sends_have_left() {
    int all = 0;
    check(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &all, MPI_STATUSES_IGNORE), "MPI_Testall");
    if (all == 0) return false;
    requests_.clear();
    messages_.clear();
    return true;
}

void mpi_transport::bind(const type_info& unit, MPI_Op op, std::uint64_t operation, std::uint32_t parts) {
    unit_ = unit;
    op_ = op;
    operation_ = operation;
    signature_ = tags_.signature(parts);
    first_tag_ = tags_.first_tag(operation, signature_);
    completed_.clear();
}

void mpi_transport::check_plan_of(rank peer) const {
    for (std::uint32_t other = 0; other < tags_.signatures(); ++other) {
        int found = 0;
        if (other != signature_)
            check(MPI_Iprobe(peer.value, tags_.tag(tags_.first_tag(operation_, other), 0), comm_, &found,
                             MPI_STATUS_IGNORE),
                  "MPI_Iprobe");
        if (found != 0)
            throw error(
                "ranks have passed different sizes to a collective",
                fmt::format("rank {} of its communicator sends other pieces than this rank waits for", peer.value),
                "pass as many elements, of the same size, on all ranks");
    }
}

template <class Post>
void mpi_transport::post(std::uint32_t step, rank peer, bool receives, std::int64_t units, Post p) {
    MPI_Request request = MPI_REQUEST_NULL;
    all_.make_room();
    if (units <= INT_MAX) {
        p(static_cast<int>(units), unit_.type, &request);
        all_.add(request, *this, step, peer, receives);
    } else {
        MPI_Datatype all = large_type(units, unit_);
        p(1, all, &request);
        all_.add(request, *this, step, peer, receives);
        check(MPI_Type_free(&all), "MPI_Type_free");
    }
}

void mpi_transport::send(std::uint32_t step, const std::byte* data, std::int64_t units, rank to,
                         std::uint32_t message) {
    post(step, to, false, units, [&](int count, MPI_Datatype type, MPI_Request* request) {
        check(MPI_Isend(data, count, type, to.value, tags_.tag(first_tag_, message), comm_, request), "MPI_Isend");
    });
    all_.count_send(to);
}

void mpi_transport::recv(std::uint32_t step, std::byte* data, std::int64_t units, rank from, std::uint32_t message) {
    post(step, from, true, units, [&](int count, MPI_Datatype type, MPI_Request* request) {
        check(MPI_Irecv(data, count, type, from.value, tags_.tag(first_tag_, message), comm_, request), "MPI_Irecv");
    });
}

void mpi_transport::poll(std::vector<std::uint32_t>& completed, bool wait) {
    if (completed_.empty()) all_.look(wait);
    take(completed);
}

void mpi_transport::wait(std::vector<std::uint32_t>& completed) {
    if (completed_.empty()) all_.wait_for_all(*this);
    take(completed);
}

void mpi_transport::take(std::vector<std::uint32_t>& completed) {
    completed.insert(completed.end(), completed_.begin(), completed_.end());
    completed_.clear();
}

/// A message that is too long is still received, as far as there is room. The operation goes on, so that the other
/// ranks, which do not know of it, get the messages they wait for. Any other error is thrown.
void mpi_transport::note_failed(MPI_Request& request, int code) {
    int what = MPI_SUCCESS;
    check(MPI_Error_class(code, &what), "MPI_Error_class");
    if (what == MPI_SUCCESS) return;
    if (what != MPI_ERR_TRUNCATE) check(code, "a message");
    too_long_ = code;
    if (request != MPI_REQUEST_NULL) check(MPI_Request_free(&request), "MPI_Request_free");  // Open MPI keeps it
}

std::exception_ptr mpi_transport::wrong_lengths() {
    const int code = std::exchange(too_long_, MPI_SUCCESS);
    return code != MPI_SUCCESS ? std::make_exception_ptr(mpi::truncated(code)) : nullptr;
}

void mpi_transport::combine(const std::byte* left, std::byte* into, std::int64_t units) {
    for (std::int64_t first = 0; first < units; first += INT_MAX) {
        const int n = static_cast<int>(std::min<std::int64_t>(INT_MAX, units - first));
        check(MPI_Reduce_local(left + first * unit_.extent, into + first * unit_.extent, n, unit_.type, op_),
              "MPI_Reduce_local");
    }
}

void mpi_transport::copy(const std::byte* from, std::byte* to, std::int64_t units) {
    copy_elements(unit_, from, to, units, comm_);
}

}  // namespace rubato::engine
