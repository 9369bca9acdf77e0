// How the executor of exec/cuda.cuh brings bytes to shared memory: a stream of stages for each
// method.
#pragma once

#include "catena/exec/executor.hpp"
#include "catena/exec/mbarrier.cuh"

#include <cstdint>

namespace CATENA_NAMESPACE::exec {

/// Made by an executor X, of which a stream may take shared memory.
template <copy_method M, int Stages>
class cuda_stream;

/// Calls copy(shared, global, bytes) in all lanes for each row of a fill.
template <filled_rows Rows, class Copy>
__device__ void each_row(void* first, const void* global, int bytes, Copy copy) {
    // Addresses of their spaces, so that what comes of a shuffle is known to lie there.
    const auto to = static_cast<unsigned>(__cvta_generic_to_shared(first));
    const auto from = static_cast<unsigned long long>(__cvta_generic_to_global(global));
#pragma unroll 1
    for (int row = 0; row < Rows.count; ++row) {
        const int n = __shfl_sync(0xffffffffu, bytes, row);
        const auto at = __shfl_sync(0xffffffffu, to, row) + row * Rows.pitch;
        const auto source = __shfl_sync(0xffffffffu, from, row);
        // ptxas needs fewer instructions behind this test, which is always true.
        if (n > 0) copy(__cvta_shared_to_generic(at), __cvta_global_to_generic(source), n);
    }
}

/// Loads and stores. The bytes are there after the copy; wait and release only order the lanes.
template <int Stages>
class cuda_stream<copy_method::plain, Stages> {
  public:
    template <class X>
    __device__ explicit cuda_stream(X&) {}

    __device__ void begin(int, std::int64_t) {}
    __device__ void copy(void* shared, const void* global, std::int64_t bytes) {
        const auto ends = reinterpret_cast<std::uintptr_t>(shared) |
                          reinterpret_cast<std::uintptr_t>(global) |
                          static_cast<std::uintptr_t>(bytes);
        if (ends % 16 == 0)
            copy_as<uint4, 4>(shared, global, bytes);
        else if (ends % 4 == 0)
            copy_as<unsigned, 1>(shared, global, bytes);
        else
            copy_as<unsigned char, 1>(shared, global, bytes);
    }
    template <int Rows, int Most, class Row>
    __device__ void copy_rows(Row row) {
        constexpr int chunks = (Most + 15) / 16;
#pragma unroll 2
        for (int i = static_cast<int>(threadIdx.x % 32); i < Rows * chunks; i += 32) {
            const copied_row c = row(i / chunks);
            const int at = i % chunks * 16, left = c.bytes - at;
            auto* to = static_cast<unsigned char*>(c.to) + at;
            const auto* from = static_cast<const unsigned char*>(c.from) + at;
            const auto ends =
                reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from);
            if (left >= 16 && ends % 16 == 0)
                *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
            else
                for (int b = 0; b < left && b < 16; ++b) to[b] = from[b];
        }
    }
    __device__ void copy_own(void* shared, const void* global, int bytes) {
        if (bytes > 0) *static_cast<uint4*>(shared) = *static_cast<const uint4*>(global);
    }
    __device__ void commit(int) {}
    template <filled_rows Rows>
    __device__ void fill(int, void* first, const void* global, int bytes) {
        each_row<Rows>(first, global, bytes, [&](auto... one) { copy(one...); });
    }
    __device__ void wait(int) { __syncwarp(); }
    __device__ void release(int) { __syncwarp(); }
    __device__ void reuse() {}

  private:
    /// Only whole vectors are in a hurry: `Unroll` of them are on their way.
    template <class Unit, int Unroll>
    __device__ static void copy_as(void* shared, const void* global, std::int64_t bytes) {
        const int units = static_cast<int>(static_cast<unsigned>(bytes) / sizeof(Unit));
#pragma unroll Unroll
        for (int i = static_cast<int>(threadIdx.x % 32); i < units; i += 32)
            static_cast<Unit*>(shared)[i] = static_cast<const Unit*>(global)[i];
    }
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

/// cp.async: every lane copies its share, 16 bytes at a time, or a word. A fill is one group.
template <int Stages>
class cuda_stream<copy_method::async, Stages> {
  public:
    template <class X>
    __device__ explicit cuda_stream(X&) {}

