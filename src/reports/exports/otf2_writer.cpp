#include "base/files/own_folder.hpp"
#include "reports/exports/formats.hpp"
#include "reports/exports/otf2_terms.hpp"

#include <otf2/otf2.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

namespace rubato::reports {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t lanes_apart = std::uint64_t{1} << 32;

OTF2_FlushType always_flush(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) { return OTF2_FLUSH; }
/// Writing a trace takes none of the traced program's time.
OTF2_TimeStamp no_time(void*, OTF2_FileType, OTF2_LocationRef) { return 0; }
constexpr OTF2_FlushCallbacks flushing{always_flush, no_time};

class archive_writer {
public:
    archive_writer(const trace& t, const fs::path& folder)
        : t_(t),
          archive_(OTF2_Archive_Open(folder.c_str(), "traces", OTF2_FILEMODE_WRITE, 1 << 20, 4 << 20,
                                     OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE),
                   &OTF2_Archive_Close) {
        if (archive_ == nullptr) otf2_failed(folder.string());
    }

    void write() {
        check(OTF2_Archive_SetFlushCallbacks(archive_.get(), &flushing, nullptr));
        check(OTF2_Archive_SetSerialCollectiveCallbacks(archive_.get()));
        check(OTF2_Archive_SetCreator(archive_.get(), "rubato"));
        check(OTF2_Archive_SetDescription(archive_.get(), missing_text(t_).c_str()));
        check(OTF2_Archive_OpenEvtFiles(archive_.get()));
        for (std::int32_t r = 0; r < t_.ranks(); ++r) write_calls(r);
        check(OTF2_Archive_CloseEvtFiles(archive_.get()));
        check(OTF2_Archive_OpenDefFiles(archive_.get()));
        for (const auto& [location, events] : locations_)
            check(OTF2_Archive_CloseDefWriter(archive_.get(), OTF2_Archive_GetDefWriter(archive_.get(), location)));
        check(OTF2_Archive_CloseDefFiles(archive_.get()));
        definitions_ = OTF2_Archive_GetGlobalDefWriter(archive_.get());
        define();
    }

private:
    using function = std::pair<collective, dropin::form>;

    static void check(OTF2_ErrorCode code) {
        if (code != OTF2_SUCCESS) otf2_failed(OTF2_Error_GetDescription(code));
    }

    // Strings are numbered when they are first used, and written with the definitions.
    OTF2_StringRef text(const std::string& s) {
        const auto [found, added] = strings_.emplace(s, static_cast<OTF2_StringRef>(strings_.size()));
        return found->second;
    }

    void write_calls(std::int32_t rank) {
        const std::vector<traced_call> calls = t_.calls_of(rank);
        const std::vector<std::uint32_t> lanes = lanes_of(calls);
        const std::uint32_t most = lanes.empty() ? 0 : *std::ranges::max_element(lanes);
        const std::unique_ptr<OTF2_AttributeList, OTF2_ErrorCode (*)(OTF2_AttributeList*)> attributes(
            OTF2_AttributeList_New(), &OTF2_AttributeList_Delete);
        for (std::uint32_t lane = 0; lane <= most; ++lane) {
            const OTF2_LocationRef location = static_cast<std::uint64_t>(rank) + lane * lanes_apart;
            OTF2_EvtWriter* const to = OTF2_Archive_GetEvtWriter(archive_.get(), location);
            if (to == nullptr) otf2_failed("no writer of events");
            for (std::size_t i = 0; i < calls.size(); ++i)
                if (lanes[i] == lane) write(*to, *attributes, rank, calls[i]);
            std::uint64_t events = 0;
            check(OTF2_EvtWriter_GetNumberOfEvents(to, &events));
            check(OTF2_Archive_CloseEvtWriter(archive_.get(), to));
            locations_.emplace(location, events);
        }
    }

