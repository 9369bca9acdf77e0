#include "launch.hpp"

#include "arithmetic.hpp"
#include "memory.hpp"
#include "operands.hpp"

#include "catena/kernel/args.hpp"
#include "catena/pick/constraints.hpp"

#include <algorithm>
#include <cstring>

namespace catena_test {
namespace {

using catena::epilogue_part;
using catena::format;
using catena::matvec_args;
using catena::matvec_member;
using catena::row_args;
using catena::row_strides;
using catena::value_kind;

template <class T>
T* offset(T* base, std::int64_t bytes) {
    using byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
    return reinterpret_cast<T*>(reinterpret_cast<byte*>(base) + bytes);
}

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
        return out;
    }

    int activation_rows() const {
        return static_cast<int>(std::int64_t{a_.rows} * a_.k / a_.quant_k);
    }
    std::int64_t quantized_bytes(format layout) const {
        const int blocks = activation_rows() * a_.quant_blocks;
        return layout == format::q8_1 ? blocks * 36 : blocks / 4 * 144;
    }

    operand_range range(const char* name, const void* p, const row_strides& at, int size) const {
        return {name,
                static_cast<const std::byte*>(p),
                std::int64_t{a_.k} * size,
                {a_.n1, a_.n2, n3_},
                {at.nb1, at.nb2, at.nb3}};
    }

    void judge() {
        const catena::computation& c = row_.computes;
        const auto demand = [this](bool fine, const char* what) {
            if (!fine) machine_.blame(what);
        };
        demand(c.kind == catena::skeleton::row, "a row step is launched on another skeleton");
        demand(a_.gate != nullptr || c.value != value_kind::glu, "a gated row without a gate");
        demand(a_.gate == nullptr || c.value == value_kind::glu || c.gate,
               "a gate that the row does not multiply");
        demand(a_.x != nullptr || c.value == value_kind::glu, "a row of nothing");
        demand(a_.bias == nullptr || c.bias, "a bias that the row does not add");
        demand(a_.gate == nullptr || a_.function != catena::gate_function::none,
               "a gate without a function");
        demand(a_.residual == nullptr || c.residual, "a residual that the row does not add");
        demand(a_.weight == nullptr || c.scale, "a weight that the row does not multiply");
        demand(a_.f32 == nullptr || c.emits.has(format::f32), "f32, which the row does not emit");
        for (const target& t : quantized())
            demand(c.emits.has(t.layout), "a layout that the row does not emit");
        const catena::policy& p = row_.numbers;
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
        see("gate", a_.gate, a_.gate_at, false);
        see("residual", a_.residual, a_.residual_at, false);
        if (a_.weight != nullptr) {
            aligned = aligned && reinterpret_cast<std::uintptr_t>(a_.weight) % 16 == 0;
            ops.read({"weight",
                      reinterpret_cast<const std::byte*>(a_.weight),
                      std::int64_t{a_.k} * 4,
                      {1, 1, 1},
                      {0, 0, 0}},
                     a_.weight_early);
        }
        see("sum", a_.sum, a_.sum_at, true);
        see("f32", a_.f32, a_.f32_at, true);
        for (const target& t : quantized()) {
            ops.write({"activation", t.to, quantized_bytes(t.layout), {1, 1, 1}, {0, 0, 0}});
            demand(a_.quant_k % 32 == 0 && a_.k % 32 == 0, "a quantized row in parts of blocks");
            demand(a_.quant_k % a_.k == 0 || a_.k % a_.quant_k == 0, "rows that do not divide");
            demand(a_.quant_blocks * 32 >= a_.quant_k, "activation rows over each other");
        }
        demand(!p.vector || (aligned && a_.k % 4 == 0), "vector accesses to misaligned rows");
        static constexpr const char* element_wise[] = {"x", "gate", "residual", nullptr};
        ops.check(element_wise);
    }

    const float* row_of(const float* p, const row_strides& at, int r) const {
        return offset(p,
                      r % a_.n1 * at.nb1 + r / a_.n1 % a_.n2 * at.nb2 + r / a_.n1 / a_.n2 * at.nb3);
    }

    /// The value of a row; x + residual is written on the way.
    std::vector<float> value(int r) {
        const auto k = static_cast<std::size_t>(a_.k);
        std::vector<float> v(k, 1.0f);
        if (a_.x != nullptr) std::copy_n(row_of(a_.x, a_.x_at, r), k, v.begin());
        if (a_.residual != nullptr) {
            const float* residual = row_of(a_.residual, a_.residual_at, r);
            for (std::size_t i = 0; i < k; ++i) v[i] += residual[i];
        }
        const auto gate = [&] {
            const float* g = row_of(a_.gate, a_.gate_at, r);
            for (std::size_t i = 0; i < k; ++i)
                v[i] = scalar::gated(a_.function, g[i], v[i], a_.alpha, a_.limit);
        };
        if (row_.computes.value == value_kind::glu) gate();
        if (a_.sum != nullptr)
            std::copy(v.begin(), v.end(), const_cast<float*>(row_of(a_.sum, a_.sum_at, r)));
        if (row_.computes.value == value_kind::rms_norm) {
            const float s = scalar::norm_scale(v.data(), a_.k, a_.eps);
            for (float& f : v) f *= s;
        }
        if (a_.weight != nullptr)
            for (std::size_t i = 0; i < k; ++i) v[i] *= a_.weight[i];
        if (row_.computes.gate && a_.gate != nullptr) gate();
        return v;
    }

