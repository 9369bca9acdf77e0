// Writes what the minifloats make of every code, and of floats of every exponent, to a folder: the
// part of against_ml_dtypes.py that is ours.
#include "catena/format/minifloat.hpp"

#include <filesystem>
#include <fstream>
#include <vector>

using namespace catena;

namespace {

template <class T>
void write(const std::filesystem::path& path, const std::vector<T>& data) {
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(data.data()),
              static_cast<std::streamsize>(data.size() * sizeof(T)));
}

template <class Convert>
auto of_all(const std::vector<std::uint32_t>& bits, Convert convert) {
    std::vector<decltype(convert(0u))> out;
    for (const std::uint32_t b : bits) out.push_back(convert(b));
    return out;
}

std::vector<std::uint32_t> counting(std::uint32_t end) {
    std::vector<std::uint32_t> out;
    for (std::uint32_t i = 0; i < end; ++i) out.push_back(i);
    return out;
}

}  // namespace

int main(int, char** arguments) {
    const std::filesystem::path folder = arguments[1];
    std::vector<std::uint32_t> values;
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 8191)  // an odd step
        values.push_back(static_cast<std::uint32_t>(bits));
    write(folder / "values", values);
    write(folder / "e4m3.encoded", of_all(values, e4m3_from_f32_bits));
    write(folder / "e2m1.encoded", of_all(values, e2m1_from_f32_bits));
    const auto code = [](auto widen) {
        return [widen](std::uint32_t c) { return widen(static_cast<std::uint8_t>(c)); };
    };
    write(folder / "e4m3.decoded", of_all(counting(256), code(f32_bits_from_e4m3)));
    write(folder / "e2m1.decoded", of_all(counting(16), code(f32_bits_from_e2m1)));
    write(folder / "e8m0.decoded", of_all(counting(256), code(f32_bits_from_e8m0)));
}
