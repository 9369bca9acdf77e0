// Linear attention by the gated delta rule: when it is one launch with its state and its decay,
// when it is not, and why.
#include "delta_rule_case.hpp"

#include "catena/plan/optimize.hpp"

using namespace catena;
using namespace catena_test;

TEST_CASE("the delta rule with its state and its decay is one launch", "[plan][delta]") {
    for (const std::int64_t tokens : {1, 4, 8})
        for (const std::int64_t sequences : {1, 3, 8}) {
            CAPTURE(tokens, sequences);
            rule_case c({.tokens = tokens, .sequences = sequences, .states = 16});
            const plan p = c.planned();
            REQUIRE(c.covers(p, {c.picked, c.soft, c.decay, c.rule, c.keep}));
            const step& s = p.steps()[static_cast<std::size_t>(p.at(c.g.position(c.rule)).step)];
            CHECK(s.node_count == 5);
            CHECK(s.config.blocks == 4 * 128 / 8 / (sequences == 1 ? 4 : 1));
            CHECK(p.at(c.g.position(c.norm)).step != p.at(c.g.position(c.rule)).step);
            const heads_args a = c.args(p);
            REQUIRE(a.members == 1);
            CHECK(a.tokens == tokens * sequences);
            CHECK(a.rows == 4 * 128 / 8 * sequences);
            CHECK(a.recalled.queries == c.g[c.q].data);
            CHECK(a.recalled.keys == c.g[c.k].data);
            CHECK(a.recalled.values == c.g[c.v].data);
            CHECK(a.recalled.values_nb2 == 4 * 128 * 4);
            CHECK(a.recalled.decay.first == c.g[c.alpha].data);
            CHECK(a.recalled.decay_factor == c.g[c.g[c.decay].src[1]].data);
            CHECK(a.recalled.beta.first == c.g[c.beta].data);
            CHECK(a.recalled.state == c.g[c.states].data);
            CHECK(a.recalled.state_ids == c.g[c.number].data);
            CHECK(a.recalled.next_state == c.g[c.keep].data);
            CHECK(a.recalled.key_heads == 2);
            CHECK(a.recalled.states == 16);
            CHECK(a.recalled.sequences == sequences);
            CHECK(a.member[0].f32 == c.g[c.rule].data);
            CHECK(a.member[0].scale == 1 / std::sqrt(128.0f));
        }
}

TEST_CASE("the launch reads operands where they lay before an engine moves them", "[plan][delta]") {
    for (const std::int64_t tokens : {1, 3}) {
        for (const std::int64_t sequences : {1, 2}) {
            CAPTURE(tokens, sequences);
            rule_case c({.tokens = tokens, .sequences = sequences, .moves = true});
            const plan p = c.planned();
            REQUIRE(c.covers(p, {c.picked, c.soft, c.decay, c.rule, c.keep, c.alpha}));
            const std::int32_t step = p.at(c.g.position(c.rule)).step;
            CHECK(p.steps()[static_cast<std::size_t>(step)].node_count == 11);
            const delta_args a = c.args(p).recalled;
            CHECK(a.queries == c.g[c.made_q].data);
            CHECK(a.keys == c.g[c.made_k].data);
            CHECK(a.key_heads == 2);
            CHECK(a.neighbors);
            CHECK(a.queries_nb2 == 4 * 128 * 2);
            CHECK(a.decay.first == c.g[c.both].data);
            CHECK(a.decay.abreast == 2);
            CHECK(a.decay.nb1 == 16);
            CHECK(a.decay_bias == c.g[c.bias].data);
            CHECK(a.beta.first == a.decay.first + 2);
            CHECK(a.logit);
            if (tokens * sequences > 1) CHECK(a.beta.nb2 == 4 * 8);
        }
    }
}

