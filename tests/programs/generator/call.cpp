#include "call.hpp"

#include "quirks.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace random_program {
namespace {

constexpr std::array collectives{collective::barrier,        collective::bcast,
                                 collective::reduce,         collective::allreduce,
                                 collective::scatter,        collective::scatterv,
                                 collective::gather,         collective::gatherv,
                                 collective::allgather,      collective::allgatherv,
                                 collective::alltoall,       collective::alltoallv,
                                 collective::reduce_scatter, collective::reduce_scatter_block,
                                 collective::scan,           collective::exscan};
constexpr std::array between_groups{collective::barrier, collective::bcast, collective::reduce, collective::allreduce,
                                    collective::allgather};

bool reduces(collective what) {
    switch (what) {
        case collective::reduce:
        case collective::allreduce:
        case collective::reduce_scatter:
        case collective::reduce_scatter_block:
        case collective::scan:
        case collective::exscan: return true;
        default: return false;
    }
}

bool irregular(collective what) {
    return what == collective::scatterv || what == collective::gatherv || what == collective::allgatherv ||
           what == collective::alltoallv;
}

/// Each rank has a block for or from each rank.
bool many_blocks(collective what) {
    return irregular(what) || what == collective::allgather || what == collective::alltoall ||
           what == collective::reduce_scatter || what == collective::reduce_scatter_block;
}

}  // namespace

call::call(const place& on, const toolbox& tools, std::uint64_t seed, form how, bool large)
    : place_(on),
      seed_(seed),
      how_(how),
      large_(large),
      shared_(seed),
      own_(seed, 1 + static_cast<std::uint64_t>(on.me + (on.first_group ? 0 : 1000))) {
    args_.comm = on.comm;
    args_.what = inter() ? shared_.one_of(between_groups) : shared_.one_of(collectives);
    // The drop-in replaces large calls, and these are to be many where bits are compared.
    if (large && !inter() && tools.rounds() && shared_.chance(30)) args_.what = collective::allreduce;
    if (inter()) how_ = form::blocking;
    if (how_ == form::persistent && !reduces(args_.what) && !persists) how_ = form::nonblocking;
    everywhere_ = !inter() && shared_.chance(30);
    if (args_.what == collective::alltoallv && how_ != form::blocking) everywhere_ &= exchanges_in_place_later;
    args_.root = shared_.below(1 << 20) % place_.size;
    if (args_.what != collective::barrier) {
        if (reduces(args_.what)) {
            draw_reduction(tools);
        } else {
            draw_movement(tools);
        }
        draw_elements();
        if (inter()) {
            shape_between();
        } else {
            shape();
        }
    }
    if (how_ == form::persistent) issue(args_, how_, request_);
}

call::~call() {
    if (how_ == form::persistent) MPI_Request_free(&request_);
    if (absolute_ != MPI_DATATYPE_NULL) MPI_Type_free(&absolute_);
}

void call::draw_reduction(const toolbox& tools) {
    const bool rounds = args_.what == collective::allreduce && tools.rounds() && shared_.chance(50);
    const reduction& drawn = rounds ? tools.reductions().back() : shared_.one_of(tools.reductions());
    const bool scatters = args_.what == collective::reduce_scatter_block || args_.what == collective::reduce_scatter;
    const bool refused = scatters && drawn.element == basic::affine && !scatters_in_order;
    const reduction& r = refused ? tools.reductions().front() : drawn;
    std::vector<const layout*> fitting = tools.layouts_of(r.element);
    // Open MPI 4.1's rings write in front of their buffers then.
    std::erase_if(fitting, [](const layout* l) { return l->offsets.front() < 0; });
    args_.op = r.op;
    send_.l = recv_.l = r.any_layout ? shared_.one_of(fitting) : fitting.front();
    grain_ = recv_.l->per();
}

