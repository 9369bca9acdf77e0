// Which Catena a table was compiled with. Headers of another one may read its rows, or the
// arguments of its kernels, differently.
#pragma once

#include "catena/error/message.hpp"
#include "catena/exec/launch.hpp"
#include "catena/kernel/args.hpp"
#include "catena/pick/table_rows.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace CATENA_NAMESPACE {

namespace detail {

template <class... Types>
struct type_list {
    template <class T>
    static constexpr bool has = (std::is_same_v<T, Types> || ...);
    static constexpr std::size_t sizes[sizeof...(Types)] = {sizeof(Types)...};
};
/// What tables point to, what their functions take, and what lies in unions of these.
using table_types =
    type_list<arch, row, lowered_chain, measurement, engine_median, engine_verdict, preferred_row,
              own_ops, own_op, op_numbers, tensor, computation, row_computation,
              product_computation, policy, row_policy, matvec_policy, matmul_policy, row_args,
              heads_args, route_args, matvec_args, matmul_args, launch_config, status>;

/// How many of each can be named in a table.
inline constexpr std::size_t table_names[] = {format_count, stage_kind_count, epilogue_part_count,
                                              gate_function_count};

/// Changes with the size of what tables hold and kernels take, and with what can be named there.
constexpr std::uint32_t layout() {
    std::uint32_t hash = 2166136261u;  // FNV-1a
    const auto mix = [&hash](std::size_t number) {
        hash = (hash ^ static_cast<std::uint32_t>(number)) * 16777619u;
    };
    for (const std::size_t size : table_types::sizes) mix(size);
    for (const std::size_t count : table_names) mix(count);
    return hash;
}

}  // namespace detail

/// By default that of the headers that a file is compiled with.
struct table_stamp {
    char made_by[16] = {};
    std::uint32_t layout = detail::layout();

    constexpr table_stamp() {
        for (std::size_t i = 0; i < sizeof(headers_version); ++i) made_by[i] = headers_version[i];
    }
};
static_assert(sizeof(headers_version) <= sizeof(table_stamp::made_by),
              "a version has at most 15 characters");

constexpr bool operator==(const table_stamp& a, const table_stamp& b) {
    for (std::size_t i = 0; i < sizeof(a.made_by); ++i)
        if (a.made_by[i] != b.made_by[i]) return false;
    return a.layout == b.layout;
}

/// Can these headers read what was compiled with those of `made`?
inline status match_headers(const table_stamp& made) {
    const table_stamp here;
    if (made == here) return {};
    return failure(status_code::invalid_argument,
                   "a table was compiled with Catena %.15s (layout %08x) and is read by Catena "
                   "%.15s (layout %08x): build the set anew, and all of a program with one version",
                   made.made_by, static_cast<unsigned>(made.layout), here.made_by,
                   static_cast<unsigned>(here.layout));
}

}  // namespace CATENA_NAMESPACE
