#include "reports/report/symbols.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <memory>

#include <cxxabi.h>
#include <elfutils/libdwfl.h>

namespace rubato::reports {
namespace {

std::string demangled(const char* name) {
    int failed = 0;
    const std::unique_ptr<char, decltype(&std::free)> plain(abi::__cxa_demangle(name, nullptr, nullptr, &failed),
                                                            &std::free);
    return failed == 0 ? plain.get() : name;
}

/// One file, opened once.
class module_symbols {
public:
    explicit module_symbols(const std::string& path) : dwfl_(dwfl_begin(&callbacks()), &dwfl_end) {
        if (dwfl_ == nullptr) return;
        dwfl_report_begin(dwfl_.get());
        module_ = dwfl_report_offline(dwfl_.get(), path.c_str(), path.c_str(), -1);
        dwfl_report_end(dwfl_.get(), nullptr, nullptr);
        if (module_ != nullptr && dwfl_module_getelf(module_, &bias_) == nullptr) module_ = nullptr;
    }

    void find(std::uint64_t return_address, code_place& to) const {
        if (module_ == nullptr) return;
        const Dwarf_Addr call = return_address - 1 + bias_;  // it returns to what follows the call
        if (const char* name = dwfl_module_addrname(module_, call)) to.function = demangled(name);
        Dwfl_Line* line = dwfl_module_getsrc(module_, call);
        if (line == nullptr) return;
        const char* file = dwfl_lineinfo(line, nullptr, &to.line, nullptr, nullptr, nullptr);
        if (file != nullptr) to.file = file;
    }

private:
    static const Dwfl_Callbacks& callbacks() {
        static char* debuginfo_path = nullptr;  // the usual places
        static const Dwfl_Callbacks all{nullptr, dwfl_standard_find_debuginfo, dwfl_offline_section_address,
                                        &debuginfo_path};
        return all;
    }

    std::unique_ptr<Dwfl, decltype(&dwfl_end)> dwfl_;
    Dwfl_Module* module_ = nullptr;
    Dwarf_Addr bias_ = 0;
};

std::string without_folders(const std::string& path) { return std::filesystem::path(path).filename().string(); }

}  // namespace

std::string code_place::text() const {
    if (function.empty()) return module;
    if (module.empty()) return function;
    return fmt::format("{} ({})", function, line > 0 ? fmt::format("{}:{}", without_folders(file), line) : module);
}

std::vector<code_place> find_places(std::span<const dropin::site> sites) {
    std::map<std::string, module_symbols> modules;
    std::vector<code_place> places;
    for (const dropin::site& s : sites) {
        code_place& p = places.emplace_back();
        if (s.module.empty() && !s.symbol.empty()) {
            p.function = s.symbol;  // of an imported trace, which has no addresses
            continue;
        }
        if (s.module.empty()) {
            p.module = s.offset == 0 ? "unknown" : fmt::format("{:#x}", s.offset);
            continue;
        }
        p.module = fmt::format("{}+{:#x}", without_folders(s.module), s.offset);
        modules.try_emplace(s.module, s.module).first->second.find(s.offset, p);
        if (p.function.empty() && !s.symbol.empty()) p.function = demangled(s.symbol.c_str());
    }
    return places;
}

}  // namespace rubato::reports
