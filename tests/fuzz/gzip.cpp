// Packed files of several members, whole and damaged: a whole one is read as the text that was
// packed, and a damaged one is refused in a sentence or, if its checksums agree, read.
#include "input.hpp"

#include "bytes.hpp"
#include "catena/engine/json.hpp"

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using catena_test::input_choices;
using packed_text = std::vector<std::uint8_t>;

/// A member with the text; `level` 0 stores it as it is.
void append_member(packed_text& to, const std::string& text, int level) {
    z_stream z{};
    if (deflateInit2(&z, level, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        std::abort();
    packed_text member(deflateBound(&z, text.size()));
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    z.avail_in = static_cast<uInt>(text.size());
    z.next_out = member.data();
    z.avail_out = static_cast<uInt>(member.size());
    if (deflate(&z, Z_FINISH) != Z_STREAM_END) std::abort();
    to.insert(to.end(), member.begin(), member.begin() + static_cast<std::ptrdiff_t>(z.total_out));
    deflateEnd(&z);
}

/// Some bytes, repeated: text that packs well is longer than the buffers of its reader.
std::string text_of(input_choices& choose) {
    std::string part;
    for (int left = choose.below(40); left > 0; --left)
        part += static_cast<char>(choose.below(256));
    std::string out;
    for (int left = choose.below(1 << 14); left > 0; --left) out += part;
    return out;
}

void damage(packed_text& bytes, input_choices& choose) {
    const std::size_t at = choose.below(bytes.size());
    switch (choose.below(3)) {
        case 0:
            bytes.resize(at);
            break;
        case 1:
            bytes[at] = static_cast<std::uint8_t>(choose.below(256));
            break;
        default:
            bytes.push_back(static_cast<std::uint8_t>(choose.below(256)));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    input_choices choose(data, size);
    packed_text bytes;
    std::string text;
    for (int members = 1 + choose.below(4); members > 0; --members) {
        const std::string part = text_of(choose);
        append_member(bytes, part, choose.below(10));
        text += part;
    }
    const packed_text whole = bytes;
    for (int changes = choose.below(4); changes > 0 && !bytes.empty(); --changes)
        damage(bytes, choose);
    const catena_test::input_file file(bytes.data(), bytes.size());
    try {
        const std::string read = catena::json::bytes_of(file.path());
        if (bytes == whole && read != text) std::abort();
    } catch (const catena::json::error& refused) {
        if (bytes == whole || *refused.what() == '\0') std::abort();
    }
    return 0;
}