TEST_CASE("operands that others read where they were moved to are read there", "[plan][delta]") {
    const auto args = [](rule_case& c) { return c.args(c.planned()).recalled; };
    const rule_shape moves{.tokens = 2, .moves = true};
    rule_case keys(moves);
    keys.g.other({keys.k});
    CHECK_FALSE(args(keys).neighbors);
    CHECK(args(keys).queries == keys.g[keys.q].data);
    CHECK(args(keys).logit);
    rule_case decay(moves);
    decay.g.other({decay.alpha});
    CHECK(args(decay).decay_bias == nullptr);
    CHECK(args(decay).decay.first == decay.g[decay.alpha].data);
    rule_case share(moves);
    share.g.other({share.beta});
    CHECK_FALSE(args(share).logit);
    CHECK(args(share).beta.first == share.g[share.beta].data);
    rule_case tanh(moves);
    tanh.g[tanh.g[tanh.beta].src[0]].sub = sub_op::tanh;
    CHECK_FALSE(args(tanh).logit);
    rule_case computed(moves);  // the bias is no weight
    computed.g[computed.bias].weight = false;
    CHECK(args(computed).decay_bias == nullptr);
    rule_case tiled(moves);  // heads of queries follow each other, those of keys do not
    const id tile = tiled.g[tiled.g[tiled.q].src[0]].src[0];
    std::swap(tiled.g[tile].ne[1], tiled.g[tile].ne[2]);
    std::swap(tiled.g[tile].nb[1], tiled.g[tile].nb[2]);
    CHECK_FALSE(args(tiled).neighbors);
    rule_case same({.tokens = 2, .key_heads = 4, .moves = true});  // a REPEAT that repeats nothing
    for (const id heads : {same.q, same.k}) {
        const id repeat = same.g[heads].src[0], from = same.g[repeat].src[0];
        for (const id t : {repeat, from}) {
            same.g[t].ne[1] = same.g[t].ne[2] = 2;
            same.g[t].nb[2] = 2 * same.g[t].nb[1];
        }
    }
    CHECK_FALSE(args(same).neighbors);
    rule_case over(moves);  // the values are written over queries that have been repeated
    over.g.share(over.made_q, over.rule);
    over.g.share(over.g[over.g[over.q].src[0]].src[0], over.rule);
    const plan p = over.planned();
    CHECK(over.covers(p, {over.picked, over.decay, over.keep}));
    CHECK_FALSE(over.args(p).recalled.neighbors);
}

TEST_CASE("the delta rule is a launch without what it need not have", "[plan][delta]") {
    rule_case by_value({.tokens = 2, .by_value = true});
    plan p = by_value.planned();
    CHECK(by_value.covers(p, {by_value.picked, by_value.keep}));
    CHECK(p.at(by_value.g.position(by_value.decay)).step < 0);  // another launch makes each decay
    CHECK(by_value.args(p).recalled.by_value);
    CHECK(by_value.args(p).recalled.decay.first == by_value.g[by_value.decay].data);
    CHECK(by_value.args(p).recalled.decay_factor == nullptr);
    rule_case made({.softens = false});
    p = made.planned();
    CHECK(made.args(p).recalled.decay.first == made.g[made.alpha].data);
    CHECK(made.args(p).recalled.decay_factor == nullptr);
    rule_case unpicked({.picks = false});
    p = unpicked.planned();
    CHECK(unpicked.args(p).recalled.state_ids == nullptr);
    CHECK(unpicked.args(p).recalled.states == 1);
    rule_case of_two({.sequences = 2, .picks = false});
    CHECK(of_two.args(of_two.planned()).recalled.states == 2);
    rule_case forgets({.keeps = false});
    CHECK(forgets.args(forgets.planned()).recalled.next_state == nullptr);
    for (const bool keeps : {false, true})
        CHECK(rule_case({.softens = false, .picks = false, .keeps = keeps}).left() ==
              reason::one_launch);
}

TEST_CASE("a decay that others read, or that is none of a softplus, is read where it was made",
          "[plan][delta]") {
    rule_case read;
    read.g.other({read.decay});
    CHECK(read.args(read.planned()).recalled.decay.first == read.g[read.decay].data);
    rule_case soft;
    soft.g.other({soft.soft});
    CHECK(soft.args(soft.planned()).recalled.decay.first == soft.g[soft.decay].data);
    rule_case other;
    other.g[other.soft].sub = sub_op::sigmoid;
    CHECK(other.args(other.planned()).recalled.decay.first == other.g[other.decay].data);
    rule_case written;  // the factor is no weight
    written.g[written.g[written.decay].src[1]].weight = false;
    CHECK(written.args(written.planned()).recalled.decay.first == written.g[written.decay].data);
}

TEST_CASE("where memory forbids it, a decay and a state are those that other launches made",
          "[plan][delta]") {
    rule_case c;
    c.g.share(c.beta, c.alpha);
    plan p = c.planned();
    CHECK(c.covers(p, {c.picked, c.keep}));
    CHECK(p.at(c.g.position(c.decay)).step < 0);
    CHECK(c.args(p).recalled.decay.first == c.g[c.decay].data);
    rule_case number;
    number.g.share(number.beta, number.number);
    p = number.planned();
    CHECK(p.at(number.g.position(number.picked)).step < 0);
    CHECK(number.args(p).recalled.state == number.g[number.picked].data);
    CHECK(number.args(p).recalled.next_state == number.g[number.keep].data);
    rule_case alone({.softens = false});  // a rule with neither is one launch of the engine, too
    alone.g.share(alone.beta, alone.number);
    CHECK(alone.left() == reason::overlap);
}

TEST_CASE("the state is replaced where it lies, whichever is read, and whole ones",
          "[plan][delta]") {
    for (const std::int64_t kept : {0, 3}) {
        rule_case c({.kept = kept});
        CHECK(c.covers(c.planned(), {c.picked, c.keep}));
    }
    rule_case parts;  // of two states: what was gathered is read
    parts.g.share(parts.keep, parts.states, 4 * 128 * 128);
    parts.g.share(parts.g[parts.keep].src[1], parts.states, 4 * 128 * 128);
    const plan p = parts.planned();
    CHECK(p.at(parts.g.position(parts.picked)).step < 0);
    CHECK(parts.args(p).recalled.state == parts.g[parts.picked].data);
    CHECK(parts.covers(p, {parts.keep}));
}

