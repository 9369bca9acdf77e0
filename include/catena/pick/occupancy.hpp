// How many blocks of a kernel an SM holds at once.
#pragma once

#include "catena/arch/arch.hpp"
#include "catena/kernel/layout.hpp"
#include "catena/pick/row.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

/// Registers that a thread usually takes. For a tile they are a little more than one for each of
/// its sums; for a tile of fp8 by warpgroups one for each sum, and those for the products of 64
/// rows.
constexpr int usual_registers(const row& r) {
    if (r.computes.kind() != skeleton::matmul) return 64;
    const matmul_policy& n = r.policy.matmul();
    const int sums = n.rows * n.columns / warp_size;
    return fp8_by_warpgroups(n, r.computes.product().weights) ? 62 + sums + n.columns / 2
                                                              : 80 + sums * 5 / 4;
}

/// Registers that each thread of so many blocks can have.
constexpr int registers_left(int threads, int blocks, const arch& a) {
    const int warps = threads / warp_size * blocks;
    const int of_quarter = (warps + sm_quarters - 1) / sm_quarters;
    const int units = a.registers_per_sm / sm_quarters / of_quarter / register_unit;
    const int left = units * register_unit / warp_size;
    return left < a.max_registers_per_thread ? left : a.max_registers_per_thread;
}

/// Blocks for which an SM has the registers.
constexpr int blocks_by_registers(int registers, int threads, const arch& a) {
    const auto of_warp = static_cast<int>(round_up(registers * warp_size, register_unit));
    return sm_quarters * (a.registers_per_sm / sm_quarters / of_warp) / (threads / warp_size);
}

/// Shared memory that a block takes, if it uses `bytes`.
constexpr std::int64_t shared_allocated(std::int64_t bytes, const arch& a) {
    return round_up(bytes + a.shared_reserved, a.shared_unit);
}

/// Registers of a thread: as compiled; else what the launch bounds leave, or a usual number if that
/// is less.
constexpr int registers_of(const row& r, const arch& a) {
    if (r.registers > 0) return r.registers;
    const int usual = usual_registers(r);
    const int bound = registers_left(r.policy.threads(), r.policy.min_blocks(), a);
    return bound < usual ? bound : usual;
}

/// Blocks of a row that an SM holds at once, each with `shared` bytes; 0: not even one.
constexpr int blocks_per_sm(const row& r, const arch& a, std::int64_t shared) {
    int blocks = a.max_blocks_per_sm;
    const auto at_most = [&blocks](std::int64_t n) {
        if (n < blocks) blocks = static_cast<int>(n);
    };
    at_most(a.max_threads_per_sm / r.policy.threads());
    at_most(blocks_by_registers(registers_of(r, a), r.policy.threads(), a));
    if (const std::int64_t taken = shared_allocated(shared, a); taken > 0)
        at_most(quotient(a.shared_per_sm, taken));
    if (placement_of(r.policy) == norm_placement::deferred)
        at_most(r.policy.min_blocks());  // each makes the whole norm: no more than are asked for
    return blocks;
}

}  // namespace CATENA_NAMESPACE
