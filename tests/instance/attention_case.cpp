#include "attention_case.hpp"

#include "compare.hpp"
#include "values.hpp"

#include "catena/arch/arch.hpp"
#include "catena/chain/reference.hpp"
#include "catena/format/codec.hpp"
#include "catena/format/half.hpp"
#include "catena/pick/config.hpp"

#include "catena_test/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace catena_test {

using namespace catena;

namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

int heads_of(const attention_case& c) { return c.key_heads * c.group; }
std::int64_t row_of_token(const attention_case& c) { return std::int64_t{c.k} * heads_of(c); }
/// Bytes of a token's results in q8_1; 0: they are not quantized.
std::size_t quantized_bytes(const attention_case& c) {
    return c.k % 32 == 0 ? size(q8_1_row_bytes(row_of_token(c))) : 0;
}
int cache_rows_of(const attention_case& c) { return c.first_row + c.positions + c.rows_behind; }
float scale_of(const attention_case& c) { return 1 / std::sqrt(static_cast<float>(c.k)); }

std::vector<std::int64_t> rows_of(const attention_case& c) {
    if (!c.rows.empty()) return c.rows;
    std::vector<std::int64_t> rows;
    for (int t = 0; t < c.tokens; ++t) rows.push_back(c.first_row + c.positions - c.tokens + t);
    return rows;
}

bool hides(const attention_case& c, int position, int token) {
    if (c.hidden == hidden_positions::none) return false;
    if (c.differs ? token % 2 != 0 : token != 0 && c.hidden == hidden_positions::all) return false;
    return c.hidden == hidden_positions::all || (position % 3 == 1 && position + 1 < c.positions);
}
bool hidden_from_all(const attention_case& c, int position) {
    for (int t = 0; t < c.tokens; ++t)
        if (!hides(c, position, t)) return false;
    return true;
}

/// Positions and tokens of a mask; tokens lie 8 numbers apart.
constexpr int mask_gap = 8;
std::vector<std::uint16_t> mask_of(const attention_case& c) {
    std::vector<std::uint16_t> mask;
    for (int t = 0; t < c.tokens; ++t) {
        const std::vector<float> numbers = random_values(31 + size(t), c.positions);
        for (int i = 0; i < c.positions; ++i)
            mask.push_back(f16_from_f32(hides(c, i, t)                 ? minus_infinity
                                        : c.hardly && i == c.nan_value ? -25.0f
                                                                       : numbers[size(i)]));
        mask.resize(mask.size() + mask_gap, std::uint16_t{0x7e00});
    }
    return mask;
}
std::vector<float> sinks_of(const attention_case& c) { return random_values(51, heads_of(c)); }

/// What a cache holds before the launch. Positions that no token sees hold NaN.
std::vector<float> numbers_before(const attention_case& c, std::uint64_t seed) {
    const std::int64_t row = std::int64_t{c.k} * c.key_heads;
    std::vector<float> numbers = random_values(seed, row * cache_rows_of(c));
    for (int i = 0; i < c.positions; ++i)
        if (hidden_from_all(c, i))
            std::fill_n(numbers.begin() + (c.first_row + i) * row, row, not_a_number);
    return numbers;
}
std::size_t first_number(const attention_case& c, int position) {
    return size((c.first_row + position) * std::int64_t{c.k} * c.key_heads);
}
std::vector<float> keys_before(const attention_case& c) {
    std::vector<float> keys = numbers_before(c, 41);
    if (c.large_keys)
        for (float& v : keys) v *= 40;
    if (c.nan_key >= 0) keys[first_number(c, c.nan_key) + size(c.k - 1)] = not_a_number;
    return keys;
}
std::vector<float> values_before(const attention_case& c) {
    std::vector<float> values = numbers_before(c, 42);
    if (c.nan_value >= 0) values[first_number(c, c.nan_value) + 1] = not_a_number;
    return values;
}

/// Everything that a launch reads.
struct operands {
    head_case heads;
    std::vector<std::uint16_t> mask = {};
    std::vector<float> sinks = {};
};

operands operands_of(const attention_case& c) {
    head_value query{.k = c.k,
                     .heads = heads_of(c),
                     .normed = c.normed,
                     .weighted = c.weighted,
                     .turned = c.turned,
                     .gap = c.gap};
    head_value key = query, value = query;
    query.scale = c.query_scale;
    value.normed = value.weighted = value.turned = false;
    for (head_value* v : {&key, &value}) {
        v->heads = c.key_heads, v->cache = format::f16;
        v->ids_of_64_bits = c.ids_of_64_bits;
    }
    key.cached = cache_with(key, keys_before(c));
    value.cached = cache_with(value, values_before(c));
    operands out{.heads = {.what = c.what, .values = {query, key, value}, .tokens = c.tokens}};
    out.heads.rope.pairs = pairing::halves, out.heads.rope.dims = c.turned ? c.k : 0;
    out.heads.rope.base = 10000;
    out.heads.rows = rows_of(c);
    out.heads.cache_rows = cache_rows_of(c);
    if (c.masked) out.mask = mask_of(c);
    if (c.sinks) out.sinks = sinks_of(c);
    return out;
}