TEST_CASE("a state that others read or that is replaced till then is read where it was gathered",
          "[plan][delta]") {
    rule_case read;
    read.g.other({read.picked});
    CHECK(read.args(read.planned()).recalled.state == read.g[read.picked].data);
    rule_case c({.copies = true});
    const plan p = c.planned();
    CHECK(p.at(c.g.position(c.picked)).step < 0);
    CHECK(c.args(p).recalled.state == c.g[c.picked].data);
    CHECK(c.args(p).recalled.state_ids == nullptr);
}

TEST_CASE("the engine keeps a rule that no row does, with a reason", "[plan][delta]") {
    CHECK(rule_case({.sequences = 9, .states = 16}).left() == reason::no_row);
    CHECK(rule_case({.tokens = 9}).left() == reason::delta_rule_tokens);
    CHECK(rule_case({.snapshots = 2}).left() == reason::delta_rule_shape);
    CHECK(rule_case({.k = 256}).left() == reason::delta_rule_shape);
    CHECK(rule_case({.k = 20}).left() == reason::no_row);
    CHECK(rule_case({.heads = 3}).left() == reason::delta_rule_shape);
    rule_case gap({.tokens = 2, .sequences = 2});  // between sequences
    const id apart = gap.g.input(format::f32, {128, 4, 3, 2});
    gap.g[apart].ne[2] = 2, gap.g[gap.rule].src[2] = apart;
    CHECK(gap.left() == reason::delta_rule_shape);
    rule_case tail;  // another reader of the state
    tail.g.other({tail.g[tail.keep].src[0]});
    CHECK(tail.left() == reason::delta_rule_state);
    rule_case all;
    all.g.other({all.rule});
    CHECK(all.left() == reason::delta_rule_state);
    rule_case outside;
    outside.g.read_outside(outside.rule);
    CHECK(outside.left() == reason::delta_rule_state);
    rule_case half;  // of the state is kept
    const id part = half.g[half.keep].src[0];
    half.g[part].ne[2] = 2, half.g[half.keep].ne[0] /= 2;
    half.g[half.g[half.keep].src[1]].ne[0] /= 2;
    CHECK(half.left() == reason::delta_rule_state);
}

TEST_CASE(
    "an engine keeps what a decay is made of, and the number of the state, until the launch of the "
    "rule",
    "[plan][delta]") {
    rule_case c;
    c.g.deallocate();
    const ordering found = optimize(c.g.view());
    REQUIRE(found.state.ok());
    for (const id t : {c.alpha, c.number})
        CHECK(std::any_of(found.keep.begin(), found.keep.end(), [&](const keep_alive& k) {
            return k.tensor == t && k.until >= c.g.position(c.rule);
        }));
}

TEST_CASE("a chain that is switched off leaves the rule to the engine", "[plan][delta]") {
    rule_case c;
    options asked;
    asked.chains_off = "recalled_heads";
    CHECK(c.planned(asked).at(c.g.position(c.rule)).step < 0);
}

TEST_CASE("a rule that leaves more states than it has room for stays with the engine",
          "[plan][delta]") {
    rule_case c;
    const plan made = c.planned();
    c.g[c.rule].params[0] = 2;
    CHECK(c.left() == reason::delta_rule_shape);
    CHECK_THAT(verify(c.g.view(), made).state.message,
               Catch::Contains("is not the value of that node"));
    rule_case half;  // a node that keeps less than it reads
    half.g[half.keep].ne[0] /= 2;
    CHECK(half.left() == reason::delta_rule_state);
}

TEST_CASE("a rule without keys stays with the engine", "[plan][delta]") {
    rule_case c;
    for (const id t : {c.q, c.k}) c.g[t].ne[1] = 0;
    CHECK(c.left() == reason::delta_rule_shape);
}

TEST_CASE("who reads states between the rule and the node that keeps one reads those before",
          "[plan][delta]") {
    rule_case c;
    const id read = c.g.node(op::get_rows, format::f32, {c.size(), 1}, {c.states, c.number});
    c.g.other({read});
    // The rule, what reads the states and its reader, and then the node that keeps.
    auto& nodes = c.g.nodes;
    nodes.erase(std::find(nodes.begin(), nodes.end(), c.keep));
    nodes.push_back(c.keep);
    CHECK(c.left() == reason::overlap);
    // What is kept behind all others is kept where the rule is, if they read no states.
    rule_case late;
    auto& order = late.g.nodes;
    order.erase(std::find(order.begin(), order.end(), late.keep));
    order.push_back(late.keep);
    CHECK(late.covers(late.planned(), {late.picked, late.keep}));
}
