// Activations of any size: one block of a row is far larger or smaller than the others, and what a
// plan computes is held against the product in double, beside ggml's CPU backend on the same input.
#include "catena/exec/host.hpp"
#include "catena/format/codec.hpp"
#include "catena/format/random.hpp"
#include "catena/instances/all.hpp"
#include "catena/instances/on_host.hpp"
#include "catena/runtime.hpp"
#include "catena_test/catch.hpp"

#include <ggml-cpp.h>
#include <ggml-cpu.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

namespace {

using namespace catena;

constexpr int k = 512, rows = 32, outliers = 32;  // elements of a row, results, the block's values

std::size_t size(int n) { return static_cast<std::size_t>(n); }

/// Columns of an activation, in each of which 32 neighbors are `outlier` times as large.
std::vector<float> activation(int columns, float outlier) {
    std::vector<float> x(size(k * columns));
    fill_random_values(5, 0, x);
    for (int c = 0; c < columns; ++c)
        for (int i = 0; i < outliers; ++i) x[size(c * k + k / 2 + i)] *= outlier;
    return x;
}

std::vector<double> product(const std::vector<double>& weights, const std::vector<double>& x) {
    std::vector<double> out;
    for (std::size_t c = 0; c < x.size(); c += k)
        for (std::size_t r = 0; r < weights.size(); r += k) {
            double sum = 0;
            for (std::size_t i = 0; i < k; ++i) sum += weights[r + i] * x[c + i];
            out.push_back(sum);
        }
    return out;
}

/// The error that int8 with exact scales for 32 values leaves: no better one can be asked for.
std::vector<double> rounded_to_int8(const std::vector<double>& x) {
    std::vector<double> out;
    for (std::size_t first = 0; first < x.size(); first += 32) {
        double largest = 0;
        for (std::size_t i = 0; i < 32; ++i) largest = std::max(largest, std::abs(x[first + i]));
        const double d = largest / 127;
        for (std::size_t i = 0; i < 32; ++i) out.push_back(std::round(x[first + i] / d) * d);
    }
    return out;
}

template <class T>
double nmse(const std::vector<double>& wanted, const std::vector<T>& found) {
    double error = 0, power = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const double off = static_cast<double>(found[i]) - wanted[i];
        error += off * off, power += wanted[i] * wanted[i];
    }
    return error / power;
}

/// One matrix and one activation, and what is made of them.
struct subject {
    format type;
    int columns;
    std::vector<float> x;
    std::vector<std::byte> weight;

    subject(format f, int count, float outlier)
        : type(f),
          columns(count),
          x(activation(count, outlier)),
          weight(size(static_cast<int>(row_bytes(f, k)) * rows)) {
        fill_random_blocks(f, 3, 0, weight);
    }

    std::vector<double> weights() const { return decode_row<double>(type, weight, k * rows); }
};

/// By a plan on the host executor; empty where a kernel that the plan wants was not compiled.
std::vector<float> by_plan(const subject& s, const table& rows_of_arch) {
    exec::host_device machine;
    std::vector<tensor> t;
    const auto add = [&](op kind, format type, int length, int count, const void* bytes) {
        const std::int64_t row = row_bytes(type, length), all = row * count;
        const auto memory = bytes != nullptr ? exec::memory::constant : exec::memory::initialized;
        auto* data = machine.allocate<std::byte>("tensor", all, memory);
        if (bytes != nullptr) std::memcpy(data, bytes, static_cast<std::size_t>(all));
        tensor v{.kind = kind, .type = type, .flags = flag_compute};
        v.ne[0] = length, v.ne[1] = count, v.uses = 1, v.data = data;
        v.nb[0] = info(type).block_bytes, v.nb[1] = row, v.nb[2] = v.nb[3] = all;
        v.buffer = static_cast<int>(t.size()) + 1;
        t.push_back(v);
    };
    add(op::none, format::f32, k, s.columns, s.x.data());
    add(op::none, s.type, k, rows, s.weight.data());
    add(op::mul_mat, format::f32, rows, s.columns, nullptr);
    t[1].weight = true;
    t[2].src[0] = 1, t[2].src[1] = 0, t[2].flags |= flag_output;
    const int node = 2;
    const plan p = planner{rows_of_arch}.plan({t.data(), 3, &node, 1});
    if (p.size() == 0 || p.at(0).role == role::engine) return {};
    void* scratch = machine.allocate<int>("", p.workspace_bytes() + 1, exec::memory::initialized);
    for (int i = 0; i < p.size(); ++i) {
        if (p.at(i).role != role::launch) continue;
        const status launched = p.launch(i, &machine, scratch);
        if (launched.code == status_code::no_kernel) return {};
        INFO(launched.message);
        REQUIRE(launched.ok());
    }
    const auto* found = static_cast<const float*>(t[2].data);
    return {found, found + rows * s.columns};
}

