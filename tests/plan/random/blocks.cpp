// Pieces of models that are built otherwise than in a row of attention and feed-forward.
#include "growth.hpp"

#include <algorithm>

namespace catena_test {

using catena::sub_op;

/// Attention and feed-forward side by side, of one norm or of two norms of one value.
void growth::parallel() {
    const id x = recent();
    const id first = normed(x);
    const id second = one_in(2) ? first : normed(x);
    const id q = after_matmul(matmul(first, k_), first);
    const id mixed = mix({q, matmul(first, 32)}, {k_, columns_});
    const id inner = glu(second, any<std::int64_t>({64, 96, 256}));
    keep(binary(op::add, matmul(mixed, k_), matmul(inner, k_)));
}

/// A norm of what a matrix made, and a residual joined, which matrices read: of few columns one
/// launch may begin it and the next one end it. In every second graph something is in the way.
void growth::norm_of_product() {
    const format type = palette_.back();
    const id x = one_in(2) ? normed(recent()) : recent();
    id y = product(weight_of(type, {k_, k_}), named(x));
    if (!one_in(4)) y = binary(op::add, y, recent());
    if (!one_in(3)) hidden_.push_back(y);
    const id norm = g_.rms_norm(y, epsilon());
    const int trap = below(16);
    id w = leaf(format::f32, {k_}, true);
    if (trap == 0) w = mix({w}, {k_});  // no leaf
    const id value = binary(op::mul, norm, w);
    for (int i = 1 + below(3); i > 0; --i)
        keep(after_matmul(product(weight_of(type, {k_, k_}), named(value)), value));
    switch (trap) {
        case 1:  // somebody else reads it
            keep(mix({value, recent()}, {k_, columns_}));
            break;
        case 2:  // or the norm without its weight
            keep(mix({norm, recent()}, {k_, columns_}));
            break;
        case 3:  // a second norm
            keep(matmul(normed(y), k_));
            break;
        case 4:  // rows of another length
            strays_.push_back(matmul(g_.reshape(value, {k_ / 2, 2 * columns_}), 32));
            break;
        case 5:  // a matrix that no table serves with q8_1, or none serves
            keep(g_.mul_mat(leaf(one_in(2) ? format::f32 : format::f16, {k_, k_}), value));
            break;
        case 6: {  // a weight that the engine makes
            const id made = g_.node(op::cont, type, {k_, 32}, {leaf(type, {k_, 32})});
            strays_.push_back(product(made, value));
            break;
        }
        case 7: {  // experts
            const id ids = input(format::i32, {2, columns_}, 4);
            const id slots = g_.reshape(value, {k_, 1, columns_});
            strays_.push_back(product(weight_of(type, {k_, 32, 4}), slots, ids));
            break;
        }
        default:
            break;
    }
}

/// A value of low rank: a matmul down, a norm of its result or of a part of that, a matmul up.
void growth::latent() {
    const id x = normed(recent());
    const std::int64_t rank = any<std::int64_t>({32, 64, 256}), beside = 32;
    const id q = matmul(normed(matmul(x, rank)), k_);
    const id both = matmul(x, rank + beside);
    const std::int64_t row = (rank + beside) * 4;
    const id turned = strided(both, {beside, columns_}, row, rank * 4);
    const id v = matmul(normed(strided(both, {rank, columns_}, row, 0)), k_);
    keep(mix({one_in(2) ? by_heads(q) : q, v, turned}, {k_, columns_}));
    if (rank == 64) keep(mix({joined_heads(both, rank), recent()}, {k_, columns_}));
}

/// Heads of which each has a copied part, and a row of a cache with a normed part and another one,
/// in any order.
id growth::joined_heads(id both, std::int64_t rank) {
    const auto join = [this](id a, id b) {
        if (one_in(3)) std::swap(a, b);
        const id t =
            g_.node(op::concat, format::f32, {ne(a, 0) + ne(b, 0), ne(a, 1), ne(a, 2)}, {a, b});
        if (one_in(8)) strays_.push_back(a);
        return t;
    };
    const std::int64_t beside = ne(both, 0) - rank;
    const id q = heads_of(recent());
    const id copied = mix({recent()}, {32, ne(q, 1), columns_});
    const id all = join(one_in(2) ? q : scale(g_.rms_norm(q)), copied);
    const id row = maybe_normed(strided(both, {rank, columns_}, g_[both].nb[1], 0));
    const id rest = g_.view(both, {beside, 1, columns_}, rank * 4);
    g_[rest].nb[1] = g_[rest].nb[2] = g_[both].nb[1];
    const id cached =
        join(g_.reshape(one_in(8) ? row : scale(g_.rms_norm(row)), {rank, 1, columns_}), rest);
    if (one_in(4)) strays_.push_back(cached);
    return mix({all, stored(g_.view(cached, {rank + beside, columns_}), rank + beside)},
               {k_, columns_});
}

/// A part of each head times a matrix of the head's own, in one or several streams, and all heads
/// times one behind that.
id growth::by_heads(id x) {
    const std::int64_t part = 32, heads = k_ / any<std::int64_t>({32, 64}), rows = 64;
    const std::int64_t streams =
                           columns_ % 2 == 0 && one_in(2) ? any<std::int64_t>({2, columns_}) : 1,
                       tokens = columns_ / streams;
    const id parts = g_.view(x, {part, tokens, heads, streams});
    g_[parts].kind = op::permute;
    g_[parts].nb[1] = k_ * 4;
    g_[parts].nb[2] = k_ / heads * 4;
    g_[parts].nb[3] = k_ * tokens * 4;
    const id from = one_in(3) ? mix({parts}, {part, tokens, heads, streams}) : parts;
    const id y = after_matmul(product(weight(part, rows, heads), from), from);
    const id turned = g_.view(y, {rows, heads, tokens, streams});
    g_[turned].kind = op::permute;
    g_[turned].nb[1] = rows * tokens * 4;
    g_[turned].nb[2] = rows * 4;
    return matmul(g_.node(op::cont, format::f32, {rows * heads, columns_}, {turned}), k_);
}

/// The columns in other dimensions than the second.
void growth::batches() {
    const id x = one_in(2) ? normed(recent()) : recent();
    const id deep =
        one_in(2) ? g_.reshape(x, {k_, 1, columns_}) : g_.reshape(x, {k_, 1, 1, columns_});
    for (int i = below(3); i >= 0; --i) strays_.push_back(product(weight(k_, 32), deep));
    if (one_in(2)) keep(g_.reshape(product(weight(k_, k_), deep), {k_, columns_}));
    if (one_in(2)) keep(matmul(x, k_));
    if (one_in(2)) strays_.push_back(matmul(normed(deep), 32));
}

/// A head of each column of y, mostly normed.
id growth::normed_head(id y, std::int64_t size, std::int64_t first) {
    const id head = g_.view(y, {size, 1, columns_}, 4 * first);
    g_[head].nb[2] = g_[head].nb[3] = g_[y].nb[1];
    if (one_in(6)) return head;
    const id norm = g_.rms_norm(head);
    return one_in(3) ? norm : scale(norm);
}

/// What keeps states of its sequences.
void growth::of_states() {
    switch (below(3)) {
        case 0:
            return linear_attention();
        case 1:
            return recalled_heads();
        default:
            return scanned_heads();
    }
}

/// A convolution with the state of its sequence, one of several, and norms of its heads.
void growth::linear_attention() {
    const std::int64_t before = 2 + below(2), bytes = 4 * before * k_;
    const id states = input(format::f32, {before * k_, 4});
    to_.cache_.resize(g_.tensors.size(), false);
    to_.cache_[static_cast<std::size_t>(states)] = true;
    const id number = input(format::i32, {1}, 4);
    const id picked = g_.node(op::get_rows, format::f32, {before * k_, 1}, {states, number});
    const id x = one_in(2) ? matmul(normed(recent()), k_) : recent();
    const id turned = permuted(one_in(8) ? mix({x}, {k_, columns_}) : x);
    if (one_in(2)) g_[turned].kind = op::transpose;
    const id joined = g_.node(op::concat, format::f32, {before + columns_, k_},
                              {g_.reshape(picked, {before, k_}), turned});
    if (!one_in(6)) {  // the last values are the sequence's state from now on
        const id last = strided(joined, {before, k_}, g_[joined].nb[1], 4 * columns_);
        const id part = g_.view(states, {before * k_}, bytes * below(4));
        write(g_.node(op::cpy, format::f32, {before * k_}, {last, part}), states, part);
    }
    id y = g_.node(op::ssm_conv, format::f32, {k_, columns_},
                   {joined, leaf(format::f32, {before + 1, k_})});
    if (one_in(4)) y = binary(op::add, y, leaf(format::f32, {k_}));
    if (!one_in(6)) y = unary(one_in(8) ? gating() : sub_op::silu, y);
    const std::int64_t size = any<std::int64_t>({16, 32, 20});
    const id q = normed_head(y, size, 0), k = normed_head(y, size, size);
    keep(one_in(6) ? y : mix({q, k, y}, {k_, columns_}));
    if (one_in(8)) strays_.push_back(one_in(2) ? picked : joined);
}

/// The gated delta rule of one to three sequences, each with a state that is one of several, and a
/// decay. A state of invented numbers grows with each token: of many it would be infinite.
void growth::recalled_heads() {
    if (columns_ > 16) return linear_attention();
    const std::int64_t sequences = some_sequences(), tokens = columns_ / sequences;
    const std::int64_t size = 16, heads = any<std::int64_t>({2, 4}), row = size * size * heads;
    const std::int64_t key_heads = any<std::int64_t>({1, 2});
    const id states = input(format::f32, {row, 4});
    to_.cache_.resize(g_.tensors.size(), false);
    to_.cache_[static_cast<std::size_t>(states)] = true;
    const id numbers = input(format::i32, {sequences}, 4);
    const id picked = g_.node(op::get_rows, format::f32, {row, sequences}, {states, numbers});
    const id from = recent();
    const auto made = [&](std::int64_t width, std::int64_t count) {
        return mix({from}, {width, count, tokens, sequences});
    };
    const id all = mix({from}, {(2 * key_heads + heads) * size, columns_});
    const auto part = [&](std::int64_t first, std::int64_t count) {
        return one_in(3) ? made(size, count)
                         : of_tokens(all, size * first, {size, count, tokens, sequences});
    };
    const bool repeats = one_in(2);
    const auto of_keys = [&](std::int64_t first) {
        return repeats ? repeated(made(size, key_heads), heads) : part(first, key_heads);
    };
    const id q = of_keys(0), k = of_keys(key_heads), v = part(2 * key_heads, heads);
    const std::int64_t width = one_in(4) ? size : 1;
    const id decay =
        decay_of_heads(width == 1 && one_in(2) ? copied_numbers(from, heads, sequences)
                                               : mix({from}, {width * heads, columns_}));
    const id beta = one_in(2) ? made(1, heads) : share_of_heads(from, heads, sequences);
    const id rule =
        g_.node(op::gated_delta_net, format::f32, {size * heads, columns_ + size * sequences},
                {q, k, v, g_.reshape(decay, {width, heads, tokens, sequences}), beta,
                 g_.reshape(picked, {size, size, heads, sequences})});
    g_[rule].params[0] = 1;
    if (!one_in(6)) {  // the sequences' states from now on
        const std::int64_t first = below(static_cast<int>(5 - sequences));
        const id next = g_.view(rule, {row * sequences}, 4 * size * heads * columns_);
        const id to = g_.view(states, {row * sequences}, 4 * row * first);
        write(g_.node(op::cpy, format::f32, {row * sequences}, {next, to}), states, to);
    }
    const id shown = one_in(8) ? rule : g_.view(rule, {size, heads, tokens, sequences}, 0);
    keep(mix({shown}, {k_, columns_}));
    if (one_in(8)) strays_.push_back(picked);
}

/// Heads of keys, each as often as neighboring heads of values share it.
id growth::repeated(id keys, std::int64_t heads) {
    const std::int64_t size = g_[keys].ne[0], count = g_[keys].ne[1], tokens = g_[keys].ne[2],
                       sequences = g_[keys].ne[3];
    const id t = g_.node(op::repeat, format::f32, {size, heads / count, count, columns_},
                         {g_.reshape(keys, {size, 1, count, columns_})});
    if (one_in(12)) strays_.push_back(t);
    return g_.reshape(t, {size, heads, tokens, sequences});
}

/// Every other two of the numbers of each column, copied: a number of each head.
id growth::copied_numbers(id from, std::int64_t heads, std::int64_t sequences) {
    const std::int64_t tokens = columns_ / sequences;
    const id both = mix({from}, {2 * heads, columns_});
    const id t = of_tokens(both, one_in(2) ? 2 : 0, {2, heads / 2, tokens, sequences});
    g_[t].nb[1] = 16;
    return g_.node(op::cont, format::f32, {heads, columns_}, {t});
}

/// The decay that numbers of each head, or of each value of a key, make, with a bias or without.
id growth::decay_of_heads(id numbers) {
    const shape ne = {g_[numbers].ne[0]};
    if (one_in(2)) numbers = binary(op::add, numbers, leaf(format::f32, ne));
    if (one_in(4)) return numbers;
    const id soft = unary(one_in(8) ? gating() : sub_op::softplus, numbers);
    const id decay = binary(op::mul, soft, leaf(format::f32, ne, true));
    if (one_in(8)) strays_.push_back(one_in(2) ? soft : decay);
    return decay;
}

/// Shares that are functions of copied numbers.
id growth::share_of_heads(id from, std::int64_t heads, std::int64_t sequences) {
    const id logits = copied_numbers(from, heads, sequences);
    const id share = unary(one_in(8) ? sub_op::silu : sub_op::sigmoid, logits);
    if (one_in(12)) strays_.push_back(share);
    return g_.reshape(share, {1, heads, columns_ / sequences, sequences});
}

/// One to three sequences that have equally many of the columns.
std::int64_t growth::some_sequences() {
    std::int64_t sequences = 1 + below(3);
    while (columns_ % sequences != 0) --sequences;
    return sequences;
}

/// A part of each column, from an element on: [.., tokens, sequences], tokens as they lie.
id growth::of_tokens(id all, std::int64_t first, shape ne) {
    const id t = g_.view(all, ne, 4 * first);
    const int last = static_cast<int>(ne.size()) - 1;
    g_[t].nb[last - 1] = g_[all].nb[1];
    for (int d = last; d < 4; ++d) g_[t].nb[d] = g_[t].nb[d - 1] * g_[t].ne[d - 1];
    return t;
}

/// A state space of one to three sequences, each with a state that is one of several. What a state
/// of invented numbers holds grows with each token: of many it would be infinite.
void growth::scanned_heads() {
    if (columns_ > 16) return linear_attention();
    const std::int64_t sequences = some_sequences(), tokens = columns_ / sequences;
    const std::int64_t size = any<std::int64_t>({16, 32, 10});
    const std::int64_t k = any<std::int64_t>({8, 16}), heads = any<std::int64_t>({2, 4}),
                       groups = any<std::int64_t>({1, 2});
    const std::int64_t inner = k * heads, row = size * inner, shared = size * groups;
    const id states = input(format::f32, {size, k, heads, 4});
    to_.cache_.resize(g_.tensors.size(), false);
    to_.cache_[static_cast<std::size_t>(states)] = true;
    const id numbers = input(format::i32, {sequences}, 4);
    const id from = recent();
    const id made = mix({from}, {inner + heads, columns_});
    const id convolved = mix({from}, {inner + 2 * shared, columns_});
    const auto part = [&](id all, std::int64_t first, std::int64_t width, std::int64_t count) {
        const shape ne = {width, count, tokens, sequences};
        return one_in(4) ? mix({from}, ne) : of_tokens(all, first, ne);
    };
    const id x = part(convolved, 0, k, heads), b = part(convolved, inner, size, groups),
             c = part(convolved, inner + shared, size, groups);
    id dt = of_tokens(made, inner, {heads, tokens, sequences});
    if (!one_in(4)) dt = g_.node(op::cont, format::f32, {heads, tokens, sequences}, {dt});
    if (one_in(8)) strays_.push_back(dt);
    if (!one_in(4)) dt = binary(op::add, dt, leaf(format::f32, {heads}));
    if (one_in(8)) strays_.push_back(dt);
    const id scan = g_.node(op::ssm_scan, format::f32, {inner * columns_ + row * sequences},
                            {states, x, dt, leaf(format::f32, {1, heads}), b, c, numbers});
    g_[scan].params[0] = 1;
    if (!one_in(6)) {  // the sequences' states from now on
        const std::int64_t first = below(static_cast<int>(5 - sequences));
        const id next = g_.view(scan, {row * sequences}, 4 * inner * columns_);
        const id to = g_.view(states, {row * sequences}, 4 * row * first);
        write(g_.node(op::cpy, format::f32, {row * sequences}, {next, to}), states, to);
    }
    id y = g_.view(scan, {k, heads, tokens, sequences}, 0);
    if (!one_in(4)) {
        const id share = binary(op::mul, x, leaf(format::f32, {1, heads}));
        if (one_in(8)) strays_.push_back(share);
        y = binary(op::add, y, share);
        if (one_in(8)) strays_.push_back(y);
    }
    if (!one_in(4)) {
        id z = part(made, 0, k, heads);
        if (!one_in(4)) z = g_.same_shape(op::cont, z, {z});
        y = binary(op::glu, z, y);
        g_[y].sub = one_in(8) ? sub_op::geglu : sub_op::swiglu;
    }
    keep(mix({one_in(12) ? scan : y}, {k_, columns_}));
}

/// Products that are no gates: with another value, with one row for all, of a norm of heads with a
/// row of weights for each head.
void growth::multiply(id x) {
    const std::int64_t half = k_ / 2;
    id y = catena::no_tensor;
    switch (below(4)) {
        case 0:
            y = binary(op::mul, x, recent());
            break;
        case 1:
            y = binary(op::mul, x, leaf(format::f32, {k_}, true));
            break;
        case 2: {
            const id norm = g_.rms_norm(g_.reshape(x, {half, 2, columns_}));
            y = g_.reshape(binary(op::mul, norm, leaf(format::f32, {half, 2}, true)),
                           {k_, columns_});
            break;
        }
        default:
            y = binary(op::mul, matmul(x, k_), matmul(x, k_));
    }
    keep(after_matmul(matmul(y, k_), y));
}

id growth::sorted(id x) {
    const id t = g_.node(op::argsort, format::i32, {ne(x, 0), ne(x, 1), ne(x, 2)}, {x});
    g_[t].params[0] = 1;
    return t;
}

/// The first numbers of each row.
id growth::first_of(id of, std::int64_t count) {
    const id t = g_.view(of, {count, ne(of, 1), ne(of, 2)});
    std::copy(g_[of].nb, g_[of].nb + 4, g_[t].nb);
    return t;
}

/// Minus infinity for the choice of all experts but those of the best group or two.
id growth::best_of_groups(id choice, std::int64_t groups) {
    const std::int64_t size = ne(choice, 0) / groups, kept = 1 + below(2);
    const id all = g_.reshape(choice, {size, groups, columns_});
    const id single = g_.reshape(all, {1, size, groups, columns_});
    id best = g_.node(op::get_rows, format::f32, {1, 2, groups, columns_},
                      {single, first_of(sorted(all), 2)});
    best = g_.node(op::sum_rows, format::f32, {1, groups, columns_},
                   {g_.reshape(best, {2, groups, columns_})});
    const id ids = first_of(sorted(g_.reshape(best, {groups, columns_})), kept);
    const id some = g_.node(op::get_rows, format::f32, {size, kept, columns_}, {all, ids});
    const id fill = g_.same_shape(op::fill, all, {all});
    g_[fill].params[0] = static_cast<std::int32_t>(0xff800000u);
    const id masked = write(g_.same_shape(op::set_rows, all, {some, ids, fill}), fill, fill);
    return g_.reshape(masked, {size * groups, columns_});
}

/// Weights of chosen scores, [1, used, columns].
id growth::weights_of(id chosen) {
    const std::int64_t used = ne(chosen, 1);
    id w = g_.reshape(chosen, {used, columns_});
    if (one_in(4)) {
        w = g_.same_shape(op::soft_max, w, {w});
        g_[w].params[0] = 0x3f800000;
    }
    if (one_in(2)) {
        id sum = g_.node(op::sum_rows, format::f32, {1, columns_}, {w});
        if (!one_in(4)) {
            sum = g_.same_shape(op::clamp, sum, {sum});
            g_[sum].params[0] = 0x38800000, g_[sum].params[1] = 0x7f800000;
        }
        w = g_.same_shape(op::div, w, {w, sum});
    }
    w = g_.reshape(w, {1, used, columns_});
    return one_in(3) ? scale(w) : w;
}

/// The experts of each token, and their weights.
std::pair<id, id> growth::routed(id odds, std::int64_t used) {
    const std::int64_t count = ne(odds, 0);
    id score = odds;
    if (one_in(3)) score = unary(sub_op::sigmoid, odds);
    if (score == odds && one_in(2)) {
        score = g_.same_shape(op::soft_max, odds, {odds});
        g_[score].params[0] = 0x3f800000;
    }
    if (score == odds && one_in(3))
        score = g_.same_shape(op::sqrt, odds, {unary(sub_op::softplus, odds)});
    const id single = g_.reshape(score, {1, count, columns_});
    id choice = one_in(3) ? binary(op::add, score, leaf(format::f32, {count})) : score;
    if (score != odds && one_in(6)) choice = one_in(2) ? odds : unary(sub_op::sigmoid, odds);
    if (one_in(16)) strays_.push_back(one_in(2) ? choice : score);
    if (count % 2 == 0 && one_in(3)) choice = best_of_groups(choice, 2);
    const id ids = first_of(sorted(choice), used);
    const id chosen = g_.node(op::get_rows, format::f32, {1, used, columns_}, {single, ids});
    return {ids, one_in(5) ? chosen : weights_of(chosen)};
}

/// What every token takes beside its experts, by a share of its own or whole.
id growth::shared_expert(id x) {
    const id inner = glu(x, any<std::int64_t>({64, 96}));
    const id y = after_matmul(matmul(inner, k_), inner);
    if (one_in(2)) return y;
    return binary(op::mul, y, unary(sub_op::sigmoid, matmul(x, 1)));
}

}  // namespace catena_test
