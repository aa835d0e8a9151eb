// Perfetto's TrackEvent packets, written as protocol buffers are: a field is its number and kind, then its value. The
// numbers are those of perfetto/trace/trace_packet.proto and what it includes.
#include "reports/exports/formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace rubato::reports {
namespace {

class message {
public:
    message& number(int field, std::uint64_t value) {
        varint(static_cast<std::uint64_t>(field) << 3);
        varint(value);
        return *this;
    }
    message& bytes(int field, std::string_view value) {
        varint(static_cast<std::uint64_t>(field) << 3 | 2);
        varint(value.size());
        out_ += value;
        return *this;
    }
    message& add(int field, const message& inner) { return bytes(field, inner.out_); }

    const std::string& text() const { return out_; }

private:
    void varint(std::uint64_t value) {
        for (; value >= 128; value >>= 7) out_ += static_cast<char>(value % 128 + 128);
        out_ += static_cast<char>(value);
    }
    std::string out_{};
};

// Of Trace, TracePacket, TrackEvent, InternedData and their like.
namespace field {
constexpr int packet = 1;
constexpr int timestamp = 8, sequence = 10, track_event = 11, interned = 12, sequence_flags = 13, track_descriptor = 60;
constexpr int uuid = 1, track_name = 2, process = 3, thread = 4, parent = 5;
constexpr int pid = 1, process_name = 6, tid = 2, thread_name = 5;
constexpr int annotation = 4, type = 9, name_id = 10, track = 11, category_id = 3;
constexpr int categories = 1, names = 2, annotation_names = 3, annotation_texts = 29, id = 1, value = 2;
constexpr int annotation_name_id = 1, annotation_number = 3, annotation_text_id = 17;
}  // namespace field
constexpr std::uint64_t slice_begin = 1, slice_end = 2;
constexpr std::uint64_t track_of_missing = std::uint64_t{1} << 62;
constexpr std::uint64_t state_cleared = 1, needs_state = 2;
/// Annotations of a slice.
struct annotated {
    enum id : std::uint64_t { place = 1, bytes, root, communicator, call };
};
constexpr std::array<std::string_view, 5> annotated_names{"place", "bytes", "root", "communicator", "call"};

message with_id(std::uint64_t id, std::string_view text) {
    return message().number(field::id, id).bytes(field::value, text);
}

/// The packets of one rank. Names are told once, and referred to by numbers from 1 on.
class rank_packets {
public:
    rank_packets(const trace& t, std::int32_t rank, const piece_taker& put) : t_(t), rank_(rank), put_(put) {}

    void write(std::span<const traced_call> calls) {
        describe_process();
        const std::vector<std::uint32_t> lanes = lanes_of(calls);
        std::uint32_t described = 0;
        for (; described <= (lanes.empty() ? 0 : *std::ranges::max_element(lanes)); ++described)
            describe_lane(described);
        tell_names(calls);
        for (std::size_t i = 0; i < calls.size(); ++i) write(calls[i], lanes[i]);
        put_(out_);
    }

private:
    std::uint64_t uuid_of_process() const { return static_cast<std::uint64_t>(rank_) + 1; }
    std::uint64_t uuid_of_lane(std::uint32_t lane) const { return (std::uint64_t{lane} + 1) << 32 | uuid_of_process(); }
    std::uint64_t pid() const { return static_cast<std::uint64_t>(rank_) + 1; }

    void packet(message body) {
        body.number(field::sequence, static_cast<std::uint64_t>(rank_) + 1);
        out_ += message().add(field::packet, body).text();
        if (out_.size() < piece_size) return;
        put_(out_);
        out_.clear();
    }

    void describe_process() {
        const message process = message().number(field::pid, pid()).bytes(field::process_name, rank_text(t_, rank_));
        packet(message().add(field::track_descriptor,
                             message().number(field::uuid, uuid_of_process()).add(field::process, process)));
    }
    void describe_lane(std::uint32_t lane) {
        const message thread = message()
                                   .number(field::pid, pid())
                                   .number(field::tid, pid() + (std::uint64_t{lane} << 24))
                                   .bytes(field::thread_name, lane == 0 ? "calls" : "calls of other threads");
        packet(message().add(field::track_descriptor, message()
                                                          .number(field::uuid, uuid_of_lane(lane))
                                                          .number(field::parent, uuid_of_process())
                                                          .add(field::thread, thread)));
    }

    void tell_names(std::span<const traced_call> calls) {
        message all = message().add(field::categories, with_id(1, "mpi"));
        for (const traced_call& c : calls) {
            std::uint64_t& id = functions_[{c.what, c.how}];
            if (id != 0) continue;
            id = functions_.size();
            all.add(field::names, with_id(id, function_of(c.what, c.how)));
        }
        for (std::size_t i = 0; i < annotated_names.size(); ++i)
            all.add(field::annotation_names, with_id(i + 1, annotated_names[i]));
        for (std::size_t i = 0; i < t_.places.size(); ++i)
            all.add(field::annotation_texts, with_id(i + 1, t_.places[i]));
        packet(message().add(field::interned, all).number(field::sequence_flags, state_cleared));
    }

    static message annotation(annotated::id what, std::uint64_t value) {
        return message()
            .number(field::annotation_name_id, what)
            .number(what == annotated::place ? field::annotation_text_id : field::annotation_number, value);
    }

    void write(const traced_call& c, std::uint32_t lane) {
        message begin;
        begin.number(field::type, slice_begin)
            .number(field::track, uuid_of_lane(lane))
            .number(field::category_id, 1)
            .number(field::name_id, functions_[{c.what, c.how}])
            .add(field::annotation, annotation(annotated::place, std::uint64_t{c.place} + 1))
            .add(field::annotation, annotation(annotated::bytes, static_cast<std::uint64_t>(c.bytes)))
            .add(field::annotation, annotation(annotated::communicator, c.communicator));
        if (traits(c.what).rooted)
            begin.add(field::annotation, annotation(annotated::root, static_cast<std::uint64_t>(c.root)));
        if (c.invocation != dropin::no_invocation)
            begin.add(field::annotation, annotation(annotated::call, c.invocation));
        event(c.arrival, begin);
        event(c.exit, message().number(field::type, slice_end).number(field::track, uuid_of_lane(lane)));
    }
    void event(time_ns at, const message& what) {
        packet(message()
                   .number(field::timestamp, static_cast<std::uint64_t>(std::max<std::int64_t>(0, at.count())))
                   .add(field::track_event, what)
                   .number(field::sequence_flags, needs_state));
    }

    const trace& t_;
    std::int32_t rank_;
    const piece_taker& put_;
    std::string out_{};
    std::map<std::pair<collective, dropin::form>, std::uint64_t> functions_{};
};

}  // namespace

void write_perfetto(const trace& t, const piece_taker& put) {
    // A track without slices, to be read.
    if (t.missing > 0)
        put(message()
                .add(field::packet,
                     message().add(
                         field::track_descriptor,
                         message().number(field::uuid, track_of_missing).bytes(field::track_name, missing_text(t))))
                .text());
    for (std::int32_t r = 0; r < t.ranks(); ++r) rank_packets(t, r, put).write(t.calls_of(r));
}

}  // namespace rubato::reports
