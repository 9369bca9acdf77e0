// Prints a hash of the results of every operation of `real` in a kernel on the host executor, and
// of row and matvec bodies. Compiled with flags that license a compiler to change results: the
// lines must not change.
#include "catena/exec/host/launch.hpp"
#include "catena/kernel/matvec.hpp"
#include "catena/kernel/row.hpp"
#include "real_values.hpp"

#include <cfenv>
#include <cstdint>
#include <cstdio>
#include <vector>

using namespace catena;

namespace {

struct hash {
    std::uint64_t value = 14695981039346656037u;
    void add(std::uint64_t word) { value = (value ^ word) * 1099511628211u; }
    void add(real v) { add(bits_of(v)); }
};

enum operation {
    sum,
    difference,
    product,
    quotient,
    chain,
    root,
    fused,
    integers,
    narrow,
    elementary,
    comparison,
    operations
};
constexpr const char* names[] = {"a+b",  "a-b", "a*b",      "a/b",    "(a+b)-a*b",
                                 "sqrt", "fma", "integers", "narrow", "exp, tanh, erf",
                                 "a<b"};

struct real_args {
    const std::vector<real>* values;
    hash* to;
};

template <class X>
void real_body(X& x, const real_args& a) {
    if (x.thread() != 0) return;
    for (const real u : *a.values) {
        a.to[root].add(sqrt(u));
        a.to[root].add(real{1} / sqrt(u));
        a.to[quotient].add(u / real{127});
        a.to[integers].add(static_cast<std::uint32_t>(to_int(u)));
        a.to[integers].add(static_cast<std::uint32_t>(to_int8(u)));
        a.to[integers].add(from_int(static_cast<int>(bits_of(u))));
        a.to[narrow].add(from_half(to_half(u)));
        a.to[narrow].add(to_bfloat16(u));
        a.to[sum].add(u + real{0});
        a.to[product].add(u * real{0});
        a.to[product].add(u * real{1});
        a.to[elementary].add(exp(u));
        a.to[elementary].add(tanh(u));
        a.to[elementary].add(erf(u));
        for (const real v : *a.values) {
            a.to[comparison].add(std::uint64_t{less(u, v)});
            a.to[sum].add(u + v);
            a.to[difference].add(u - v);
            a.to[product].add(u * v);
            a.to[quotient].add(u / v);
            a.to[chain].add((u + v) - u * v);
            a.to[chain].add(u * v + u);
            a.to[fused].add(fma(u, v, u));
        }
    }
}

void run_real(exec::host& x, const void* args) {
    real_body(x, *static_cast<const real_args*>(args));
}

constexpr row_policy of_norm{.threads = 64, .values = 8, .vector = true};
constexpr format_set emits = format_set::of(format::f32) | format::f16 | format::bf16 |
                             format::q8_1 | format::fp8_group | format::mxfp4_rows;
constexpr row_computation norm{.stages = stage_kind::rms_norm | stage_kind::mul_weight,
                               .emits = emits};
void run_row(exec::host& x, const void* args) {
    kernel::row_body<exec::host, of_norm, norm>(x, *static_cast<const row_args*>(args));
}

constexpr row_computation glu{.stages = stage_set::of(stage_kind::glu), .emits = emits};
constexpr row_policy of_glu{.threads = 64, .vector = true};
void run_glu(exec::host& x, const void* args) {
    kernel::row_body<exec::host, of_glu, glu>(x, *static_cast<const row_args*>(args));
}

constexpr matvec_policy of_products{
    .threads = 64, .rows = 2, .columns = 1, .piece = 1024, .stages = 2};
constexpr format_set weights = format_set::of(format::q4_K);
void run_matvec(exec::host& x, const void* args) {
    kernel::matvec_body<exec::host, of_products, weights>(x,
                                                          *static_cast<const matvec_args*>(args));
}

template <class T>
void print(const char* name, const T* data, std::size_t count) {
    hash h;
    const auto* bytes = reinterpret_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < count * sizeof(T); ++i) h.add(bytes[i]);
    std::printf("%s %016llx\n", name, static_cast<unsigned long long>(h.value));
}

bool run(exec::host_device& device, host_kernel kernel, const launch_config& config,
         const void* args) {
    const status done =
        launch_host(reinterpret_cast<const void*>(kernel), config, args, 0, &device);
    if (!done.ok()) std::printf("%s\n", device.findings().back().message.c_str());
    return done.ok();
}

