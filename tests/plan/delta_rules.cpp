// Linear attention by the gated delta rule: when it is one launch with its state and its decay,
// when it is not, and why.
#include "cases.hpp"
#include "faults.hpp"
#include "random/tables.hpp"

#include "catena/match/detail/delta_rule_finder.hpp"
#include "catena/plan/optimize.hpp"
#include "catena/plan/verify.hpp"

#include <map>
#include <string>

using namespace catena;
using namespace catena_test;

namespace {

struct rule_shape {
    std::int64_t tokens = 1, sequences = 1, k = 128, heads = 4, key_heads = 2, states = 4, kept = 1;
    int snapshots = 1;
    bool by_value = false, softens = true, picks = true, keeps = true, copies = false;
};

/// What stands between heads of queries, keys and values and the norm of what is recalled for them.
struct rule_case {
    rule_shape is;
    graph_builder g;
    id states, number, q, k, v, alpha, beta, state;
    id picked = no_tensor, soft = no_tensor, decay, rule, keep = no_tensor, values, norm;

    explicit rule_case(const rule_shape& s = {}) : is(s) {
        states = g.input(format::f32, {size(), is.states});
        number = g.input(format::i32, {is.sequences});
        if (is.picks)
            state = picked =
                g.node(op::get_rows, format::f32, {size(), is.sequences}, {states, number});
        else
            state = g.input(format::f32, {size(), is.sequences});
        if (is.copies) copied();
        const auto made = [&](std::int64_t heads) {
            return g.other({g.input(format::f32, {is.k, heads, is.tokens, is.sequences})});
        };
        q = made(is.key_heads), k = made(is.key_heads), v = made(is.heads);
        const std::int64_t width = is.by_value ? is.k : 1;
        alpha = g.other({g.input(format::f32, {width * is.heads, is.tokens, is.sequences})});
        decay = alpha;
        if (is.softens) {
            soft = g.unary(alpha, sub_op::softplus);
            decay = g.mul(soft, g.weight(format::f32, {width * is.heads}));
        }
        beta = g.other({g.input(format::f32, {1, is.heads, is.tokens, is.sequences})});
        rule =
            g.node(op::gated_delta_net, format::f32,
                   {is.k * is.heads, is.tokens * is.sequences + is.snapshots * is.k * is.sequences},
                   {q, k, v, g.reshape(decay, {width, is.heads, is.tokens, is.sequences}), beta,
                    g.reshape(state, {is.k, is.k, is.heads, is.sequences})});
        g[rule].params[0] = is.snapshots;
        if (is.keeps) keep = kept();
        values = g.view(rule, {is.k, is.heads, is.tokens, is.sequences}, 0);
        norm = g.rms_norm(values);
        g.other({norm});
    }

    std::int64_t size() const { return is.k * is.k * is.heads; }
    std::int64_t value_bytes() const { return 4 * is.k * is.heads * is.tokens * is.sequences; }

    void copied() {
        const id one =
            g.node(op::get_rows, format::f32, {size(), 1}, {states, g.input(format::i32, {1})});
        const id to = g.view(states, {size(), 1}, g[states].nb[1] * (is.states - 1));
        const id t = g.node(op::cpy, format::f32, {size(), 1}, {one, to});
        g.rename(t, states);
        g.share(t, to);
    }
    id kept() {
        const id next = g.view(rule, {is.k, is.k, is.heads, is.sequences}, value_bytes());
        const id to = g.view(states, {size() * is.sequences}, g[states].nb[1] * is.kept);
        const id t = g.node(op::cpy, format::f32, {size() * is.sequences}, {next, to});
        g.rename(t, states);
        g.share(t, to);
        return t;
    }

    plan planned(const options& asked = {}) { return proved_plan(g, shipped_table(), asked); }
    bool covers(const plan& p, std::initializer_list<id> of) {
        const std::int32_t step = p.at(g.position(rule)).step;
        return step >= 0 && std::all_of(of.begin(), of.end(),
                                        [&](id t) { return p.at(g.position(t)).step == step; });
    }
    /// Nothing is planned at the rule; why?
    reason left() {
        const plan p = planned();
        CHECK(p.at(g.position(rule)).step < 0);
        return left_why(p, g.position(rule));
    }
    heads_args args(const plan& p) { return p.args(p.at(g.position(rule)).step, nullptr).heads; }
};

}  // namespace

TEST_CASE("the delta rule with its state and its decay is one launch", "[plan][delta]") {
    for (const std::int64_t tokens : {1, 4, 8}) {
        rule_case c({.tokens = tokens});
        const plan p = c.planned();
        REQUIRE(c.covers(p, {c.picked, c.soft, c.decay, c.rule, c.keep}));
        const step& s = p.steps()[static_cast<std::size_t>(p.at(c.g.position(c.rule)).step)];
        CHECK(s.node_count == 5);
        CHECK(s.config.blocks == 4 * 128 / 8 / 4);
        CHECK(p.at(c.g.position(c.norm)).step != p.at(c.g.position(c.rule)).step);
        const heads_args a = c.args(p);
        REQUIRE(a.members == 1);
        CHECK(a.tokens == tokens);
        CHECK(a.rows == 4 * 128 / 8);
        CHECK(a.recalled.queries == c.g[c.q].data);
        CHECK(a.recalled.keys == c.g[c.k].data);
        CHECK(a.recalled.values == c.g[c.v].data);
        CHECK(a.recalled.values_nb2 == 4 * 128 * 4);
        CHECK(a.recalled.decay == c.g[c.alpha].data);
        CHECK(a.recalled.decay_factor == c.g[c.g[c.decay].src[1]].data);
        CHECK(a.recalled.beta == c.g[c.beta].data);
        CHECK(a.recalled.state == c.g[c.states].data);
        CHECK(a.recalled.state_id == c.g[c.number].data);
        CHECK(a.recalled.next_state == c.g[c.keep].data);
        CHECK(a.recalled.key_heads == 2);
        CHECK(a.recalled.states == 4);
        CHECK(a.member[0].f32 == c.g[c.rule].data);
        CHECK(a.member[0].scale == 1 / std::sqrt(128.0f));
    }
}

