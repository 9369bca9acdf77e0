// Matvecs and matmuls in plain loops; see launch.hpp.
#include "product_launch.hpp"

#include "arithmetic.hpp"
#include "head_launch.hpp"
#include "operands.hpp"
#include "product_view.hpp"
#include "route_launch.hpp"

#include "catena/kernel/args.hpp"
#include "catena/kernel/layout.hpp"
#include "catena/pick/constraints.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <vector>

namespace catena_test {
namespace {

/// A launch of a matvec or of a matmul: they differ in how work and activation are cut.
template <class Args>
class product_launch : product_view<Args> {
  public:
    using product_view<Args>::product_view;

    void run() {
        judge();
        if (!machine_.fault.empty()) return;
        if constexpr (!tiled) compute_routes(a_.routing);  // of no tokens: ids are there
        for (int m = 0; m < a_.members; ++m)
            for (int c = 0; c < columns(a_.member[m]); ++c) column(a_.member[m], c);
        if constexpr (!tiled) write_norm();
    }

  private:
    using view = product_view<Args>;
    using typename view::target;
    using view::a_, view::apart, view::beside, view::by_operand, view::columns, view::combined;
    using view::config_, view::demand, view::early, view::expert, view::flat, view::head;
    using view::machine_, view::parts_of, view::picked, view::quantized, view::result, view::row_;
    using view::slot, view::tiled, view::token, view::tokens;

    bool numbers() const { return row_.computes.product().activation == format::f32; }
    const auto& numbers_of_policy() const {
        if constexpr (tiled)
            return row_.policy.matmul();
        else
            return row_.policy.matvec();
    }
    /// Does it make, and may it write, the norm that float weights are multiplied with?
    bool norms_floats() const {
        return numbers() && placement_of(row_.policy) != catena::norm_placement::producer;
    }
    bool routed() const {
        if constexpr (tiled)
            return false;
        else
            return a_.routing.tokens > 0;
    }
    /// Norms that are written.
    int written_norms() const {
        return a_.norm_f32 != nullptr || a_.norm_q8_1 != nullptr ? a_.columns : 0;
    }
    /// What the products of activation row c are times: 1 / rms, if the launch ends a norm.
    float over_rms(std::int64_t c) const {
        if constexpr (!tiled)
            if (a_.begun_squares != nullptr)
                return scalar::norm_scale_of(a_.begun_squares + c * (a_.k / 32), a_.k, a_.eps);
        return 1;
    }
    bool makes_activation() const { return !tiled && has_norm(row_.computes.product().stages); }

    int x_rows() const {
        if constexpr (tiled) return a_.x_rows;
        return expert() ? tokens() * a_.x_slots : a_.columns;
    }
    int column_blocks() const {
        if constexpr (tiled)
            return expert() ? a_.experts
                            : (a_.columns + columns_of(row_.policy) - 1) / columns_of(row_.policy);
        else
            return expert() ? a_.columns : 1;
    }
    format activation_format() const {
        return makes_activation() ? format::f32 : row_.computes.product().activation;
    }
    const catena::format_info& block() const { return catena::info(activation_format()); }
    bool fp8() const { return row_.computes.product().activation == format::fp8_group; }
    std::int64_t activation_bytes() const {
        if (fp8()) return x_rows() * catena::activation_row_bytes(format::fp8_group, a_.k);
        if (tiled && !numbers())
            return (a_.k + block().block_elements - 1) / block().block_elements *
                   std::int64_t{x_rows()} * block().block_bytes;
        return (x_rows() - 1) * a_.x_bytes +
               catena::activation_row_bytes(activation_format(), a_.k);
    }