/// The `which`th of `parts` parts.
template <class T>
std::vector<T> part_of(const std::vector<T>& all, int which, int parts) {
    const auto length = static_cast<std::ptrdiff_t>(all.size()) / parts;
    return {all.begin() + which * length, all.begin() + (which + 1) * length};
}

operands of_token(const attention_case& c, const attention_output& of_all, int token) {
    operands o = operands_of(c);
    head_case& h = o.heads;
    std::uint64_t seed = 0;
    for (head_value& v : h.values)
        v.x =
            part_of(random_values(++seed, std::int64_t{v.k} * v.heads * c.tokens), token, c.tokens);
    h.values[1].cached = of_all.keys, h.values[2].cached = of_all.values;
    h.positions = part_of(positions_of(h), token, c.tokens);
    h.rows = {h.rows[size(token)]};
    h.tokens = 1;
    if (c.masked) o.mask = part_of(o.mask, token, c.tokens);
    return o;
}

/// The policy's row, and the problem that it gets.
row row_of(const instance& on) {
    row r{};
    r.computes = on.computes, r.policy = on.policy;
    return r;
}
row_problem problem_of(const instance& on, const attention_case& c, int tokens) {
    row_problem p;
    p.needs = on.computes.row();
    p.k = c.k;
    p.rows = std::int64_t{heads_of(c)} * tokens;
    p.slots = std::int64_t{c.group} * tokens;
    p.stored = std::int64_t{2} * c.key_heads * tokens;
    p.positions = c.positions;
    return p;
}
launch_config config_with(const instance& on, const attention_case& c, int tokens) {
    arch gpu = detail::sm_90();
    gpu.cluster_blocks = c.cluster, gpu.sms = c.sms;
    const row r = row_of(on);
    const row_problem p = problem_of(on, c, tokens);
    launch_config config = config_of(r, p, gpu, shape_of_launch(r, p, gpu, 1));
    config.dependent = on.dependent;
    return config;
}

/// Where the results of a launch lie: those of a token together, or those of a head.
void place_results(machine& on, const attention_case& c, heads_args& a) {
    head_member& m = a.member[0];
    const std::int64_t head = 4 * std::int64_t{c.k + c.gap};
    m.f32_nb1 = c.by_head ? head * a.tokens : head;
    m.f32_nb2 = c.by_head ? head : head * m.heads;
    if (c.f32) m.f32 = static_cast<float*>(on.blank("f32", size(head * m.heads * a.tokens)));
    if (quantized_bytes(c) > 0)
        a.attended.q8_1 = on.blank("q8_1", quantized_bytes(c) * size(a.tokens));
}

attention_output launch(const instance& on, const attention_case& c, const operands& o) {
    const auto machine = on.make_machine();
    heads_args a = put_heads(*machine, o.heads);
    place_results(*machine, c, a);
    const auto put = [&](const char* name, const bytes& data) {
        return machine->put(name, contents::data, data);
    };
    attention_args& by = a.attended;
    if (c.masked) {
        bytes mask = to_bytes(o.mask);
        mask.resize(mask.size() - 2 * mask_gap);  // nothing lies behind the last token's
        by.mask = static_cast<const std::uint16_t*>(put("mask", mask));
    }
    if (c.sinks) by.sinks = static_cast<const float*>(put("sinks", to_bytes(o.sinks)));
    by.mask_nb = 2 * std::int64_t{c.positions + mask_gap};
    by.positions = c.positions, by.first_row = c.first_row;
    by.scale = scale_of(c);
    const launch_config config = config_with(on, c, a.tokens);
    REQUIRE(machine->launch(on.kernel, config, &a, sizeof a) == "");
    const std::int64_t bytes_of_results = 4 * std::int64_t{c.k + c.gap} * heads_of(c) * a.tokens;
    const std::vector<bytes> caches = read_caches(*machine, o.heads, a);
    attention_output out{{}, {}, caches[1], caches[2]};
    if (c.f32) out.f32 = machine->read(a.member[0].f32, size(bytes_of_results));
    if (by.q8_1 != nullptr) out.q8_1 = machine->read(by.q8_1, quantized_bytes(c) * size(a.tokens));
    return out;
}

