#include "launch.hpp"

#include "arithmetic.hpp"
#include "head_launch.hpp"
#include "memory.hpp"
#include "operands.hpp"
#include "product_launch.hpp"
#include "route_launch.hpp"

#include "catena/kernel/args.hpp"
#include "catena/pick/constraints.hpp"

#include <algorithm>
#include <cstring>

namespace catena_test {
namespace {

using catena::format;
using catena::matmul_args;
using catena::matvec_args;
using catena::row_args;
using catena::row_strides;
using catena::stage_kind;

class row_launch {
  public:
    row_launch(const catena::row& r, const row_args& a, machine& m)
        : row_(r), a_(a), machine_(m), n3_(a.rows / a.n1 / a.n2) {}

    void run() {
        judge();
        if (!machine_.fault.empty()) return;
        std::vector<float> all;
        all.reserve(static_cast<std::size_t>(a_.rows) * static_cast<std::size_t>(a_.k));
        for (int r = 0; r < a_.rows; ++r) {
            const std::vector<float> v = value(r);
            all.insert(all.end(), v.begin(), v.end());
        }
        for (int r = 0; r < a_.rows; ++r) emit(r, all.data() + std::int64_t{r} * a_.k);
        for (const auto& [to, layout] : quantized()) quantize(layout, to, all);
    }

  private:
    const catena::row& row_;
    const row_args& a_;
    machine& machine_;
    int n3_;

    struct target {
        std::byte* to;
        format layout;
    };
    std::vector<target> quantized() const {
        std::vector<target> out;
        const auto add = [&out](void* to, format layout) {
            if (to != nullptr) out.push_back({static_cast<std::byte*>(to), layout});
        };
        add(a_.q8_1, format::q8_1);
        add(a_.q8_1_mmq_d4, format::q8_1_mmq_d4);
        add(a_.q8_1_mmq_ds4, format::q8_1_mmq_ds4);
        add(a_.bf16_mma, format::bf16_mma);
        add(a_.f16_mma, format::f16_mma);
        return out;
    }

    int activation_rows() const {
        return static_cast<int>(std::int64_t{a_.rows} * a_.k / a_.quant_k);
    }
    std::int64_t quantized_bytes(format layout) const {
        const int values = activation_rows() * a_.quant_blocks * 32;
        return catena::row_bytes(layout, values);
    }

    operand_range range(const char* name, const void* p, const row_strides& at, int size) const {
        return {name,
                static_cast<const std::byte*>(p),
                std::int64_t{a_.k} * size,
                {a_.n1, a_.n2, n3_},
                {at.nb1, at.nb2, at.nb3}};
    }

