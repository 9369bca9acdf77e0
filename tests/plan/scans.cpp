// State spaces (Mamba-2): when a scan is one launch with its dt, its states, its share of x and its
// gate, when it is not, and why.
#include "cases.hpp"
#include "faults.hpp"
#include "random/tables.hpp"

#include "catena/match/detail/scan_finder.hpp"
#include "catena/plan/optimize.hpp"
#include "catena/plan/verify.hpp"

#include <map>
#include <string>

using namespace catena;
using namespace catena_test;

namespace {

struct scan_shape {
    std::int64_t tokens = 1, sequences = 1, size = 128, k = 64, heads = 4, groups = 2, states = 4,
                 kept = 1;
    int snapshots = 1;
    bool copies = true, biased = true, keeps = true, shares = true, gates = true;
};

/// What stands between a matrix and the norm of what a state space makes of its results.
struct scan_case {
    scan_shape is;
    graph_builder g;
    id states, ids, made, convolved, z, dt, x, a, b, c;
    id copy_dt = no_tensor, bias = no_tensor, scan, keep = no_tensor, values;
    id skip = no_tensor, add = no_tensor, copy_z = no_tensor, gate = no_tensor;

    explicit scan_case(const scan_shape& s = {}) : is(s) {
        states = g.input(format::f32, {is.size, is.k, is.heads, is.states});
        ids = g.input(format::i32, {is.sequences});
        const std::int64_t inner = is.k * is.heads, shared = is.size * is.groups;
        made = g.other({g.input(format::f32, {inner + is.heads, is.tokens, is.sequences})});
        convolved = g.other({g.input(format::f32, {inner + 2 * shared, is.tokens, is.sequences})});
        z = part(made, is.k, is.heads, 0), dt = part(made, is.heads, 0, 4 * inner);
        x = part(convolved, is.k, is.heads, 0);
        b = part(convolved, is.size, is.groups, 4 * inner);
        c = part(convolved, is.size, is.groups, 4 * (inner + shared));
        a = g.weight(format::f32, {1, is.heads});
        id step = dt;
        if (is.copies)
            step = copy_dt =
                g.node(op::cont, format::f32, {is.heads, is.tokens, is.sequences}, {dt});
        if (is.biased) step = bias = g.add(step, g.weight(format::f32, {is.heads}));
        scan = g.node(op::ssm_scan, format::f32, {value_count() + is.snapshots * size()},
                      {states, x, step, a, b, c, ids});
        g[scan].params[0] = is.snapshots;
        if (is.keeps) keep = kept();
        values = g.view(scan, {is.k, is.heads, is.tokens, is.sequences}, 0);
        finish();
    }

    std::int64_t value_count() const { return is.k * is.heads * is.tokens * is.sequences; }
    std::int64_t size() const { return is.size * is.k * is.heads * is.sequences; }

    /// Rows of `width` elements of a value's tokens, `count` of each token; 0: one.
    id part(id of, std::int64_t width, std::int64_t count, std::int64_t bytes) {
        const tensor whole = g[of];
        const id v = count == 0 ? g.view(of, {width, is.tokens, is.sequences}, bytes)
                                : g.view(of, {width, count, is.tokens, is.sequences}, bytes);
        const int d = count == 0 ? 1 : 2;
        if (count != 0) g[v].nb[1] = 4 * width;
        for (int i = d; i < 4; ++i) g[v].nb[i] = i == d ? whole.nb[1] : whole.nb[2];
        return v;
    }
    id kept() {
        const id next = g.view(scan, {size()}, 4 * value_count());
        const id to = g.view(states, {size()}, g[states].nb[3] * is.kept);
        const id t = g.node(op::cpy, format::f32, {size()}, {next, to});
        g.rename(t, states);
        g.share(t, to);
        return t;
    }
    void finish() {
        id y = values;
        if (is.shares) {
            skip = g.mul(x, g.weight(format::f32, {1, is.heads}));
            y = add = g.add(values, skip);
        }
        if (is.gates) {
            copy_z = g.node(op::cont, format::f32, {is.k, is.heads, is.tokens, is.sequences}, {z});
            y = gate = g.glu(copy_z, y);
        }
        g.other({g.rms_norm(y)});
    }

