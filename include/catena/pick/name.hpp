// The name of an instance, derived from its fields in this one place:
//   <chain part>.<formats>.<policy>.<arch>, such as
//   rms_norm_mul.f32_q8_1.t256_v16_vec.sm_90 and
//   mul_mat.q4_K_q6_K.t256_r2_c1_p2048_s4_bulk_shared.sm_90
#pragma once

#include "catena/pick/row.hpp"

#include <string>

namespace catena {

constexpr const char* name(copy_method m) {
    return m == copy_method::plain ? "plain" : m == copy_method::async ? "async" : "bulk";
}
constexpr const char* name(activation_source s) {
    return s == activation_source::global ? "global" : "shared";
}
constexpr const char* name(inner_product p) {
    return p == inner_product::dp4a  ? "dp4a"
           : p == inner_product::mma ? "mma"
           : p == inner_product::fma ? "fma"
                                     : "wgmma";
}

constexpr const char* name(norm_placement p) {
    return p == norm_placement::producer   ? "producer"
           : p == norm_placement::prologue ? "prologue"
           : p == norm_placement::deferred ? "deferred"
                                           : "passing";
}

/// A stage's part of an instance's name: the op that makes it.
constexpr const char* name_in_instance(stage_kind kind) {
    switch (kind) {
        case stage_kind::add_residual:
        case stage_kind::join_residual:
            return "add";
        case stage_kind::mul_weight:
        case stage_kind::mul_next_weight:
            return "mul";
        case stage_kind::add_bias:
            return "bias";
        case stage_kind::next_norm:
            return "rms_norm";
        default:
            return name(kind);
    }
}

/// What a launch computes: "add_rms_norm_mul", "rms_norm_mul_add_rms_norm_mul", "glu", "quantize",
/// "mul_mat", "rms_norm_mul_mul_mat", and of many columns "mul_mat_tiles".
inline std::string chain_part(const computation& c) {
    std::string out;
    const auto add = [&out](const char* part) {
        if (!out.empty()) out += '_';
        out += part;
    };
    for (const stage_kind kind : c.stages) add(name_in_instance(kind));
    if (c.kind != skeleton::row) add(c.kind == skeleton::matvec ? "mul_mat" : "mul_mat_tiles");
    return out.empty() ? "quantize" : out;
}

/// "f32_q8_1", in the order of the registry.
inline std::string formats_part(format_set formats) {
    std::string out;
    for (const format f : formats) {
        if (!out.empty()) out += '_';
        out += name(f);
    }
    return out.empty() ? "none" : out;
}

/// "t256_v16_vec", "t256_r2_c1_p2048_s4_bulk_shared"; "_m4" when the launch bounds promise 4 blocks
/// an SM.
inline std::string policy_part(skeleton kind, const policy& p) {
    std::string out;
    const auto number = [&out](const char* letter, int n) {
        out.append(letter).append(std::to_string(n));
    };
    number("t", p.threads);
    if (p.min_blocks != 1) number("_m", p.min_blocks);
    if (kind == skeleton::row) {
        if (p.rows != 0) number("_r", p.rows);
        number("_v", p.values);
        return out.append(p.vector ? "_vec" : "");
    }
    number("_r", p.rows);
    number("_c", p.columns);
    number("_p", p.piece);
    number("_s", p.stages);
    out.append("_").append(name(p.copy));
    if (kind == skeleton::matmul) {
        if (p.slices != 0) number("_k", p.slices);
        if (p.cluster != 0) number("_cluster", p.cluster);
        if (p.product != inner_product::dp4a) out.append("_").append(name(p.product));
        return out;
    }
    out.append("_").append(name(p.activation));
    if (p.cluster != 0) number("_cluster", p.cluster);
    if (p.product != inner_product::dp4a) out.append("_").append(name(p.product));
    if (p.placement != norm_placement::producer) out.append("_").append(name(p.placement));
    return out;
}

inline std::string row_name(const computation& c, const policy& p, const char* arch) {
    return chain_part(c) + "." + formats_part(c.kind == skeleton::row ? c.emits : c.weights) + "." +
           policy_part(c.kind, p) + "." + arch;
}

inline std::string row_name(const row& r, const char* arch) {
    return row_name(r.computes, r.numbers, arch);
}

/// Row `index` of a table; "none" for an index without a row.
inline std::string row_name(const table& t, int index) {
    if (index < 0 || index >= t.row_count) return "none";
    return row_name(t.rows[index], t.target != nullptr ? t.target->name : "no_arch");
}

}  // namespace catena