    __device__ void begin(int, std::int64_t) {}
    __device__ void copy(void* shared, const void* global, std::int64_t bytes) {
        for (int at = static_cast<int>(threadIdx.x % 32) * 16; at < bytes; at += 32 * 16)
            copy_chunk(static_cast<char*>(shared) + at, global, at);
    }
    template <int Rows, int Most, class Row>
    __device__ void copy_rows(Row row) {
        const int lane = static_cast<int>(threadIdx.x % 32), own = lane % 2 * 16;
        CATENA_NO_UNROLL
        for (int r = lane / 2; r < Rows; r += 16) {
            const copied_row c = row(r);
            auto to = static_cast<unsigned>(__cvta_generic_to_shared(c.to)) + own;
            auto from = __cvta_generic_to_global(c.from) + own;
            const int left = c.bytes - own;
            asm("" : "+r"(to), "+l"(from));  // one address with offsets, not one for each chunk
            CATENA_UNROLL
            for (int at = 0; at < Most; at += 2 * 16)
                if (at < left) copy_chunk(to + at, from + at);
        }
    }
    __device__ void copy_own(void* shared, const void* global, int bytes) {
        if (bytes == 4)
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(
                             static_cast<unsigned>(__cvta_generic_to_shared(shared))),
                         "l"(__cvta_generic_to_global(global))
                         : "memory");
        else if (bytes > 0)
            copy_chunk(shared, global, 0);
    }
    __device__ void commit(int) {
        asm volatile("cp.async.commit_group;" ::: "memory");
        ++groups_;
    }
    template <filled_rows Rows>
    __device__ void fill(int stage, void* first, const void* global, int bytes) {
        each_row<Rows>(first, global, bytes, [&](auto... one) { copy(one...); });
        commit(stage);
    }
    __device__ void wait(int) {
        // Groups complete in order. With the ring full, or one stage of it kept back, the oldest is
        // the one wanted; while it runs empty the few that are left are waited for together.
        if (groups_ == Stages)
            asm volatile("cp.async.wait_group %0;" ::"n"(Stages - 1) : "memory");
        else if (Stages > 2 && groups_ == Stages - 1)
            asm volatile("cp.async.wait_group %0;" ::"n"(Stages > 2 ? Stages - 2 : 0) : "memory");
        else
            asm volatile("cp.async.wait_group 0;" ::: "memory");
        --groups_;
        __syncwarp();
    }
    __device__ void release(int) { __syncwarp(); }
    __device__ void reuse() {}

  private:
    __device__ static void copy_chunk(void* shared, const void* global, int at) {
        copy_chunk(static_cast<unsigned>(__cvta_generic_to_shared(shared)),
                   __cvta_generic_to_global(global) + at);
    }
    __device__ static void copy_chunk(unsigned shared, std::size_t global) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(global)
                     : "memory");
    }

    int groups_ = 0;  // committed and not waited for
};

#endif

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/// cp.async.bulk: one lane announces a fill to the stage's barrier, and all wait for its phase. The
/// lane is elected: of another ptxas does not know that it is alone.
template <int Stages>
class cuda_stream<copy_method::bulk, Stages> {
  public:
    template <class X>
    __device__ explicit cuda_stream(X& x)
        : barriers_(x.template shared<std::uint64_t>(x.warps() * Stages) + x.warp() * Stages) {
        if (elected()) {
            CATENA_UNROLL
            for (int i = 0; i < Stages; ++i) mbarrier(barriers_ + i).init();
            mbarrier::fence_init();
        }
        __syncwarp();
    }

    __device__ void begin(int stage, std::int64_t total_bytes) {
        filling_ = stage;
        if (elected()) expect(total_bytes);
    }
    __device__ void copy(void* shared, const void* global, std::int64_t bytes) {
        if (elected()) copy_own(shared, global, static_cast<int>(bytes));
    }
    __device__ void copy_own(void* shared, const void* global, int bytes) {
        if (bytes > 0) start_copy(shared, global, bytes);
    }
    __device__ void commit(int) {}
    /// The elected lane makes all copies: of copies by several lanes ptxas makes a loop over these.
    template <filled_rows Rows>
    __device__ void fill(int stage, void* first, const void* global, int bytes) {
        const auto of_lane = static_cast<unsigned long long>(__cvta_generic_to_global(global));
        unsigned long long from[Rows.count];
        int bytes_of[Rows.count], total = 0;
        CATENA_UNROLL
        for (int row = 0; row < Rows.count; ++row) {
            from[row] = Rows.count == 1 ? of_lane : __shfl_sync(0xffffffffu, of_lane, row);
            bytes_of[row] = Rows.alike ? bytes : __shfl_sync(0xffffffffu, bytes, row);
            total += bytes_of[row];
        }
        const auto to = static_cast<unsigned>(__cvta_generic_to_shared(first));
        filling_ = stage;
        if (!elected()) return;
        expect(total);
        CATENA_UNROLL
        for (int row = 0; row < Rows.count; ++row)
            start_copy(__cvta_shared_to_generic(to + row * Rows.pitch),
                       __cvta_global_to_generic(from[row]), bytes_of[row]);
    }
    __device__ void wait(int stage) {
        while (!mbarrier(barriers_ + stage).try_wait(parity_)) {
        }
        if (stage == Stages - 1) parity_ ^= 1u;
        __syncwarp();
    }
    __device__ void release(int) { __syncwarp(); }
    __device__ void reuse() { fence_proxy_async(); }

  private:
    __device__ void start_copy(void* shared, const void* global, int bytes) {
        mbarrier(barriers_ + filling_).copy(shared, global, static_cast<std::uint32_t>(bytes));
    }
    /// One of the warp's lanes, whichever. All of them ask.
    __device__ static bool elected() {
        int yes;
        asm volatile(
            "{\n.reg .pred one;\n.reg .b32 lane;\nelect.sync lane|one, -1;\n"
            "selp.b32 %0, 1, 0, one;\n}"
            : "=r"(yes)::"memory");
        return yes != 0;
    }
    __device__ void expect(std::int64_t bytes) {
        mbarrier(barriers_ + filling_).arrive_and_expect(static_cast<std::uint32_t>(bytes));
    }

    std::uint64_t* barriers_;
    int filling_ = 0;
    std::uint32_t parity_ = 0;  // of the fill to wait for next: stages come in ring order
};

#endif

}  // namespace CATENA_NAMESPACE::exec
