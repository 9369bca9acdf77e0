// Operands of launches that work on heads.
#include "stretches.hpp"

#include "catena/kernel/layout.hpp"

namespace catena::bench {

namespace {

/// A turn of all of a head.
rotation turn_of(std::int64_t k) {
    rope_numbers n;
    n.pairs = pairing::halves;
    n.dims = static_cast<std::int32_t>(k / 2 * 2);
    n.base = 10000;
    return rotation_of(n);
}

/// A problem does not say which heads are normed: all are, of one token of each sequence.
void fill_convolution(const row_problem& p, table_of_stretches s) {
    heads_args& a = s.to.heads;
    convolution_args& c = a.convolved;
    const std::int64_t channels = p.k * quotient(p.rows, p.sequences);
    const std::int64_t values = p.k * p.rows, kept = p.slots - 1;
    c.channels = static_cast<std::int32_t>(channels);
    c.length = static_cast<std::int32_t>(p.slots);
    c.states = c.sequences = static_cast<std::int32_t>(p.sequences);
    c.x = s.values(values);
    c.taps = s.values(p.slots * channels);
    c.state = s.values(kept * values), c.next_state = s.results(kept * values);
    c.x_nb = c.f32_nb = 4 * channels;
    c.state_nb = c.next_state_nb = 4 * kept * channels;
    if (p.sum) c.f32 = s.results(values);
    c.function = gate_function::silu;
    a.members = 1, a.tokens = c.sequences;
    a.rows = static_cast<std::int32_t>(p.rows);
    head_member& m = a.member[0];
    m.k = static_cast<std::int32_t>(p.k), m.heads = c.channels / m.k;
    m.normed = p.needs.stages.has(stage_kind::rms_norm), m.eps = 1e-6f;
    m.f32 = s.results(values);
    m.f32_nb1 = 4 * p.k, m.f32_nb2 = 4 * channels;
}

/// A problem does not say what the decay is made of, nor how many heads have a key: of a softplus
/// times a factor, and two. The next states lie elsewhere, so that all launches read the same.
void fill_delta_rule(const row_problem& p, table_of_stretches s) {
    heads_args& a = s.to.heads;
    head_member& m = a.member[0];
    const std::int64_t tokens = p.slots * p.sequences;
    m.k = static_cast<std::int32_t>(p.k);
    m.heads =
        static_cast<std::int32_t>(quotient(quotient(p.rows, p.sequences) * values_of_warp, p.k));
    a.members = 1, a.tokens = static_cast<std::int32_t>(tokens);
    a.rows = static_cast<std::int32_t>(p.rows);
    delta_args& d = a.recalled;
    d.key_heads = m.heads % 2 == 0 ? m.heads / 2 : m.heads;
    d.states = d.sequences = static_cast<std::int32_t>(p.sequences);
    const std::int64_t keys = p.k * d.key_heads, values = p.k * m.heads;
    d.queries = s.values(keys * tokens), d.keys = s.values(keys * tokens);
    d.values = s.values(values * tokens);
    d.queries_nb1 = d.keys_nb1 = d.values_nb1 = m.f32_nb1 = 4 * p.k;
    d.queries_nb2 = d.keys_nb2 = 4 * keys, d.values_nb2 = m.f32_nb2 = 4 * values;
    d.decay.first = s.values(m.heads * tokens), d.beta.first = s.values(m.heads * tokens);
    d.decay.abreast = d.beta.abreast = m.heads;
    d.decay.nb2 = d.beta.nb2 = 4 * m.heads;
    d.decay_factor = s.values(m.heads);
    d.state = s.values(p.k * values * p.sequences);
    d.next_state = s.results(p.k * values * p.sequences);
    d.state_ids = s.numbers(p.sequences, p.sequences);
    m.f32 = s.results(values * tokens);
}

/// A problem does not say how many values a head has, nor how many heads share b and c: 64, and
/// all. The next states lie elsewhere, as above.
void fill_scan(const row_problem& p, table_of_stretches s) {
    heads_args& a = s.to.heads;
    head_member& m = a.member[0];
    const std::int64_t tokens = p.slots * p.sequences,
                       values = quotient(p.rows, p.sequences) * values_of_warp;
    m.k = values % 64 == 0 ? 64 : values_of_warp;
    m.heads = static_cast<std::int32_t>(quotient(values, m.k));
    a.members = 1, a.tokens = static_cast<std::int32_t>(tokens);
    a.rows = static_cast<std::int32_t>(p.rows);
    scan_args& by = a.scanned;
    by.size = static_cast<std::int32_t>(p.k);
    by.states = by.sequences = static_cast<std::int32_t>(p.sequences);
    by.x = s.values(values * tokens), by.z = s.values(values * tokens);
    by.dt = s.values(m.heads * tokens);
    by.b = s.values(p.k * tokens), by.c = s.values(p.k * tokens);
    by.x_nb = by.z_nb = m.f32_nb2 = 4 * values;
    by.dt_nb = 4 * m.heads;
    by.b_nb = by.c_nb = 4 * p.k;
    by.a = s.values(m.heads), by.d = s.values(m.heads), by.dt_bias = s.values(m.heads);
    by.state = s.values(p.k * values * p.sequences);
    by.next_state = s.results(p.k * values * p.sequences);
    by.state_ids = s.numbers(p.sequences, p.sequences);
    m.f32 = s.results(values * tokens);
    m.f32_nb1 = 4 * m.k;
}

/// Stores the heads of a value in a cache of one row.
void store_heads(head_member& m, format cache, table_of_stretches s) {
    m.cache_type = cache;
    m.cache_nb = row_bytes(cache, std::int64_t{m.heads} * m.k);
    m.cache = s.output(m.cache_nb, cache);
    m.cache_rows = 1;
    m.cache_ids = s.input(4, format::i32, 1);
}

/// Heads are normed and turned as a launch can. All members have the same tokens.
head_member& add_heads(const row_problem& p, std::int64_t heads, table_of_stretches s) {
    heads_args& a = s.to.heads;
    head_member& m = a.member[a.members++];
    m.k = static_cast<std::int32_t>(p.k), m.heads = static_cast<std::int32_t>(heads);
    m.first_row = a.rows;
    a.rows += m.heads * a.tokens;
    m.x = s.values(heads * p.k * a.tokens);
    m.x_nb1 = m.f32_nb1 = 4 * p.k;
    m.x_nb2 = m.f32_nb2 = 4 * p.k * heads;
    m.normed = p.needs.stages.has(stage_kind::rms_norm), m.eps = 1e-6f;
    if (p.needs.stages.has(stage_kind::mul_weight)) m.weight = s.values(p.k);
    m.turned = p.needs.stages.has(stage_kind::rope);
    return m;
}
void turn_heads(const row_problem& p, table_of_stretches s) {
    heads_args& a = s.to.heads;
    if (!p.needs.stages.has(stage_kind::rope)) return;
    a.turn = turn_of(p.k);
    a.positions = s.numbers(a.tokens, 4096);
}

/// A problem does not say whether there are sinks: there are none, but a mask of all tokens. Each
/// token's key and value are stored in some row of caches that have the positions alone.
void fill_attention(const row_problem& p, table_of_stretches s) {
    heads_args& a = s.to.heads;
    const std::int64_t key_heads = key_heads_of(p);
    a.tokens = static_cast<std::int32_t>(tokens_that_attend(p));
    head_member& queries = add_heads(p, quotient(p.rows, a.tokens), s);
    if (p.needs.emits.has(format::f32)) queries.f32 = s.results(p.rows * p.k);
    for (int i = 0; i < 2; ++i) {
        head_member& m = add_heads(p, key_heads, s);
        m.cache_type = format::f16;
        m.cache_rows = static_cast<std::int32_t>(p.positions);
        m.cache_nb = 2 * p.k * key_heads;
        m.cache = s.state(m.cache_nb * p.positions, format::f16);
        m.cache_ids = s.numbers(a.tokens, p.positions);
    }
    a.member[2].normed = a.member[2].turned = false;
    attention_args& by = a.attended;
    by.positions = static_cast<std::int32_t>(p.positions);
    by.mask =
        reinterpret_cast<const std::uint16_t*>(s.input(2 * p.positions * a.tokens, format::f16));
    by.mask_nb = 2 * p.positions;
    by.scale = 1.0f / 16;
    if (p.needs.emits.has(format::q8_1))
        by.q8_1 = s.output(a.tokens * q8_1_row_bytes(std::int64_t{queries.heads} * queries.k),
                           format::q8_1);
    turn_heads(p, s);
}

}  // namespace

/// A problem does not say which heads are of which value, or token: those that are stored are of
/// one, and all others of another, of one token.
void fill_heads(const row_problem& p, table_of_stretches s) {
    if (convolves(p.needs.stages)) return fill_convolution(p, s);
    if (recalls(p.needs.stages)) return fill_delta_rule(p, s);
    if (scans(p.needs.stages)) return fill_scan(p, s);
    if (attends(p.needs.stages)) return fill_attention(p, s);
    s.to.heads.tokens = 1;
    format cache = format::f32;
    for (const format f : p.needs.emits)
        if (f != format::f32) cache = f;
    if (p.rows > p.stored) {
        head_member& m = add_heads(p, p.rows - p.stored, s);
        m.f32 = s.results(m.heads * p.k);
    }
    if (p.stored > 0) store_heads(add_heads(p, p.stored, s), cache, s);
    turn_heads(p, s);
}

/// A problem does not say how long the heads of its matrices are: 64 elements, or pairs. What is
/// not written is stored.
void fill_heads(const product_problem& p, table_of_stretches s) {
    head_group& a = s.to.matvec.heads;
    a.tokens = 1;
    std::int32_t k = 64;
    for (int i = 0; i < p.member_count; ++i)
        if (p.member[i].rows % k != 0) k = 2;
    a.turn = turn_of(k);
    a.positions = reinterpret_cast<const std::int32_t*>(s.input(4, format::i32, 4096));
    for (int i = 0; i < p.member_count; ++i) {
        head_member& m = a.member[a.members++];
        m.k = k, m.heads = p.member[i].rows / k;
        m.first_row = a.rows;
        a.rows += m.heads;
        m.turned = true;
        if (!p.member[i].written) store_heads(m, format::f16, s);
    }
}

}  // namespace catena::bench
