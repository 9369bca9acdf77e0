// Records of registers, of tuning and of launches: each is refused in a sentence, or read. A record
// of tuning that is written again is read as the same.
#include "input.hpp"

#include "launch_record.hpp"
#include "registers.hpp"
#include "tuning.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

namespace {

using namespace catena::evidence;
using namespace catena::generator;

template <class Read>
void refused_or_read(Read read) {
    try {
        read();
    } catch (const std::runtime_error& refused) {
        if (refused.what()[0] == '\0') std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const catena_test::input_file file(data, size);
    refused_or_read([&] { (void)read_register_file(file.path()); });
    const std::string text(reinterpret_cast<const char*>(data), size);
    refused_or_read([&] { (void)catena::tool::parse_launches(text, "input"); });
    tuning read;
    bool whole = false;
    refused_or_read([&] { read = parse_tuning(text, "input"), whole = true; });
    if (!whole) return 0;
    const std::string written = tuning_text(read);
    if (tuning_text(parse_tuning(written, "input")) != written) std::abort();
    return 0;
}