void call::draw_movement(const toolbox& tools) {
    const bool dense = !carries_gaps && shared_.chance(60);
    basic element = shared_.one_of(moved);
    if (dense && !may_differ(element)) element = basic::real;
    if (!carries_gaps && !dense) most_bytes_ = 4000;
    // Libraries cut broadcasts by items of the local type. The grain makes them cut alike, but not non-blocking ones.
    // Open MPI 4.1 chooses an algorithm for allgatherv by the local type and hangs.
    mixed_ = !inter() && shared_.chance(40) && may_differ(element) && args_.what != collective::allgatherv &&
             !(args_.what == collective::bcast && how_ != form::blocking);
    std::vector<const layout*> fitting = tools.layouts_of(element);
    if (dense) std::erase_if(fitting, [](const layout* l) { return !l->dense(); });
    if (mixed_) {
        std::erase_if(fitting, [](const layout* l) { return !l->power_of_two(); });
        send_.l = own_.one_of(fitting);
        recv_.l = own_.one_of(fitting);
        grain_ = irregular(args_.what) ? 8 : 16 * place_.size;
    } else {
        send_.l = recv_.l = shared_.one_of(fitting);
        grain_ = recv_.l->per();
    }
}

void call::draw_elements() {
    const int bytes = static_cast<int>(bytes_of(recv_.l->element));
    const int edge = 16384 / bytes;
    const int most = 100000 / bytes;
    const int kind = large_ ? shared_.between(60, 99) : shared_.below(100);
    int n = 0;
    if (kind >= 10) n = 1;
    if (kind >= 20) n = shared_.between(2, 60);
    if (kind >= 60) n = edge + shared_.between(large_ ? 0 : -3, 3);
    if (kind >= 80) n = shared_.between(edge, most);
    // Otherwise collectives with a block per pair of ranks would be the largest.
    if (many_blocks(args_.what) && kind >= 60 && shared_.chance(60)) n = n / (place_.size + place_.remote) + 1;
    elements_ = round_up(std::min(n, most_bytes_ / bytes / (place_.size + place_.remote)));
}

/// The sizes of a v-form, which each rank computes.
int call::elements_of(int from, int to) const {
    const int low = everywhere_ ? std::min(from, to) : from;
    const int high = everywhere_ ? std::max(from, to) : to;
    dice d(seed_, static_cast<std::uint64_t>(low * 4096 + high + 5000000));
    switch (d.below(6)) {
        case 0: return 0;
        case 1: return elements_;
        default: return elements_ == 0 ? 0 : round_up(d.between(0, elements_));
    }
}

std::vector<int> call::elements_by_rank(bool sending) const {
    std::vector<int> n;
    for (int r = 0; r < place_.size; ++r) {
        if (args_.what != collective::alltoallv) {
            n.push_back(elements_of(r, r));
        } else {
            n.push_back(sending ? elements_of(place_.me, r) : elements_of(r, place_.me));
        }
    }
    return n;
}

void call::even(side& s, argument& a, int blocks, int elements) {
    a.count = elements / s.l->per();
    a.type = s.l->type;
    s.memory = buffer(*s.l, blocks * a.count);
    a.data = s.memory.data();
}

/// Blocks in any order, with gaps between them.
void call::uneven(side& s, argument& a, const std::vector<int>& elements) {
    std::vector<std::size_t> order(elements.size());
    std::iota(order.begin(), order.end(), 0U);
    for (std::size_t i = order.size(); i > 1; --i)
        std::swap(order[i - 1], order[static_cast<std::size_t>(own_.below(static_cast<int>(i)))]);
    a.type = s.l->type;
    a.counts.resize(elements.size());
    a.displacements.resize(elements.size());
    int used = 0;
    for (const std::size_t r : order) {
        if (place_.size > 1) used += own_.below(3);  // MPICH 4.0.2 has one rank's block at the beginning always
        a.displacements[r] = used;
        a.counts[r] = elements[r] / s.l->per();
        used += a.counts[r];
    }
    s.memory = buffer(*s.l, used);
    a.data = s.memory.data();
}

void call::in_place(argument& a) {
    a = {};
    a.data = MPI_IN_PLACE;
    a.type = recv_.l->type;
}

