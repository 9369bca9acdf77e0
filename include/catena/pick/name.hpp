// The name of an instance, derived from its fields in this one place, and read back from it:
//   <chain>.<formats>.<policy>.<arch>, such as
//   rms_norm_mul_gate.ggml.t256_v16_vec.sm_90 and
//   matvec.q4_K_q6_K.t256_r2_c1_p2048_bulk4_smem.sm_90
// docs/naming.md explains every letter and word.
#pragma once

#include "catena/pick/row.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace CATENA_NAMESPACE {

constexpr const char* name(copy_method m) {
    return m == copy_method::plain ? "plain" : m == copy_method::async ? "async" : "bulk";
}
constexpr const char* name(activation_source s) {
    return s == activation_source::global ? "global" : "shared";
}
constexpr const char* name(inner_product p) {
    return p == inner_product::dp4a ? "dp4a" : p == inner_product::mma ? "mma" : "fma";
}
constexpr const char* name(tile_product p) { return p == tile_product::mma ? "mma" : "wgmma"; }
constexpr const char* name(norm_placement p) {
    return p == norm_placement::producer   ? "producer"
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
    const stage_set stages = c.visit([](const auto& own) { return own.stages; });
    std::string out;
    const auto add = [&out](const char* part) {
        if (!out.empty()) out += '_';
        out += part;
    };
    for (const stage_kind kind : stages) add(name_in_instance(kind));
    if (c.kind() != skeleton::row) add(c.kind() == skeleton::matvec ? "mul_mat" : "mul_mat_tiles");
    return out.empty() ? "quantize" : out;
}

/// Sets of formats that have a name of their own in the names of rows.
struct named_formats {
    const char* name;
    format_set formats;
};
inline constexpr format_set plain_formats =
    format_set::of(format::f32) | format::f16 | format::bf16;
inline constexpr named_formats named_format_sets[] = {
    {"ggml", plain_formats | layout_formats},
    {"ggml_activations", layout_formats},
    {"caches", cache_formats},
    {"attended", format_set::of(format::f32) | format::f16 | format::q8_1},
    {"engines", plain_formats | scaled_formats},
};

/// "ggml" for a set with a name of its own; else "q4_K_q6_K", in the order of the registry.
inline std::string formats_part(format_set formats) {
    for (const named_formats& set : named_format_sets)
        if (set.formats == formats) return set.name;
    std::string out;
    for (const format f : formats) {
        if (!out.empty()) out += '_';
        out += name(f);
    }
    return out.empty() ? "none" : out;
}

namespace detail {

inline std::string number_part(const char* letter, int n) { return letter + std::to_string(n); }

inline std::string numbers_part(const row_policy& p) {
    std::string out = p.rows != 0 ? number_part("_r", p.rows) : "";
    out += number_part("_v", p.values);
    if (p.cluster != 0) out += number_part("_x", p.cluster);
    return p.vector ? out + "_vec" : out;
}

/// The numbers that matvecs and matmuls have.
template <class Policy>
std::string weights_part(const Policy& p) {
    return number_part("_r", p.rows) + number_part("_c", p.columns) + number_part("_p", p.piece) +
           "_" + number_part(name(p.copy), p.stages);
}

/// The product that a name leaves out: of warps that share rows the only one that they can have.
constexpr inner_product usual_product(const matvec_policy& p) {
    return p.slices != 0 ? inner_product::mma : inner_product::dp4a;
}

inline std::string numbers_part(const matvec_policy& p) {
    std::string out = weights_part(p);
    if (p.activation == activation_source::shared) out += "_smem";
    if (p.slices != 0) out += number_part("_k", p.slices);
    if (p.cluster != 0) out += number_part("_x", p.cluster);
    if (p.product != usual_product(p)) out.append("_").append(name(p.product));
    if (p.placement != norm_placement::producer) out.append("_").append(name(p.placement));
    if (p.routes) out += "_routes";
    if (p.single_wave) out += "_single";
    if (p.turns) out += "_turns";
    return out;
}

inline std::string numbers_part(const matmul_policy& p) {
    std::string out = weights_part(p);
    if (p.slices != 0) out += number_part("_k", p.slices);
    if (p.cluster != 0) out += number_part("_x", p.cluster);
    return p.product == tile_product::wgmma ? out + "_wgmma" : out;
}

}  // namespace detail

