#include "compare.hpp"

#include "catena/format/codec.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

namespace catena::tune {

std::string difference(std::span<const std::byte> found, std::span<const std::byte> reference,
                       format type, bool same_order) {
    const bool plain = type == format::f32 || type == format::f16 || type == format::bf16;
    const bool readable = plain || type == format::q8_1;
    if (readable) {
        const format_info& f = info(type);
        const auto count =
            static_cast<std::int64_t>(found.size()) / f.block_bytes * f.block_elements;
        const std::vector<double> is = decode_row<double>(type, found, count);
        const std::vector<double> should = decode_row<double>(type, reference, count);
        double error = 0, power = 0;
        for (std::size_t i = 0; i < is.size(); ++i) {
            if (plain && std::isnan(is[i]))
                return "value " + std::to_string(i) + " of its " + name(type) + " is not a number";
            error += (is[i] - should[i]) * (is[i] - should[i]);
            power += should[i] * should[i];
        }
        const double limit = plain ? 1e-6 : 1e-4;
        if (!same_order && !(error <= limit * power)) {
            char text[96];
            std::snprintf(text, sizeof text, "its %s is off by an NMSE of %.2g", name(type),
                          error / power);
            return text;
        }
    }
    if (same_order && !std::equal(found.begin(), found.end(), reference.begin(), reference.end()))
        return std::string("its ") + name(type) + " differs in bits from another of its order";
    return "";
}

}  // namespace catena::tune
