// The constants of the cost model, which are an H100's. Those of `cost_constants` are fitted to
// bench/results/tuning.sm_90.2026-11-26.json.gz: `catena tune --check-model` fits them anew to
// parts of a record, and says how well they foretell the rest.
#pragma once

#include "catena/config.hpp"

namespace CATENA_NAMESPACE {

/// A head start in which a launch does all that it can do before the one before it ends.
inline constexpr double whole_head_start_us = 1e9;

struct cost_constants {
    /// The share of the shorter part that two overlapping parts of a launch add, if both take as
    /// long.
    double unhidden = 0.21;

    // A matvec.
    /// The share that a warp waits for of the cycles that its instructions stall by themselves:
    /// loads of shared memory that are counted one by one overlap.
    double stalled = 0.52;
    /// The time of a warp that asks for the copy of one row's slice.
    double plain_slice_us = 0.35, async_slice_us = 0.105, bulk_slice_us = 0.032;
    /// A plain copy waits for each 16 bytes of a lane, several of them at a time.
    double plain_chunk_us = 0.115;
    /// Columns come to shared memory: the first 16 bytes of a thread, and each further one by
    /// cp.async. Plain copies wait for each.
    double column_us = 0.29, async_chunk_us = 0.054;
    /// One step's load of a column that is read from L1 and L2, of q8_1 or f32.
    double global_step_us = 0.15, float_step_us = 0.155;
    /// Bytes that an SM gets in a cycle if all blocks read them at once, such as columns.
    double read_by_all_bytes = 5.6;
    /// The share of the room beside an even share of blocks that the busiest SM fills, if blocks
    /// start early.
    double crowding = 0.2;
    /// Is the code that of the kernels on record? Its blocks read a norm's weight behind the wait.
    /// Launches that make a norm in passing wait for each step of their product, and warps that
    /// share rows for whole columns, of which they multiply eight at the price of one. No two
    /// tokens of its launches have one expert.
    bool on_record = false;

    // A row step.
    double row_launch_us = 0.6;      ///< first loads and last stores, beside the time of the node
    double wave_us = 0.8;            ///< loads and stores of each further wave of blocks
    double block_start_us = 0.0011;  ///< start of a block: the GPU starts blocks in turn
    double sum_us = 0.36;            ///< a sum over the threads of a row, for a norm
    double warp_sum_us = 0.018;      ///< one warp's part of that sum, if warps meet
    // What a quad of a thread's values takes; quads come one after the other:
    double quantize_us = 0.65;    ///< shuffles and divisions of a quantized block
    double gate_us = 0.77;        ///< a gate's exponential
    double late_load_us = 0.38;   ///< a load that nothing asked for ahead
    double element_us = 0.062;    ///< accesses to single elements
    double warp_quad_us = 0.023;  ///< instructions that each warp of an SM issues
};

/// The constants of a launch whose columns come from memory, as in the tuner's chain of copies,
/// where inputs rotate through four times the size of L2. In a decode step the launch before has
/// just written them. The few blocks of a router go over them together, and each step waits for
/// memory: that of gpt-oss-20b takes 23.9 us in the chain and 14.9 us in decode steps of an H100.
constexpr cost_constants with_cold_columns(cost_constants c = {}) {
    c.float_step_us = 0.29;
    return c;
}

/// The constants of the kernels that were timed.
constexpr cost_constants as_recorded(cost_constants c = {}) {
    c.on_record = true;
    return c;
}

namespace detail {

/// The time from the issue of a read to the arrival of its bytes, on a GPU that is not busy:
/// pointer chases through an H100's memory that others published take 0.3 to 0.7 us.
inline constexpr double memory_latency_us = 0.7;
/// That time while all SMs read, as a floor under what a peer of Catena can reach: 3.0 TB/s with 16
/// to 32 KB in flight in each SM are 0.7 to 1.4 us.
inline constexpr double loaded_latency_us = 1.0;
/// The share of the bandwidth at which bytes arrive that no launch has read for a while: others
/// report about 60 % for the first 10 to 30 MB, however many bytes are on their way. No prediction
/// counts that: it slows all kernels, and hardly changes which row is picked. `catena explain` says
/// what a whole graph would take.
inline constexpr double cold_stream_share = 0.6;
inline constexpr double l2_speedup = 2.5;  ///< L2 against memory, bytes per us
/// The additional time of a CUDA graph's node if nothing of it starts early: an H100's probe has
/// 0.81 us and 0.52 us.
inline constexpr double late_node_us = 0.29;
inline constexpr double cluster_us = 0.5;     ///< blocks of a cluster begin together and meet twice
inline constexpr double meeting_cycles = 60;  ///< the warps of a block meet; predicted
inline constexpr double shared_memory_bytes = 128;  ///< bytes that an SM moves in a cycle
inline constexpr double warp_issues = 4;  ///< instructions that an SM's warps issue in a cycle
/// Registers that a thread needs for the f32 values of one row or column in a step, and for all
/// else. In an H100's record kernels of one row whose threads have 93 registers or more wait for
/// four columns as long as for one; with 80, or with two rows and 95, they take longer.
inline constexpr int float_registers = 8, other_registers = 48;
inline constexpr double spare_share = 0.03;  ///< share for each spare format or column; assumed

}  // namespace detail

}  // namespace CATENA_NAMESPACE
