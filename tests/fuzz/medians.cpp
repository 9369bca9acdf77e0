// Files of medians: each is refused in a sentence, or read and added to a table.
#include "input.hpp"

#include "catena/instances/sm_90.hpp"
#include "catena/pick/measured_file.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const catena::table rows = catena::instances::sm_90();
    const catena_test::input_file file(data, size);
    catena::measured_file medians;
    const catena::status read = medians.read(file.path().c_str(), rows);
    if (!read.ok() && (read.message[0] == '\0' || medians.size() != 0)) std::abort();
    const catena::table with = medians.over(rows);
    if (!with.state.ok()) std::abort();
    return 0;
}