/// A norm row of 512 elements, quantized, against 5 rows of q4_K.
bool run_bodies(exec::host_device& device) {
    constexpr int k = 512, rows = 5;
    auto* x = device.allocate<float>("x", k, exec::memory::initialized);
    auto* w = device.allocate<float>("w", k, exec::memory::constant);
    auto* f32 = device.allocate<float>("f32", k, exec::memory::uninitialized);
    auto* f16 = device.allocate<std::uint16_t>("f16", k, exec::memory::uninitialized);
    auto* q8_1 =
        device.allocate<unsigned char>("q8_1", q8_1_row_bytes(k), exec::memory::uninitialized);
    auto* fp8 = device.allocate<unsigned char>("fp8", k, exec::memory::uninitialized);
    auto* fp8_scales = device.allocate<float>("fp8 scales", k / 128, exec::memory::uninitialized);
    auto* fp4 = device.allocate<unsigned char>("fp4", k / 2, exec::memory::uninitialized);
    auto* fp4_scales =
        device.allocate<unsigned char>("fp4 scales", k / 32, exec::memory::uninitialized);
    constexpr std::int64_t weight_bytes = rows * row_bytes(format::q4_K, k);
    auto* weight = device.allocate<unsigned char>("weight", weight_bytes, exec::memory::constant);
    auto* y = device.allocate<float>("y", rows, exec::memory::uninitialized);
    std::uint32_t state = 7;
    const auto next = [&state] { return state = state * 1664525u + 1013904223u; };
    for (int i = 0; i < k; ++i) {
        x[i] = static_cast<float>(static_cast<std::int32_t>(next())) * 1e-9f;
        w[i] = static_cast<float>(next() >> 8) * 1e-7f;
    }
    for (int i = 0; i < weight_bytes; ++i)
        weight[i] = static_cast<unsigned char>(i % 144 == 1 || i % 144 == 3 ? 0x2c : next() >> 24);

    row_args r;
    r.x = x, r.weight = w, r.f32 = f32, r.f16 = f16, r.q8_1 = q8_1;
    r.fp8_group = {fp8, fp8_scales}, r.mxfp4 = {fp4, fp4_scales};
    r.k = r.quant_k = k, r.rows = 1, r.quant_blocks = static_cast<int>(q8_1_row_blocks(k)),
    r.eps = 1e-6f;
    if (!run(device, run_row, {.blocks = 1, .threads = 64, .shared_bytes = 64}, &r)) return false;

    // Gated by itself, once by every function.
    constexpr gate_function functions[] = {
        gate_function::none, gate_function::silu,         gate_function::sigmoid,
        gate_function::gelu, gate_function::gelu_erf,     gate_function::gelu_quick,
        gate_function::relu, gate_function::relu_squared, gate_function::swiglu_oai};
    hash gates;
    for (const gate_function function : functions) {
        row_args g = r;
        g.weight = nullptr, g.f16 = nullptr, g.q8_1 = nullptr;
        g.fp8_group = g.mxfp4 = {};
        g.gate = x, g.function = function, g.alpha = 1.702f, g.limit = 1.5f;
        if (!run(device, run_glu, {.blocks = 1, .threads = 64, .shared_bytes = 64}, &g))
            return false;
        for (int i = 0; i < k; ++i) gates.add(real{f32[i]});
    }
    std::printf("gates %016llx\n", static_cast<unsigned long long>(gates.value));
    if (!run(device, run_row, {.blocks = 1, .threads = 64, .shared_bytes = 64}, &r)) return false;

    matvec_args m;
    m.x = q8_1, m.x_bytes = q8_1_row_bytes(k), m.k = k, m.columns = 1;
    m.band_rows = rows, m.members = m.bands = 1;
    m.member[0].weight = weight, m.member[0].dst = y, m.member[0].weight_bytes = weight_bytes;
    m.member[0].row_bytes = row_bytes(format::q4_K, k), m.member[0].dst_nb1 = rows * 4;
    m.member[0].rows = rows, m.member[0].type = format::q4_K;
    if (!run(device, run_matvec, {.blocks = 1, .threads = 64, .shared_bytes = 16384}, &m))
        return false;
    print("row f32", f32, k);
    print("row f16", f16, k);
    print("row q8_1", q8_1, static_cast<std::size_t>(q8_1_row_bytes(k)));
    print("row fp8", fp8, k);
    print("row fp8 scales", fp8_scales, k / 128);
    print("row fp4", fp4, k / 2);
    print("row fp4 scales", fp4_scales, k / 32);
    print("matvec", y, rows);
    return true;
}

}  // namespace

int main() {
    // Flags of this kind set the processor to flush subnormals at start-up; what the program had
    // set must be there again after a launch.
    std::fesetround(FE_UPWARD);
    exec::host_device device;
    const std::vector<real> values = catena_test::real_values(3);
    hash results[operations];
    const real_args args{&values, results};
    if (!run(device, run_real, {.threads = 32}, &args)) return 1;
    for (int i = 0; i < operations; ++i)
        std::printf("%s %016llx\n", names[i], static_cast<unsigned long long>(results[i].value));
    if (!run_bodies(device)) return 1;
    if (std::fegetround() != FE_UPWARD) {
        std::printf("a launch changed the rounding mode of the program\n");
        return 1;
    }
    return 0;
}
