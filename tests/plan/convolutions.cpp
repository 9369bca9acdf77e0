// Convolutions of linear attention: when they are one launch with their state and the norms of
// heads, when they are not, and why.
#include "cases.hpp"
#include "faults.hpp"
#include "random/tables.hpp"

#include "catena/match/detail/convolution_finder.hpp"
#include "catena/plan/optimize.hpp"
#include "catena/plan/verify.hpp"

#include <cstring>
#include <functional>
#include <iterator>
#include <string>
#include <utility>

using namespace catena;
using namespace catena_test;

namespace {

struct delta_shape {
    std::int64_t tokens = 1, sequences = 1, size = 128, of_keys = 2, of_values = 4, length = 4,
                 states = 4, kept = 1;
    format ids = format::i32;
    bool norms = true, scales = true, acts = true, biased = false, picks = true, keeps = true,
         reads_v = true;
    std::int64_t beside = 0;   ///< other numbers behind each state, as those of another convolution
    std::int64_t between = 0;  ///< other tokens behind those of each sequence
    bool copies = false;       ///< a state is copied to another place before the tokens come
    bool flat = false;         ///< the function names all tokens as those of one sequence
};

/// What stands between the matrix of Q, K and V and a gated delta net.
struct delta_case {
    delta_shape is;
    graph_builder g;
    id states, numbers, taps, x, state, joined, made, value, keep = no_tensor, picked = no_tensor;
    id q, k, net;

    explicit delta_case(const delta_shape& s = {}) : is(s) {
        const std::int64_t before = is.length - 1, all = channels(), row = before * all + is.beside;
        states = g.input(format::f32, {row, is.states});
        numbers = g.input(is.ids, {is.sequences});
        taps = g.weight(format::f32, {is.length, all});
        if (is.picks)
            state = picked =
                g.node(op::get_rows, format::f32, {row, is.sequences}, {states, numbers});
        else
            state = g.input(format::f32, {row, is.sequences});
        if (is.copies) copied();
        x = g.other({g.input(format::f32, {all, is.tokens + is.between, is.sequences})});
        if (is.between > 0) {
            const id whole = std::exchange(x, g.view(x, {all, is.tokens, is.sequences}, 0));
            g[x].nb[2] = g[whole].nb[2], g[x].nb[3] = g[whole].nb[3];
        }
        joined = g.node(op::concat, format::f32, {before + is.tokens, all, is.sequences},
                        {columns_of(state), transposed(x)});
        if (is.keeps) keep = kept();
        made = g.node(op::ssm_conv, format::f32, {all, is.tokens, is.sequences}, {joined, taps});
        value = made;
        if (is.biased) value = g.add(value, g.weight(format::f32, {all}));
        if (is.flat) value = g.reshape(value, {all, is.tokens * is.sequences});
        if (is.acts) value = g.unary(value, sub_op::silu);
        if (is.flat) value = g.reshape(value, {all, is.tokens, is.sequences});
        const std::int64_t keys = is.size * is.of_keys;
        q = normed(part(is.of_keys, 0)), k = normed(part(is.of_keys, keys));
        net = is.reads_v ? g.other({q, k, part(is.of_values, 2 * keys)}) : g.other({q, k});
    }

    std::int64_t channels() const { return is.size * (2 * is.of_keys + is.of_values); }