    void emit(int r, const float* v) {
        if (a_.f32 != nullptr)
            std::copy(v, v + a_.k, const_cast<float*>(row_of(a_.f32, a_.f32_at, r)));
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
            const int blocks = (a_.quant_k + 127) / 128;
            std::vector<std::byte> own(static_cast<std::size_t>(blocks) * 144);
            scalar::quantize(layout, x, a_.quant_k, own.data());
            for (int b = 0; b < blocks; ++b)
                std::memcpy(to + (std::int64_t{b} * rows + r) * 144, own.data() + b * 144, 144);
        }
    }
};

class matvec_launch {
  public:
    matvec_launch(const catena::row& r, const matvec_args& a, std::uint32_t blocks, machine& m)
        : row_(r), a_(a), blocks_(blocks), machine_(m) {}

    void run() {
        judge();
        if (!machine_.fault.empty()) return;
        for (int m = 0; m < a_.members; ++m)
            for (int c = 0; c < a_.columns; ++c) column(a_.member[m], c);
    }

  private:
    const catena::row& row_;
    const matvec_args& a_;
    std::uint32_t blocks_;
    machine& machine_;

    bool expert() const { return a_.ids != nullptr; }
    int slot(int c) const { return expert() ? c % a_.slots : c; }
    int token(int c) const { return expert() ? c / a_.slots : 0; }
    int tokens() const { return expert() ? a_.columns / a_.slots : 1; }

    static catena::epilogue_set parts_of(const matvec_member& m) {
        catena::epilogue_set out;
        if (m.scale != 1) out = out | epilogue_part::scale;
        if (m.bias != nullptr || m.up_bias != nullptr) out = out | epilogue_part::bias;
        if (m.up != nullptr) out = out | epilogue_part::glu;
        if (m.residual != nullptr) out = out | epilogue_part::residual;
        if (m.q8_1 != nullptr) out = out | epilogue_part::quantize;
        return out;
    }

    void demand(bool fine, const char* what) const {
        if (!fine) machine_.blame(what);
    }

    operand_range flat(const char* name, const void* p, std::int64_t bytes) const {
        return {name, static_cast<const std::byte*>(p), bytes, {1, 1, 1}, {0, 0, 0}};
    }
    operand_range result(const char* name, const matvec_member& m, const void* p, std::int64_t nb1,
                         std::int64_t nb2) const {
        return {name,
                static_cast<const std::byte*>(p),
                std::int64_t{m.rows} * 4,
                {expert() ? a_.slots : a_.columns, tokens(), 1},
                {nb1, nb2, 0},
                static_cast<int>(&m - a_.member)};
    }

    void judge() {
        const catena::policy& p = row_.numbers;
        demand(row_.computes.kind == catena::skeleton::matvec, "a matvec step on another skeleton");
        demand(expert() ? tokens() <= catena::max_expert_tokens : a_.columns <= p.columns,
               "more columns than its policy serves");
        demand(a_.members > 0 && a_.members <= catena::max_members, "a launch of no members");
        demand(reinterpret_cast<std::uintptr_t>(a_.x) % 16 == 0 && a_.x_bytes % 16 == 0,
               "a misaligned activation");
        const int rows = expert() ? tokens() * a_.x_slots : a_.columns;
        operands ops(machine_);
        ops.read(flat("activation", a_.x, rows * a_.x_bytes));
        if (expert())
            ops.read({"ids",
                      reinterpret_cast<const std::byte*>(a_.ids),
                      a_.slots * 4,
                      {tokens(), 1, 1},
                      {a_.ids_nb1, 0, 0}});
        int band = 0;
        for (int m = 0; m < a_.members; ++m) judge(a_.member[m], ops, band);
        demand(a_.bands == band &&
                   blocks_ == static_cast<unsigned>(band * (expert() ? a_.columns : 1)),
               "blocks that are not its bands");
        static constexpr const char* element_wise[] = {"residual", nullptr};
        ops.check(element_wise);
    }