TEST_CASE("the delta rule is a launch without what it need not have", "[plan][delta]") {
    rule_case by_value({.tokens = 2, .by_value = true});
    plan p = by_value.planned();
    CHECK(by_value.covers(p, {by_value.picked, by_value.keep}));
    CHECK(p.at(by_value.g.position(by_value.decay)).step < 0);  // another launch makes each decay
    CHECK(by_value.args(p).recalled.by_value);
    CHECK(by_value.args(p).recalled.decay == by_value.g[by_value.decay].data);
    CHECK(by_value.args(p).recalled.decay_factor == nullptr);
    rule_case made({.softens = false});
    p = made.planned();
    CHECK(made.args(p).recalled.decay == made.g[made.alpha].data);
    CHECK(made.args(p).recalled.decay_factor == nullptr);
    rule_case unpicked({.picks = false});
    p = unpicked.planned();
    CHECK(unpicked.args(p).recalled.state_id == nullptr);
    CHECK(unpicked.args(p).recalled.states == 1);
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
    CHECK(read.args(read.planned()).recalled.decay == read.g[read.decay].data);
    rule_case soft;
    soft.g.other({soft.soft});
    CHECK(soft.args(soft.planned()).recalled.decay == soft.g[soft.decay].data);
    rule_case other;
    other.g[other.soft].sub = sub_op::sigmoid;
    CHECK(other.args(other.planned()).recalled.decay == other.g[other.decay].data);
    rule_case written;  // the factor is no weight
    written.g[written.g[written.decay].src[1]].weight = false;
    CHECK(written.args(written.planned()).recalled.decay == written.g[written.decay].data);
}

TEST_CASE("where memory forbids it, a decay and a state are those that other launches made",
          "[plan][delta]") {
    rule_case c;
    c.g.share(c.beta, c.alpha);
    plan p = c.planned();
    CHECK(c.covers(p, {c.picked, c.keep}));
    CHECK(p.at(c.g.position(c.decay)).step < 0);
    CHECK(c.args(p).recalled.decay == c.g[c.decay].data);
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
    CHECK(c.args(p).recalled.state_id == nullptr);
}

TEST_CASE("the engine keeps a rule that no row does, with a reason", "[plan][delta]") {
    CHECK(rule_case({.sequences = 2}).left() == reason::delta_rule_sequences);
    CHECK(rule_case({.tokens = 9}).left() == reason::delta_rule_tokens);
    CHECK(rule_case({.snapshots = 2}).left() == reason::delta_rule_shape);
    CHECK(rule_case({.k = 256}).left() == reason::delta_rule_shape);
    CHECK(rule_case({.k = 20}).left() == reason::no_row);
    CHECK(rule_case({.heads = 3}).left() == reason::delta_rule_shape);
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

TEST_CASE("the proof finds faults of launches that recall", "[plan][delta]") {
    std::map<std::string, int> put;
    for (const bool by_value : {false, true}) {
        rule_case c({.tokens = 2, .by_value = by_value});
        const plan made = c.planned();
        const auto at = static_cast<std::size_t>(made.at(c.g.position(c.rule)).step);
        for (const fault& f : faults_of_delta_rules()) {
            CAPTURE(f.name, by_value);
            plan broken = made;
            plan_faults inside{broken};
            if (!f.put(inside, at)) continue;
            ++put[f.name];
            CHECK_FALSE(verify(c.g.view(), broken).state.ok());
        }
    }
    for (const fault& f : faults_of_delta_rules()) {
        CAPTURE(f.name);
        CHECK(put[f.name] > 0);
    }
}

TEST_CASE("the proof lets nobody read a state behind values that a launch keeps elsewhere",
          "[plan][delta]") {
    rule_case c;
    const id part = c.g.view(c.rule, {c.is.k});
    c.g.other({part});
    const plan made = c.planned();
    c.g.share(part, c.rule, c.value_bytes());
    CHECK_THAT(verify(c.g.view(), made).state.message,
               Catch::Contains("reads another value than in the engine's order"));
}

TEST_CASE("the proof lets nobody read values together with the state behind them",
          "[plan][delta]") {
    rule_case c({.keeps = false});
    for (const id t : {c.values, c.norm}) c.g[t].ne[1] = 1;  // nothing ends where values do
    const id reader = c.g.other({c.norm});
    const plan made = c.planned();
    rule_case outside = c;
    outside.g.read_outside(outside.rule);
    CHECK_THAT(verify(outside.g.view(), made).state.message,
               Catch::Contains("does not leave the value that somebody may read"));
    c.g[reader].src[0] = c.rule;
    CHECK_THAT(verify(c.g.view(), made).state.message,
               Catch::Contains("reads another value than in the engine's order"));
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

TEST_CASE("the proof wants factors of a decay that nobody writes, since they are read early",
          "[plan][delta]") {
    rule_case c;
    const plan made = c.planned();
    c.g[c.g[c.decay].src[1]].weight = false;
    CHECK_THAT(verify(c.g.view(), made).state.message,
               Catch::Contains("the factor of a decay is read early, and is no constant"));
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
