// The executor that runs on any CPU, as one thread of a block sees it: the calls of
// exec/executor.hpp, every one checked. What goes wrong ends the launch with a finding, see
// exec/host/device.hpp.
#pragma once

#include "catena/exec/executor.hpp"
#include "catena/exec/host/machine.hpp"

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace CATENA_NAMESPACE::exec {

template <copy_method M, int Stages>
class host_stream {
  public:
    host_stream(machine& m, thread& t, stream_log& log) : machine_(&m), thread_(&t), log_(&log) {}

    void begin(int stage, std::int64_t total_bytes, site at = CATENA_HERE) {
        call({stream_call::begin, stage, 0, 0, total_bytes}, at);
    }
    void copy(void* shared, const void* global, std::int64_t bytes, site at = CATENA_HERE) {
        call({stream_call::copy, 0, reinterpret_cast<std::uintptr_t>(shared),
              reinterpret_cast<std::uintptr_t>(global), bytes},
             at);
    }
    template <int Rows, int Most, class Row>
    void copy_rows(Row row, site at = CATENA_HERE) {
        for (int r = 0; r < Rows; ++r) {
            const copied_row c = row(r);
            if (c.bytes > Most)
                machine_->report.stop(*thread_, fault::stream, at,
                                      "copies a row of " + std::to_string(c.bytes) +
                                          " bytes where it promised at most " +
                                          std::to_string(Most));
            if (c.bytes != 0) copy(c.to, c.from, c.bytes, at);
        }
    }
    void copy_own(void* shared, const void* global, int bytes, site at = CATENA_HERE) {
        machine_->streams.copy_own(*thread_, *log_,
                                   {stream_call::copy, 0, reinterpret_cast<std::uintptr_t>(shared),
                                    reinterpret_cast<std::uintptr_t>(global), bytes},
                                   at);
    }
    void commit(int stage, site at = CATENA_HERE) {
        call({stream_call::commit, stage, 0, 0, 0}, at);
    }
    template <filled_rows Rows>
    void fill(int stage, void* first, const void* global, std::int64_t bytes,
              site at = CATENA_HERE) {
        machine_->streams.fill(*thread_, *log_, stage,
                               {stream_call::copy, 0, reinterpret_cast<std::uintptr_t>(first),
                                reinterpret_cast<std::uintptr_t>(global), bytes},
                               Rows, M != copy_method::plain, at);
    }
    void wait(int stage, site at = CATENA_HERE) {
        machine_->streams.wait(*thread_, *log_, stage, at);
    }
    void release(int stage, site at = CATENA_HERE) {
        machine_->streams.release(*thread_, *log_, stage, at);
    }
    void reuse() {}

  private:
    void call(const stream_call& c, site at) { machine_->streams.call(*thread_, *log_, c, at); }

    machine* machine_;
    thread* thread_;
    stream_log* log_;
};

class host {
  public:
    host(machine& m, thread& t) : machine_(m), thread_(t) {}
    host(const host&) = default;  ///< the same thread
    host& operator=(const host&) = delete;

    int thread() const { return thread_.id; }
    int lane() const { return thread_.lane(); }
    int warp() const { return thread_.id / 32; }
    int threads() const { return machine_.threads(); }
    int warps() const { return machine_.threads() / 32; }
    int block() const { return machine_.block(); }
    int blocks() const { return machine_.blocks(); }

    int cluster() const { return machine_.block() / machine_.cluster.blocks(); }
    int cluster_rank() const { return machine_.cluster.rank(); }
    int cluster_blocks() const { return machine_.cluster.blocks(); }

    void sync(site at = CATENA_HERE) {
        machine_.meetings.sync(thread_, at, [] {});
    }
    bool sync_any(bool says, site at = CATENA_HERE) {
        return machine_.meetings.sync_any(thread_, says, at);
    }
    void cluster_sync(site at = CATENA_HERE) { machine_.cluster.sync(thread_, at); }
    void cluster_meet(site at = CATENA_HERE) { machine_.cluster.meet(thread_, at); }
    void sync_warp(site at = CATENA_HERE) {
        machine_.meetings.sync_warp(thread_, meeting::sync_warp, 0, at, [] {});
    }

    real shuffle_xor(real v, int mask, site at = CATENA_HERE) {
        return from_bits(machine_.meetings.shuffle_xor(thread_, bits_of(v), mask, at));
    }
    int shuffle_xor(int v, int mask, site at = CATENA_HERE) {
        return static_cast<int>(
            machine_.meetings.shuffle_xor(thread_, static_cast<std::uint32_t>(v), mask, at));
    }
    unsigned shuffle_xor(unsigned v, int mask, site at = CATENA_HERE) {
        return machine_.meetings.shuffle_xor(thread_, v, mask, at);
    }

    real shuffle(real v, int from, site at = CATENA_HERE) {
        return from_bits(machine_.meetings.shuffle(thread_, bits_of(v), from, at));
    }
    int shuffle(int v, int from, site at = CATENA_HERE) {
        return static_cast<int>(
            machine_.meetings.shuffle(thread_, static_cast<std::uint32_t>(v), from, at));
    }

    template <class T>
    T* shared(std::int64_t n, site at = CATENA_HERE) {
        const auto bytes = static_cast<std::size_t>(n) * sizeof(T);
        return reinterpret_cast<T*>(machine_.memory.shared_array(thread_, bytes, at));
    }

    template <class T>
    T load(const T* p, site at = CATENA_HERE) {
        check<access::read, T>(p, at);
        T v;
        std::memcpy(&v, p, sizeof v);
        return v;
    }
    real load(const float* p, site at = CATENA_HERE) {
        check<access::read, float>(p, at);
        real v;
        std::memcpy(&v.v, p, sizeof v.v);
        return v;
    }
    template <class T>
    void store(T* p, std::type_identity_t<T> v, site at = CATENA_HERE) {
        check<access::write, T>(p, at);
        std::memcpy(p, &v, sizeof v);
    }
    void store(float* p, real v, site at = CATENA_HERE) {
        check<access::write, float>(p, at);
        std::memcpy(p, &v.v, sizeof v.v);
    }

    void store_first(float* p, real v, site at = CATENA_HERE) {
        if (machine_.cluster.blocks() == 1)
            store(p, v, at);
        else
            machine_.cluster.store_first(thread_, p, v, at);
    }

    word4 load16(const void* p, site at = CATENA_HERE) {
        check<access::read, word4>(p, at);
        word4 v;
        std::memcpy(&v, p, sizeof v);
        return v;
    }
    void store16(void* p, word4 v, site at = CATENA_HERE) {
        check<access::write, word4>(p, at);
        std::memcpy(p, &v, sizeof v);
    }

    /// It reads nothing, so it may stand before grid_wait.
    void prefetch(const void* p, site at = CATENA_HERE) {
        machine_.memory.check_declared(thread_, access::read, reinterpret_cast<std::uintptr_t>(p),
                                       1, at);
    }

    int dp4a(int a, int b, int c) const { return add_products<std::int8_t>(a, b, c); }
    int dp4a(unsigned a, int b, int c) const { return add_products<std::uint8_t>(a, b, c); }
    unsigned funnel(unsigned lo, unsigned hi, unsigned bits) const {
        return static_cast<unsigned>((std::uint64_t{hi} << 32 | lo) >> (bits & 31));
    }
    unsigned funnel_up(unsigned lo, unsigned hi, unsigned bits) const {
        return static_cast<unsigned>((std::uint64_t{hi} << 32 | lo) << (bits & 31) >> 32);
    }
    unsigned permute(unsigned low, unsigned high, unsigned pick) const {
        const std::uint64_t bytes = std::uint64_t{high} << 32 | low;
        unsigned r = 0;
        for (int n = 0; n < 32; n += 8, pick >>= 4) {
            const auto byte = static_cast<unsigned>(bytes >> (pick & 7u) * 8u) & 0xffu;
            r |= ((pick & 8u) == 0 ? byte : (byte >> 7) * 0xffu) << n;
        }
        return r;
    }

    void mma(int (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2], site at = CATENA_HERE) {
        machine_.meetings.mma<2>(thread_, d, a, b, at);
    }
    void mma(int (&d)[4], const unsigned (&a)[2], unsigned b, site at = CATENA_HERE) {
        machine_.meetings.mma<1>(thread_, d, a, &b, at);
    }

    template <format F>
    void mma(real (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2], site at = CATENA_HERE) {
        machine_.meetings.mma_of<F>(thread_, d, a, b, at);
    }
    template <class Row>
    void load_matrices(unsigned (&v)[4], Row row, site at = CATENA_HERE) {
        for (int i = 0; i < 4; ++i) {
            const word4 words = load16(row(8 * i + lane() / 4), at);
            const unsigned all[] = {words.x, words.y, words.z, words.w};
            v[i] = all[lane() % 4];
        }
    }

    wgmma_operand operand_at(const void* shared, int stride, site at = CATENA_HERE) {
        return machine_.warpgroups.operand_at(thread_, shared, stride, at);
    }
    void async_fence() { thread_.async_fence = thread_.now; }
    void wgmma_fence() { thread_.wgmma_fence = true; }
    void wgmma_commit() { ++thread_.wgmma_groups; }
    template <format F, bool Adds = true, int N>
    void wgmma(real (&sum)[N][4], wgmma_operand a, wgmma_operand b, site at = CATENA_HERE) {
        static_assert(F == format::f16 || F == format::bf16 || F == format::fp8_e4m3,
                      "warpgroups multiply f16, bf16 or fp8_e4m3 here");
        static_assert(N > 0 && N <= 32, "a warpgroup multiplies at most 256 columns");
        machine_.warpgroups.multiply<F>(thread_, sum[0], 8 * N, Adds, a, b, at);
    }
    template <int Left, int M, int N>
    void wgmma_wait(real (&)[M][N][4], site at = CATENA_HERE) {
        machine_.warpgroups.wait(thread_, Left, at);
    }

    void grid_wait() { machine_.meetings.grid_wait(thread_); }
    void grid_trigger() {}

    template <copy_method M, int Stages>
    host_stream<M, Stages> stream(site at = CATENA_HERE) {
        return {machine_, thread_, machine_.streams.open(thread_, M, Stages, threads(), at)};
    }

  private:
    template <access A, class T>
    void check(const void* p, site at) {
        static_assert(
            std::is_trivially_copyable_v<T> && (sizeof(T) & (sizeof(T) - 1)) == 0 &&
                sizeof(T) <= 16,
            "load and store take scalars of 1, 2, 4 or 8 bytes; load16 and store16 take 16");
        machine_.memory.check<A, sizeof(T)>(thread_, p, at);
    }
    template <class Byte, class Word>
    static int add_products(Word a, int b, int c) {
        const auto product = [&](int shift) {
            return static_cast<Byte>(a >> shift) * static_cast<std::int8_t>(b >> shift);
        };
        const int sum = product(0) + product(8) + product(16) + product(24);
        return static_cast<int>(static_cast<unsigned>(c) + static_cast<unsigned>(sum));  // wraps
    }

    machine& machine_;
    exec::thread& thread_;
};

static_assert(executor<host>);

}  // namespace CATENA_NAMESPACE::exec
