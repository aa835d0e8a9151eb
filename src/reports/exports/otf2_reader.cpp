#include "reports/exports/formats.hpp"
#include "reports/exports/otf2_terms.hpp"

#include <otf2/otf2.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

namespace rubato::reports {
namespace {

namespace fs = std::filesystem;

class archive_reader {
public:
    explicit archive_reader(fs::path file)
        : file_(std::move(file)), reader_(OTF2_Reader_Open(file_.c_str()), &OTF2_Reader_Close) {
        if (reader_ == nullptr) fail("it cannot be opened as an archive");
    }

    trace read() {
        check(OTF2_Reader_SetSerialCollectiveCallbacks(reader_.get()), "it cannot be read");
        read_definitions();
        read_events();
        finish();
        return std::move(made_);
    }

private:
    [[noreturn]] void fail(std::string_view reason) const {
        throw error(fmt::format("'{}'", file_.string()), reason,
                    "give the traces.otf2 of a whole trace of an MPI program");
    }
    void check(OTF2_ErrorCode code, std::string_view reason) const {
        if (code != OTF2_SUCCESS) fail(fmt::format("{} ({})", reason, OTF2_Error_GetDescription(code)));
    }
    static archive_reader& self(void* data) { return *static_cast<archive_reader*>(data); }

    /// A callback for definitions of any kind: does this with the reader and what is defined.
    template <class Do>
    struct definition_callback {
        template <class... Defined>
        using pointer = OTF2_CallbackCode (*)(void*, Defined...);
        template <class... Defined>
        operator pointer<Defined...>() const {  // NOLINT(google-explicit-constructor): it stands for all of them
            return [](void* me, Defined... what) {
                Do{}(self(me), what...);
                return static_cast<OTF2_CallbackCode>(OTF2_CALLBACK_SUCCESS);
            };
        }
    };
    template <class Do>
    static definition_callback<Do> keep(Do) {
        return {};
    }

    struct location {
        std::int32_t rank = -1;
        std::vector<OTF2_RegionRef> within{};            ///< regions
        std::vector<std::optional<std::uint32_t>> at{};  ///< the noted place of each
        std::optional<OTF2_TimeStamp> arrival{};
    };

    // Definitions, in the order in which they may refer to each other only at the end.

