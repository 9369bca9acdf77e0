// Families that keep a state of each sequence.
#include "families.hpp"

#include <functional>
#include <utility>
#include <vector>

namespace catena_test {
namespace {

constexpr int inner = 512, state_size = 16, kernel = 4, states = 6;

std::size_t bytes(std::int64_t numbers) {
    return static_cast<std::size_t>(numbers) * sizeof(float);
}

/// Sequences of equal length, in which the tokens come.
int sequences(const network& n) { return n.tokens() % 16 == 0 ? 4 : n.tokens() % 2 == 0 ? 2 : 1; }

/// The states of sequences that are there already, without copies to unused places.
struct known_states {
    std::string name;
    std::vector<std::int32_t> ids;
    std::size_t into = 0;  ///< the first of those that are replaced
};

/// What `read` makes of the states of these sequences; another is copied to the place behind.
ggml_tensor* states_of(network& n, ggml_tensor* all, int count,
                       const std::function<ggml_tensor*(ggml_tensor* ids)>& read) {
    ggml_context* c = n.c();
    std::vector<std::int32_t> main;
    for (int i = 0; i < count; ++i) main.push_back((i + 1) % states);
    ggml_tensor* zero = ggml_view_1d(c, all, all->ne[0], all->nb[1]);
    n.expand(ggml_scale_inplace(c, zero, 0));
    ggml_tensor* made = n.expand(read(n.ids("states", main)));
    ggml_tensor* extra = ggml_get_rows(c, all, n.ids("more_states", {5}));
    ggml_tensor* to = ggml_view_2d(c, all, all->ne[0], 1, all->nb[1],
                                   static_cast<std::size_t>(count) * all->nb[1]);
    n.expand(ggml_cpy(c, extra, to));
    return made;
}

/// The states of these sequences, or of `count` others behind copies.
ggml_tensor* old_states(network& n, ggml_tensor* all, std::int64_t count,
                        const known_states& known) {
    const auto rows = [&](ggml_tensor* ids) { return ggml_get_rows(n.c(), all, ids); };
    return known.ids.empty() ? states_of(n, all, static_cast<int>(count), rows)
                             : n.expand(rows(n.ids(known.name, known.ids)));
}

/// The numbers of states are read behind the value x, as they are where more layers follow: else
/// the allocator may reuse their memory before a launch of several nodes reads them.
void read_to_the_end(network& n, const known_states& known, ggml_tensor* x) {
    constexpr int parts = 8;  // no fewer rows than there are states
    ggml_tensor* rows = ggml_reshape_2d(n.c(), x, hidden / parts, parts * n.token_count());
    n.output(ggml_get_rows(n.c(), rows, n.ids(known.name, known.ids)));
}

/// x of [channels, tokens, sequences], convolved with what came before; the last are stored.
ggml_tensor* convolved(network& n, const std::string& layer, ggml_tensor* x, int length,
                       const known_states& known = {}) {
    ggml_context* c = n.c();
    const std::int64_t channels = x->ne[0], before = length - 1, count = x->ne[2];
    ggml_tensor* all = n.cache(layer + "conv", GGML_TYPE_F32, before * channels, states);
    ggml_tensor* old =
        ggml_reshape_3d(c, old_states(n, all, count, known), before, channels, count);
    ggml_tensor* row = ggml_concat(c, old, ggml_transpose(c, x), 0);
    ggml_tensor* last = ggml_view_3d(c, row, before, channels, count, row->nb[1], row->nb[2],
                                     static_cast<std::size_t>(x->ne[1]) * row->nb[0]);
    n.expand(ggml_cpy(c, last,
                      ggml_view_1d(c, all, before * channels * count, known.into * all->nb[1])));
    return ggml_ssm_conv(c, row, n.of().numbers(layer + "conv1d", {length, channels}, 0, 0.5f));
}

/// Q, K and V of Kimi Linear, each convolved by itself; a row of the cache has the states of all.
ggml_tensor* layer_of_one_row(network& n, const std::string& layer, ggml_tensor* x) {
    ggml_context* c = n.c();
    constexpr std::int64_t channels = inner / 2, before = kernel - 1, size = before * channels;
    const std::int64_t count = n.tokens() % 4 == 0 ? 4 : sequences(n), tokens = n.tokens() / count;
    ggml_tensor* all = n.cache(layer + "conv", GGML_TYPE_F32, 3 * size, states);
    ggml_tensor* old = states_of(n, all, static_cast<int>(count),
                                 [&](ggml_tensor* ids) { return ggml_get_rows(c, all, ids); });
    ggml_tensor* product = nullptr;
    for (const char* name : {"q", "k", "v"}) {
        const std::size_t first = bytes(size) * (name[0] == 'q' ? 0 : name[0] == 'k' ? 1 : 2);
        const auto own = [&](ggml_tensor* rows) {
            return ggml_view_3d(c, rows, before, channels, count, bytes(before), rows->nb[1],
                                first);
        };
        ggml_tensor* of =
            ggml_reshape_3d(c, n.matmul(layer + name, x, channels), channels, tokens, count);
        ggml_tensor* row = ggml_concat(c, own(old), ggml_transpose(c, of), 0);
        ggml_tensor* last =
            ggml_view_3d(c, row, before, channels, count, row->nb[1], row->nb[2], bytes(tokens));
        n.expand(ggml_cpy(c, last, own(all)));
        ggml_tensor* taps = n.of().numbers(layer + name + "_conv", {kernel, channels}, 0, 0.5f);
        ggml_tensor* made = ggml_ssm_conv(c, row, taps);
        made = ggml_silu(c, ggml_reshape_2d(c, made, channels, n.token_count()));
        product = product == nullptr ? made : ggml_mul(c, product, made);
    }
    return n.matmul(layer + "out", product, hidden);
}

/// The scan, whose states are stored: [size of x, without the states].
ggml_tensor* scanned(network& n, const std::string& layer, ggml_tensor* x, ggml_tensor* dt,
                     ggml_tensor* a, ggml_tensor* b, ggml_tensor* c_,
                     const known_states& known = {}) {
    ggml_context* c = n.c();
    const std::int64_t count = x->ne[3], size = state_size * inner;
    ggml_tensor* all = n.cache(layer + "ssm", GGML_TYPE_F32, size, states);
    const auto scan = [&](ggml_tensor* ids) {
        ggml_tensor* s = ggml_reshape_4d(c, all, state_size, x->ne[0], x->ne[1], states);
        return ggml_ssm_scan(c, s, x, dt, a, b, c_, ids, 1);
    };
    ggml_tensor* y = known.ids.empty() ? states_of(n, all, static_cast<int>(count), scan)
                                       : n.expand(scan(n.ids(known.name, known.ids)));
    ggml_tensor* made = ggml_view_1d(c, y, size * count, bytes(ggml_nelements(x)));
    n.expand(ggml_cpy(c, made, ggml_view_1d(c, all, size * count, known.into * all->nb[1])));
    return y;
}

ggml_tensor* mamba_layer(network& n, const std::string& layer, ggml_tensor* x, bool norms) {
    ggml_context* c = n.c();
    constexpr int rank = 32;
    const std::int64_t count = sequences(n), tokens = n.tokens() / count;
    x = ggml_reshape_3d(c, x, hidden, tokens, count);
    ggml_tensor* both = n.matmul(layer + "ssm_in", x, 2 * inner);
    const auto half = [&](std::int64_t first) {
        return ggml_view_3d(c, both, inner, tokens, count, both->nb[1], both->nb[2], bytes(first));
    };
    x = convolved(n, layer, half(0), kernel);
    x = ggml_silu(c, ggml_add(c, x, n.of().numbers(layer + "conv1d.bias", {inner}, 0, 0.5f)));
    ggml_tensor* parts = n.matmul(layer + "ssm_x", x, rank + 2 * state_size);
    ggml_tensor* dt = ggml_view_3d(c, parts, rank, tokens, count, parts->nb[1], parts->nb[2], 0);
    const auto one = [&](std::int64_t first) {
        return ggml_view_4d(c, parts, state_size, 1, tokens, count, bytes(state_size), parts->nb[1],
                            parts->nb[2], bytes(first));
    };
    ggml_tensor *b = one(rank), *c_ = one(rank + state_size);
    if (norms) {
        dt = n.rms_norm(dt, layer + "dt_norm");
        b = n.rms_norm(b, layer + "b_norm");
        c_ = n.rms_norm(c_, layer + "c_norm");
    } else {
        dt = ggml_cont(c, dt);
    }
    dt = n.biased(layer + "ssm_dt", dt, inner);
    ggml_tensor* a = n.of().numbers(layer + "ssm_a", {state_size, inner}, -1, 0.5f);
    ggml_tensor* scan_of = ggml_reshape_4d(c, x, 1, inner, tokens, count);
    ggml_tensor* y = scanned(n, layer, scan_of, dt, a, b, c_);
    y = ggml_view_3d(c, y, inner, tokens, count, bytes(inner), bytes(inner * tokens), 0);
    y = ggml_add(c, y, ggml_mul(c, x, n.of().numbers(layer + "ssm_d", {inner}, 1, 0.5f)));
    y = ggml_swiglu_split(c, ggml_cont(c, half(inner)), y);
    return ggml_reshape_2d(c, n.matmul(layer + "ssm_out", y, hidden), hidden, n.token_count());
}

ggml_tensor* mamba2_layer(network& n, const std::string& layer, ggml_tensor* x, std::int64_t count,
                          const known_states& known = {}) {
    ggml_context* c = n.c();
    constexpr int ssm_heads = 8, groups = 2, head = inner / ssm_heads;
    constexpr int mixed = inner + 2 * groups * state_size;
    const std::int64_t tokens = n.tokens() / count;
    ggml_tensor* all = n.matmul(layer + "ssm_in", x, inner + mixed + ssm_heads);
    all = ggml_reshape_3d(c, all, all->ne[0], tokens, count);
    ggml_tensor* z = ggml_view_4d(c, all, head, ssm_heads, tokens, count, bytes(head), all->nb[1],
                                  all->nb[2], 0);
    ggml_tensor* dt = ggml_view_3d(c, all, ssm_heads, tokens, count, all->nb[1], all->nb[2],
                                   bytes(inner + mixed));
    ggml_tensor* m = convolved(
        n, layer, ggml_view_3d(c, all, mixed, tokens, count, all->nb[1], all->nb[2], bytes(inner)),
        kernel, known);
    m = ggml_silu(c, ggml_add(c, m, n.of().numbers(layer + "conv1d.bias", {mixed}, 0, 0.5f)));
    const auto part = [&](std::int64_t size, std::int64_t number, std::int64_t first) {
        return ggml_view_4d(c, m, size, number, tokens, count, bytes(size), m->nb[1], m->nb[2],
                            bytes(first));
    };
    dt = ggml_add(c, ggml_cont(c, dt), n.of().numbers(layer + "ssm_dt", {ssm_heads}, 0, 1));
    x = part(head, ssm_heads, 0);
    ggml_tensor* a = n.of().numbers(layer + "ssm_a", {1, ssm_heads}, -1, 0.5f);
    ggml_tensor* y = scanned(n, layer, x, dt, a, part(state_size, groups, inner),
                             part(state_size, groups, inner + groups * state_size), known);
    y = ggml_view_4d(c, y, head, ssm_heads, tokens, count, bytes(head), bytes(inner),
                     bytes(inner * tokens), 0);
    ggml_tensor* d = n.of().numbers(layer + "ssm_d", {1, ssm_heads}, 1, 0.5f);
    y = ggml_add(c, y, ggml_mul(c, x, d));
    y = ggml_swiglu_split(c, ggml_cont(c, z), y);
    y = ggml_reshape_4d(c, y, inner / groups, groups, tokens, count);
    y = ggml_mul(c, ggml_rms_norm(c, y, 1e-6f),
                 n.of().numbers(layer + "ssm_norm", {inner / groups, groups}, 1, 0.5f));
    y = ggml_reshape_2d(c, y, inner, n.token_count());
    return n.matmul(layer + "ssm_out", y, hidden);
}

/// How the heads of linear attention are made: how many share a key, what their decay is, and
/// whether their state is a known one, as that of the convolution.
enum class decay_form : std::uint8_t { negated, times_factor, by_value };
struct delta_heads {
    int size = 64, of_keys = 2, of_values = 4;
    decay_form decays = decay_form::negated;
    bool known_state = false;
    bool moved = false;  ///< neighboring heads share a key; what makes decays and shares lies two
                         ///< heads abreast, in one matrix's results
};

/// Every other two results of a matrix for each token, from the first or the third on.
ggml_tensor* two_abreast(network& n, const std::string& layer, ggml_tensor* x, std::int64_t count,
                         const delta_heads& h, std::int64_t first) {
    ggml_context* c = n.c();
    ggml_tensor* both = ggml_reshape_4d(c, n.matmul(layer + "ba", x, 2 * h.of_values), 4,
                                        h.of_values / 2, n.tokens() / count, count);
    return ggml_view_4d(c, both, 2, both->ne[1], both->ne[2], count, both->nb[1], both->nb[2],
                        both->nb[3], bytes(first));
}

/// Heads, each as often as neighboring heads of values share it.
ggml_tensor* for_neighbors(ggml_context* c, ggml_tensor* heads, const delta_heads& h) {
    const std::int64_t all = heads->ne[2] * heads->ne[3], times = h.of_values / h.of_keys;
    ggml_tensor* t = ggml_reshape_4d(c, heads, h.size, 1, h.of_keys, all);
    t = ggml_repeat_4d(c, t, h.size, times, h.of_keys, all);
    return ggml_reshape_4d(c, t, h.size, h.of_values, heads->ne[2], heads->ne[3]);
}

/// The logarithms of what tokens leave of a state: a number of each head, as in Qwen3-Next, or of
/// each value of a key, as in Kimi Linear.
ggml_tensor* decay_of(network& n, const std::string& layer, ggml_tensor* x, std::int64_t count,
                      const delta_heads& h) {
    ggml_context* c = n.c();
    const std::int64_t tokens = n.tokens() / count;
    const std::int64_t width = h.decays == decay_form::by_value ? h.size : 1;
    const std::int64_t all = width * h.of_values;
    const auto numbers = [&](const char* name, std::vector<std::int64_t> shape, float mean) {
        return n.of().numbers(layer + name, std::move(shape), mean, 1);
    };
    ggml_tensor* v =
        h.moved ? ggml_cont_3d(c, two_abreast(n, layer, x, count, h, 2), all, tokens, count)
                : ggml_mul_mat(c, numbers("alpha", {hidden, all}, 0), x);
    if (h.decays == decay_form::negated)
        return ggml_reshape_4d(c, ggml_neg(c, ggml_softplus(c, v)), 1, h.of_values, tokens, count);
    v = ggml_softplus(c, ggml_add(c, v, numbers("dt", {all}, 0.5f)));
    if (h.decays == decay_form::by_value) {
        v = ggml_reshape_3d(c, v, width, h.of_values, n.token_count());
        v = ggml_mul(c, v, numbers("a", {1, h.of_values}, -0.5f));
    } else {
        v = ggml_mul(c, v, numbers("a", {h.of_values}, -0.5f));
    }
    return ggml_reshape_4d(c, v, width, h.of_values, tokens, count);
}

/// Linear attention of Qwen3-Next and Kimi Linear: Q, K and V are convolved together, Q and K are
/// normed, and a gated delta net keeps a matrix for each head of V.
ggml_tensor* delta_layer(network& n, const std::string& layer, ggml_tensor* x, std::int64_t count,
                         const known_states& known = {}, const delta_heads& h = {}) {
    ggml_context* c = n.c();
    const int size = h.size, of_values = h.of_values, keys = size * h.of_keys;
    const int mixed = 2 * keys + size * of_values;
    const std::int64_t tokens = n.tokens() / count;
    ggml_tensor* all = ggml_reshape_3d(c, n.matmul(layer + "qkv", x, mixed), mixed, tokens, count);
    all = ggml_silu(c, convolved(n, layer, all, kernel, known));
    const auto part = [&](int number, int first) {
        return ggml_view_4d(c, all, size, number, tokens, count, bytes(size), all->nb[1],
                            all->nb[2], bytes(first));
    };
    const auto normed = [&](int first) {
        return ggml_scale(c, ggml_rms_norm(c, part(h.of_keys, first), 1e-6f), 0.125f);
    };
    ggml_tensor *q = normed(0), *k = normed(keys);
    if (h.moved) q = for_neighbors(c, q, h), k = for_neighbors(c, k, h);
    ggml_tensor* decay = decay_of(n, layer, x, count, h);
    ggml_tensor* share =
        h.moved ? ggml_cont(c, two_abreast(n, layer, x, count, h, 0))
                : ggml_mul_mat(c, n.of().numbers(layer + "beta", {hidden, of_values}, 0, 1), x);
    ggml_tensor* beta = ggml_sigmoid(c, ggml_reshape_4d(c, share, 1, of_values, tokens, count));
    ggml_tensor* kept =
        n.cache(layer + "delta", GGML_TYPE_F32, std::int64_t{size} * size * of_values, states);
    ggml_tensor* old = old_states(n, kept, count, h.known_state ? known : known_states{});
    old = ggml_reshape_4d(c, old, size, size, of_values, count);
    ggml_tensor* y = ggml_gated_delta_net(c, q, k, part(of_values, 2 * keys), decay, beta, old, 1);
    const std::int64_t made = size * of_values * tokens * count;
    n.expand(ggml_cpy(c, ggml_view_1d(c, y, ggml_nelements(old), bytes(made)),
                      ggml_view_1d(c, kept, ggml_nelements(old), known.into * kept->nb[1])));
    y = ggml_view_4d(c, y, size, of_values, tokens, count, bytes(size), bytes(size * of_values),
                     bytes(size * of_values * tokens), 0);
    y = n.rms_norm(y, layer + "norm");
    ggml_tensor* z = ggml_reshape_4d(c, n.matmul(layer + "z", x, size * of_values), size, of_values,
                                     tokens, count);
    y = ggml_reshape_2d(c, ggml_mul(c, y, ggml_silu(c, z)), size * of_values, n.token_count());
    return n.matmul(layer + "ssm_out", y, hidden);
}

}  // namespace

void linear_attention(network& n) {
    const int count = n.tokens() <= 4 ? 1 : sequences(n);
    ggml_tensor* x = n.embeddings();
    for (int i = 0; i < 2; ++i) {
        const std::string layer = layer_name(i);
        x = ggml_add(n.c(), x, delta_layer(n, layer, n.rms_norm(x, layer + "attn_norm"), count));
        x = ggml_add(n.c(), x, n.swiglu(layer, n.rms_norm(x, layer + "ffn_norm")));
    }
    n.logits(x);
}

void convolutions_of_one_row(network& n) {
    ggml_tensor* x = n.embeddings();
    for (int i = 0; i < 2; ++i) {
        const std::string layer = layer_name(i);
        x = ggml_add(n.c(), x, layer_of_one_row(n, layer, n.rms_norm(x, layer + "attn_norm")));
        x = ggml_add(n.c(), x, n.swiglu(layer, n.rms_norm(x, layer + "ffn_norm")));
    }
    n.logits(x);
}

namespace {

/// Linear attention of up to four users, in two layers.
void attention_of_users(network& n, const delta_heads (&made)[2]) {
    // Each sequence reads the state that another one replaces; several read one state.
    const known_states known[] = {{"swapped", {1, 0, 3, 2}}, {"shared", {2, 2, 5, 0}}};
    const int count = n.tokens() % 4 == 0 ? 4 : 1;
    std::vector<known_states> kept;
    ggml_tensor* x = n.embeddings();
    for (int i = 0; i < 2; ++i) {
        const std::string layer = layer_name(i);
        known_states own = known[i];
        own.ids.resize(static_cast<std::size_t>(count));
        ggml_tensor* normed = n.rms_norm(x, layer + "attn_norm");
        x = ggml_add(n.c(), x, delta_layer(n, layer, normed, count, own, made[i]));
        x = ggml_add(n.c(), x, n.swiglu(layer, n.rms_norm(x, layer + "ffn_norm")));
        kept.push_back(own);
    }
    for (const known_states& k : kept) read_to_the_end(n, k, x);
    n.logits(x);
}

}  // namespace

void linear_attention_of_users(network& n) {
    attention_of_users(n, {{.of_keys = 2, .decays = decay_form::times_factor, .known_state = true},
                           {.of_keys = 4, .decays = decay_form::by_value, .known_state = true}});
}

void linear_attention_of_neighbors(network& n) {
    const delta_heads h = {
        .of_keys = 2, .decays = decay_form::times_factor, .known_state = true, .moved = true};
    attention_of_users(n, {h, h});
}

void linear_attention_of_one_user(network& n) {
    // The state that is read is another one than that which is replaced, or the same.
    const known_states known[] = {{"state", {3}}, {"state", {3}, 3}};
    const delta_heads made[] = {
        {.of_keys = 2, .decays = decay_form::times_factor, .known_state = true},
        {.of_keys = 4, .decays = decay_form::by_value, .known_state = true}};
    ggml_tensor* x = n.embeddings();
    for (int i = 0; i < 2; ++i) {
        const std::string layer = layer_name(i);
        ggml_tensor* normed = n.rms_norm(x, layer + "attn_norm");
        x = ggml_add(n.c(), x, delta_layer(n, layer, normed, 1, known[i], made[i]));
        x = ggml_add(n.c(), x, n.swiglu(layer, n.rms_norm(x, layer + "ffn_norm")));
    }
    read_to_the_end(n, known[0], x);
    n.logits(x);
}

void mamba(network& n) {
    ggml_tensor* x = n.embeddings();
    for (int i = 0; i < 2; ++i) {
        const std::string layer = layer_name(i);
        ggml_tensor* y = mamba_layer(n, layer, n.rms_norm(x, layer + "attn_norm"), i == 1);
        x = ggml_add(n.c(), y, x);
    }
    n.logits(x);
}

void mamba2_of_users(network& n) {
    // Each sequence reads the state that another one replaces; several read one state.
    const known_states known[] = {{"swapped", {1, 0, 3, 2}}, {"shared", {2, 2, 5, 0}, 1}};
    const int count = n.tokens() % 4 == 0 ? 4 : n.tokens() % 3 == 0 ? 3 : 1;
    std::vector<known_states> kept;
    ggml_tensor* x = n.embeddings();
    for (int i = 0; i < 2; ++i) {
        const std::string layer = layer_name(i);
        known_states own = known[i];
        own.ids.resize(static_cast<std::size_t>(count));
        ggml_tensor* normed = n.rms_norm(x, layer + "attn_norm");
        x = ggml_add(n.c(), x, mamba2_layer(n, layer, normed, count, own));
        x = ggml_add(n.c(), x, n.swiglu(layer, n.rms_norm(x, layer + "ffn_norm")));
        kept.push_back(own);
    }
    for (const known_states& k : kept) read_to_the_end(n, k, x);
    n.logits(x);
}

void mamba_hybrid(network& n) {
    const routing how = {.soft_max_last = true};
    ggml_tensor* x = ggml_scale(n.c(), n.embeddings(), 12);
    for (int i = 0; i < 2; ++i) {
        const std::string layer = layer_name(i);
        ggml_tensor* normed = n.rms_norm(x, layer + "attn_norm");
        ggml_tensor* y =
            i == 0 ? mamba2_layer(n, layer, normed, sequences(n)) : n.attention(layer, normed);
        x = ggml_add(n.c(), ggml_scale(n.c(), y, 0.22f), x);
        normed = n.rms_norm(x, layer + "ffn_norm");
        y = ggml_add(n.c(), mixture(n, layer, normed, how), shared_expert(n, layer, normed));
        x = ggml_add(n.c(), ggml_scale(n.c(), y, 0.22f), x);
    }
    ggml_tensor* made = n.matmul("output", n.rms_norm(x, "output_norm"), 96);
    n.output(ggml_scale(n.c(), made, 0.125f));
}

void short_convolutions(network& n) {
    ggml_context* c = n.c();
    ggml_tensor* x = n.embeddings();
    for (int i = 0; i < 2; ++i) {
        const std::string layer = layer_name(i);
        ggml_tensor* normed = n.rms_norm(x, layer + "attn_norm");
        if (i == 0) {
            ggml_tensor* all = n.matmul(layer + "in_proj", normed, 3 * hidden);
            const std::int64_t count = sequences(n), tokens = n.tokens() / count;
            all = ggml_reshape_3d(c, all, 3 * hidden, tokens, count);
            const auto third = [&](int which) {
                return ggml_view_3d(c, all, hidden, tokens, count, all->nb[1], all->nb[2],
                                    bytes(hidden * which));
            };
            ggml_tensor* y = convolved(n, layer, ggml_mul(c, third(0), third(2)), 3);
            y = n.matmul(layer + "out_proj", ggml_mul(c, third(1), y), hidden);
            x = ggml_add(c, x, ggml_reshape_2d(c, y, hidden, n.token_count()));
        } else {
            x = ggml_add(c, x, n.attention(layer, normed));
        }
        x = ggml_add(c, x, n.swiglu(layer, n.rms_norm(x, layer + "ffn_norm")));
    }
    n.logits(x);
}

}  // namespace catena_test