    void judge() {
        const catena::row_computation& c = row_.computes.row();
        const auto demand = [this](bool fine, const char* what) {
            if (!fine) machine_.blame(what);
        };
        demand(row_.computes.kind() == catena::skeleton::row,
               "a row step is launched on another skeleton");
        demand(a_.gate != nullptr || !c.stages.has(stage_kind::glu), "a gated row without a gate");
        const bool experts = a_.experts.results != nullptr;
        demand(
            a_.gate == nullptr || c.stages.has(stage_kind::glu) || c.stages.has(stage_kind::gate),
            "a gate that the row does not multiply");
        demand(a_.x != nullptr || c.stages.has(stage_kind::glu) || experts, "a row of nothing");
        demand(!experts || c.stages.has(stage_kind::combine),
               "experts that the row does not add up");
        demand(a_.bias == nullptr || c.stages.has(stage_kind::add_bias),
               "a bias that the row does not add");
        demand(a_.residual == nullptr || c.stages.any(catena::residual_stages),
               "a residual that the row does not add");
        demand(a_.next_weight == nullptr || c.stages.has(stage_kind::next_norm),
               "a second norm that the row does not make");
        demand(a_.weight == nullptr || c.stages.has(stage_kind::mul_weight),
               "a weight that the row does not multiply");
        demand(a_.sum_factor == nullptr || c.stages.has(stage_kind::join_residual),
               "a factor of a sum that the row does not make");
        demand(a_.f32 == nullptr || c.emits.has(format::f32), "f32, which the row does not emit");
        for (const target& t : quantized())
            demand(c.emits.has(t.layout), "a layout that the row does not emit");
        demand(a_.fp8_group.data == nullptr || c.emits.has(format::fp8_group),
               "fp8, which the row does not emit");
        const catena::row_policy& p = row_.policy.row();
        demand(p.values == 0 || a_.k <= p.threads / catena::rows_of_block(p) * p.values,
               "a row too long for its policy");
        demand(a_.k > 0 && a_.rows == a_.n1 * a_.n2 * n3_, "rows that are no product of sizes");

        operands ops(machine_);
        bool aligned = true;
        const auto see = [&](const char* name, const void* ptr, const row_strides& at, bool write) {
            if (ptr == nullptr) return;
            const operand_range r = range(name, ptr, at, 4);
            write ? ops.write(r) : ops.read(r);
            const std::int64_t bits = reinterpret_cast<std::intptr_t>(ptr) |
                                      (a_.n1 > 1 ? at.nb1 : 0) | (a_.n2 > 1 ? at.nb2 : 0) |
                                      (n3_ > 1 ? at.nb3 : 0);
            aligned = aligned && bits % 16 == 0;
        };
        see("x", a_.x, a_.x_at, false);
        if (experts) judge_experts(ops, aligned);
        see("gate", a_.gate, a_.gate_at, false);
        see("residual", a_.residual, a_.residual_at, false);
        for (const float* weight : {a_.weight, a_.next_weight}) {
            if (weight == nullptr) continue;
            aligned = aligned && reinterpret_cast<std::uintptr_t>(weight) % 16 == 0;
            ops.read({"weight",
                      reinterpret_cast<const std::byte*>(weight),
                      std::int64_t{a_.k} * 4,
                      {1, 1, 1},
                      {0, 0, 0}},
                     a_.weight_early);
        }
        if (a_.sum_factor != nullptr)
            ops.read({"the factor of the sum",
                      reinterpret_cast<const std::byte*>(a_.sum_factor),
                      4,
                      {1, 1, 1},
                      {0, 0, 0}});
        see("sum", a_.sum, a_.sum_at, true);
        see("f32", a_.f32, a_.f32_at, true);
        for (const target& t : quantized()) {
            ops.write({"activation", t.to, quantized_bytes(t.layout), {1, 1, 1}, {0, 0, 0}});
            demand(a_.quant_k % 32 == 0 && a_.k % 32 == 0, "a quantized row in parts of blocks");
            demand(a_.quant_k % a_.k == 0 || a_.k % a_.quant_k == 0, "rows that do not divide");
            demand(a_.quant_blocks * 32 >= a_.quant_k, "activation rows over each other");
        }
        if (a_.fp8_group.data != nullptr) {
            const std::int64_t values = std::int64_t{a_.rows} * a_.k;
            ops.write({"fp8", static_cast<std::byte*>(a_.fp8_group.data), values, {1, 1, 1}, {}});
            ops.write({"scales of fp8",
                       static_cast<std::byte*>(a_.fp8_group.scales),
                       values / 128 * 4,
                       {1, 1, 1},
                       {}});
            demand(a_.k % 128 == 0, "rows in parts of groups");
            demand(reinterpret_cast<std::uintptr_t>(a_.fp8_group.scales) % 4 == 0,
                   "misaligned scales");
        }
        demand(!p.vector || (aligned && a_.k % 4 == 0), "vector accesses to misaligned rows");
        static constexpr const char* element_wise[] = {"x", "gate", "residual", "slot", nullptr};
        ops.check(element_wise, read_at_once());
    }