    void judge() {
        const auto& p = numbers_of_policy();
        if constexpr (tiled) {
            demand(row_.computes.kind() == catena::skeleton::matmul,
                   "a matmul step on another skeleton");
            demand(a_.x_rows == (expert() ? tokens() * a_.x_slots : a_.columns),
                   "activation rows that are not its columns");
        } else {
            demand(row_.computes.kind() == catena::skeleton::matvec,
                   "a matvec step on another skeleton");
            const int batch = a_.ids != nullptr ? tokens() : a_.slots;  // of a matrix for each head
            demand(expert() ? batch <= catena::max_expert_tokens : a_.columns <= p.columns,
                   "more columns than its policy serves");
            demand(makes_activation() || a_.norm_weight == nullptr, "a norm its row does not make");
            demand(written_norms() == 0 || norms_floats(), "a norm that nobody writes");
            demand(!norms_floats() || a_.norm_weight != nullptr, "no norm of floats to be made");
            demand(!makes_activation() || !expert(), "an activation made for experts");
            demand(a_.begun_squares == nullptr ||
                       (ends_norms(p) && !expert() && !makes_activation() && !numbers()),
                   "a norm its row does not end");
            if (a_.gate.data != nullptr)
                demand(gates(p) && a_.columns == 1 && a_.gate.k % 4 == 0 && a_.k % a_.gate.k == 0 &&
                           (a_.norm_weight == nullptr || catena::norms_in_warp(a_.gate.k)),
                       "a gate its row does not know");
            demand(reinterpret_cast<std::uintptr_t>(a_.norm_weight) % 16 == 0,
                   "a misaligned weight of the norm");
            demand(!combined() || (expert() && a_.slots <= catena::slots_added(p)),
                   "more slots added up than its policy adds up");
        }
        demand((tiled && !numbers()) || a_.x_bytes % 16 == 0, "a misaligned activation");
        demand(a_.members > 0 && a_.members <= catena::max_members, "a launch of no members");
        demand(reinterpret_cast<std::uintptr_t>(a_.x) % 16 == 0, "a misaligned activation");
        operands ops(machine_);
        ops.read(flat("activation", a_.x, activation_bytes()));
        if constexpr (!tiled) {
            for (const auto& [what, at, count] :
                 {std::tuple{"norm_weight", a_.norm_weight, head()},
                  std::tuple{"slot_weights", a_.slot_weights, a_.slots * tokens()}})
                if (at != nullptr)
                    ops.read(flat(what, at, std::int64_t{count} * 4),
                             at == a_.norm_weight && early());
            if (a_.gate.data != nullptr) {
                demand((reinterpret_cast<std::uintptr_t>(a_.gate.data) | a_.gate.nb1) % 16 == 0,
                       "a misaligned gate");
                ops.read({"gate",
                          reinterpret_cast<const std::byte*>(a_.gate.data),
                          head() * 4,
                          {a_.k / head(), 1, 1},
                          {a_.gate.nb1, 0, 0}});
            }
            if (a_.norm_f32 != nullptr)
                ops.write(flat("norm", a_.norm_f32, std::int64_t{a_.k} * 4 * a_.columns));
            if (a_.norm_q8_1 != nullptr)
                ops.write(flat("quantized norm", a_.norm_q8_1,
                               catena::q8_1_row_bytes(a_.k) * a_.columns));
            if (a_.begun_squares != nullptr)
                ops.read(
                    flat("squares", a_.begun_squares, std::int64_t{a_.k} / 32 * columns_bytes()));
        }
        if constexpr (!tiled) judge_routed(row_, a_, machine_, ops);
        if constexpr (!tiled) judge_turned(row_, a_, machine_, ops);
        if (a_.ids != nullptr && !routed())
            ops.read({"ids",
                      reinterpret_cast<const std::byte*>(a_.ids),
                      a_.slots * 4,
                      {tokens(), 1, 1},
                      {a_.ids_nb1, 0, 0}});
        int band = 0, repeated = 0;  // for each column
        for (int m = 0; m < a_.members; ++m) {
            const bool again = !expert() || picked(a_.member[m]);
            demand(!again || repeated == band, "experts behind dense members");
            demand(again || (a_.x_slots == 1 && !combined()),
                   "dense members beside experts of many rows, or whose slots are added up");
            judge(a_.member[m], ops, band);
            if (again) repeated = band;
        }
        int bands = 0;
        if constexpr (tiled)
            bands = a_.tiles;
        else
            bands = a_.bands;
        int blocks = repeated * column_blocks() + (band - repeated) * tokens();
        if constexpr (!tiled) {
            const int padded = (a_.k + 511) / 512 * 512, of_block = 4 * p.threads;
            blocks += written_norms() * ((padded + of_block - 1) / of_block) + a_.routing.tokens;
            demand(a_.dense_bands == band - repeated, "dense bands that are not its own");
        }
        demand(
            bands == repeated && config_.blocks == static_cast<unsigned>(blocks) * config_.cluster,
            "blocks that are not its bands, or a cluster for each");
        if constexpr (!tiled)
            demand(p.threads / 32 * p.rows * static_cast<int>(config_.cluster) <= a_.band_rows ||
                       config_.cluster == 1,
                   "a cluster whose blocks have no turn of rows each");
        static constexpr const char* element_wise[] = {"bias", "residual", nullptr};
        ops.check(element_wise);
    }