/// "t256_v16_vec", "t256_r2_c1_p2048_bulk4_smem"; what is at its default is left out.
inline std::string policy_part(const policy& p) {
    std::string out = detail::number_part("t", p.threads());
    if (p.min_blocks() != 1) out += detail::number_part("_m", p.min_blocks());
    return out + p.visit([](const auto& own) { return detail::numbers_part(own); });
}

/// What a launch computes: chain_part for a row, "matvec" and "matmul" else.
inline std::string launch_part(const computation& c) {
    return c.kind() == skeleton::row ? chain_part(c) : name(c.kind());
}
/// The formats that a row step writes; else those of the weights.
inline std::string formats_part(const computation& c) {
    return formats_part(c.kind() == skeleton::row ? c.row().emits : c.product().weights);
}
/// The skeleton of a launch_part.
constexpr skeleton skeleton_named(std::string_view launch) {
    return launch == name(skeleton::matvec)   ? skeleton::matvec
           : launch == name(skeleton::matmul) ? skeleton::matmul
                                              : skeleton::row;
}
/// The name of an instance of `arch` that computes this with this policy.
inline std::string row_name(const computation& c, const policy& p, const char* arch) {
    return launch_part(c) + "." + formats_part(c) + "." + policy_part(p) + "." + arch;
}
/// The name of a row of the set of `arch`.
inline std::string row_name(const row& r, const char* arch) {
    return row_name(r.computes, r.policy, arch);
}

/// Row `index` of a table; "none" for an index without a row.
inline std::string row_name(const table& t, int index) {
    if (index < 0 || index >= t.row_count) return "none";
    return row_name(t.rows[index], t.target != nullptr ? t.target->name : "no_arch");
}

namespace detail {

/// Cuts what stands before the next `separator` off `text`.
constexpr std::string_view next_part(std::string_view& text, char separator) {
    const std::size_t end = text.find(separator);
    const std::string_view part = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    return part;
}

/// The number that follows `prefix` in `part`; -1 when the part is not of that form.
constexpr int number_after(std::string_view prefix, std::string_view part) {
    if (part.substr(0, prefix.size()) != prefix) return -1;
    const std::string_view digits = part.substr(prefix.size());
    if (digits.empty() || digits.size() > 6) return -1;
    int n = 0;
    for (const char c : digits) {
        if (c < '0' || c > '9') return -1;
        n = n * 10 + (c - '0');
    }
    return n;
}

/// Is `part` a number behind `prefix`? Then `to` becomes it.
constexpr bool take_number(std::string_view prefix, std::string_view part, int& to) {
    const int n = number_after(prefix, part);
    if (n >= 0) to = n;
    return n >= 0;
}

/// Is `part` the name of `value`? Then `to` becomes that.
template <class E>
constexpr bool take_word(E value, std::string_view part, E& to) {
    const bool is = part == name(value);
    if (is) to = value;
    return is;
}

/// Each sets the field that a part of a name stands for; false: the policy has no such field.
constexpr bool take_part(std::string_view part, row_policy& p) {
    if (part == "vec") return p.vector = true;
    return take_number("t", part, p.threads) || take_number("m", part, p.min_blocks) ||
           take_number("r", part, p.rows) || take_number("v", part, p.values) ||
           take_number("x", part, p.cluster);
}

/// The numbers that matvecs and matmuls have.
template <class Policy>
constexpr bool take_weights_part(std::string_view part, Policy& p) {
    for (const copy_method m : {copy_method::plain, copy_method::async, copy_method::bulk})
        if (take_number(name(m), part, p.stages)) {
            p.copy = m;
            return true;
        }
    return take_number("t", part, p.threads) || take_number("m", part, p.min_blocks) ||
           take_number("r", part, p.rows) || take_number("c", part, p.columns) ||
           take_number("p", part, p.piece) || take_number("x", part, p.cluster);
}

constexpr bool take_part(std::string_view part, matvec_policy& p) {
    if (part == "smem") {
        p.activation = activation_source::shared;
        return true;
    }
    if (part == "routes") return p.routes = true;
    if (part == "single") return p.single_wave = true;
    if (part == "turns") return p.turns = true;
    if (take_number("k", part, p.slices)) {
        p.product = usual_product(p);
        return true;
    }
    return take_weights_part(part, p) || take_word(inner_product::mma, part, p.product) ||
           take_word(inner_product::fma, part, p.product) ||
           take_word(norm_placement::deferred, part, p.placement) ||
           take_word(norm_placement::passing, part, p.placement);
}

constexpr bool take_part(std::string_view part, matmul_policy& p) {
    return take_weights_part(part, p) || take_number("k", part, p.slices) ||
           take_word(tile_product::wgmma, part, p.product);
}

}  // namespace detail

