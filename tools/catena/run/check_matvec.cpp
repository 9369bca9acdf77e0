// Matvec steps: the first, the last full and the tail band of every matrix, and bands of random
// rows; all of K. A band is the work of one block, or of a cluster of them.
#include "pieces.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

namespace catena::tool {
namespace {

/// One block of a matvec: a band of a member; of one column in a launch of experts.
struct band {
    int member;
    int column;           ///< of the member's result; -1: all columns
    int first, end;       ///< rows of the member
    std::uint32_t block;  ///< or cluster
};

/// Columns of a token: its slots, unless they are added up.
int columns_of_token(const matvec_args& a) { return a.combined ? 1 : a.slots; }

/// Blocks of all columns that have one band stand next to each other, and those of dense members
/// behind the others.
band band_at(const matvec_args& a, int member, int index, int column) {
    const matvec_member& m = a.member[member];
    const int rows = band_results(a, m), first = index * rows, place = m.first_band + index;
    int block = place;
    if (m.experts > 0)
        block = place * a.columns + column;
    else if (has_experts(a))
        block =
            a.bands * a.columns + (place - a.bands) * (a.columns / columns_of_token(a)) + column;
    return {member, column, first, std::min(first + rows, m.rows),
            static_cast<std::uint32_t>(block + a.routing.tokens)};
}

std::vector<band> sampled_bands(const matvec_args& a, std::uint64_t key, int random_rows) {
    std::vector<band> all;
    for (int member = 0; member < a.members; ++member) {
        const matvec_member& m = a.member[member];
        const int columns = has_experts(a) ? static_cast<int>(results_of(a, m)) : 1;
        const int rows = band_results(a, m), count = (m.rows + rows - 1) / rows;
        std::set<std::pair<int, int>> picked;  // column, band
        picked.insert({0, 0});
        picked.insert({columns - 1, count - 1});
        picked.insert({columns - 1, std::max(0, count - 2)});
        for (int i = 0; i < random_rows; ++i) {
            const std::uint64_t bits =
                random_bits(random_bits(key, static_cast<std::uint64_t>(member)),
                            static_cast<std::uint64_t>(i));
            const int row = static_cast<int>((bits >> 32) % static_cast<std::uint64_t>(m.rows));
            picked.insert(
                {static_cast<int>((bits & 0xffffffff) % static_cast<std::uint64_t>(columns)),
                 row / rows});
        }
        for (const auto& [column, index] : picked)
            all.push_back(band_at(a, member, index, has_experts(a) ? column : -1));
    }
    return all;
}

/// `slot`: of those that are added up.
std::vector<column_place> columns_of(const matvec_args& a, const band& b, int slot) {
    std::vector<column_place> places;
    if (b.column < 0) {
        for (std::int64_t c = 0; c < results_of(a, a.member[b.member]); ++c)
            places.push_back({c, c, 0, c});
        return places;
    }
    if (a.member[b.member].experts == 0) return {{b.column, 0, b.column, b.column}};
    const int token = b.column / columns_of_token(a), own = b.column % columns_of_token(a);
    return {{std::int64_t{token} * a.x_slots + (a.x_slots == 1 ? 0 : own + slot), own, token,
             b.column}};
}

/// A norm that was begun, as rows that are not yet divided by the rms, and the squares of each 32
/// values of what it is of.
std::vector<double> ended(const matvec_args& a, std::vector<double> rows,
                          const std::vector<double>& squares) {
    const auto k = static_cast<std::size_t>(a.k), of_row = k / 32;
    for (std::size_t c = 0; c < rows.size() / k; ++c) {
        const auto own = std::span(squares).subspan(c * of_row, of_row);
        const double sum = std::accumulate(own.begin(), own.end(), 0.0);
        const double rms = std::sqrt(sum / a.k + static_cast<double>(a.eps));
        for (double& v : std::span(rows).subspan(c * k, k)) v /= rms;
    }
    return rows;
}

}  // namespace

/// A band that was sampled: of slots that are added up, a piece for each and their weights.
struct sampled_band {
    std::vector<piece_data> slots;
    std::int64_t first_slot = 0;  ///< of those that are added up, among all tokens'
    std::vector<double> weights{};

    const piece_data& place() const { return slots.front(); }