    /// Is there a barrier between all that the launch reads and the first that it writes? One row,
    /// one block, and its sum.
    bool read_at_once() const {
        const catena::row_policy& p = row_.policy.row();
        return a_.rows == 1 && row_.computes.row().stages.has(stage_kind::rms_norm) &&
               p.rows == 0 && p.threads > 32 && p.values > 0 && p.values <= 8;
    }

    void judge_experts(operands& ops, bool& aligned) const {
        const auto& e = a_.experts;
        const auto bytes = [](const float* p) { return reinterpret_cast<const std::byte*>(p); };
        for (int s = 0; s < e.slots; ++s)
            ops.read({"slot",
                      bytes(e.results) + s * e.nb1,
                      std::int64_t{a_.k} * 4,
                      {a_.rows, 1, 1},
                      {e.nb2, 0, 0}});
        aligned = aligned && reinterpret_cast<std::uintptr_t>(e.results) % 16 == 0 &&
                  e.nb1 % 16 == 0 && (a_.rows == 1 || e.nb2 % 16 == 0);
        if (e.weights != nullptr)
            ops.read({"their weights",
                      bytes(e.weights),
                      4,
                      {e.slots, a_.rows, 1},
                      {e.weights_nb1, e.weights_nb2, 0}});
        if (e.gate != nullptr)
            ops.read({"the gate of x", bytes(e.gate), 4, {a_.rows, 1, 1}, {e.gate_nb, 0, 0}});
    }

    const float* row_of(const float* p, const row_strides& at, int r) const {
        return offset(p,
                      r % a_.n1 * at.nb1 + r / a_.n1 % a_.n2 * at.nb2 + r / a_.n1 / a_.n2 * at.nb3);
    }

    /// What experts made of a row; x joins it.
    std::vector<float> combined(int r) const {
        const auto k = static_cast<std::size_t>(a_.k);
        const auto& e = a_.experts;
        std::vector<float> v;
        for (int s = 0; s < e.slots; ++s) {
            const float* result = offset(e.results, s * e.nb1 + r * e.nb2);
            const float weight = e.weights == nullptr
                                     ? 1
                                     : *offset(e.weights, s * e.weights_nb1 + r * e.weights_nb2);
            std::vector<float> product(result, result + k);
            for (float& f : product) f *= weight;
            if (s == 0) {
                v = product;
                continue;
            }
            for (std::size_t i = 0; i < k; ++i) v[i] += product[i];
        }
        if (a_.x == nullptr) return v;
        const float* x = row_of(a_.x, a_.x_at, r);
        const float share = e.gate == nullptr ? 1
                                              : scalar::gate(catena::gate_function::sigmoid,
                                                             *offset(e.gate, r * e.gate_nb));
        for (std::size_t i = 0; i < k; ++i) {
            const float product = x[i] * share;
            v[i] += product;
        }
        return v;
    }

    /// The value of a row; the sum with the residual is written on the way.
    std::vector<float> value(int r) {
        const auto k = static_cast<std::size_t>(a_.k);
        std::vector<float> v(k, 1.0f);
        if (a_.experts.results != nullptr)
            v = combined(r);
        else if (a_.x != nullptr)
            std::copy_n(row_of(a_.x, a_.x_at, r), k, v.begin());
        const catena::row_computation& c = row_.computes.row();
        const bool joins = c.stages.has(stage_kind::join_residual);
        const auto add_residual = [&] {
            if (a_.residual == nullptr) return;
            const float* residual = row_of(a_.residual, a_.residual_at, r);
            const float factor = a_.sum_factor == nullptr ? 1 : *a_.sum_factor;
            for (std::size_t i = 0; i < k; ++i) v[i] = (v[i] + residual[i]) * factor;
        };
        const auto write_sum = [&] {
            if (a_.sum != nullptr)
                std::copy(v.begin(), v.end(), const_cast<float*>(row_of(a_.sum, a_.sum_at, r)));
        };
        const auto norm = [&](float eps) {
            const float s = scalar::norm_scale(v.data(), a_.k, eps);
            for (float& f : v) f *= s;
        };
        const auto weigh = [&](const float* weight) {
            for (std::size_t i = 0; weight != nullptr && i < k; ++i) v[i] *= weight[i];
        };
        if (c.stages.has(stage_kind::scale))
            for (float& f : v) f *= a_.x_scale;
        if (c.stages.has(stage_kind::add_residual)) add_residual();
        const auto gate = [&] {
            const float* g = row_of(a_.gate, a_.gate_at, r);
            for (std::size_t i = 0; i < k; ++i)
                v[i] = scalar::gated(a_.function, g[i], v[i], a_.alpha, a_.limit);
        };
        if (c.stages.has(stage_kind::glu)) gate();
        if (!joins) write_sum();
        if (c.stages.has(stage_kind::rms_norm)) norm(a_.eps);
        weigh(a_.weight);
        for (float& f : v) f *= a_.norm_scale;
        if (c.stages.has(stage_kind::gate) && a_.gate != nullptr) gate();
        if (!joins) return v;
        add_residual();
        write_sum();
        if (a_.next_weight == nullptr) return v;
        norm(a_.next_eps);
        weigh(a_.next_weight);
        return v;
    }