    void read_definitions() {
        OTF2_GlobalDefReader* const in = OTF2_Reader_GetGlobalDefReader(reader_.get());
        if (in == nullptr) fail("it has no definitions");
        const std::unique_ptr<OTF2_GlobalDefReaderCallbacks, void (*)(OTF2_GlobalDefReaderCallbacks*)> calls(
            OTF2_GlobalDefReaderCallbacks_New(), &OTF2_GlobalDefReaderCallbacks_Delete);
        OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback(
            calls.get(), keep([](auto& me, auto resolution, auto...) { me.resolution_ = resolution; }));
        OTF2_GlobalDefReaderCallbacks_SetStringCallback(
            calls.get(), keep([](auto& me, auto ref, auto text) { me.strings_[ref] = text; }));
        OTF2_GlobalDefReaderCallbacks_SetAttributeCallback(calls.get(),
                                                           keep([](auto& me, auto ref, auto name, auto, auto type) {
                                                               if (type == OTF2_TYPE_STRING) me.attributes_[ref] = name;
                                                           }));
        OTF2_GlobalDefReaderCallbacks_SetSystemTreeNodeCallback(
            calls.get(), keep([](auto& me, auto ref, auto name, auto...) { me.nodes_[ref] = name; }));
        OTF2_GlobalDefReaderCallbacks_SetLocationGroupCallback(
            calls.get(),
            keep([](auto& me, auto ref, auto, auto, auto parent, auto) { me.group_nodes_[ref] = parent; }));
        OTF2_GlobalDefReaderCallbacks_SetLocationCallback(calls.get(),
                                                          keep([](auto& me, auto ref, auto, auto, auto, auto group) {
                                                              me.locations_[ref] = {};
                                                              me.location_groups_[ref] = group;
                                                          }));
        OTF2_GlobalDefReaderCallbacks_SetRegionCallback(
            calls.get(), keep([](auto& me, auto ref, auto name, auto, auto, auto, auto, auto, auto file, auto...) {
                me.regions_[ref] = {name, file};
            }));
        OTF2_GlobalDefReaderCallbacks_SetGroupCallback(
            calls.get(), keep([](auto& me, auto ref, auto, auto type, auto paradigm, auto, auto count, auto members) {
                if (paradigm != OTF2_PARADIGM_MPI) return;
                std::vector<std::uint64_t> all(members, members + count);
                if (type == OTF2_GROUP_TYPE_COMM_LOCATIONS)
                    me.rank_locations_ = std::move(all);
                else
                    me.groups_[ref] = {type == OTF2_GROUP_TYPE_COMM_SELF, std::move(all)};
            }));
        OTF2_GlobalDefReaderCallbacks_SetCommCallback(
            calls.get(), keep([](auto& me, auto ref, auto, auto group, auto...) { me.comms_[ref] = group; }));
        check(OTF2_Reader_RegisterGlobalDefCallbacks(reader_.get(), in, calls.get(), this), "it cannot be read");
        std::uint64_t count = 0;
        check(OTF2_Reader_ReadAllGlobalDefinitions(reader_.get(), in, &count), "its definitions cannot be read");
        if (resolution_ == 0) fail("it does not tell what its clock counts");
        if (rank_locations_.empty()) fail("it has no ranks of MPI");
        for (std::size_t r = 0; r < rank_locations_.size(); ++r) {
            const auto found = location_groups_.find(rank_locations_[r]);
            if (found == location_groups_.end()) fail(fmt::format("its rank {} has no location", r));
            rank_of_group_[found->second] = static_cast<std::int32_t>(r);
        }
        for (auto& [ref, where] : locations_)
            if (const auto found = rank_of_group_.find(location_groups_[ref]); found != rank_of_group_.end())
                where.rank = found->second;
        by_rank_.resize(rank_locations_.size());
        for (const auto& [ref, name] : attributes_)
            if (strings_[name] == "place") place_attribute_ = ref;
    }

    void read_events() {
        for (const auto& [ref, where] : locations_)
            check(OTF2_Reader_SelectLocation(reader_.get(), ref), "a location of it cannot be read");
        const bool local = OTF2_Reader_OpenDefFiles(reader_.get()) == OTF2_SUCCESS;
        check(OTF2_Reader_OpenEvtFiles(reader_.get()), "its events cannot be read");
        for (const auto& [ref, where] : locations_) {
            if (OTF2_DefReader* const in = local ? OTF2_Reader_GetDefReader(reader_.get(), ref) : nullptr) {
                std::uint64_t count = 0;
                check(OTF2_Reader_ReadAllLocalDefinitions(reader_.get(), in, &count), "its definitions cannot be read");
                OTF2_Reader_CloseDefReader(reader_.get(), in);
            }
            OTF2_EvtReader* const in = OTF2_Reader_GetEvtReader(reader_.get(), ref);
            if (in == nullptr) fail(fmt::format("the events of location {} cannot be read", ref));
            read_location(ref, *in);
        }
        if (local) OTF2_Reader_CloseDefFiles(reader_.get());
        OTF2_Reader_CloseEvtFiles(reader_.get());
    }

    /// Location by location: no event depends on those of others.
    void read_location(OTF2_LocationRef ref, OTF2_EvtReader& in) {
        const std::unique_ptr<OTF2_EvtReaderCallbacks, void (*)(OTF2_EvtReaderCallbacks*)> calls(
            OTF2_EvtReaderCallbacks_New(), &OTF2_EvtReaderCallbacks_Delete);
        OTF2_EvtReaderCallbacks_SetEnterCallback(calls.get(),
                                                 [](auto where, auto, auto, void* me, auto* attributes, auto region) {
                                                     self(me).enter(where, attributes, region);
                                                     return OTF2_CALLBACK_SUCCESS;
                                                 });
        OTF2_EvtReaderCallbacks_SetLeaveCallback(calls.get(), [](auto where, auto, auto, void* me, auto, auto) {
            self(me).leave(where);
            return OTF2_CALLBACK_SUCCESS;
        });
        OTF2_EvtReaderCallbacks_SetMpiCollectiveBeginCallback(calls.get(),
                                                              [](auto where, auto time, auto, void* me, auto) {
                                                                  self(me).locations_[where].arrival = time;
                                                                  return OTF2_CALLBACK_SUCCESS;
                                                              });
        OTF2_EvtReaderCallbacks_SetMpiCollectiveEndCallback(
            calls.get(), [](auto where, auto time, auto, void* me, auto, auto... call) {
                self(me).end(where, time, call...);
                return OTF2_CALLBACK_SUCCESS;
            });
        check(OTF2_Reader_RegisterEvtCallbacks(reader_.get(), &in, calls.get(), this), "its events cannot be read");
        std::uint64_t count = 0;
        check(OTF2_Reader_ReadAllLocalEvents(reader_.get(), &in, &count),
              fmt::format("the events of location {} cannot be read", ref));
        OTF2_Reader_CloseEvtReader(reader_.get(), &in);
        if (!wrong_.empty()) fail(wrong_);
    }

