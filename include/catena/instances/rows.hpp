// What the rows of instances/<arch>/rows.inc are made of. A row is a line
//   CATENA_ROW(launch, formats, policy, computation, order, registers, code, evidence)
// whose first three fields are its name without the arch. Tables, CUDA kernels and host kernels
// are readers of the same line; the build cuts it into kernels (cmake/catena_kernels.cmake). The
// macros below stand in the set's namespace, where `computations` names what its rows compute.
#pragma once

#include "catena/exec/with_ops.hpp"
#include "catena/kernel/args.hpp"
#include "catena/pick/name.hpp"

#include <type_traits>

namespace CATENA_NAMESPACE::instances {

/// Every part of an epilogue but an engine's own and heads, for which there are rows of their own;
/// the columns of a tile are of any token and slot, so a matmul does not combine experts.
inline constexpr epilogue_set full_epilogue =
    all_epilogue_parts.without(epilogue_set::of(epilogue_part::own) | epilogue_part::heads);
inline constexpr epilogue_set tile_epilogue = full_epilogue.without(epilogue_part::combine);

/// The ops of an engine's own: none. A set that has some hides this name in its namespace.
struct ops;

/// The executor of a computation.
template <bool Own, class Machine, class Ops>
using executor_of = std::conditional_t<Own, exec::with_ops<Machine, Ops>, Machine>;

/// The set that pick/name.hpp knows by this name. A name that it does not know does not compile.
constexpr format_set formats(std::string_view name) { return formats_named(name).value(); }

/// What most matvecs and matmuls compute: no norm and no routing, and all parts of an epilogue that
/// they can have.
constexpr product_computation matvec(format activation, std::string_view weights) {
    return {.activation = activation, .weights = formats(weights), .epilogue = full_epilogue};
}
constexpr product_computation matmul(format activation, std::string_view weights) {
    return {.kind = skeleton::matmul,
            .activation = activation,
            .weights = formats(weights),
            .epilogue = tile_epilogue};
}

/// The instructions that a warp of a table row issues.
inline constexpr warp_codes uncounted;
constexpr warp_codes counted(const warp_code& first, const warp_code& second = {}) {
    return {{first, second}};
}

/// A row's evidence.
inline constexpr provenance predicted;
constexpr provenance inherited(const char* arch) {
    provenance p;
    p.kind = provenance_kind::inherited;
    p.arch = arch;
    return p;
}
constexpr provenance measured(const char* gpu, const char* cuda, const char* date, double median_us,
                              double spread) {
    provenance p;
    p.kind = provenance_kind::measured;
    p.gpu = gpu, p.cuda = cuda, p.date = date;
    p.median_us = median_us, p.spread = spread;
    return p;
}
/// The evidence of a policy that a tuner found: medians alone pick it.
constexpr provenance found(const char* gpu, const char* cuda, const char* date, double median_us,
                           double spread) {
    provenance p = measured(gpu, cuda, date, median_us, spread);
    p.by_medians = true;
    return p;
}

/// A line of rows.inc as an element of an array of rows.
#define CATENA_TABLE_ROW(launch, formats, policy, computation, order, registers, code, evidence)   \
    {computations::computation,                                                                    \
     ::catena::policy_named(computations::computation.kind, #policy).value(),                      \
     order,                                                                                        \
     registers,                                                                                    \
     code,                                                                                         \
     evidence},

namespace detail {

template <auto Computes>
constexpr auto args_of() {
    if constexpr (Computes.kind == skeleton::matvec)
        return std::type_identity<matvec_args>();
    else if constexpr (Computes.kind == skeleton::matmul)
        return std::type_identity<matmul_args>();
    else if constexpr (has_heads(Computes.stages))
        return std::type_identity<heads_args>();
    else if constexpr (routes(Computes.stages))
        return std::type_identity<route_args>();
    else
        return std::type_identity<row_args>();
}

}  // namespace detail

/// The arguments of a kernel.
template <auto Computes>
using kernel_args = typename decltype(detail::args_of<Computes>())::type;

/// The weight formats whose kernels the build has, spaces between them; "all".
#ifndef CATENA_WEIGHTS
#define CATENA_WEIGHTS "all"
#endif
constexpr bool built(std::string_view launch, std::string_view formats) {
    if (skeleton_named(launch) == skeleton::row) return true;
    std::string_view rest = CATENA_WEIGHTS;
    if (rest == "all") return true;
    while (!rest.empty()) {
        const std::string_view one = rest.substr(0, rest.find(' '));
        if (one == formats) return true;
        rest.remove_prefix(one.size() < rest.size() ? one.size() + 1 : one.size());
    }
    return false;
}

/// A CUDA kernel's declaration, and its place in a table's array.
#define CATENA_KERNEL_DECLARATION(arch, launch, formats, policy, computation, ...)                 \
    extern "C" void catena_##launch##_##formats##_##policy##_##arch(                               \
        ::catena::instances::kernel_args<computations::computation>);
#define CATENA_KERNEL_ADDRESS(arch, launch, formats, policy, ...)                                  \
    []() -> const void* {                                                                          \
        if constexpr (::catena::instances::built(#launch, #formats))                               \
            return reinterpret_cast<const void*>(                                                  \
                &catena_##launch##_##formats##_##policy##_##arch);                                 \
        else                                                                                       \
            return nullptr;                                                                        \
    }(),

}  // namespace CATENA_NAMESPACE::instances