void call::not_significant(side& s, argument& a) {
    s = {};
    a = {};
    if (how_ == form::blocking && own_.chance(50)) a.count = -1;
}

void call::by_absolute_addresses(side& s, argument& a) {
    MPI_Aint at = 0;
    MPI_Get_address(s.memory.data(), &at);
    MPI_Type_create_struct(1, &a.count, &at, &s.l->type, &absolute_);
    MPI_Type_commit(&absolute_);
    a.data = MPI_BOTTOM;
    a.count = 1;
    a.type = absolute_;
}

void call::shape() {
    const int n = place_.size;
    argument& s = args_.send;
    argument& r = args_.recv;
    // The root alone decides here.
    const bool root_in_place = root() && own_.chance(40);
    switch (args_.what) {
        case collective::bcast:
            even(recv_, r, 1, elements_);
            filled_ = root();
            if (!mixed_ && elements_ > 0 && shared_.chance(15)) by_absolute_addresses(recv_, r);
            break;
        case collective::reduce:
            even(send_, s, 1, elements_);
            even(recv_, r, 1, elements_);
            if (root_in_place && (reduces_in_place_anywhere || place_.me == 0)) {
                in_place(s);
                filled_ = true;
            } else if (!root() && own_.chance(50)) {
                recv_.memory = buffer();
                r.data = nullptr;
            }
            break;
        case collective::allreduce:
        case collective::scan:
        case collective::exscan:
            even(send_, s, 1, elements_);
            even(recv_, r, 1, elements_);
            if (everywhere_) in_place(s);
            filled_ = everywhere_;
            break;
        case collective::scatter:
        case collective::scatterv: {
            const bool v = args_.what == collective::scatterv;
            even(recv_, r, 1, v ? elements_of(place_.me, place_.me) : elements_);
            if (!root()) {
                not_significant(send_, s);
            } else if (v) {
                uneven(send_, s, elements_by_rank(true));
            } else {
                even(send_, s, n, elements_);
            }
            if (root_in_place) in_place(r);
            break;
        }
        case collective::gather:
        case collective::gatherv: {
            const bool v = args_.what == collective::gatherv;
            even(send_, s, 1, v ? elements_of(place_.me, place_.me) : elements_);
            if (root_in_place) in_place(s);
            filled_ = root_in_place;
            if (!root()) {
                not_significant(recv_, r);
            } else if (v) {
                uneven(recv_, r, elements_by_rank(false));
            } else {
                even(recv_, r, n, elements_);
            }
            break;
        }
        case collective::allgather:
            even(send_, s, 1, elements_);
            even(recv_, r, n, elements_);
            if (everywhere_) in_place(s);
            filled_ = everywhere_;
            break;
        case collective::allgatherv:
            even(send_, s, 1, elements_of(place_.me, place_.me));
            uneven(recv_, r, elements_by_rank(false));
            if (everywhere_) in_place(s);
            filled_ = everywhere_;
            break;
        case collective::alltoall:
            even(send_, s, n, elements_);
            even(recv_, r, n, elements_);
            if (everywhere_) in_place(s);
            filled_ = everywhere_;
            break;
        case collective::alltoallv:
            uneven(send_, s, elements_by_rank(true));
            uneven(recv_, r, elements_by_rank(false));
            if (everywhere_) in_place(s);
            filled_ = everywhere_;
            break;
        case collective::reduce_scatter:
        case collective::reduce_scatter_block: {
            const bool v = args_.what == collective::reduce_scatter;
            const std::vector<int> by_rank = v ? elements_by_rank(true) : std::vector<int>(std::size_t(n), elements_);
            const int all = std::accumulate(by_rank.begin(), by_rank.end(), 0);
            even(send_, s, 1, all);
            even(recv_, r, 1, everywhere_ ? all : by_rank[static_cast<std::size_t>(place_.me)]);
            r.count = elements_ / recv_.l->per();
            for (const int elements : by_rank) r.counts.push_back(elements / recv_.l->per());
            if (everywhere_) in_place(s);
            filled_ = everywhere_;
            break;
        }
        case collective::barrier: break;
    }
}