    void emit(int r, const float* v) {
        if (a_.f32 != nullptr)
            std::copy(v, v + a_.k, const_cast<float*>(row_of(a_.f32, a_.f32_at, r)));
        const std::int64_t before = std::int64_t{r} * a_.k;
        if (a_.fp8_group.data != nullptr)
            scalar::quantize_fp8(v, a_.k, static_cast<std::byte*>(a_.fp8_group.data) + before,
                                 static_cast<float*>(a_.fp8_group.scales) + before / 128);
    }

    void quantize(format layout, std::byte* to, const std::vector<float>& all) const {
        std::memset(to, 0, static_cast<std::size_t>(quantized_bytes(layout)));
        const int rows = activation_rows();
        for (int r = 0; r < rows; ++r) {
            const float* x = all.data() + std::int64_t{r} * a_.quant_k;
            if (layout == format::q8_1) {
                scalar::quantize(layout, x, a_.quant_k,
                                 to + std::int64_t{r} * a_.quant_blocks * 36);
                continue;
            }
            const int values = catena::info(layout).block_elements;
            const std::int64_t bytes = catena::info(layout).block_bytes;
            const int blocks = (a_.quant_k + values - 1) / values;
            std::vector<std::byte> own(static_cast<std::size_t>(blocks * bytes));
            scalar::quantize(layout, x, a_.quant_k, own.data());
            for (int b = 0; b < blocks; ++b)
                std::memcpy(to + (std::int64_t{b} * rows + r) * bytes, own.data() + b * bytes,
                            static_cast<std::size_t>(bytes));
        }
    }
};

catena::status launch(const void* kernel, const catena::launch_config& config, const void* args,
                      std::size_t bytes, void* stream) noexcept {
    const auto& row = *static_cast<const catena::row*>(kernel);
    auto& m = *static_cast<machine*>(stream);
    if (bytes == sizeof(row_args))
        row_launch(row, *static_cast<const row_args*>(args), m).run();
    else if (bytes == sizeof(catena::heads_args))
        launch_heads(row, *static_cast<const catena::heads_args*>(args), m);
    else if (bytes == sizeof(catena::route_args))
        launch_routes(row, *static_cast<const catena::route_args*>(args), m);
    else if (bytes == sizeof(matvec_args))
        launch_product(row, *static_cast<const matvec_args*>(args), config, m);
    else if (bytes == sizeof(matmul_args))
        launch_product(row, *static_cast<const matmul_args*>(args), config, m);
    else
        m.blame("arguments of no known skeleton");
    return {};
}

}  // namespace

scalar_table::scalar_table(const catena::table& rows) : table_(rows) {
    for (int i = 0; i < rows.row_count; ++i) kernels_.push_back(&rows.rows[i]);
    table_.kernels = kernels_.data();
    table_.launch = launch;
}

}  // namespace catena_test
