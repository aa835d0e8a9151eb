#include "engine/mpi/message_errors.hpp"
#include "engine/mpi/predefined.hpp"
#include "libnbc/nbc/built.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <thread>
#include <utility>

namespace rubato::libnbc {

using engine::check;

range range_of(const data& d) {
    if (d.bytes() == 0) return {};
    const engine::type_info t = engine::inspect(d.type);
    const std::byte* const begin = static_cast<const std::byte*>(d.address) - engine::origin(t, d.count);
    return {begin, begin + engine::footprint(t, d.count)};
}

schedule engine_form(const built_schedule& b) {
    struct touched {
        range read, written;
    };
    std::vector<touched> all;
    schedule s;
    s.scratch.assign(2 * b.steps.size(), 0);
    std::map<int, std::pair<std::uint32_t, std::uint32_t>> numbers;  // peer -> messages sent, received
    std::size_t round_begin = 0;
    std::size_t before = 0;  // the round before begins there
    for (std::size_t i = 0; i < b.steps.size(); ++i) {
        const built_step& t = b.steps[i];
        if (i > 0 && t.round != b.steps[i - 1].round) before = std::exchange(round_begin, i);
        all.push_back({t.kind == step_kind::recv ? range{} : range_of(t.from),
                       t.kind == step_kind::send ? range{} : range_of(t.to)});
        const touched& here = all.back();
        for (std::size_t d = before; d < i; ++d) {
            const touched& there = all[d];
            const bool conflict = there.written.overlaps(here.read) || there.written.overlaps(here.written) ||
                                  there.read.overlaps(here.written);
            if (d < round_begin || conflict) s.dependencies.push_back(static_cast<std::uint32_t>(d));
        }
        s.first_dependency.push_back(static_cast<std::uint32_t>(s.dependencies.size()));
        step made;
        made.kind = t.kind;
        made.from = made.to = buffer::scratch;
        made.source = static_cast<block>(2 * i);
        made.target = static_cast<block>(2 * i + 1);
        made.count = 1;
        made.peer = t.peer;
        if (made.is_message()) {
            auto& [sent, received] = numbers[t.peer];
            made.message = t.kind == step_kind::send ? sent++ : received++;
        }
        s.steps.push_back(made);
    }
    return s;
}

built_run::built_run(std::unique_ptr<built_schedule> what, void* memory, MPI_Comm comm, engine::tag_layout tags,
                     std::uint64_t number)
    : what_(std::move(what)),
      memory_(memory),
      comm_(comm),
      tags_(tags),
      number_(number),
      plan_(engine_form(*what_)),
      blocks_(2 * what_->steps.size()) {
    engine::memory where;
    where.scratch = blocks_.data();
    try {
        run_.start(plan_, sizes_, where, *this);
    } catch (...) {
        trouble_ = std::current_exception();
        broken_ = true;
    }
    joined_ = engine::under_way_here().join([this] { (void)look(); });
    engine::under_way_here().begin();
    // A user's own operator is called only by the program's own thread.
    const bool own_operator = std::ranges::any_of(what_->steps, [](const built_step& s) {
        return s.kind == step_kind::combine && engine::number_of_op(s.op) < 0;
    });
    if (own_operator || !engine::may_use_background(false)) return;
    watched_ = engine::watch_until_finalize([this] { return look(); });
    if (watched_) engine::background_thread().wake();
}

built_run::~built_run() {
    if (watched_) engine::stop_watch(*watched_);
    if (joined_) {
        engine::under_way_here().end();
        engine::under_way_here().leave(*joined_);
    }
    // After a failure: nothing more is received, and what is being sent may still be read.
    bool sends = false;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
        if (what_->steps[steps_[i]].kind == step_kind::recv) {
            MPI_Cancel(&requests_[i]);
            PMPI_Wait(&requests_[i], MPI_STATUS_IGNORE);
        } else {
            MPI_Request_free(&requests_[i]);
            sends = true;
        }
    }
    if (sends)
        (void)what_.release();
    else
        std::free(memory_);
}

bool built_run::done() {
    const std::lock_guard lock(mutex_);
    return broken_ || run_.done();
}

/// Goes on with it, unless somebody does.
engine::activity built_run::look() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return engine::activity::listening;
    if (broken_ || run_.done()) return engine::activity::nothing;
    const std::size_t left = run_.remaining();
    try {
        (void)run_.progress();
    } catch (...) {
        if (!trouble_) trouble_ = std::current_exception();
        broken_ = true;
    }
    return run_.remaining() != left ? engine::activity::moving : engine::activity::listening;
}

bool built_run::progress(bool wait) {
    for (;;) {
        (void)look();
        {
            const std::lock_guard lock(mutex_);
            if (broken_ || run_.done()) {
                if (trouble_) std::rethrow_exception(std::exchange(trouble_, nullptr));
                return true;
            }
        }
        (void)engine::under_way_here().help(joined_ ? &*joined_ : nullptr, true);
        if (!wait) return false;
        std::this_thread::yield();  // one that it waits for may need this core
    }
}

template <class Post>
void built_run::add_message(std::uint32_t step, std::uint32_t message, const char* call, Post post) {
    MPI_Request r = MPI_REQUEST_NULL;
    check(post(tags_.tag(tags_.first_tag(number_), message), &r), call);
    requests_.push_back(r);
    steps_.push_back(step);
}

void built_run::send(std::uint32_t step, const std::byte*, std::int64_t, rank to, std::uint32_t message) {
    const data& d = what_->steps[step].from;
    add_message(step, message, "MPI_Isend", [&](int tag, MPI_Request* r) {
        return MPI_Isend(d.address, d.count, d.type, to.value, tag, comm_, r);
    });
}

void built_run::recv(std::uint32_t step, std::byte*, std::int64_t, rank from, std::uint32_t message) {
    const data& d = what_->steps[step].to;
    add_message(step, message, "MPI_Irecv", [&](int tag, MPI_Request* r) {
        return MPI_Irecv(d.address, d.count, d.type, from.value, tag, comm_, r);
    });
}

void built_run::poll(std::vector<std::uint32_t>& completed, bool) {
    indices_.resize(requests_.size());
    statuses_.resize(requests_.size());
    int done = 0;
    const int code = [&] {
        const engine::message_errors_returned here;
        return MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &done, indices_.data(),
                            statuses_.data());
    }();
    if (code != MPI_ERR_IN_STATUS) engine::check(code, "MPI_Testsome");
    if (done == MPI_UNDEFINED || done == 0) return;
    for (int i = 0; i < done; ++i) {
        const auto which = static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)]);
        completed.push_back(steps_[which]);
        const int failed = code == MPI_ERR_IN_STATUS ? statuses_[static_cast<std::size_t>(i)].MPI_ERROR : MPI_SUCCESS;
        // The others go on: messages that nobody receives would be worse.
        if (failed != MPI_SUCCESS && !trouble_) trouble_ = std::make_exception_ptr(mpi::mpi_error("a message", failed));
        if (requests_[which] != MPI_REQUEST_NULL) MPI_Request_free(&requests_[which]);  // Open MPI keeps failed ones
    }
    engine::drop_completed(requests_, steps_);
}

void built_run::combine(const std::byte* left, std::byte*, std::int64_t) {
    const built_step& s = step_at(left);
    engine::check(MPI_Reduce_local(s.from.address, s.to.address, s.to.count, s.to.type, s.op), "MPI_Reduce_local");
}

void built_run::copy(const std::byte* from, std::byte*, std::int64_t) {
    const built_step& s = step_at(from);
    copy_data(s.from, s.to);
}

}  // namespace rubato::libnbc