    void write(OTF2_EvtWriter& to, OTF2_AttributeList& attributes, std::int32_t rank, const traced_call& c) {
        const std::vector<std::int32_t>& members = t_.communicators[c.communicator].members;
        const auto begin = static_cast<OTF2_TimeStamp>(std::max<std::int64_t>(0, c.arrival.count()));
        const auto end = static_cast<OTF2_TimeStamp>(std::max<std::int64_t>(0, c.exit.count()));
        const OTF2_RegionRef region =
            regions_.emplace(function{c.what, c.how}, static_cast<OTF2_RegionRef>(regions_.size())).first->second;
        check(OTF2_AttributeList_AddStringRef(&attributes, 0, text(t_.places[c.place])));
        check(OTF2_EvtWriter_Enter(&to, &attributes, begin, region));
        const auto operation = otf2_operation(c.what);
        if (operation && c.how == dropin::form::blocking) {
            const auto me = std::ranges::find(members, rank) - members.begin();
            const bool rooted = traits(c.what).rooted;
            const times_counted times = otf2_times(c.what, static_cast<std::int32_t>(members.size()),
                                                   static_cast<std::int32_t>(me), rooted && me == c.root);
            const auto bytes = static_cast<std::uint64_t>(c.bytes);
            check(OTF2_EvtWriter_MpiCollectiveBegin(&to, nullptr, begin));
            check(
                OTF2_EvtWriter_MpiCollectiveEnd(&to, nullptr, end, *operation, c.communicator,
                                                rooted ? static_cast<std::uint32_t>(c.root) : OTF2_COLLECTIVE_ROOT_NONE,
                                                times.sent * bytes, times.received * bytes));
        }
        check(OTF2_EvtWriter_Leave(&to, nullptr, end, region));
        last_ = std::max(last_, end);
    }

    void define() {
        const OTF2_StringRef nothing = text("");
        const OTF2_StringRef machine = text("machine"), node = text("node"), place = text("place");
        const OTF2_StringRef what_place = text("where the program calls it");
        const OTF2_StringRef program = text(t_.program), mpi = text("MPI"), world = text("MPI_COMM_WORLD");
        std::map<std::string, OTF2_SystemTreeNodeRef> hosts;
        for (const std::string& h : t_.hosts)
            if (hosts.emplace(h, static_cast<OTF2_SystemTreeNodeRef>(hosts.size() + 1)).second) (void)text(h);
        std::vector<OTF2_StringRef> names;
        for (std::int32_t r = 0; r < t_.ranks(); ++r) names.push_back(text(fmt::format("MPI Rank {}", r)));
        const OTF2_StringRef first_thread = text("calls"), other_thread = text("calls of other threads");
        std::map<function, OTF2_StringRef> functions;
        for (const auto& [f, region] : regions_) functions[f] = text(function_of(f.first, f.second));
        std::vector<OTF2_StringRef> communicators;
        for (std::size_t i = 0; i < t_.communicators.size(); ++i)
            communicators.push_back(text(fmt::format("communicator {}", i)));

        check(OTF2_GlobalDefWriter_WriteClockProperties(definitions_, 1'000'000'000, 0, last_ + 1,
                                                        OTF2_UNDEFINED_TIMESTAMP));
        for (const auto& [s, ref] : strings_) check(OTF2_GlobalDefWriter_WriteString(definitions_, ref, s.c_str()));
        check(OTF2_GlobalDefWriter_WriteParadigm(definitions_, OTF2_PARADIGM_MPI, mpi, OTF2_PARADIGM_CLASS_PROCESS));
        check(OTF2_GlobalDefWriter_WriteAttribute(definitions_, 0, place, what_place, OTF2_TYPE_STRING));
        check(OTF2_GlobalDefWriter_WriteSystemTreeNode(definitions_, 0, program, machine,
                                                       OTF2_UNDEFINED_SYSTEM_TREE_NODE));
        for (const auto& [h, ref] : hosts)
            check(OTF2_GlobalDefWriter_WriteSystemTreeNode(definitions_, ref, text(h), node, 0));
        for (std::int32_t r = 0; r < t_.ranks(); ++r)
            check(OTF2_GlobalDefWriter_WriteLocationGroup(
                definitions_, static_cast<OTF2_LocationGroupRef>(r), names[static_cast<std::size_t>(r)],
                OTF2_LOCATION_GROUP_TYPE_PROCESS, hosts[t_.hosts[static_cast<std::size_t>(r)]],
                OTF2_UNDEFINED_LOCATION_GROUP));
        for (const auto& [location, events] : locations_)
            check(OTF2_GlobalDefWriter_WriteLocation(
                definitions_, location, location < lanes_apart ? first_thread : other_thread,
                OTF2_LOCATION_TYPE_CPU_THREAD, events, static_cast<OTF2_LocationGroupRef>(location % lanes_apart)));
        for (const auto& [f, region] : regions_)
            check(OTF2_GlobalDefWriter_WriteRegion(
                definitions_, region, functions[f], functions[f], nothing,
                f.first == collective::barrier ? OTF2_REGION_ROLE_BARRIER : OTF2_REGION_ROLE_COLL_ALL2ALL,
                OTF2_PARADIGM_MPI, OTF2_REGION_FLAG_NONE, nothing, 0, 0));
        define_communicators(world, nothing, communicators);
    }