/// What the mask and the caches, as they are behind the launch, make of a token's queries.
std::vector<double> attended_by_reference(const attention_case& c, const operands& o,
                                          const attention_output& outputs, int token,
                                          const std::vector<double>& queries) {
    chain::inputs in;
    in.k = c.k, in.rows = in.heads = heads_of(c), in.key_heads = c.key_heads;
    in.x = queries;
    in.positions_attended = c.positions;
    in.score_scale = double{scale_of(c)};
    const auto attended = [&](const head_value& v, const bytes& cache) {
        const std::vector<float> all = numbers_in(v, cache);
        return std::vector<double>(
            all.begin() + static_cast<std::ptrdiff_t>(first_number(c, 0)),
            all.begin() + static_cast<std::ptrdiff_t>(first_number(c, c.positions)));
    };
    in.keys = attended(o.heads.values[1], outputs.keys);
    in.values = attended(o.heads.values[2], outputs.values);
    for (int i = 0; c.masked && i < c.positions; ++i)
        in.mask.push_back(double{f32_from_f16(o.mask[size(token * (c.positions + mask_gap) + i)])});
    in.sinks.assign(o.sinks.begin(), o.sinks.end());
    lowered_chain chain;
    chain.stages[chain.count++] = {.kind = stage_kind::attend};
    chain.stages[chain.count++] = {.kind = stage_kind::emit,
                                   .formats = format_set::of(format::f32)};
    return chain::reference(chain, in).value;
}

/// Numbers that should be NaN are NaN, and the others are close to what they should be.
void check_numbers(const std::vector<float>& found, const std::vector<double>& wanted,
                   double limit) {
    REQUIRE(found.size() == wanted.size());
    std::vector<float> numbers;
    std::vector<double> wanted_numbers;
    bool same = true;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        same = same && std::isnan(found[i]) == std::isnan(wanted[i]);
        if (std::isnan(wanted[i])) continue;
        numbers.push_back(found[i]), wanted_numbers.push_back(wanted[i]);
    }
    CHECK(same);
    if (same) CHECK(nmse<float>(numbers, wanted_numbers) <= limit);
}

void check_gaps(const attention_case& c, const bytes& f32) {
    if (c.gap == 0) return;
    const std::size_t head = size(4 * std::int64_t{c.k}), gap = size(4 * std::int64_t{c.gap});
    for (auto at = f32.begin(); at != f32.end(); at += static_cast<std::ptrdiff_t>(head + gap)) {
        const auto first = at + static_cast<std::ptrdiff_t>(head);
        CHECK(std::all_of(first, first + static_cast<std::ptrdiff_t>(gap),
                          [](std::byte b) { return b == untouched; }));
    }
}

/// The rule of q8_1 makes these bytes of the f32 of a token, with zeros behind them.
bytes quantized(const attention_case& c, const std::vector<float>& of_token) {
    if (quantized_bytes(c) == 0) return {};
    bytes row = encode_row(format::q8_1, of_token);
    row.resize(quantized_bytes(c));
    return row;
}
/// What a token's row of q8_1 holds.
std::vector<float> numbers_in(const attention_case& c, const bytes& row) {
    return decode_row<float>(format::q8_1, row, row_of_token(c));
}

}  // namespace

bool has_room(const instance& on, const attention_case& c) {
    return config_with(on, c, c.tokens).shared_bytes <= on.most_shared;
}

attention_output run(const instance& on, const attention_case& c) {
    return launch(on, c, operands_of(c));
}

attention_output run_token(const instance& on, const attention_case& c,
                           const attention_output& of_all, int token) {
    return launch(on, c, of_token(c, of_all, token));
}

std::vector<float> results_in(const attention_case& c, const bytes& f32) {
    const std::vector<float> all = from_bytes<float>(f32);
    const int heads = heads_of(c);
    const int tokens = static_cast<int>(all.size() / size(std::int64_t{c.k + c.gap} * heads));
    std::vector<float> out;
    for (int t = 0; t < tokens; ++t)
        for (int h = 0; h < heads; ++h) {
            const int which = c.by_head ? h * tokens + t : t * heads + h;
            const auto first = all.begin() + std::ptrdiff_t{which} * (c.k + c.gap);
            out.insert(out.end(), first, first + c.k);
        }
    return out;
}

void check(const instance&, const attention_case& c, const attention_output& outputs) {
    const operands o = operands_of(c);
    {
        INFO("keys");
        check_cache(o.heads, 1, outputs.keys);
    }
    {
        INFO("values");
        check_cache(o.heads, 2, outputs.values);
    }
    check_gaps(c, outputs.f32);
    const std::vector<float> found = results_in(c, outputs.f32);
    const std::vector<double> queries = reference_of(o.heads, 0).value;
    for (int t = 0; t < c.tokens; ++t) {
        INFO("token " << t);
        const std::vector<double> wanted =
            attended_by_reference(c, o, outputs, t, part_of(queries, t, c.tokens));
        const bytes row = part_of(outputs.q8_1, t, c.tokens);
        if (!c.f32) {
            check_numbers(numbers_in(c, row), wanted, 1e-4);
            continue;
        }
        const std::vector<float> of_token = part_of(found, t, c.tokens);
        check_numbers(of_token, wanted, 1e-11);
        CHECK(row == quantized(c, of_token));
    }
}

}  // namespace catena_test