/// By ggml's CPU backend; empty for a format that ggml lacks.
std::vector<float> by_ggml(const subject& s) {
    int type = 0;
    while (type < GGML_TYPE_COUNT &&
           std::strcmp(ggml_type_name(static_cast<ggml_type>(type)), name(s.type)) != 0)
        ++type;
    if (type == GGML_TYPE_COUNT) return {};
    const ggml_context_ptr context(ggml_init({std::size_t{16} << 20, nullptr, false}));
    ggml_tensor* w = ggml_new_tensor_2d(context.get(), static_cast<ggml_type>(type), k, rows);
    ggml_tensor* x = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, k, s.columns);
    std::memcpy(w->data, s.weight.data(), s.weight.size());
    std::memcpy(x->data, s.x.data(), 4 * s.x.size());
    ggml_tensor* y = ggml_mul_mat(context.get(), w, x);
    ggml_cgraph* graph = ggml_new_graph(context.get());
    ggml_build_forward_expand(graph, y);
    REQUIRE(ggml_graph_compute_with_ctx(context.get(), graph, 1) == GGML_STATUS_SUCCESS);
    const auto* found = static_cast<const float*>(y->data);
    return {found, found + rows * s.columns};
}

/// Weights of f16 are multiplied with f16 from 9 columns on, as in ggml: its range is theirs.
bool in_range(format type, int columns, float outlier) {
    return type != format::f16 || columns < 9 || outlier < 1e4f;
}

double limit_of(const subject& s, const std::vector<double>& wanted) {
    if (s.type == format::fp8_e4m3) return 2e-3;  // of an activation in e4m3
    if (reads_f32(s.type)) return 1e-5;           // of an activation in bf16
    const std::vector<double> x(s.x.begin(), s.x.end());
    return 1.5 * nmse(wanted, product(s.weights(), rounded_to_int8(x))) + 1e-6;
}

/// Every compiled format with an activation of this kind, on every arch; how many there were.
int sweep(int columns, float outlier) {
    int compared = 0;
    for (int f = 1; f < format_count; ++f) {
        const auto type = static_cast<format>(f);
        if ((info(type).role != format_role::weight && !reads_f32(type)) ||
            !in_range(type, columns, outlier))
            continue;
        const subject s(type, columns, outlier);
        const std::vector<double> wanted =
            product(s.weights(), std::vector<double>(s.x.begin(), s.x.end()));
        const double limit = limit_of(s, wanted);
        const std::vector<float> peer = by_ggml(s);
        for (const char* arch : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"}) {
            const std::vector<float> found =
                by_plan(s, instances::on_host(instances::table_named(arch)));
            if (found.empty()) continue;
            INFO(arch << " " << name(type) << ", " << columns << " columns, 32 values times "
                      << outlier << ": ggml-cpu has "
                      << (peer.empty() ? "no such format" : std::to_string(nmse(wanted, peer))));
            CHECK(nmse(wanted, found) <= limit);  // false for a NaN or an infinity
            ++compared;
        }
    }
    return compared;
}

}  // namespace

TEST_CASE("Activations of any size give results as near as int8 can be") {
    for (const float outlier : {1e-9f, 1e-4f, 2100.f, 1e5f, 1e7f, 1e9f})
        for (const int columns : {1, 8, 9}) CHECK(sweep(columns, outlier) >= 9);
    for (const float outlier : {1e-9f, 1e9f}) CHECK(sweep(64, outlier) >= 9);
    CHECK(sweep(512, 1e9f) >= 9);
}
