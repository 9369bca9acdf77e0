#include "tables.hpp"

#include "command.hpp"
#include "cuda.hpp"
#include "nearest.hpp"

#include "catena/instances/all.hpp"

#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace catena::tool {

table table_for(const std::string& arch) {
    const std::string named = arch == "native" ? tune::native_arch() : arch;
    if (named.empty())
        throw failure(
            std::string("there is no GPU whose instance set could be taken: name an --arch:") +
            instances::built_in);
    const table t = instances::table_named(named.c_str());
    if (t.state.ok()) return t;
    std::istringstream names(instances::built_in);
    const std::vector<std::string> known{std::istream_iterator<std::string>(names), {}};
    throw failure(t.state.message + did_you_mean(named, known));
}

}  // namespace catena::tool
