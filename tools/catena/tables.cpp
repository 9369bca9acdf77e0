#include "tables.hpp"

#include "command.hpp"

#include "catena/instances/all.hpp"

namespace catena::tool {

table table_for(const std::string& arch) {
    const table t = instances::table_named(arch.c_str());
    if (!t.state.ok()) throw failure(t.state.message);
    return t;
}

}  // namespace catena::tool
