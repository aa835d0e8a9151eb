#include "command/experiments/control_variable.hpp"

#include "command/experiments/world.hpp"
#include "engine/mpi/datatype.hpp"
#include "rubato/core.hpp"

#include <fmt/format.h>

namespace {

constexpr const char* way_out = "run with '--mca coll_tuned_use_dynamic_rules 1', in Open MPI 4";

class handle {
public:
    explicit handle(const std::string& name) {
        int count = 0;
        rubato::engine::check(MPI_T_cvar_get_num(&count), "MPI_T_cvar_get_num");
        for (int i = 0; i < count && handle_ == MPI_T_CVAR_HANDLE_NULL; ++i) {
            char found[256];
            int length = sizeof found;
            int verbosity = 0;
            int bind = 0;
            int scope = 0;
            int describe = 0;
            MPI_Datatype type = MPI_DATATYPE_NULL;
            int n = 0;
            if (MPI_T_cvar_get_info(i, found, &length, &verbosity, &type, &values_, nullptr, &describe, &bind,
                                    &scope) == MPI_SUCCESS &&
                name == found && MPI_T_cvar_handle_alloc(i, nullptr, &handle_, &n) != MPI_SUCCESS)
                handle_ = MPI_T_CVAR_HANDLE_NULL;
        }
    }
    ~handle() {
        if (found()) MPI_T_cvar_handle_free(&handle_);
    }
    handle(const handle&) = delete;
    handle& operator=(const handle&) = delete;

    bool found() const { return handle_ != MPI_T_CVAR_HANDLE_NULL; }
    std::optional<int> read() const {
        int value[16] = {};  // a bool may have one byte
        if (!found() || MPI_T_cvar_read(handle_, value) != MPI_SUCCESS) return {};
        return value[0];
    }
    /// The values that have names; none if it is not of that kind.
    std::vector<native_algorithm> values() const {
        std::vector<native_algorithm> all;
        int count = 0;
        char unused[1];
        int length = 0;
        if (!found() || values_ == MPI_T_ENUM_NULL ||
            MPI_T_enum_get_info(values_, &count, unused, &length) != MPI_SUCCESS)
            return all;
        for (int i = 0; i < count; ++i) {
            char name[256];
            length = sizeof name;
            int value = 0;
            if (MPI_T_enum_get_item(values_, i, &value, name, &length) == MPI_SUCCESS) all.push_back({value, name});
        }
        return all;
    }
    bool write(int value) const { return found() && MPI_T_cvar_write(handle_, &value) == MPI_SUCCESS; }

private:
    MPI_T_enum values_ = MPI_T_ENUM_NULL;
    MPI_T_cvar_handle handle_ = MPI_T_CVAR_HANDLE_NULL;
};

}  // namespace

std::optional<int> control_variable(const std::string& name) { return handle(name).read(); }

void set_control_variable(const std::string& name, int value) {
    const handle h(name);
    if (!h.found()) throw rubato::error(fmt::format("no control variable {}", name), "MPI_T has none", way_out);
    if (!h.write(value) || h.read() != value)
        throw rubato::error(fmt::format("cannot set {} to {}", name, value), "MPI_T refused", way_out);
}

bool algorithms_can_be_forced() { return control_variable("coll_tuned_use_dynamic_rules").value_or(0) != 0; }

void check_algorithms_can_be_forced() {
    if (!algorithms_can_be_forced())
        throw rubato::error("Open MPI's algorithms cannot be chosen", "coll_tuned_use_dynamic_rules is not set",
                            way_out);
}

std::vector<native_algorithm> native_algorithms(const std::string& collective) {
    std::vector<native_algorithm> all = handle(fmt::format("coll_tuned_{}_algorithm", collective)).values();
    std::erase_if(all, [](const native_algorithm& a) { return a.number == 0; });  // "ignore"
    return all;
}

MPI_Comm forced_communicator(const std::string& collective, int algorithm, std::optional<int> segment) {
    const std::string name = fmt::format("coll_tuned_{}_algorithm", collective);
    set_control_variable(name, algorithm);
    if (segment) set_control_variable(fmt::format("{}_segmentsize", name), *segment);
    MPI_Comm forced = MPI_COMM_NULL;
    rubato::engine::check(MPI_Comm_dup(rubato::command::world, &forced), "MPI_Comm_dup");
    set_control_variable(name, 0);
    if (segment) set_control_variable(fmt::format("{}_segmentsize", name), 0);
    return forced;
}