    plan planned(const options& asked = {}) { return proved_plan(g, shipped_table(), asked); }
    bool covers(const plan& p, std::initializer_list<id> of) {
        const std::int32_t step = p.at(g.position(scan)).step;
        return step >= 0 && std::all_of(of.begin(), of.end(),
                                        [&](id t) { return p.at(g.position(t)).step == step; });
    }
    int nodes(const plan& p) {
        return p.steps()[static_cast<std::size_t>(p.at(g.position(scan)).step)].node_count;
    }
    /// Nothing is planned at the scan; why?
    reason left() {
        const plan p = planned();
        CHECK(p.at(g.position(scan)).step < 0);
        return left_why(p, g.position(scan));
    }
    heads_args args(const plan& p) { return p.args(p.at(g.position(scan)).step, nullptr).heads; }
};

}  // namespace

TEST_CASE("a scan with its dt, its states, its share of x and its gate is one launch",
          "[plan][scan]") {
    for (const std::int64_t tokens : {1, 4, 8}) {
        for (const std::int64_t sequences : {1, 3, 8}) {
            CAPTURE(tokens, sequences);
            scan_case s({.tokens = tokens, .sequences = sequences, .states = 16});
            const plan p = s.planned();
            REQUIRE(s.covers(p, {s.copy_dt, s.bias, s.keep, s.skip, s.add, s.copy_z, s.gate}));
            CHECK(s.nodes(p) == 8);
            const heads_args h = s.args(p);
            REQUIRE(h.members == 1);
            CHECK(h.tokens == tokens * sequences);
            CHECK(h.rows == 4 * 64 / 8 * sequences);
            const scan_args& by = h.scanned;
            const std::int64_t made = s.g[s.made].nb[1], convolved = s.g[s.convolved].nb[1];
            CHECK(by.x == s.g[s.x].data);
            CHECK(by.dt == s.g[s.dt].data);
            CHECK(by.dt_bias == s.g[s.g[s.bias].src[1]].data);
            CHECK(by.a == s.g[s.a].data);
            CHECK(by.b == s.g[s.b].data);
            CHECK(by.c == s.g[s.c].data);
            CHECK(by.d == s.g[s.g[s.skip].src[1]].data);
            CHECK(by.z == s.g[s.z].data);
            if (tokens * sequences > 1) {
                for (const std::int64_t nb : {by.dt_nb, by.z_nb}) CHECK(nb == made);
                for (const std::int64_t nb : {by.x_nb, by.b_nb, by.c_nb}) CHECK(nb == convolved);
            }
            CHECK(by.state == s.g[s.states].data);
            CHECK(by.state_ids == s.g[s.ids].data);
            CHECK(by.next_state == s.g[s.keep].data);
            CHECK(by.size == 128);
            CHECK(by.groups == 2);
            CHECK(by.states == 16);
            CHECK(by.sequences == sequences);
            CHECK(h.member[0].f32 == s.g[s.gate].data);
            CHECK(h.member[0].k == 64);
            CHECK(h.member[0].heads == 4);
        }
    }
}

TEST_CASE("a scan is a launch without what it need not have", "[plan][scan]") {
    scan_case ungated({.gates = false});
    plan p = ungated.planned();
    CHECK(ungated.covers(p, {ungated.bias, ungated.keep, ungated.add}));
    CHECK(ungated.args(p).scanned.z == nullptr);
    CHECK(ungated.args(p).member[0].f32 == ungated.g[ungated.add].data);
    scan_case alone({.shares = false, .gates = false});
    p = alone.planned();
    CHECK(alone.covers(p, {alone.bias, alone.keep}));
    CHECK(alone.args(p).scanned.d == nullptr);
    CHECK(alone.args(p).member[0].f32 == alone.g[alone.scan].data);
    scan_case made({.biased = false});
    p = made.planned();
    CHECK(made.args(p).scanned.dt == made.g[made.copy_dt].data);
    CHECK(made.args(p).scanned.dt_bias == nullptr);
    scan_case uncopied({.copies = false});
    p = uncopied.planned();
    CHECK(uncopied.args(p).scanned.dt == uncopied.g[uncopied.dt].data);
    scan_case forgets({.keeps = false});
    CHECK(forgets.args(forgets.planned()).scanned.next_state == nullptr);
    scan_case bare({.biased = false, .keeps = false, .shares = false, .gates = false});
    CHECK(bare.left() == reason::one_launch);
}

