// Operands of one launch as they are dealt, stretch by stretch.
#pragma once

#include "operands.hpp"

#include <cstddef>
#include <cstdint>

namespace catena::bench {

struct table_of_stretches {
    operands& to;
    dealer& deal;

    std::byte* input(std::int64_t bytes, format type = format::f32, std::int32_t id_limit = 0,
                     std::int32_t id_run = 0) {
        to.inputs.push_back({deal.input(bytes), bytes, type, id_limit, id_run});
        return to.inputs.back().at;
    }
    /// An activation of fp8_group: all rows, and then their scales.
    std::byte* scaled_input(std::int64_t data, std::int64_t scales) {
        std::byte* const at = deal.input(data + scales);
        to.inputs.push_back({at, data, format::fp8_e4m3});
        to.inputs.push_back({at + data, scales, format::f32});
        return at;
    }
    std::byte* output(std::int64_t bytes, format type = format::f32) {
        to.outputs.push_back({deal.output(bytes), bytes, type});
        return to.outputs.back().at;
    }
    /// What a launch reads and writes.
    std::byte* state(std::int64_t bytes, format type) {
        to.inputs.push_back({deal.output(bytes), bytes, type});
        return to.inputs.back().at;
    }
    float* values(std::int64_t count) { return reinterpret_cast<float*>(input(4 * count)); }
    /// Numbers below `end`.
    const std::int32_t* numbers(std::int64_t count, std::int64_t end) {
        return reinterpret_cast<const std::int32_t*>(
            input(4 * count, format::i32, static_cast<std::int32_t>(end)));
    }
    float* results(std::int64_t count) { return reinterpret_cast<float*>(output(4 * count)); }
};

/// The operands of a launch of heads, and of a launch of matrices whose results are heads.
void fill_heads(const row_problem& p, table_of_stretches s);
void fill_heads(const product_problem& p, table_of_stretches s);

}  // namespace catena::bench
