// A case that a row of heads has to stand: what lies in the values of its launch, and where.
#pragma once

#include "machine.hpp"

#include "catena/chain/evaluation.hpp"
#include "catena/chain/rotation.hpp"
#include "catena/format/format.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace catena_test {

/// One value of a launch: Q, K or V.
struct head_value {
    int k = 0, heads = 1;
    bool normed = false, weighted = false, turned = false;
    float scale = 1;
    bool written = false;                            ///< as f32
    catena::format cache = catena::format::unknown;  ///< unknown: not stored
    bool ids_of_64_bits = true;
    int gap = 0;                ///< elements between the heads of x and of the result
    bool in_place = false;      ///< the result lies over x
    std::vector<float> x = {};  ///< [k, heads, tokens], in place of what is put there
};

struct head_case {
    std::string what;
    std::vector<head_value> values;
    int tokens = 1;
    catena::rope_numbers rope = {};
    bool factors = false;
    std::vector<std::int32_t> positions = {};  ///< empty: some
    std::vector<std::int64_t> rows = {};       ///< of the cache; empty: some
    int cache_rows = 8;
    int offset = 0;  ///< bytes by which operands are misaligned
    bool nan = false;
    bool alike = false;         ///< all values have the same magnitude
    bool check_numbers = true;  ///< against the reference
};

/// What one value becomes.
struct head_output {
    bytes f32, cache;
    bool operator==(const head_output&) const = default;
};
using head_outputs = std::vector<head_output>;

/// What the reference and another engine are given beside a value.
std::vector<float> weight_of(const head_case& c, std::size_t which);
std::vector<std::int32_t> positions_of(const head_case& c);

/// What value `which` should become, in double.
catena::chain::outputs reference_of(const head_case& c, std::size_t which);

head_outputs run(const instance& on, const head_case& c);
void check(const instance& on, const head_case& c, const head_outputs& outputs);

}  // namespace catena_test