    /// Reads what the launch may write over and what other operands may share, once all is seeded.
    void keep(machine& on, const matvec_args& a) {
        for (piece_data& slot : slots) slot.keep_operands(on);
        if (!a.combined) return;
        weights.assign(slots.size(), 1);
        if (a.slot_weights == nullptr) return;
        const auto there = read_values(on, a.slot_weights + first_slot, std::ssize(slots));
        weights.assign(there.begin(), there.end());
    }
    std::vector<double> reference(machine& on, const lowered_chain& chain,
                                  const std::vector<double>& x) const {
        if (weights.empty()) return place().reference(on, chain, x);
        std::vector<double> sum = place().residual();
        for (std::size_t s = 0; s < slots.size(); ++s) {
            const auto made = slots[s].reference(on, chain, x);
            sum.resize(made.size());
            for (std::size_t i = 0; i < made.size(); ++i) sum[i] += weights[s] * made[i];
        }
        return sum;
    }
};

std::vector<sampled_band> checker::seed_bands(const matvec_args& a,
                                              const std::vector<std::int32_t>& ids,
                                              std::uint64_t key) {
    std::vector<sampled_band> bands;
    for (const band& b : sampled_bands(a, key, asked_.random_rows)) {
        sampled_band& to = bands.emplace_back();
        const int slots = a.combined ? a.slots : 1;
        to.first_slot = std::int64_t{b.column} * slots;
        for (int slot = 0; slot < slots; ++slot) {
            const matvec_member& m = a.member[b.member];
            const std::int64_t expert =
                m.experts == 0 ? -1 : ids[static_cast<std::size_t>(to.first_slot + slot)];
            to.slots.emplace_back(m, a.k, plan_.rows().ops,
                                  piece_of_product{b.member, b.first, b.end, expert, b.block,
                                                   columns_of(a, b, slot), a.combined});
            to.slots.back().seed(on_, asked_.seed, where_);
        }
    }
    for (sampled_band& b : bands) b.keep(on_, a);
    return bands;
}

std::map<int, made_activation> checker::compare_bands(
    const lowered_chain& chain, const matvec_args& a, const std::vector<sampled_band>& bands,
    const std::vector<double>& read, const std::vector<double>& exact, step_result& result) {
    std::map<int, made_activation> made;  // by member
    compared_products products;
    for (const sampled_band& sampled : bands) {
        const piece_data& b = sampled.place();
        const auto rows = static_cast<std::size_t>(b.rows());
        const auto should = sampled.reference(on_, chain, read);
        const auto exact_product = sampled.reference(on_, chain, exact);
        for (std::size_t c = 0; c < b.at.columns.size(); ++c) {
            const column_place& column = b.at.columns[c];
            const auto wanted = std::span(should).subspan(c * rows, rows);
            products.add(on_, b, column, wanted, std::span(exact_product).subspan(c * rows, rows));
            if (b.member.q8_1 != nullptr)
                made.try_emplace(b.at.member, on_, results_of(a, b.member), b.member,
                                 same_rule_limit)
                    .first->second.add(on_, column.made_row, b.at.first, wanted);
        }
        result.computed += static_cast<double>(should.size());
    }
    products.report(true, exact_limit, result.comparisons);
    return made;
}

step_result checker::run_matvec(int step, const matvec_args& a) {
    const catena::step& s = plan_.steps()[static_cast<std::size_t>(step)];
    const planned_chain& place = plan_.chains()[static_cast<std::size_t>(s.chain)];
    const lowered_chain& chain = plan_.rows().chains[place.chain];
    const std::uint64_t key = random_bits(asked_.seed, static_cast<std::uint64_t>(step));

    const int tokens = a.columns / columns_of_token(a);
    const bool routed = a.routing.tokens > 0;
    const chain::inputs routing =
        routed ? seed_routing(a.routing, random_bits(key, 4)) : chain::inputs{};
    const std::vector<std::int32_t> ids = routed ? experts_of(routing)
                                          : has_experts(a)
                                              ? seed_ids(on_, a, tokens, random_bits(key, 0))
                                              : std::vector<std::int32_t>{};
    if (a.combined && a.slot_weights != nullptr)
        write_values(on_, const_cast<float*>(a.slot_weights),
                     seeded(random_bits(key, 3), std::ssize(ids), 0, 1));
    const std::int64_t rows = !has_experts(a) ? a.columns : tokens * a.x_slots;
    seed_inputs(step, a, rows);
    const std::vector<sampled_band> bands = seed_bands(a, ids, random_bits(key, 1));
    std::vector<std::uint32_t> blocks;  // the first of a cluster; it brings the others along
    for (const sampled_band& b : bands) blocks.push_back(b.place().at.block * s.config.cluster);
    const bool writes_norm = a.norm_f32 != nullptr || a.norm_q8_1 != nullptr;
    for (auto b = static_cast<std::uint32_t>(a.bands); writes_norm && b < s.config.blocks; ++b)
        blocks.push_back(b);
    for (int t = 0; t < a.routing.tokens; ++t) blocks.push_back(static_cast<std::uint32_t>(t));
    const auto multiplied = multiplied_by(step, a, rows);  // a residual may be the same tensor

    step_result result;
    result.fault = launch(step, blocks);
    if (result.fault.empty() && multiplied.empty() && activations_.count(s.chain) == 0)
        result.fault = "no step before it made the activation that it reads";
    if (!result.fault.empty()) return result;

    const read_activations x = activations_of(step, a, multiplied);
    auto made = compare_bands(chain, a, bands, x.read, x.exact, result);
    if (writes_norm) {
        compare_norm(a, multiplied, result);
        activations_[s.chain] = multiplied;
    }
    if (routed) compare_routing(a.routing, routing, result);
    keep(step, key, made, result);
    return result;
}

namespace {

/// Does a matvec make what it multiplies, where a row step could?
bool makes_value(const problem& p) { return makes_norm(p) || gates_inside(p.product()); }

/// That row step.
row_args as_row(const matvec_args& a, std::int64_t rows) {
    row_args out;
    out.x = static_cast<const float*>(a.x);
    out.weight = a.norm_weight;
    out.eps = a.eps;
    out.k = a.k;
    out.rows = out.n1 = static_cast<std::int32_t>(rows);
    out.x_at = {a.x_bytes, 0, 0};
    if (a.gate.data == nullptr) return out;
    out.gate = a.gate.data;
    out.gate_at = {a.gate.nb1, 0, 0};
    out.function = a.gate.function;
    out.alpha = a.gate.alpha;
    out.limit = a.gate.limit;
    out.k = a.gate.k;
    out.rows = out.n1 = a.k / a.gate.k;
    out.x_at = {4 * std::int64_t{a.gate.k}, 0, 0};
    return out;
}

}  // namespace

void checker::seed_inputs(int step, const matvec_args& a, std::int64_t rows) {
    const catena::step& s = plan_.steps()[static_cast<std::size_t>(step)];
    const std::uint64_t key = random_bits(asked_.seed, static_cast<std::uint64_t>(step));
    if (makes_value(s.what))
        seed_row(as_row(a, rows), random_bits(key, 2));
    else if (s.what.product().needs.activation == format::f32 && maker_of(step) < 0)
        seed_activation(a, rows, random_bits(key, 2));
    for (int i = 0; i < a.members; ++i)
        if (const float* weight = a.member[i].begun_weight; weight != nullptr)
            write_values(
                on_, const_cast<float*>(weight),
                seeded(random_bits(asked_.seed, where_.key(weight)), a.member[i].rows, 1, 0.1f));
}

std::vector<double> checker::multiplied_by(int step, const matvec_args& a,
                                           std::int64_t rows) const {
    const catena::step& s = plan_.steps()[static_cast<std::size_t>(step)];
    const planned_chain& place = plan_.chains()[static_cast<std::size_t>(s.chain)];
    if (makes_value(s.what))
        return chain::reference(plan_.rows().chains[place.chain], read_row(as_row(a, rows))).value;
    if (s.what.product().needs.activation == format::f32) return read_f32(a, rows);
    return {};
}

checker::read_activations checker::activations_of(int step, const matvec_args& a,
                                                  const std::vector<double>& multiplied) const {
    const catena::step& s = plan_.steps()[static_cast<std::size_t>(step)];
    const product_computation& needs = s.what.product().needs;
    const std::vector<double>& exact = multiplied.empty() ? activations_.at(s.chain) : multiplied;
    const bool norm = makes_norm(s.what);
    if ((norm && !has_float_weights(needs.weights)) || quantizes_inside(needs))
        return {quantized_inside(exact), exact};
    if (needs.activation == format::f32) return {exact, exact};
    const std::int64_t rows = std::ssize(exact) / a.k;
    std::vector<double> read = read_activation(a, rows);
    if (a.begun_squares == nullptr) return {std::move(read), exact};
    const auto squares = read_values(on_, a.begun_squares, rows * (a.k / 32));
    return {ended(a, std::move(read), {squares.begin(), squares.end()}),
            ended(a, exact, squares_.at(s.chain))};
}

void checker::compare_norm(const matvec_args& a, const std::vector<double>& norm,
                           step_result& result) {
    row_args as_row;
    as_row.f32 = a.norm_f32;
    as_row.q8_1 = a.norm_q8_1;
    as_row.rows = as_row.n1 = a.columns;
    as_row.k = as_row.quant_k = a.k;
    as_row.f32_at = {4 * std::int64_t{a.k}, 0, 0};
    as_row.quant_blocks = static_cast<std::int32_t>(q8_1_row_blocks(a.k));
    compare_value(as_row, norm, result);
}

std::vector<double> checker::read_activation(const matvec_args& a, std::int64_t rows) const {
    std::vector<double> out;
    for (std::int64_t r = 0; r < rows; ++r) {
        const auto bytes = read_bytes(on_, static_cast<const std::byte*>(a.x) + r * a.x_bytes,
                                      stored_bytes(format::q8_1, a.k));
        const auto row = decode_row<double>(format::q8_1, bytes, a.k);
        out.insert(out.end(), row.begin(), row.end());
    }
    return out;
}

}  // namespace catena::tool