TEST_CASE("what others read, or what is no number of a head, is left where it was made",
          "[plan][scan]") {
    scan_case dt;
    dt.g.other({dt.bias});
    CHECK(dt.args(dt.planned()).scanned.dt == dt.g[dt.bias].data);
    scan_case copied;
    copied.g.other({copied.copy_dt});
    plan p = copied.planned();
    CHECK(copied.args(p).scanned.dt == copied.g[copied.copy_dt].data);
    CHECK(copied.args(p).scanned.dt_bias != nullptr);
    scan_case computed;  // the bias is no weight
    computed.g[computed.g[computed.bias].src[1]].weight = false;
    CHECK(computed.args(computed.planned()).scanned.dt == computed.g[computed.bias].data);
    scan_case value;
    value.g.other({value.values});
    p = value.planned();
    CHECK(p.at(value.g.position(value.add)).step != p.at(value.g.position(value.scan)).step);
    CHECK(value.args(p).scanned.d == nullptr);
    scan_case share;
    share.g.other({share.skip});
    CHECK(share.args(share.planned()).scanned.d == nullptr);
    scan_case sum;
    sum.g.other({sum.add});
    p = sum.planned();
    CHECK(sum.args(p).scanned.z == nullptr);
    CHECK(sum.args(p).scanned.d != nullptr);
    scan_case of_z;  // a share of something else
    of_z.g[of_z.skip].src[0] = of_z.z;
    CHECK(of_z.args(of_z.planned()).scanned.d == nullptr);
    scan_case wide;  // a number for each value
    const id d = wide.g.weight(format::f32, {wide.is.k, wide.is.heads});
    wide.g[wide.skip].src[1] = d;
    CHECK(wide.args(wide.planned()).scanned.d == nullptr);
    scan_case of_values({.k = 8, .heads = 8});  // as many numbers as heads, one for each value
    of_values.g[of_values.skip].src[1] = of_values.g.weight(format::f32, {8});
    CHECK(of_values.args(of_values.planned()).scanned.d == nullptr);
    scan_case turned({.tokens = 4});  // values of tokens are added to those of heads
    std::swap(turned.g[turned.values].nb[1], turned.g[turned.values].nb[2]);
    CHECK(turned.args(turned.planned()).scanned.d == nullptr);
    scan_case twice;  // another sum in front reads the values, too
    twice.g.add(twice.values, twice.x);
    auto& nodes = twice.g.nodes;
    nodes.insert(nodes.begin() + twice.g.position(twice.add), nodes.back()), nodes.pop_back();
    CHECK(twice.args(twice.planned()).scanned.d == nullptr);
    scan_case gelu;
    gelu.g[gelu.gate].sub = sub_op::geglu;
    CHECK(gelu.args(gelu.planned()).scanned.z == nullptr);
    scan_case swapped;
    std::swap(swapped.g[swapped.gate].src[0], swapped.g[swapped.gate].src[1]);
    CHECK(swapped.args(swapped.planned()).scanned.z == nullptr);
    scan_case z;
    z.g.other({z.copy_z});
    CHECK(z.args(z.planned()).scanned.z == z.g[z.copy_z].data);
}

TEST_CASE("where memory forbids it, a scan is a launch without its gate, its share or its dt",
          "[plan][scan]") {
    scan_case over_x;  // other heads read what the gate is written over
    over_x.g.share(over_x.gate, over_x.convolved);
    plan p = over_x.planned();
    CHECK(over_x.covers(p, {over_x.keep, over_x.add}));
    CHECK(over_x.args(p).scanned.z == nullptr);
    scan_case both;
    both.g.share(both.add, both.convolved);
    both.g.share(both.gate, both.convolved);
    p = both.planned();
    CHECK(both.covers(p, {both.keep, both.bias}));
    CHECK(both.args(p).scanned.d == nullptr);
    // x, b and c are made behind the bias of dt, over what it is added to.
    scan_case early({.copies = false});
    const id raw = early.g.other({early.g.input(format::f32, {4, 1, 1})});
    auto& nodes = early.g.nodes;
    const auto move = [&](id t, std::ptrdiff_t to) {
        nodes.erase(std::find(nodes.begin(), nodes.end(), t));
        nodes.insert(nodes.begin() + to, t);
    };
    early.g[early.bias].src[0] = raw;
    move(early.bias, 0), move(raw, 0);
    early.g.share(raw, early.convolved);
    p = early.planned();
    CHECK(early.covers(p, {early.keep, early.skip, early.add, early.copy_z, early.gate}));
    CHECK(early.nodes(p) == 6);
    CHECK(early.args(p).scanned.dt == early.g[early.bias].data);
}