    id transposed(id t) {
        const id out =
            g.node(op::transpose, format::f32, {is.tokens, channels(), is.sequences}, {t});
        g.rename(out, t);
        g[out].nb[0] = g[t].nb[1], g[out].nb[1] = 4, g[out].nb[2] = g[t].nb[2];
        return out;
    }
    void copied() {
        const id one = g.node(op::get_rows, format::f32, {g[states].ne[0], 1},
                              {states, g.input(format::i32, {1})});
        const id to = g.view(states, {g[states].ne[0], 1}, g[states].nb[1] * (is.states - 1));
        const id t = g.node(op::cpy, format::f32, {g[to].ne[0], 1}, {one, to});
        g.rename(t, states);
        g.share(t, to);
    }
    /// The states of the channels, in rows that may have more behind them.
    id columns_of(id rows) {
        const std::int64_t before = is.length - 1;
        if (is.beside == 0) return g.reshape(rows, {before, channels(), is.sequences});
        const id t = g.view(rows, {before, channels(), is.sequences}, 0);
        g[t].nb[2] = g[rows].nb[1], g[t].nb[3] = is.sequences * g[t].nb[2];
        return t;
    }
    id kept() {
        const std::int64_t before = is.length - 1, all = before * channels();
        const id last = g.view(joined, {before, channels(), is.sequences}, 4 * is.tokens);
        for (int d = 1; d < 4; ++d) g[last].nb[d] = g[joined].nb[d];
        const std::int64_t first = g[states].nb[1] * is.kept;
        const id to = is.beside == 0 ? g.view(states, {all * is.sequences}, first)
                                     : g.view(states, {before, channels(), is.sequences}, first);
        if (is.beside > 0) g[to].nb[2] = g[states].nb[1], g[to].nb[3] = is.sequences * g[to].nb[2];
        const id t = g.node(op::cpy, format::f32, {}, {last, to});
        for (int d = 0; d < 4; ++d) g[t].ne[d] = g[to].ne[d], g[t].nb[d] = g[to].nb[d];
        g.rename(t, states);
        g.share(t, to);
        return t;
    }
    id part(std::int64_t heads, std::int64_t first) {
        const id t = g.view(value, {is.size, heads, is.tokens, is.sequences}, 4 * first);
        g[t].nb[1] = 4 * is.size, g[t].nb[2] = g[value].nb[1], g[t].nb[3] = g[value].nb[2];
        return t;
    }
    id normed(id heads) {
        if (!is.norms) return heads;
        const id norm = g.rms_norm(heads);
        return is.scales ? g.scale(norm, 0.125f) : norm;
    }

    plan planned() { return proved_plan(g, shipped_table()); }
    /// Does the first step cover these nodes?
    bool covers(const plan& p, std::initializer_list<id> of) {
        return std::all_of(of.begin(), of.end(),
                           [&](id t) { return p.at(g.position(t)).step == 0; });
    }
    /// Nothing is planned at the convolution; why?
    reason left() {
        const plan p = planned();
        CHECK(p.at(g.position(made)).step < 0);
        return left_why(p, g.position(made));
    }
};

heads_args heads_of(const plan& p) { return p.args(0, nullptr).heads; }

}  // namespace

TEST_CASE("a convolution with its state and the norms of its heads is one launch",
          "[plan][convolutions]") {
    for (const std::int64_t tokens : {1, 4}) {
        delta_case c({.tokens = tokens});
        const plan p = c.planned();
        REQUIRE(p.steps().size() == 1);
        CHECK(p.steps()[0].node_count == 9);
        CHECK(c.covers(p, {c.picked, c.joined, c.keep, c.made, c.value, c.q, c.k}));
        CHECK(p.left().size() == 0);
        const heads_args a = heads_of(p);
        REQUIRE(a.members == 3);
        CHECK(a.tokens == tokens);
        CHECK(a.rows == 2 + 2 + 4);
        CHECK(a.convolved.x == c.g[c.x].data);
        CHECK(a.convolved.state == c.g[c.states].data);
        CHECK(a.convolved.states == 4);
        CHECK(a.convolved.next_state == c.g[c.keep].data);
        CHECK(a.convolved.f32 == c.g[c.value].data);  // V reads it
        CHECK(a.member[1].first_channel == 2 * 128);
        CHECK(a.member[1].normed);
        CHECK(a.member[1].scale == 0.125f);
        CHECK_FALSE(a.member[2].normed);
        CHECK(a.member[2].f32 == nullptr);
    }
}

TEST_CASE("a convolution of several sequences is one launch", "[plan][convolutions]") {
    for (const std::int64_t sequences : {2, 3, 4, 8}) {
        delta_case c({.tokens = 8 / sequences, .sequences = sequences, .states = 10});
        const plan p = c.planned();
        REQUIRE(p.steps().size() == 1);
        CHECK(p.steps()[0].node_count == 9);
        CHECK(c.covers(p, {c.picked, c.joined, c.keep, c.made, c.value, c.q, c.k}));
        const heads_args a = heads_of(p);
        CHECK(a.convolved.sequences == sequences);
        CHECK(a.convolved.states == 10);
        CHECK(a.convolved.state_ids == c.g[c.numbers].data);
        CHECK(a.convolved.state_nb == 4 * 3 * c.channels());
        CHECK(a.convolved.next_state_nb == 4 * 3 * c.channels());
        CHECK(a.tokens == sequences * (8 / sequences));
        CHECK(a.rows == sequences * (2 + 2 + 4));
        CHECK(a.member[1].first_row == sequences * 2);
        CHECK(a.member[0].f32_nb2 == 4 * 128 * 2);
        // A block has whole heads: four warps are two of two sequences, and one of three.
        CHECK(p.steps()[0].config.blocks == (sequences == 2 ? 4 : 8));
        CHECK(p.steps()[0].config.threads == (sequences == 8 ? 256 : 128));
    }
}