/// Between two groups data goes from one to the other.
void call::shape_between() {
    const bool to_me = shared_.chance(50) == place_.first_group;
    even(send_, args_.send, 1, elements_);
    even(recv_, args_.recv, args_.what == collective::allgather ? place_.remote : 1, elements_);
    if (args_.what != collective::bcast && args_.what != collective::reduce) return;
    // The root's group passes MPI_ROOT and MPI_PROC_NULL; it gets what is reduced, and gives what is broadcast.
    const bool roots_group = to_me;
    const int drawn = shared_.below(1 << 20);
    args_.root = drawn % (roots_group ? place_.size : place_.remote);
    filled_ = args_.what == collective::bcast && roots_group;
    if (roots_group) args_.root = args_.root == place_.me ? MPI_ROOT : MPI_PROC_NULL;
}

void call::start(std::uint64_t iteration, int late_us) {
    const std::uint64_t values =
        spread(seed_ + iteration) ^ spread(static_cast<std::uint64_t>(place_.me + (place_.first_group ? 0 : 1000)));
    recv_.memory.clear();
    if (args_.what != collective::barrier) {
        send_.memory.fill(values);
        if (filled_) recv_.memory.fill(values);
    }
    if (late_us == 0 && own_.chance(10)) late_us = own_.below(2000);
    if (late_us > 0) usleep(static_cast<useconds_t>(late_us));
    if (how_ == form::persistent) {
        MPI_Start(&request_);
    } else {
        issue(args_, how_, request_);
    }
}

/// By messages, because the collectives are under test. The first rank gets the answer, others always true.
bool call::same_on_all_ranks() {
    constexpr int tag = 3;
    digest mine;
    recv_.memory.add_to(mine, args_.recv.count);
    std::uint64_t value = mine.value();
    if (place_.me != 0) {
        MPI_Send(&value, 1, MPI_UINT64_T, 0, tag, place_.comm);
        return true;
    }
    bool same = true;
    for (int r = 1; r < place_.size; ++r) {
        MPI_Recv(&value, 1, MPI_UINT64_T, r, tag, place_.comm, MPI_STATUS_IGNORE);
        same = same && value == mine.value();
    }
    return same;
}

void call::finish(digest& sum) {
    if (how_ != form::blocking) MPI_Wait(&request_, MPI_STATUS_IGNORE);
    if (args_.what == collective::barrier) {
        sum.add(1);
        return;
    }
    send_.memory.add_to(sum);
    if (args_.what == collective::exscan && place_.me == 0) return;  // undefined
    if (reduces(args_.what) && recv_.l->element == basic::rounded) {
        // Another library may round differently, but all ranks get the same.
        if (args_.what == collective::allreduce && !inter()) sum.add(same_on_all_ranks() ? 1 : 0);
        recv_.memory.forget_elements();
    }
    const bool scattered = args_.what == collective::reduce_scatter || args_.what == collective::reduce_scatter_block;
    if (scattered && filled_) {
        // Only its beginning is a result.
        const int mine = args_.what == collective::reduce_scatter
                             ? args_.recv.counts[static_cast<std::size_t>(place_.me)]
                             : args_.recv.count;
        recv_.memory.add_to(sum, mine);
    } else {
        recv_.memory.add_to(sum);
    }
}

std::string call::description() const {
    constexpr std::array forms{"", " nonblocking", " persistent"};
    std::string text = std::string(name_of(args_.what)) + forms[static_cast<std::size_t>(how_)];
    text += " of " + std::to_string(place_.size) + (inter() ? " between groups" : "");
    if (args_.what == collective::barrier) return text;
    text += ", element " + std::to_string(static_cast<int>(recv_.l ? recv_.l->element : basic::octet));
    text += " x " + std::to_string(elements_) + ", root " + std::to_string(args_.root);
    return text + (mixed_ ? ", mixed" : "") + (everywhere_ ? ", in place" : "");
}

}  // namespace random_program