/// The reverse of policy_part; nothing for a text that is no policy of this skeleton.
template <skeleton Kind>
constexpr std::optional<policy_of<Kind>> policy_named(std::string_view text) {
    policy_of<Kind> out;
    while (!text.empty())
        if (!detail::take_part(detail::next_part(text, '_'), out)) return std::nullopt;
    return out;
}
/// A policy of the skeleton `kind`, if the text names one.
constexpr std::optional<policy> policy_named(skeleton kind, std::string_view text) {
    return kind == skeleton::row      ? std::optional<policy>(policy_named<skeleton::row>(text))
           : kind == skeleton::matvec ? std::optional<policy>(policy_named<skeleton::matvec>(text))
                                      : std::optional<policy>(policy_named<skeleton::matmul>(text));
}

/// The reverse of formats_part; nothing for a text that is none.
constexpr std::optional<format_set> formats_named(std::string_view text) {
    for (const named_formats& set : named_format_sets)
        if (text == set.name) return set.formats;
    format_set out;
    while (!text.empty()) {
        format longest = format::unknown;  // q8_1 begins the names of other formats
        std::size_t length = 0;
        for (int i = 0; i < format_count; ++i) {
            const std::string_view one = name(static_cast<format>(i));
            const bool whole =
                text.size() == one.size() || (text.size() > one.size() && text[one.size()] == '_');
            if (whole && text.substr(0, one.size()) == one && one.size() > length)
                longest = static_cast<format>(i), length = one.size();
        }
        if (length == 0) return std::nullopt;
        out = out | longest;
        text = text.size() == length ? std::string_view() : text.substr(length + 1);
    }
    return out;
}

/// The parts of a row's name.
struct named_row {
    std::string_view launch;  ///< launch_part
    format_set formats;       ///< formats that a row skeleton writes; else those of the weights
    catena::policy policy;
    std::string_view arch;
};

/// The reverse of row_name; nothing for a text that is none, such as one with the parts of a policy
/// in another order. Views `text`.
inline std::optional<named_row> row_named(std::string_view text) {
    named_row out;
    out.launch = detail::next_part(text, '.');
    const std::optional<format_set> formats = formats_named(detail::next_part(text, '.'));
    const std::string_view tuned = detail::next_part(text, '.');
    const std::optional<policy> how = policy_named(skeleton_named(out.launch), tuned);
    if (out.launch.empty() || text.empty() || !formats || !how) return std::nullopt;
    if (policy_part(*how) != tuned) return std::nullopt;
    out.formats = *formats, out.policy = *how, out.arch = text;
    return out;
}

}  // namespace CATENA_NAMESPACE