    void judge(const matvec_member& m, operands& ops, int& band) const {
        const auto& p = numbers_of_policy();
        demand(row_.computes.product().weights.has(m.type), "a format that the row does not read");
        demand(row_.computes.product().epilogue.contains(parts_of(m)),
               "an epilogue that the row does not do");
        demand(m.up == nullptr || p.rows % 2 == 0, "a pair of matrices for an odd number of rows");
        const std::vector<target> targets = quantized(m);
        const bool stored = heads_of(a_, m) != nullptr && heads_of(a_, m)->cache != nullptr;
        demand(m.dst != nullptr || !targets.empty() || stored, "a result that goes nowhere");
        demand(m.first_band == band, "bands that are not numbered over the members");
        const int block = numbers() ? 32 : fp8() ? 128 : info(m.type).block_elements;
        demand(a_.k % block == 0, "rows that are no whole blocks");
        demand(m.up_bias == nullptr || m.bias != nullptr, "a bias of the second matrix alone");
        demand(m.up_factor == nullptr || m.factor != nullptr,
               "a factor of the second matrix alone");
        int rows = 0;  // of weights, a band
        if constexpr (tiled)
            rows = catena::tile_rows(p);
        else
            rows = a_.band_rows;
        const int results = m.up != nullptr ? rows / 2 : rows;
        demand(results > 0 && (m.up == nullptr || rows % 2 == 0), "a band of half a pair");
        demand(targets.empty() || (m.rows % 32 == 0 && results % 32 == 0),
               "a band that ends inside a quantized block");
        if (!machine_.fault.empty()) return;
        band += (m.rows + results - 1) / results;
        const std::int64_t aligned = p.copy == catena::copy_method::plain ? 2 : 16;
        for (const void* w : {m.weight, m.up}) {
            if (w == nullptr) continue;
            demand(reinterpret_cast<std::intptr_t>(w) % aligned == 0, "a misaligned weight");
            ops.read(flat("weight", w, m.weight_bytes), early());
        }
        if constexpr (tiled) demand(m.experts <= a_.experts, "more experts than the launch has");
        const int matrices = picked(m) ? m.experts : 1;
        const std::int64_t last = (matrices - 1) * m.expert_bytes + (m.rows - 1) * m.row_bytes +
                                  catena::row_bytes(m.type, a_.k);
        demand(last <= m.weight_bytes, "a weight that is larger than its tensor");
        demand(m.factor_step == 0 || m.factor_step == 1, "factors with gaps");
        demand(by_operand(m) || (m.factor_step == 0 && m.bias_nb1 == 0),
               "factors or biases of matrices that are not there");
        const int operands = picked(m) ? matrices : columns(m);
        for (const float* factor : {m.factor, m.up_factor})
            if (factor != nullptr)
                ops.read(flat("factor", factor, 4 * (1 + (operands - 1) * m.factor_step)));
        for (const float* bias : {m.bias, m.up_bias})
            if (bias != nullptr)
                ops.read({"bias",
                          reinterpret_cast<const std::byte*>(bias),
                          std::int64_t{m.rows} * 4,
                          {m.bias_nb1 == 0 ? 1 : operands, 1, 1},
                          {m.bias_nb1, 0, 0},
                          static_cast<int>(&m - a_.member)});
        for (const float* scales : {m.weight_scale, m.up_scale}) {
            if (scales == nullptr) continue;
            demand(m.type == format::fp8_e4m3, "scales of what has none");
            demand(m.scale_values % (tiled ? 128 : 8) == 0, "scales of so few values");
            const std::int64_t count = scale_index(m, matrices - 1, m.rows - 1, a_.k - 1) + 1;
            ops.read(flat("scales", scales, count * 4));
        }
        demand(m.up == nullptr || (m.weight_scale == nullptr) == (m.up_scale == nullptr),
               "scales of one of two matrices");
        if (m.residual != nullptr)
            ops.read(result("residual", m, m.residual, m.residual_nb1, m.residual_nb2));
        if (m.dst != nullptr) ops.write(result("result", m, m.dst, m.dst_nb1, m.dst_nb2));
        judge_begun(m, ops);
        for (const target& t : targets) {
            demand(tiled == (t.layout != format::q8_1),
                   "a layout that its skeleton does not write");
            ops.write(flat("quantized result", t.to,
                           columns(m) * catena::activation_row_bytes(t.layout, m.rows)));
        }
    }