    void judge(const matvec_member& m, operands& ops, int& band) const {
        const catena::policy& p = row_.numbers;
        demand(row_.computes.weights.has(m.type), "a format that the row does not read");
        demand(row_.computes.epilogue.contains(parts_of(m)),
               "an epilogue that the row does not do");
        demand(m.up == nullptr || p.rows % 2 == 0, "a pair of matrices for an odd number of rows");
        demand(m.dst != nullptr || m.q8_1 != nullptr, "a member whose result goes nowhere");
        demand(m.first_band == band, "bands that are not numbered over the members");
        demand(a_.k % info(m.type).block_elements == 0, "rows that are no whole blocks");
        demand(m.up_bias == nullptr || m.bias != nullptr, "a bias of the second matrix alone");
        const int results = catena::band_results(a_, m);
        demand(results > 0 && (m.up == nullptr || a_.band_rows % 2 == 0), "a band of half a pair");
        demand(m.q8_1 == nullptr || results % 32 == 0, "a band that ends inside a quantized block");
        if (!machine_.fault.empty()) return;
        band += (m.rows + results - 1) / results;
        const std::int64_t aligned = p.copy == catena::copy_method::plain ? 2 : 16;
        for (const void* w : {m.weight, m.up}) {
            if (w == nullptr) continue;
            demand(reinterpret_cast<std::intptr_t>(w) % aligned == 0, "a misaligned weight");
            ops.read(flat("weight", w, m.weight_bytes), a_.weights_early);
        }
        const int matrices = expert() ? m.experts : 1;
        const std::int64_t last = (matrices - 1) * m.expert_bytes + (m.rows - 1) * m.row_bytes +
                                  catena::row_bytes(m.type, a_.k);
        demand(last <= m.weight_bytes, "a weight that is larger than its tensor");
        for (const float* bias : {m.bias, m.up_bias})
            if (bias != nullptr)
                ops.read({"bias",
                          reinterpret_cast<const std::byte*>(bias),
                          std::int64_t{m.rows} * 4,
                          {matrices, 1, 1},
                          {m.bias_nb1, 0, 0}});
        if (m.residual != nullptr)
            ops.read(result("residual", m, m.residual, m.residual_nb1, m.residual_nb2));
        if (m.dst != nullptr) ops.write(result("result", m, m.dst, m.dst_nb1, m.dst_nb2));
        if (m.q8_1 != nullptr)
            ops.write(
                flat("quantized result", m.q8_1, a_.columns * catena::q8_1_row_bytes(m.rows)));
    }

    void column(const matvec_member& m, int c) const {
        std::int64_t row = c, matrix = 0;
        if (expert()) {
            row = std::int64_t{token(c)} * a_.x_slots + (a_.x_slots == 1 ? 0 : slot(c));
            matrix = offset(a_.ids, token(c) * a_.ids_nb1)[slot(c)];
            demand(matrix >= 0 && matrix < m.experts, "an expert that is not there");
            if (!machine_.fault.empty()) return;
        }
        const auto* blocks = static_cast<const std::byte*>(a_.x) + row * a_.x_bytes;
        std::vector<float> x(static_cast<std::size_t>(a_.k));
        scalar::decode(format::q8_1, blocks, 36, a_.k, x.data());
        std::vector<float> out(static_cast<std::size_t>(m.rows)), scratch;
        const auto product = [&](const void* weight, int r) {
            const auto* at =
                static_cast<const std::byte*>(weight) + matrix * m.expert_bytes + r * m.row_bytes;
            return scalar::dot(weight_pool::decoded(m.type, at, a_.k, scratch), x.data(), a_.k);
        };
        for (int r = 0; r < m.rows; ++r) {
            float v = product(m.weight, r);
            if (m.scale != 1) v *= m.scale;
            if (m.bias != nullptr) v += offset(m.bias, matrix * m.bias_nb1)[r];
            if (m.up != nullptr) {
                float up = product(m.up, r);
                if (m.up_bias != nullptr) up += offset(m.up_bias, matrix * m.bias_nb1)[r];
                v = scalar::gated(m.function, v, up, m.alpha, m.limit);
            }
            if (m.residual != nullptr)
                v += offset(m.residual, slot(c) * m.residual_nb1 + token(c) * m.residual_nb2)[r];
            out[static_cast<std::size_t>(r)] = v;
        }
        if (m.dst != nullptr)
            std::copy(out.begin(), out.end(),
                      offset(m.dst, slot(c) * m.dst_nb1 + token(c) * m.dst_nb2));
        if (m.q8_1 == nullptr) return;
        auto* to = static_cast<std::byte*>(m.q8_1) + c * catena::q8_1_row_bytes(m.rows);
        std::memset(to, 0, static_cast<std::size_t>(catena::q8_1_row_bytes(m.rows)));
        scalar::quantize(format::q8_1, out.data(), m.rows, to);
    }
};

catena::status launch(const void* kernel, const catena::launch_config& config, const void* args,
                      std::size_t bytes, void* stream) noexcept {
    const auto& row = *static_cast<const catena::row*>(kernel);
    auto& m = *static_cast<machine*>(stream);
    if (bytes == sizeof(row_args))
        row_launch(row, *static_cast<const row_args*>(args), m).run();
    else if (bytes == sizeof(matvec_args))
        matvec_launch(row, *static_cast<const matvec_args*>(args), config.blocks, m).run();
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