TEST_CASE("sequences may keep their states in any rows, whole ones", "[plan][convolutions]") {
    for (const std::int64_t kept : {0, 1, 2}) {
        delta_case c({.sequences = 4, .states = 6, .kept = kept});
        CHECK(c.covers(c.planned(), {c.picked, c.keep}));
    }
    delta_case without({.sequences = 4, .states = 6, .picks = false});
    const plan p = without.planned();
    CHECK(heads_of(p).convolved.state_ids == nullptr);
    CHECK(heads_of(p).convolved.states == 4);
    delta_case half({.sequences = 2, .states = 6});
    half.g.share(half.keep, half.states, 4 * 3 * 64);
    half.g.share(half.g[half.keep].src[1], half.states, 4 * 3 * 64);
    CHECK(half.left() == reason::overlap);
}

TEST_CASE("the proof finds faults of launches that convolve several sequences",
          "[plan][convolutions]") {
    delta_case c({.tokens = 2, .sequences = 2});
    const plan made = c.planned();
    REQUIRE(made.steps().size() == 1);
    const auto one_sequence = [](plan_faults& p) {  // with the tokens of both
        heads_args& a = p.heads(0);
        a.convolved.sequences = 1;
        a.rows /= 2, p.at(0).config.blocks /= 2;
        for (head_member& m : a.member) m.first_row /= 2;
    };
    const auto in = [](auto f) { return [f](plan_faults& p) { f(p.heads(0).convolved); }; };
    const std::function<void(plan_faults&)> all[] = {
        one_sequence,
        in([](convolution_args& a) { a.state_nb += 64; }),
        in([](convolution_args& a) { a.state_nb -= 64; }),
        in([](convolution_args& a) { a.next_state_nb += 64; }),
        in([](convolution_args& a) { a.state_ids += 1; }),
        in([](convolution_args& a) { a.state_ids = nullptr; }),
        in([](convolution_args& a) { a.states -= 1; }),
        in([](convolution_args& a) { a.state = a.next_state; }),
        in([](convolution_args& a) { a.x_nb *= 2; })};
    for (std::size_t i = 0; i < std::size(all); ++i) {
        CAPTURE(i);
        plan broken = made;
        plan_faults inside{broken};
        all[i](inside);
        CHECK_FALSE(verify(c.g.view(), broken).state.ok());
    }
}

TEST_CASE("states may stand in rows with others", "[plan][convolutions]") {
    delta_case c({.sequences = 2, .beside = 4096});
    const plan p = c.planned();
    REQUIRE(c.covers(p, {c.joined, c.keep, c.made, c.value, c.q, c.k}));
    CHECK(p.at(c.g.position(c.picked)).step < 0);
    const heads_args a = heads_of(p);
    CHECK(a.convolved.state == c.g[c.picked].data);
    CHECK(a.convolved.state_nb == 4 * (3 * c.channels() + 4096));
    CHECK(a.convolved.next_state == c.g[c.keep].data);
    CHECK(a.convolved.next_state_nb == 4 * (3 * c.channels() + 4096));
    delta_case narrow({.sequences = 2, .beside = 4096});  // states that lie over each other
    narrow.g[narrow.g[narrow.joined].src[0]].nb[2] = 4 * 3 * 64;
    CHECK(narrow.left() == reason::convolution_state);
}

TEST_CASE("a function may name all tokens as those of one sequence", "[plan][convolutions]") {
    delta_case c({.tokens = 2, .sequences = 2, .flat = true});
    const plan p = c.planned();
    CHECK(c.covers(p, {c.joined, c.made, c.q, c.k}));
    CHECK(heads_of(p).convolved.function == gate_function::silu);
}

TEST_CASE("a convolution is a launch without what it need not have", "[plan][convolutions]") {
    delta_case bare({.norms = false, .acts = false, .keeps = false});
    plan p = bare.planned();
    CHECK(bare.covers(p, {bare.picked, bare.joined, bare.made}));
    CHECK(heads_of(p).members == 1);
    CHECK(heads_of(p).convolved.next_state == nullptr);
    CHECK(heads_of(p).convolved.function == gate_function::none);
    delta_case biased({.biased = true});
    p = biased.planned();
    CHECK(biased.covers(p, {biased.made, biased.value, biased.q}));
    CHECK(heads_of(p).convolved.bias != nullptr);
    delta_case unscaled({.scales = false});
    p = unscaled.planned();
    CHECK(heads_of(p).member[0].scale == 1);
    delta_case unpicked({.picks = false});
    p = unpicked.planned();
    CHECK(heads_of(p).convolved.state_ids == nullptr);
    delta_case three_taps({.length = 3});
    p = three_taps.planned();
    CHECK(heads_of(p).convolved.length == 3);
    delta_case odd({.size = 37});
    p = odd.planned();
    CHECK(odd.covers(p, {odd.made, odd.q, odd.k}));
}

