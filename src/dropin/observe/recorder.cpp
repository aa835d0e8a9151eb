#include "dropin/observe/recorder.hpp"

#include "dropin/observe/mapped_file.hpp"
#include "dropin/observe/part.hpp"
#include "dropin/observe/part_layout.hpp"

#include <fmt/format.h>

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

namespace rubato::dropin {
namespace {

/// A module's absolute path, as the working folder may change. The program itself may have only the name it was run by.
std::string module_path(const Dl_info& found, const link_map& module) {
    std::error_code none;
    const bool program = module.l_name == nullptr || *module.l_name == 0;
    const std::filesystem::path name = program ? "/proc/self/exe" : found.dli_fname;
    const std::filesystem::path real = std::filesystem::canonical(name, none);
    return none ? name.string() : real.string();
}

/// The texts after a record; their lengths are in it.
template <class Part, std::size_t N>
void append(Part& part, const std::array<std::string_view, N>& texts) {
    auto* to = reinterpret_cast<char*>(&part + 1);
    for (std::size_t i = 0; i < N; ++i) {
        part.lengths[i] = static_cast<std::uint32_t>(texts[i].size());
        to = std::copy(texts[i].begin(), texts[i].end(), to);
    }
}

std::vector<member_run> runs_of(std::span<const std::int32_t> members) {
    std::vector<member_run> runs;
    for (const std::int32_t m : members) {
        if (!runs.empty()) {
            member_run& last = runs.back();
            const std::int64_t step = std::int64_t{m} - last.first;
            if (last.count == 1 && step == static_cast<std::int32_t>(step)) {
                last.step = static_cast<std::int32_t>(step);
                last.count = 2;
                continue;
            }
            if (last.count > 1 && step == std::int64_t{last.step} * last.count) {
                ++last.count;
                continue;
            }
        }
        runs.push_back({m, 0, 1});
    }
    return runs;
}

// Of a watched process.
whereabouts* threads_of(watched_part* part) { return reinterpret_cast<whereabouts*>(part + 1); }

watched_request* requests_of(watched_part* part) {
    return reinterpret_cast<watched_request*>(threads_of(part) + most_threads);
}

/// For all but the calls of which every one is kept: a program that keeps making communicators must not fill the disk.
constexpr std::size_t most_bytes = std::size_t{256} << 20;

}  // namespace

std::filesystem::path part_of(const std::filesystem::path& file, std::int32_t rank) {
    return std::filesystem::absolute(file.string() + ".parts") / fmt::format("{}", rank);
}

std::filesystem::path calls_folder(const std::filesystem::path& file) { return file.string() + ".calls"; }

void remove_calls(const std::filesystem::path& file) {
    try {
        const auto folder = base::own_folder::find(calls_folder(file));
        if (!folder) return;
        for (const std::string& name : folder->names())
            if (name.find_first_not_of("0123456789") == std::string::npos) folder->remove(name);
        folder->remove_if_empty();
    } catch (const error&) {
        // It is not of this user's runs.
    }
}

recorder::recorder(const std::filesystem::path& file, const process& who, const recording& how)
    : path_(part_of(file, who.rank)),
      folder_(base::own_folder::at(path_.parent_path())),
      file_(std::make_unique<mapped_file>(folder_, path_.filename(), most_bytes + how.every_call.value_or(0))) {
    auto* head = reinterpret_cast<file_head*>(file_->data());
    head->used = sizeof(file_head);
    if (how.watched) {
        watched_ = start<watched_part>(record_kind::whereabouts,
                                       most_threads * sizeof(whereabouts) + most_requests * sizeof(watched_request));
        if (watched_ != nullptr) {
            watched_->run = how.run;
            publish();
        }
    }
    auto* part = start<process_part>(record_kind::process, who.program.size() + who.host.size() + who.library.size());
    if (part == nullptr)
        throw error(fmt::format("cannot write '{}'", path_.string()), "its disk is full",
                    "make room, or write elsewhere");
    part->rank = who.rank;
    part->ranks = who.ranks;
    append(*part, std::array<std::string_view, 3>{who.program, who.host, who.library});
    publish();
    if (how.every_call) {
        room_for_calls_ = *how.every_call;
        kept_ = start<kept_part>(record_kind::kept);
        if (kept_ != nullptr) publish();
    }
    head->magic = magic;
}

recorder::~recorder() = default;

std::byte* recorder::allocate(record_kind kind, std::size_t bytes) {
    const auto* head = reinterpret_cast<const file_head*>(file_->data());
    const std::size_t whole = (sizeof(record_head) + bytes + 7) / 8 * 8;
    if (whole > std::numeric_limits<std::uint32_t>::max() || !file_->grow_to(head->used + whole)) return nullptr;
    std::byte* at = file_->data() + head->used;
    *reinterpret_cast<record_head*>(at) = {static_cast<std::uint32_t>(kind), static_cast<std::uint32_t>(whole)};
    return at + sizeof(record_head);
}

void recorder::publish() {
    auto* head = reinterpret_cast<file_head*>(file_->data());
    const std::uint32_t bytes = reinterpret_cast<const record_head*>(file_->data() + head->used)->bytes;
    std::atomic_ref(head->used).store(head->used + bytes, std::memory_order_release);
}

recorder::channel& recorder::open(std::span<const std::int32_t> members) {
    const std::lock_guard lock(mutex_);
    const std::vector<member_run> runs = runs_of(members);
    std::vector<std::int32_t> who;
    for (const member_run& r : runs) who.insert(who.end(), {r.first, r.step, r.count});
    channels_of_members& alike = by_members_[std::move(who)];
    if (!alike.closed.empty()) {
        // Ranks may close them in any order.
        const auto first = std::ranges::min_element(alike.closed, {}, &channel::number_);
        channel& again = **first;
        alike.closed.erase(first);
        return again;
    }
    const auto number = static_cast<std::uint32_t>(channels_.size());
    const std::uint32_t ordinal = alike.opened++;
    alike.closed.reserve(alike.opened);  // closing needs no memory
    channels_.push_back(std::unique_ptr<channel>(new channel(*this, alike, number)));
    auto* part = start<channel_part>(record_kind::channel, runs.size() * sizeof(member_run));
    if (part != nullptr) {
        part->number = number;
        part->ordinal = ordinal;
        part->runs = static_cast<std::uint32_t>(runs.size());
        std::ranges::copy(runs, reinterpret_cast<member_run*>(part + 1));
        publish();
    }
    channels_.back()->mine_ = part;
    return *channels_.back();
}

void recorder::channel::close() noexcept {
    const std::lock_guard lock(home_.mutex_);
    alike_.closed.push_back(this);
}

void recorder::common_time(time_ns own, time_ns common) {
    const std::lock_guard lock(mutex_);
    auto* part = start<clock_part>(record_kind::clock);
    if (part == nullptr) return;
    *part = {own.count(), common.count()};
    publish();
}

void recorder::note(std::string_view json_line) {
    const std::lock_guard lock(mutex_);
    auto* part = start<note_part>(record_kind::note, json_line.size());
    if (part == nullptr) return;
    append(*part, std::array{json_line});
    publish();
}

std::uint32_t recorder::site_number(const void* address) {
    if (const auto found = sites_.find(address); found != sites_.end()) return found->second;
    Dl_info info{};
    link_map* module = nullptr;
    std::string path;
    std::string_view symbol;
    auto offset = reinterpret_cast<std::uintptr_t>(address);
    if (address != nullptr && dladdr1(address, &info, reinterpret_cast<void**>(&module), RTLD_DL_LINKMAP) != 0) {
        path = module_path(info, *module);
        if (info.dli_sname != nullptr) symbol = info.dli_sname;
        offset -= module->l_addr;
    }
    const auto number = static_cast<std::uint32_t>(sites_.size());
    sites_.emplace(address, number);
    auto* part = start<site_part>(record_kind::site, path.size() + symbol.size());
    if (part != nullptr) {
        part->offset = offset;
        part->number = number;
        append(*part, std::array<std::string_view, 2>{path, symbol});
        publish();
    }
    return number;
}

watched_request* recorder::add_request(std::uint32_t of_channel, std::uint32_t number) noexcept {
    if (watched_ == nullptr) return nullptr;
    const std::lock_guard lock(mutex_);
    const std::span all(requests_of(watched_), most_requests);
    const auto free = std::ranges::find(all, 0U, &watched_request::number);
    if (free == all.end()) return nullptr;
    free->channel = of_channel;
    free->starts = 0;
    std::atomic_ref(free->number).store(number + 1, std::memory_order_release);
    return &*free;
}

void recorder::remove_request(watched_request& r) noexcept {
    const std::lock_guard lock(mutex_);
    std::atomic_ref(r.number).store(0, std::memory_order_release);
}

whereabouts* recorder::add_thread() noexcept {
    if (watched_ == nullptr) return nullptr;
    const std::lock_guard lock(mutex_);
    if (watched_->threads == most_threads) return nullptr;
    const std::uint32_t mine = watched_->threads;
    std::atomic_ref(watched_->threads).store(mine + 1, std::memory_order_release);
    return threads_of(watched_) + mine;
}

void recorder::explain_threads(const std::function<std::int64_t(std::uint64_t)>& bytes_of) {
    if (watched_ == nullptr) return;
    const std::uint32_t threads = std::atomic_ref(watched_->threads).load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < threads; ++i) {
        whereabouts& t = threads_of(watched_)[i];
        const std::uint64_t site = std::atomic_ref(t.own.site).load(std::memory_order_relaxed);
        const std::uint64_t type = std::atomic_ref(t.own.type).load(std::memory_order_relaxed);
        if (site != t.known.site) {
            const std::lock_guard lock(mutex_);
            t.known.site_number = site_number(reinterpret_cast<const void*>(site));  // NOLINT: was one
            std::atomic_ref(t.known.site).store(site, std::memory_order_release);
        }
        if (type != t.known.type) {
            t.known.bytes = bytes_of(type);
            std::atomic_ref(t.known.type).store(type, std::memory_order_release);
        }
    }
}

void recorder::beat() noexcept {
    if (watched_ != nullptr) std::atomic_ref(watched_->beats).fetch_add(1, std::memory_order_relaxed);
}

void recorder::tell_to_end() noexcept {
    if (watched_ != nullptr) std::atomic_ref(watched_->ends).store(1, std::memory_order_release);
}

void recorder::sync() noexcept { file_->sync(); }

std::vector<std::byte> recorder::bytes() const {
    const auto* head = reinterpret_cast<const file_head*>(file_->data());
    return without_calls({file_->data(), head->used});
}

void recorder::finish() {
    const std::string name = path_.filename();
    if (kept_ != nullptr) {
        std::filesystem::path calls = folder_.path();
        calls.replace_extension(".calls");
        file_->cut(reinterpret_cast<const file_head*>(file_->data())->used);
        folder_.move(name, base::own_folder::at(calls));
    } else {
        folder_.remove(name);
    }
    folder_.remove_if_empty();  // which it is on the last rank
}

}  // namespace rubato::dropin