    /// The norm of its results that a member begins, if it begins one.
    void judge_begun(const matvec_member& m, operands& ops) const {
        demand((m.begun_weight == nullptr) == (m.begun_squares == nullptr),
               "a norm of which only a part is begun");
        if (m.begun_weight == nullptr) return;
        if constexpr (tiled)
            demand(false, "a norm that a matmul begins");
        else
            demand(begins_norms(row_.policy.matvec(), expert()) && m.q8_1 != nullptr,
                   "a norm its row does not begin");
        ops.read(flat("weight of the next norm", m.begun_weight, std::int64_t{m.rows} * 4),
                 early());
        ops.write(flat("squares", m.begun_squares, std::int64_t{m.rows} / 32 * columns_bytes()));
    }
    std::int64_t columns_bytes() const { return std::int64_t{a_.columns} * 4; }

    std::vector<float> activation(std::int64_t row) const {
        std::vector<float> x(static_cast<std::size_t>(a_.k));
        const auto* from = static_cast<const std::byte*>(a_.x);
        if (numbers() || makes_activation()) {
            std::memcpy(x.data(), from + row * a_.x_bytes, x.size() * sizeof(float));
            if (makes_activation()) return made(x);
        } else if (fp8())
            scalar::decode_fp8(
                from + row * a_.x_bytes,
                reinterpret_cast<const float*>(from + x_rows() * a_.x_bytes) + row * (a_.k / 128),
                a_.k, x.data());
        else if constexpr (tiled)
            scalar::decode(activation_format(), from + row * block().block_bytes,
                           std::ptrdiff_t{a_.x_rows} * block().block_bytes, a_.k, x.data());
        else
            scalar::decode(format::q8_1, from + row * a_.x_bytes, catena::q8_1_bytes, a_.k,
                           x.data());
        return x;
    }

    /// Norms and gates head() elements of an activation, from element `first` on.
    void make_head(float* x, int first) const {
        if (a_.norm_weight != nullptr) {
            const float s = scalar::norm_scale(x, head(), a_.eps);
            for (int i = 0; i < head(); ++i) x[i] = x[i] * s * a_.norm_weight[i];
        }
        const auto& by = a_.gate;
        if (by.data == nullptr) return;
        const float* const gate = by.data + first / head() * (by.nb1 / 4);
        for (int i = 0; i < head(); ++i)
            x[i] = scalar::gated(by.function, gate[i], x[i], by.alpha, by.limit);
    }

    /// What a row step and a matvec behind it would read.
    std::vector<float> made(std::vector<float> x) const {
        if constexpr (!tiled) {
            for (int first = 0; first < a_.k; first += head()) make_head(x.data() + first, first);
            if (!numbers()) scalar::round_as_q8_1(x.data(), a_.k);
        }
        return x;
    }

    /// For those who read the norm behind the launch.
    void write_norm() const {
        for (int c = 0; c < written_norms(); ++c) {
            const std::vector<float> norm = activation(c);
            if (a_.norm_f32 != nullptr)
                std::copy(norm.begin(), norm.end(), a_.norm_f32 + std::int64_t{c} * a_.k);
            if (a_.norm_q8_1 != nullptr) quantize({a_.norm_q8_1, format::q8_1}, norm, c);
        }
    }

    void column(const matvec_member& m, int c) const {
        std::vector<float> out = product(m, c, slot(c));
        const auto place = [&](auto* first, std::int64_t nb1, std::int64_t nb2) {
            return offset(first, beside(m) ? c * nb2 : slot(c) * nb1 + token(c) * nb2);
        };
        if constexpr (!tiled) {
            const auto weigh = [&](std::vector<float>& v, int s) {
                if (a_.slot_weights == nullptr) return;
                for (float& e : v) e *= a_.slot_weights[token(c) * a_.slots + s];
            };
            if (combined()) weigh(out, 0);
            for (int s = 1; combined() && s < a_.slots; ++s) {
                std::vector<float> next = product(m, c, s);
                weigh(next, s);
                for (std::size_t r = 0; r < out.size(); ++r) out[r] += next[r];
            }
        }
        if (!machine_.fault.empty()) return;
        if (m.residual != nullptr)
            for (int r = 0; r < m.rows; ++r)
                out[static_cast<std::size_t>(r)] +=
                    place(m.residual, m.residual_nb1, m.residual_nb2)[r];
        if constexpr (!tiled) turn_result(a_, m, out);
        if (m.dst != nullptr) std::copy(out.begin(), out.end(), place(m.dst, m.dst_nb1, m.dst_nb2));
        if (m.begun_weight != nullptr) begin_norm(m, out, c);
        for (const target& t : quantized(m)) quantize(t, out, c);
    }