TEST_CASE("b that is not aligned is read number by number", "[plan][scan]") {
    for (const std::int64_t away : {0, 4}) {
        scan_case s;
        s.g.share(s.b, s.convolved, 4 * s.is.k * s.is.heads + away);
        const plan p = s.planned();
        const step& one = p.steps()[static_cast<std::size_t>(p.at(s.g.position(s.scan)).step)];
        CHECK(p.rows().rows[one.row].policy.row().vector == (away == 0));
    }
}

TEST_CASE("states are replaced where they lie, whichever are read", "[plan][scan]") {
    for (const std::int64_t kept : {0, 1, 2}) {
        scan_case s({.sequences = 2, .kept = kept});
        CHECK(s.covers(s.planned(), {s.keep, s.gate}));
    }
    scan_case parts({.kept = 0});  // of two states
    const std::int64_t half = 4 * parts.is.size * parts.is.k;
    parts.g.share(parts.keep, parts.states, half);
    parts.g.share(parts.g[parts.keep].src[1], parts.states, half);
    CHECK(parts.left() == reason::overlap);
    scan_case end({.sequences = 2, .kept = 1});  // one is kept behind the two that may be read
    const id two = end.g.view(end.states, {end.is.size, end.is.k, end.is.heads, 2}, 0);
    end.g.nodes.insert(end.g.nodes.begin(), two), end.g.nodes.pop_back();
    end.g[end.scan].src[0] = two;
    CHECK(end.left() == reason::overlap);
}

TEST_CASE("the engine keeps a scan that no row does, with a reason", "[plan][scan]") {
    CHECK(scan_case({.tokens = 9}).left() == reason::scan_tokens);
    CHECK(scan_case({.sequences = 9, .states = 16}).left() == reason::no_row);
    CHECK(scan_case({.snapshots = 2}).left() == reason::scan_shape);
    CHECK(scan_case({.k = 20}).left() == reason::scan_shape);
    CHECK(scan_case({.heads = 3}).left() == reason::scan_shape);
    CHECK(scan_case({.size = 512}).left() == reason::no_row);
    scan_case decays;  // each number of a state by itself, as in Mamba
    decays.g[decays.scan].src[3] = decays.g.weight(format::f32, {decays.is.size, decays.is.heads});
    CHECK(decays.left() == reason::scan_shape);
    scan_case row;  // the numbers of all heads in one row
    row.g[row.scan].src[3] = row.g.weight(format::f32, {row.is.heads, 1});
    CHECK(row.left() == reason::scan_shape);
    scan_case computed;
    computed.g[computed.a].weight = false;
    CHECK(computed.left() == reason::scan_shape);
    scan_case kept;  // two states, of which there is room for one
    kept.g[kept.scan].params[0] = 2;
    CHECK(kept.left() == reason::scan_shape);
    scan_case none;
    for (const id t : {none.b, none.c}) none.g[t].ne[1] = 0;
    CHECK(none.left() == reason::scan_shape);
    scan_case few({.tokens = 2, .copies = false, .biased = false});  // a dt for one of two tokens
    few.g[few.dt].ne[1] = 1;
    CHECK(few.left() == reason::scan_shape);
    scan_case gap({.tokens = 2, .sequences = 2});  // between sequences
    gap.g[gap.b].nb[3] += 16;
    CHECK(gap.left() == reason::scan_shape);
    scan_case tail;  // another reader of the states
    tail.g.other({tail.g[tail.keep].src[0]});
    CHECK(tail.left() == reason::scan_state);
    scan_case all;
    all.g.other({all.scan});
    CHECK(all.left() == reason::scan_state);
    scan_case outside;
    outside.g.read_outside(outside.scan);
    CHECK(outside.left() == reason::scan_state);
}

TEST_CASE("an engine keeps what a scan reads until its last node", "[plan][scan]") {
    scan_case s;
    s.g.deallocate();
    const ordering found = optimize(s.g.view());
    REQUIRE(found.state.ok());
    for (const id t : {s.made, s.convolved, s.ids}) {
        CAPTURE(t);
        CHECK(kept_until(s.g, found, t) >= s.g.position(s.gate));
    }
}

TEST_CASE("a chain that is switched off leaves the scan to the engine", "[plan][scan]") {
    scan_case s;
    options asked;
    asked.chains_off = "scanned_heads";
    CHECK(s.planned(asked).at(s.g.position(s.scan)).step < 0);
}

TEST_CASE("who reads states behind the scan reads those before it is kept", "[plan][scan]") {
    scan_case s;
    s.g.other({s.g.node(op::get_rows, format::f32, {s.size(), 1},
                        {s.g.reshape(s.states, {s.size(), s.is.states}), s.ids})});
    auto& nodes = s.g.nodes;
    nodes.erase(std::find(nodes.begin(), nodes.end(), s.keep));
    nodes.push_back(s.keep);
    CHECK(s.left() == reason::overlap);
}