TEST_CASE("what nobody but norms reads is not written", "[plan][convolutions]") {
    delta_case c({.reads_v = false});
    const plan p = c.planned();
    CHECK(heads_of(p).convolved.f32 == nullptr);
    CHECK(p.at(c.g.position(c.value)).elided);
}

TEST_CASE("a picked state that others read is read where it was gathered", "[plan][convolutions]") {
    delta_case c;
    c.g.other({c.picked});
    const plan p = c.planned();
    CHECK(p.at(c.g.position(c.picked)).step < 0);
    CHECK(heads_of(p).convolved.state == c.g[c.picked].data);
    CHECK(heads_of(p).convolved.state_ids == nullptr);
}

TEST_CASE("a picked state is read where it was gathered if a state is replaced till then",
          "[plan][convolutions]") {
    for (const std::int64_t sequences : {1, 3}) {
        delta_case c({.sequences = sequences, .states = 6, .copies = true});
        const plan p = c.planned();
        CHECK(c.covers(p, {c.joined, c.keep, c.made, c.value, c.q, c.k}));
        CHECK(p.at(c.g.position(c.picked)).step < 0);
        CHECK(heads_of(p).convolved.state == c.g[c.picked].data);
        CHECK(heads_of(p).convolved.states == sequences);
        c.g.deallocate();
        const ordering found = optimize(c.g.view());
        CHECK(std::any_of(found.keep.begin(), found.keep.end(), [&](const keep_alive& k) {
            return k.tensor == c.g[c.joined].src[0] && k.until >= c.g.position(c.k);
        }));
    }
}

TEST_CASE("a state is replaced where it lies, whichever is read", "[plan][convolutions]") {
    for (const std::int64_t kept : {0, 3}) {
        delta_case c({.kept = kept});
        CHECK(c.covers(c.planned(), {c.picked, c.keep}));
    }
    delta_case over;  // the launch that may replace a state may not replace parts of two
    plan made = over.planned();
    over.g.share(over.keep, over.states, 4 * 3 * 64);
    over.g.share(over.g[over.keep].src[1], over.states, 4 * 3 * 64);
    const plan_faults inside{made};
    inside.heads(0).convolved.next_state = static_cast<float*>(over.g[over.keep].data);
    const std::string wrong = verify(over.g.view(), made).state.message;
    CHECK(wrong.find("is written over by the same launch") != wrong.npos);
    delta_case between;
    between.g.share(between.keep, between.states, 4 * 3 * 64);
    between.g.share(between.g[between.keep].src[1], between.states, 4 * 3 * 64);
    CHECK(between.left() == reason::overlap);
}

TEST_CASE("a convolution that no row does stays with the engine, with a reason",
          "[plan][convolutions]") {
    CHECK(delta_case({.tokens = 64}).left() == reason::convolution_tokens);
    CHECK(delta_case({.tokens = 9, .sequences = 2}).left() == reason::convolution_tokens);
    CHECK(delta_case({.sequences = 9, .states = 10}).left() == reason::no_row);
    CHECK(delta_case({.length = 5}).left() == reason::convolution_taps);
    delta_case written;
    written.g[written.taps].weight = false;
    CHECK(written.left() == reason::convolution_taps);
    delta_case rows;  // rows behind each other, not columns
    rows.g[rows.joined].params[0] = 1;
    CHECK(rows.left() == reason::convolution_state);
    delta_case read;
    read.g.other({read.joined});
    CHECK(read.left() == reason::convolution_state);
    delta_case first;  // the first columns are kept, not the last
    first.g.share(first.g[first.keep].src[0], first.joined);
    first.g[first.g[first.keep].src[0]].params[0] = 0;
    CHECK(first.left() == reason::convolution_state);
    delta_case later({.sequences = 2, .states = 8});  // the second sequence's columns lie elsewhere
    later.g[later.g[later.keep].src[0]].nb[2] /= 2;
    CHECK(later.left() == reason::convolution_state);
    delta_case apart({.tokens = 2, .sequences = 2, .between = 1});
    CHECK(apart.left() == reason::convolution_state);
    delta_case numbered({.ids = format::i64});
    const plan p = numbered.planned();
    CHECK(p.at(numbered.g.position(numbered.picked)).step < 0);
    CHECK(numbered.covers(p, {numbered.joined, numbered.made, numbered.q}));
}

