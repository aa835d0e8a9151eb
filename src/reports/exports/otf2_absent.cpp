// In the place of OTF2's files where its library was missing when Rubato was built.
#include "reports/exports/formats.hpp"

namespace rubato::reports {
namespace {

[[noreturn]] void refuse() {
    throw error("no OTF2", "this rubato was built without its library",
                "install libopen-trace-format2-dev and build again");
}

}  // namespace

void write_otf2(const trace&, const std::filesystem::path&) { refuse(); }
trace read_otf2(const std::filesystem::path&) { refuse(); }

}  // namespace rubato::reports