    void enter(OTF2_LocationRef where, const OTF2_AttributeList* attributes, OTF2_RegionRef region) {
        location& at = locations_[where];
        at.within.push_back(region);
        OTF2_StringRef text = 0;
        const bool noted = place_attribute_ && OTF2_AttributeList_GetNumberOfElements(attributes) > 0 &&
                           OTF2_AttributeList_GetStringRef(attributes, *place_attribute_, &text) == OTF2_SUCCESS;
        at.at.push_back(noted ? std::optional(places_.number(strings_[text])) : std::nullopt);
    }
    void leave(OTF2_LocationRef where) {
        location& at = locations_[where];
        if (at.within.empty()) return;
        at.within.pop_back();
        at.at.pop_back();
    }
    /// What was noted, or the region around the call.
    std::uint32_t place_of(const location& at) {
        if (!at.at.empty() && at.at.back()) return *at.at.back();
        if (at.within.size() < 2) return places_.number("unknown");
        const region_definition& around = regions_[at.within[at.within.size() - 2]];
        const std::string& file = strings_[around.file];
        return places_.number(file.empty()
                                  ? strings_[around.name]
                                  : fmt::format("{} ({})", strings_[around.name], fs::path(file).filename().string()));
    }

    time_ns to_ns(OTF2_TimeStamp ticks) const {
        // Exact for clocks that count nanoseconds; else within one.
        const std::uint64_t since = ticks;
        if (resolution_ == 1'000'000'000) return time_ns(static_cast<std::int64_t>(since));
        const std::uint64_t whole = since / resolution_;
        const auto rest = static_cast<double>(since % resolution_) * 1e9 / static_cast<double>(resolution_);
        return time_ns(static_cast<std::int64_t>(whole * 1'000'000'000 + static_cast<std::uint64_t>(rest)));
    }

    void end(OTF2_LocationRef where, OTF2_TimeStamp time, OTF2_CollectiveOp operation, OTF2_CommRef comm,
             std::uint32_t root, std::uint64_t sent, std::uint64_t received) {
        location& at = locations_[where];
        const std::optional<OTF2_TimeStamp> arrival = at.arrival;
        at.arrival.reset();
        const auto what = from_otf2(operation);
        if (!what || !arrival || at.rank < 0 || !wrong_.empty()) return;  // such as making a communicator
        const auto numbered = communicator_of(comm, at.rank);
        if (!numbered) {
            wrong_ = fmt::format("location {} calls on communicator {}, which is not defined", where, comm);
            return;
        }
        const std::vector<std::int32_t>& members = made_.communicators[*numbered].members;
        const auto me = static_cast<std::int32_t>(std::ranges::find(members, at.rank) - members.begin());
        traced_call c;
        c.arrival = to_ns(*arrival);
        c.exit = std::max(c.arrival, to_ns(time));
        c.what = *what;
        c.communicator = *numbered;
        c.place = place_of(at);
        if (traits(c.what).rooted) {
            if (root >= members.size()) return;  // of an inter-communicator
            c.root = static_cast<std::int32_t>(root);
        }
        const times_counted times =
            otf2_times(c.what, static_cast<std::int32_t>(members.size()), me, traits(c.what).rooted && me == c.root);
        c.bytes = static_cast<std::int64_t>(times.received > 0 ? received / times.received
                                            : times.sent > 0   ? sent / times.sent
                                                               : 0);
        c.invocation = next_[{*numbered, at.rank}]++;
        by_rank_[static_cast<std::size_t>(at.rank)].push_back(c);
        ++made_.calls;
    }

    /// Its number; that of MPI_COMM_SELF is another for each rank.
    std::optional<std::uint32_t> communicator_of(OTF2_CommRef comm, std::int32_t rank) {
        const auto group = comms_.find(comm);
        const auto of = group == comms_.end() ? groups_.end() : groups_.find(group->second);
        if (of == groups_.end()) return std::nullopt;
        const std::pair key{comm, of->second.self ? rank : -1};
        if (const auto found = numbers_.find(key); found != numbers_.end()) return found->second;
        std::vector<std::int32_t> members;
        if (of->second.self) members.push_back(rank);
        for (const std::uint64_t m : of->second.members) {
            if (m >= rank_locations_.size()) return std::nullopt;
            if (!of->second.self) members.push_back(static_cast<std::int32_t>(m));
        }
        if (std::ranges::find(members, rank) == members.end()) return std::nullopt;
        const auto number = static_cast<std::uint32_t>(made_.communicators.size());
        const std::uint32_t ordinal = alike_[members]++;
        made_.communicators.push_back({std::move(members), ordinal});
        numbers_.emplace(key, number);
        return number;
    }

    void finish() {
        if (made_.calls == 0) fail("there is no collective in it");
        made_.program = file_.parent_path().filename().string();
        made_.library = "imported from OTF2";
        for (const OTF2_LocationRef ref : rank_locations_) {
            const auto node = group_nodes_.find(location_groups_[ref]);
            made_.hosts.push_back(node == group_nodes_.end() ? "" : strings_[nodes_[node->second]]);
        }
        made_.places = places_.all();
        time_ns begin = time_ns::max();
        for (const auto& calls : by_rank_)
            for (const traced_call& c : calls) begin = std::min(begin, c.arrival);
        for (auto& calls : by_rank_)
            for (traced_call& c : calls) {
                c.arrival -= begin;
                c.exit -= begin;
            }
        made_.keep(std::move(by_rank_));
    }

    struct region_definition {
        OTF2_StringRef name = 0;
        OTF2_StringRef file = 0;
    };
    struct group_definition {
        bool self = false;
        std::vector<std::uint64_t> members{};
    };

    fs::path file_;
    std::unique_ptr<OTF2_Reader, OTF2_ErrorCode (*)(OTF2_Reader*)> reader_;
    std::uint64_t resolution_ = 0;
    std::map<OTF2_StringRef, std::string> strings_{};
    std::map<OTF2_AttributeRef, OTF2_StringRef> attributes_{};
    std::optional<OTF2_AttributeRef> place_attribute_{};
    std::map<OTF2_SystemTreeNodeRef, OTF2_StringRef> nodes_{};
    std::map<OTF2_LocationGroupRef, OTF2_SystemTreeNodeRef> group_nodes_{};
    std::map<OTF2_LocationRef, OTF2_LocationGroupRef> location_groups_{};
    std::map<OTF2_LocationGroupRef, std::int32_t> rank_of_group_{};
    std::map<OTF2_LocationRef, location> locations_{};
    std::map<OTF2_RegionRef, region_definition> regions_{};
    std::map<OTF2_GroupRef, group_definition> groups_{};
    std::map<OTF2_CommRef, OTF2_GroupRef> comms_{};
    std::vector<std::uint64_t> rank_locations_{};
    numbered<std::string> places_{};
    std::map<std::pair<OTF2_CommRef, std::int32_t>, std::uint32_t> numbers_{};
    std::map<std::vector<std::int32_t>, std::uint32_t> alike_{};
    std::map<std::pair<std::uint32_t, std::int32_t>, std::uint64_t> next_{};
    std::vector<std::vector<traced_call>> by_rank_{};
    std::string wrong_{};
    trace made_{};
};

}  // namespace

trace read_otf2(const fs::path& file) {
    std::error_code none;
    const otf2_listener listening;
    return archive_reader(fs::is_directory(file, none) ? file / "traces.otf2" : file).read();
}

}  // namespace rubato::reports
