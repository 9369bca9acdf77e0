// A case that a row of heads has to stand: what lies in the values of its launch, and where.
#pragma once

#include "machine.hpp"

#include "catena/chain/evaluation.hpp"
#include "catena/chain/rotation.hpp"
#include "catena/format/format.hpp"
#include "catena/kernel/args.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace catena_test {

/// One value of a launch: Q, K or V.
struct head_value {
    int k = 0, heads = 1;
    bool normed = false, weighted = false, turned = false;
    bool token_norm = false;  ///< the norm is one of all heads of a token
    float scale = 1;
    bool written = false;                            ///< as f32
    catena::format cache = catena::format::unknown;  ///< unknown: not stored
    bool ids_of_64_bits = true;
    int gap = 0;                ///< elements between the heads of x and of the result
    bool in_place = false;      ///< the result lies over x
    bool behind = false;        ///< it has the rows of the value before, of the result and of the
                                ///< cache, behind the elements of that
    std::vector<float> x = {};  ///< [k, heads, tokens], in place of what is put there
    bytes cached = {};          ///< what lies in the cache (cache_with); empty: nothing that may
                                ///< be read
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

/// The arguments of heads that lie in memory.
catena::heads_args put_heads(machine& on, const head_case& c);
/// The arguments of heads that are the results of a matvec's matrices: nothing lies in x, and f32
/// is written to the results.
catena::head_group put_results(machine& on, const head_case& c);
/// The cache of each value of a launch; empty: the value is not stored.
std::vector<bytes> read_caches(machine& on, const head_case& c, const catena::head_group& a);
/// Rows of a value's cache, with the gaps behind them, and the numbers of such rows.
bytes cache_with(const head_value& v, const std::vector<float>& numbers);
std::vector<float> numbers_in(const head_value& v, const bytes& cache);
/// Compares the cache of value `which`, which is not written as f32, with the reference. Other rows
/// must be as they were.
void check_cache(const head_case& c, std::size_t which, const bytes& cache);
/// Compares the cache of value `which` with the f32 that was written, to the bit; `values` may be
/// empty. Other rows must be as they were. The numbers stored.
std::vector<float> check_stored(const head_case& c, std::size_t which, const bytes& cache,
                                const std::vector<float>& values);
/// Gives a reference what turns its heads.
void turn_reference(const head_case& c, catena::chain::inputs& in);

head_outputs run(const instance& on, const head_case& c);
void check(const instance& on, const head_case& c, const head_outputs& outputs);

}  // namespace catena_test