    /// The first group has the locations of all ranks; the members of others are places in it.
    void define_communicators(OTF2_StringRef world, OTF2_StringRef nothing, std::span<const OTF2_StringRef> names) {
        std::vector<std::uint64_t> members(t_.hosts.size());
        for (std::size_t r = 0; r < members.size(); ++r) members[r] = r;
        const auto group = [&](OTF2_GroupRef ref, OTF2_StringRef name, OTF2_GroupType type) {
            check(OTF2_GlobalDefWriter_WriteGroup(definitions_, ref, name, type, OTF2_PARADIGM_MPI,
                                                  OTF2_GROUP_FLAG_NONE, static_cast<std::uint32_t>(members.size()),
                                                  members.data()));
        };
        group(0, nothing, OTF2_GROUP_TYPE_COMM_LOCATIONS);
        for (std::size_t i = 0; i < t_.communicators.size(); ++i) {
            const traced_communicator& c = t_.communicators[i];
            members.assign(c.members.begin(), c.members.end());
            const auto ref = static_cast<OTF2_GroupRef>(i + 1);
            group(ref, nothing, OTF2_GROUP_TYPE_COMM_GROUP);
            const bool all = c.members.size() == t_.hosts.size() && c.ordinal == 0;
            check(OTF2_GlobalDefWriter_WriteComm(definitions_, static_cast<OTF2_CommRef>(i), all ? world : names[i],
                                                 ref, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
        }
    }

    const trace& t_;
    std::unique_ptr<OTF2_Archive, OTF2_ErrorCode (*)(OTF2_Archive*)> archive_;
    OTF2_GlobalDefWriter* definitions_ = nullptr;
    std::map<std::string, OTF2_StringRef> strings_{};
    std::map<function, OTF2_RegionRef> regions_{};
    std::map<OTF2_LocationRef, std::uint64_t> locations_{};
    OTF2_TimeStamp last_ = 0;
};

}  // namespace

void write_otf2(const trace& t, const fs::path& folder) {
    const auto refuse = [&folder](std::string_view reason, std::string_view way_out) {
        throw error(fmt::format("cannot write '{}'", folder.string()), reason, way_out);
    };
    std::error_code none;
    if (fs::exists(folder, none) && (!fs::is_directory(folder, none) || !fs::is_empty(folder, none)))
        refuse("a trace of OTF2 is a folder, and this is there", "name a new one");
    const fs::path whole = fs::absolute(folder / "").lexically_normal().parent_path();
    if (const fs::path above = whole.parent_path(); !fs::is_directory(above, none))
        refuse(fmt::format("there is no folder '{}'", above.string()), "make it, or write elsewhere");
    if (base::may_be_planted(whole)) refuse("another user has made it", "name a new one");
    const otf2_listener listening;
    archive_writer(t, folder).write();
}

}  // namespace rubato::reports
