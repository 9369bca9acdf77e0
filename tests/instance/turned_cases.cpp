// The cases of a matvec that turns its results: the layers that models have, every way to turn that
// it takes, formats of caches, and bands that end within a head.
#include "sweep.hpp"

#include "catena/kernel/layout.hpp"

#include <algorithm>
#include <iterator>

namespace catena_test {

using namespace catena;

namespace {

rope_numbers turn(pairing pairs, int dims) {
    rope_numbers n;
    n.pairs = pairs, n.dims = dims;
    n.base = 10000;
    return n;
}

rope_numbers yarn(int dims) {
    rope_numbers n = turn(pairing::halves, dims);
    n.context = 4096, n.base = 150000, n.scale = 1.0f / 32, n.mix = 1, n.fast = 32, n.slow = 1;
    return n;
}

/// Q, K and V of a layer. K is stored and, if it is `shown`, written too.
head_case layer(int k, rope_numbers rope, format cache, bool shown = false) {
    const head_value q{.k = k, .heads = 3, .turned = true, .written = true};
    head_value key{.k = k, .heads = 2, .turned = true, .written = shown, .cache = cache};
    head_value value = key;
    key.ids_of_64_bits = false;
    value.turned = false;
    return {.what = "", .values = {q, key, value}, .rope = rope};
}

head_case with(head_case c, const std::string& what) {
    c.what = what;
    return c;
}

std::vector<head_case> all_heads() {
    using enum pairing;
    std::vector<head_case> all = {
        with(layer(64, turn(halves, 64), format::f16), "halves"),
        with(layer(64, turn(neighbors, 64), format::f16, true), "neighbors, all written"),
        with(layer(80, turn(halves, 32), format::bf16, true), "a part of each head, by halves"),
        with(layer(96, turn(neighbors, 24), format::f32), "a part of each head, by neighbors"),
        with(layer(64, yarn(64), format::f32, true), "YaRN"),
        with(layer(6, turn(halves, 2), format::f16, true), "heads of six elements"),
        with(layer(128, turn(halves, 128), format::bf16), "far positions"),
        with(layer(64, turn(halves, 64), format::f16), "rows outside of the cache"),
        with(layer(64, turn(neighbors, 64), format::f32), "divided angles, and a scale")};
    const auto last = all.size();
    all[last - 3].positions = {2000000000};
    all[last - 3].check_numbers = false;
    all[last - 2].rows = {8};
    all[last - 1].factors = true;
    all[last - 1].values[0].scale = 0.125f;
    return all;
}

}  // namespace

std::vector<matvec_case> turned_cases(const product_computation& computes,
                                      const matvec_policy& how) {
    const std::vector<format> formats = formats_in(computes.weights);
    const int unit = largest_block(formats);
    const bool norm = computes.stages.has(stage_kind::rms_norm);
    std::vector<matvec_case> cases;
    for (const head_case& heads : all_heads()) {
        const std::size_t n = cases.size();
        matvec_case c{.what = heads.what,
                      .k = n % 2 == 0 ? 2 * unit : how.piece * how.stages + unit,
                      .band_rows = n % 3 == 0 ? 2 * how.rows * (how.threads / warp_size) : 40,
                      .early = n % 4 != 3,
                      .norm = norm && n % 3 != 1,
                      .as_f32 = norm,
                      .heads = heads};
        for (std::size_t i = 0; i < heads.values.size(); ++i) {
            const head_value& v = heads.values[i];
            const epilogue_set bias = epilogue_set::of(epilogue_part::bias);
            c.members.push_back({.type = formats[(i + n) % formats.size()],
                                 .rows = v.k * v.heads,
                                 .parts = n % 2 == 0 ? bias | epilogue_part::heads
                                                     : epilogue_set::of(epilogue_part::heads),
                                 .written = v.written});
        }
        cases.push_back(c);
    }
    return cases;
}

}  // namespace catena_test