TEST_CASE("heads over the tokens are normed by others", "[plan][convolutions]") {
    delta_case c;
    c.g.share(c.k, c.x, 512);
    const plan p = c.planned();
    CHECK(c.covers(p, {c.picked, c.joined, c.keep, c.made, c.value}));
    CHECK(p.at(c.g.position(c.k)).step != 0);
    CHECK(heads_of(p).convolved.f32 == c.g[c.value].data);
}

TEST_CASE("an engine keeps the tokens until the launch of their convolution is done",
          "[plan][convolutions]") {
    delta_case c;
    c.g.deallocate();
    const ordering found = optimize(c.g.view());
    REQUIRE(found.state.ok());
    const auto kept = std::find_if(found.keep.begin(), found.keep.end(), [&](const keep_alive& k) {
        return k.tensor == c.g[c.joined].src[1] || k.tensor == c.x;
    });
    REQUIRE(kept != found.keep.end());
    CHECK(kept->until >= c.g.position(c.k));
}

TEST_CASE("heads that are read at once stay until all are normed", "[plan][convolutions]") {
    delta_case c;
    c.g.same_shape(op::cont, c.q, {c.q});
    std::rotate(c.g.nodes.begin() + c.g.position(c.q) + 1, c.g.nodes.end() - 1, c.g.nodes.end());
    c.g[c.net].src[0] = c.g.nodes[static_cast<std::size_t>(c.g.position(c.q)) + 1];
    const ordering found = optimize(c.g.view());
    CHECK(kept_until(c.g, found, c.q) == c.g.position(c.k));
}

TEST_CASE("a state that was gathered is not written over by what is made of it",
          "[plan][convolutions]") {
    delta_case c;
    c.g.other({c.picked});  // the launch reads it where it lies
    const auto later = c.g.nodes.back();
    c.g.nodes.pop_back();
    c.g.nodes.insert(c.g.nodes.begin() + c.g.position(c.joined), later);
    for (const id t : {c.made, c.value}) c.g.share(t, c.picked);
    for (id t = 0; t < static_cast<id>(c.g.tensors.size()); ++t)
        if (c.g[t].view_src == c.value) c.g.share(t, c.value, c.g[t].params[0]);
    CHECK(c.left() == reason::overlap);
}

TEST_CASE("a scale of another shape than the norm's is no factor of its heads",
          "[plan][convolutions]") {
    for (const bool half : {false, true}) {
        delta_case c({.norms = false});
        const id norm = c.g.rms_norm(c.part(2, 0));
        const id of = half ? c.g.view(norm, {128, 1}, 512) : c.g.reshape(norm, {256, 1});
        c.g.other({c.g.scale(of, 0.125f)});
        const plan p = c.planned();
        CHECK(c.covers(p, {c.made, norm}));
        CHECK(heads_of(p).member[0].scale == 1);
        CHECK(heads_of(p).member[0].f32 == c.g[norm].data);
    }
}

TEST_CASE("norms with gaps before, between and behind them are more values than a launch has",
          "[plan][convolutions]") {
    delta_case c({.norms = false, .reads_v = false});
    c.g.other({c.g.rms_norm(c.part(1, 128)), c.g.rms_norm(c.part(1, 512))});
    const plan p = c.planned();
    CHECK(heads_of(p).members == 1);
    CHECK(heads_of(p).convolved.f32 == c.g[c.value].data);
    CHECK(heads_of(p).convolved.next_state == c.g[c.keep].data);
}

TEST_CASE("a function of a view that repeats a token is the engine's", "[plan][convolutions]") {
    delta_case c({.tokens = 4});
    const id again = c.g.view(c.made, {c.channels(), 4});
    c.g[again].nb[1] = 0;
    c.g.nodes.pop_back();
    c.g.nodes.insert(c.g.nodes.begin() + c.g.position(c.value), again);
    c.g[c.value].src[0] = again;
    const plan p = c.planned();
    REQUIRE(c.covers(p, {c.joined, c.made}));
    CHECK(p.at(c.g.position(c.value)).step < 0);
    CHECK(heads_of(p).convolved.function == gate_function::none);
}