TEST_CASE("the proof finds faults of launches that scan", "[plan][scan]") {
    std::map<std::string, int> put;
    for (const bool whole : {false, true}) {
        scan_case c({.tokens = 2, .sequences = 2, .biased = whole, .shares = whole});
        const plan made = c.planned();
        const auto at = static_cast<std::size_t>(made.at(c.g.position(c.scan)).step);
        for (const fault& f : faults_of_scans()) {
            CAPTURE(f.name, whole);
            plan broken = made;
            plan_faults inside{broken};
            if (!f.put(inside, at)) continue;
            ++put[f.name];
            CHECK_FALSE(verify(c.g.view(), broken).state.ok());
        }
    }
    for (const fault& f : faults_of_scans()) {
        CAPTURE(f.name);
        CHECK(put[f.name] > 0);
    }
}

TEST_CASE("the proof lets nobody read states behind values that a launch keeps elsewhere",
          "[plan][scan]") {
    scan_case c;
    const id part = c.g.view(c.scan, {c.is.k});
    c.g.other({part});
    const plan made = c.planned();
    c.g.share(part, c.scan, 4 * c.value_count());
    CHECK_THAT(verify(c.g.view(), made).state.message,
               Catch::Contains("reads another value than in the engine's order"));
}

TEST_CASE("the proof lets no state of a scan be written over parts of two others", "[plan][scan]") {
    scan_case c({.kept = 0});
    plan made = c.planned();
    const auto at = static_cast<std::size_t>(made.at(c.g.position(c.scan)).step);
    const std::int64_t half = 2 * c.size();  // in bytes
    for (const id t : {c.keep, c.g[c.keep].src[1]}) c.g.share(t, c.states, half);
    plan_faults{made}.heads(at).scanned.next_state += half / 4;
    CHECK_THAT(verify(c.g.view(), made).state.message,
               Catch::Contains("is written over by the same launch"));
}

TEST_CASE("the proof lets no row scan more than its kernel holds", "[plan][scan]") {
    const auto by_small_row = [](scan_case c) {
        plan made = c.planned();
        const auto at = static_cast<std::size_t>(made.at(c.g.position(c.scan)).step);
        for (int r = 0; r < made.rows().row_count; ++r) {
            const row& own = made.rows().rows[r];
            const bool small = own.computes.kind() == skeleton::row &&
                               scans(own.computes.row().stages) && own.policy.row().values == 4;
            if (small) plan_faults{made}.give_row(at, r);
        }
        return std::string(verify(c.g.view(), made).state.message);
    };
    CHECK_THAT(by_small_row(scan_case({.size = 256})),
               Catch::Contains("elements of a head are more than its kernel can do"));
    CHECK_THAT(by_small_row(scan_case({.size = 18})),
               Catch::Contains("elements of a head are no multiple of what its kernel takes"));
    CHECK_THAT(by_small_row(scan_case({.sequences = 5, .states = 8})),
               Catch::Contains("sequences are more than its kernel can do"));
}

TEST_CASE("the proof holds a scan against the op as it is", "[plan][scan]") {
    const auto broken = [](const auto& changed) {
        scan_case c({.tokens = 2, .sequences = 2});
        const plan made = c.planned();
        changed(c);
        return !verify(c.g.view(), made).state.ok();
    };
    CHECK(broken([](scan_case& c) { c.g[c.scan].params[0] = 2; }));
    CHECK(broken([](scan_case& c) { std::swap(c.g[c.scan].src[4], c.g[c.scan].src[5]); }));
    CHECK(broken([](scan_case& c) { c.g[c.gate].sub = sub_op::geglu; }));
    CHECK(broken([](scan_case& c) { std::swap(c.g[c.gate].src[0], c.g[c.gate].src[1]); }));
    CHECK(broken([](scan_case& c) { c.g[c.skip].src[0] = c.z; }));
    CHECK(broken([](scan_case& c) { c.g[c.add].kind = op::mul; }));
    CHECK(broken([](scan_case& c) { c.g[c.a].weight = false; }));
    CHECK(broken([](scan_case& c) { c.g[c.g[c.bias].src[1]].weight = false; }));
    CHECK(broken([](scan_case& c) { c.g[c.g[c.skip].src[1]].weight = false; }));
}
