#pragma once

#include "rubato/core.hpp"

#include <string>

namespace rubato {

/// The message of the error that `act` throws; "no error" if it throws none.
template <class Act>
std::string error_text(Act act) {
    try {
        act();
    } catch (const error& e) {
        return e.what();
    }
    return "no error";
}

}  // namespace rubato
