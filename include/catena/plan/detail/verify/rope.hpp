// The numbers of a ROPE as the proof reads them: the fields of op_params in the order in which
// ggml.c's ggml_rope_impl writes them, with ggml's names (0.25.3). The matcher's reading is
// rope_of (chain/rotation.hpp).
#pragma once

#include "catena/chain/rotation.hpp"

#include <cstdint>
#include <cstring>

namespace CATENA_NAMESPACE::proof {

struct rope_params {
    std::int32_t n_past = 0, n_dims = 0, mode = 0, n_ctx = 0, n_ctx_orig = 0;
    float freq_base = 0, freq_scale = 0, ext_factor = 0, attn_factor = 0, beta_fast = 0,
          beta_slow = 0;
    std::int32_t sections[4] = {}, n_offs = 0;
};

/// The pairs of a mode, GGML_ROPE_TYPE_* in ggml.h. No launch turns as VISION, 24, does.
constexpr pairing pairs_of_mode(std::int32_t mode) {
    constexpr std::int32_t normal = 0, neox = 2, mrope = 8, imrope = 40;
    return mode == normal   ? pairing::neighbors
           : mode == neox   ? pairing::halves
           : mode == mrope  ? pairing::sections
           : mode == imrope ? pairing::interleaved
                            : pairing::none;
}

inline rope_numbers numbers_of_rope(const std::int32_t (&op_params)[16]) {
    rope_params p;
    static_assert(sizeof p == sizeof op_params);
    std::memcpy(&p, op_params, sizeof p);
    rope_numbers n;
    n.pairs = pairs_of_mode(p.mode);
    n.dims = p.n_dims;
    n.first = p.n_offs;
    n.context = p.n_ctx_orig;
    n.base = p.freq_base;
    n.scale = p.freq_scale;
    n.mix = p.ext_factor;
    n.magnitude = p.attn_factor;
    n.fast = p.beta_fast;
    n.slow = p.beta_slow;
    if (n.positions() == 4) std::memcpy(n.section, p.sections, sizeof n.section);
    return n;
}

}  // namespace CATENA_NAMESPACE::proof