    /// Writes the squares of column c, and makes of it what is left of its norm.
    void begin_norm(const matvec_member& m, std::vector<float>& column, int c) const {
        float* const sums = m.begun_squares + std::int64_t{c} * m.rows / 32;
        for (int i = 0; i < m.rows; i += 32) sums[i / 32] = scalar::squares(column.data() + i, 32);
        for (std::size_t i = 0; i < column.size(); ++i) column[i] *= m.begun_weight[i];
    }

    /// Column c of the result, as the matrix that `slot` picks and what follows it make it, before
    /// it is added to anything.
    std::vector<float> product(const matvec_member& m, int c, int slot) const {
        std::int64_t row = c;
        int matrix = 0;
        if (picked(m)) {
            row = std::int64_t{token(c)} * a_.x_slots + (a_.x_slots == 1 ? 0 : slot);
            matrix = a_.ids == nullptr ? token(c) % m.experts
                                       : offset(a_.ids, token(c) * a_.ids_nb1)[slot];
            demand(matrix >= 0 && matrix < m.experts, "an expert that is not there");
            if (!machine_.fault.empty()) return {};
        }
        std::vector<float> x = activation(row);
        if (tiled && numbers() && m.type != format::f32) scalar::round_as_q8_1(x.data(), a_.k);
        std::vector<float> out(static_cast<std::size_t>(m.rows)), scratch, scaled(x.size());
        const float factor = over_rms(row);
        const int own = picked(m) ? matrix : c;  // which factor and which bias
        const auto sum = [&](const void* weight, const float* scales, int r) {
            const auto* at =
                static_cast<const std::byte*>(weight) + matrix * m.expert_bytes + r * m.row_bytes;
            const float* values = weight_pool::decoded(m.type, at, a_.k, scratch);
            if (scales == nullptr) return scalar::dot(values, x.data(), a_.k);
            for (int i = 0; i < a_.k; ++i)
                scaled[static_cast<std::size_t>(i)] =
                    values[i] * scales[scale_index(m, matrix, r, i)];
            return scalar::dot(scaled.data(), x.data(), a_.k);
        };
        for (int r = 0; r < m.rows; ++r) {
            float v = sum(m.weight, m.weight_scale, r) * factor;
            if (m.scale != 1) v *= m.scale;
            if (m.factor != nullptr) v *= m.factor[own * m.factor_step];
            if (m.bias != nullptr) v += offset(m.bias, own * m.bias_nb1)[r];
            if (m.up != nullptr) {
                float up = sum(m.up, m.up_scale, r) * factor;
                if (m.up_factor != nullptr) up *= m.up_factor[own * m.factor_step];
                if (m.up_bias != nullptr) up += offset(m.up_bias, own * m.bias_nb1)[r];
                v = scalar::gated(m.function, v, up, m.alpha, m.limit);
            } else if (m.function != catena::gate_function::none) {
                v = scalar::gate(m.function, v);
            }
            out[static_cast<std::size_t>(r)] = v;
        }
        return out;
    }

    /// Column c's row, padding included: of a matmul's layout its blocks lie `columns` apart.
    void quantize(const target& t, const std::vector<float>& values, int c) const {
        const auto rows = static_cast<std::int64_t>(values.size());
        std::vector<std::byte> own(
            static_cast<std::size_t>(catena::activation_row_bytes(t.layout, rows)));
        scalar::quantize(t.layout, values.data(), static_cast<int>(rows), own.data());
        auto* to = static_cast<std::byte*>(t.to);
        if (t.layout == format::q8_1) {
            std::memcpy(to + c * std::ssize(own), own.data(), own.size());
            return;
        }
        const std::int64_t block = info(t.layout).block_bytes;
        for (std::int64_t b = 0; b < std::ssize(own) / block; ++b)
            std::memcpy(to + (b * a_.columns + c) * block, own.data() + b * block,
                        static_cast<std::size_t>(block));
    }
};

}  // namespace

template <class Args>
void launch_product(const catena::row& r, const Args& a, const catena::launch_config& config,
                    machine& m) {
    product_launch<Args>(r, a, config, m).run();
}
template void launch_product(const catena::row&, const matvec_args&, const catena::launch_config&,
                             machine&);
template void launch_product(const catena::row&, const matmul_args&, const catena::launch_config&,
                             machine&);

}  // namespace catena_test
