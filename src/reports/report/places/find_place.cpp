// The names of places for the drop-in's watchdog, as a library of its own: see preload/call_place.hpp.
#include "reports/report/symbols.hpp"

#include <algorithm>
#include <exception>
#include <span>

/// Writes the text of a place and a zero; false if it does not know it.
extern "C" RUBATO_API bool rubato_find_place(const char* module, std::uint64_t offset, const char* symbol, char* to,
                                             std::size_t size) {
    try {
        const rubato::dropin::site where{module, offset, symbol};
        const std::string text = rubato::reports::find_places({&where, 1}).front().text();
        if (text.size() >= size) return false;
        *std::copy(text.begin(), text.end(), to) = 0;
        return true;
    } catch (const std::exception&) {
        return false;
    }
}
