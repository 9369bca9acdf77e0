// What follows a matmul, and values of a gate: which nodes the steps take over, and when not.
#include "catena/pick/measured.hpp"

#include "epilogue_cases.hpp"

#include "catena_test/problems.hpp"

using namespace catena;
using namespace catena_test;

TEST_CASE("gate, up and their GLU are one step, which quantizes for what reads it", "[epilogue]") {
    ffn_case c;
    const plan p = planned(c.g);
    CHECK(steps_of(p) == "1: 0 1, 2: 2 3 4, 5: 5");
    CHECK(p.at(2).elided);
    CHECK(p.at(3).elided);
    CHECK(p.at(4).elided);  // only the matmul reads it
    CHECK(p.chains()[1].made_by == 1);
    CHECK(p.makes(1, 0) == 1);
    CHECK(member(p, 1).epilogue ==
          (epilogue_set::of(epilogue_part::glu) | epilogue_part::quantize));
    alignas(256) static std::byte room[4096];
    const matvec_args a = p.args(1, room).matvec;
    CHECK(a.member[0].weight == c.g[c.g[c.gate].src[0]].data);
    CHECK(a.member[0].up == c.g[c.g[c.up].src[0]].data);
    CHECK(a.member[0].function == gate_function::silu);
    CHECK(a.member[0].dst == nullptr);
    CHECK(a.member[0].q8_1 == p.args(2, room).matvec.x);
}

TEST_CASE("a chain that quantizes on its way is left to a faster engine as a whole",
          "[epilogue][contest]") {
    ffn_case c, same;
    const plan before = planned(c.g);
    std::uint64_t key = 0;
    for (const step& s : before.steps()) key += problem_key(s.what);
    const engine_median faster{key, 1, 2};
    table contested = full_table();
    contested.engine = &faster;
    contested.engine_count = 1;
    const plan p = planned(same.g, contested);
    CHECK(p.steps().size() == 0);
    CHECK(p.chains().size() == 0);
    for (const int node : {0, 2, 3, 5}) CHECK(left_why(p, node) == reason::engine_faster);
}

TEST_CASE("the gate is the GLU's first source, whichever matmul comes first", "[epilogue]") {
    norm_case c;
    const id up = c.g.matmul(format::q4_K, 256, c.mul);
    const id gate = c.g.matmul(format::q4_K, 256, c.mul);
    c.g.glu(gate, up, sub_op::geglu);
    const plan p = planned(c.g);
    CHECK(steps_of(p) == "1: 0 1, 2: 2 3 4");
    const matvec_args a = p.args(1, nullptr).matvec;
    CHECK(a.member[0].weight == c.g[c.g[gate].src[0]].data);
    CHECK(a.member[0].function == gate_function::gelu);
}

TEST_CASE("a GLU whose result others read is written too", "[epilogue]") {
    ffn_case c;
    c.g.other({c.value});
    const plan p = planned(c.g);
    CHECK(steps_of(p) == "1: 0 1, 2: 2 3 4, 5: 5");
    CHECK_FALSE(p.at(4).elided);
    CHECK(p.args(1, nullptr).matvec.member[0].dst == c.g[c.value].data);
}

TEST_CASE("a gate that somebody else reads keeps its GLU out of the epilogue", "[epilogue]") {
    for (const bool output : {false, true}) {
        ffn_case c;
        if (output)
            c.g[c.gate].flags |= flag_output;
        else
            c.g.other({c.gate});
        const plan p = planned(c.g);
        CHECK(steps_of(p) == "1: 0 1, 2: 2 3, 4: 4, 5: 5");
        CHECK(p.chains()[1].stages.has(stage_kind::glu));
        CHECK_FALSE(p.at(2).elided);
    }
}

TEST_CASE("one matrix whose rows are gate and up passes the GLU in its epilogue", "[epilogue]") {
    for (const bool swapped : {false, true}) {
        norm_case c;
        const id both = c.g.matmul(format::q4_K, 512, c.mul);
        c.g.matmul(format::q4_K, 64, c.g.glu_of_halves(both, swapped));
        const plan p = planned(c.g);
        CHECK(steps_of(p) == "1: 0 1, 2: 2 3, 4: 4");
        const matvec_member m = p.args(1, nullptr).matvec.member[0];
        const auto* weight = static_cast<const std::byte*>(c.g[c.g[both].src[0]].data);
        CHECK(m.rows == 256);
        CHECK(m.weight == weight + (swapped ? m.weight_bytes : 0));
        CHECK(m.up == weight + (swapped ? 0 : m.weight_bytes));
    }
}

TEST_CASE("halves of a product that others read too are gated from memory", "[epilogue]") {
    for (const bool swapped : {false, true}) {
        norm_case c;
        const id both = c.g.matmul(format::q4_K, 512, c.mul);
        c.g.matmul(format::q4_K, 64, c.g.glu_of_halves(both, swapped));
        c.g.other({both});
        CHECK(steps_of(planned(c.g)) == "1: 0 1, 2: 2, 3: 3, 4: 4");
    }
}

TEST_CASE("MUL by a function of a gate is a gated value", "[epilogue]") {
    graph_builder g;
    const id x = g.other({g.input(format::f32, {512})});
    const id z = g.other({g.input(format::f32, {512})});
    const bool swapped = GENERATE(false, true);
    const id f = g.unary(z, sub_op::sigmoid);
    const id value = swapped ? g.mul(f, x) : g.mul(x, f);
    g.matmul(format::q4_K, 64, value);
    const plan p = planned(g);
    CHECK(steps_of(p) == "3: 2 3, 4: 4");
    const row_args a = p.args(0, nullptr).row;
    CHECK(a.gate == g[z].data);
    CHECK(a.x == g[x].data);
    CHECK(a.function == gate_function::sigmoid);
}

TEST_CASE("of a gate whose function is read elsewhere the engine makes the function",
          "[epilogue]") {
    graph_builder g;
    const id x = g.other({g.input(format::f32, {512})});
    const id f = g.unary(g.other({g.input(format::f32, {512})}), sub_op::silu);
    const id value = g.mul(x, f);
    g.matmul(format::q4_K, 64, value);
    g.other({f});
    const plan p = planned(g);
    CHECK(steps_of(p) == "3: 3, 4: 4");
    const row_args a = p.args(0, nullptr).row;
    CHECK(a.gate == g[f].data);
    CHECK(a.function == gate_function::none);
}

TEST_CASE("bias and scale follow each member, in a group", "[epilogue]") {
    norm_case c;
    const id q = c.g.matmul(format::q4_K, 128, c.mul);
    c.g.add(q, c.g.weight(format::f32, {128}));
    const id k = c.g.matmul(format::q4_K, 64, c.mul);
    c.g.scale(k, 0.5f);
    const plan p = planned(c.g);
    CHECK(steps_of(p) == "1: 0 1, 2: 2 3 4 5");
    const matvec_args a = p.args(1, nullptr).matvec;
    CHECK(a.member[0].bias != nullptr);
    CHECK(a.member[1].scale == 0.5f);
    CHECK(a.member[1].bias == nullptr);
}

TEST_CASE("a bias of each expert is added by its id", "[epilogue]") {
    norm_case c;
    const id wide = c.g.reshape(c.mul, {512, 1, 1});
    const id ids = c.g.input(format::i32, {2, 1});
    const id m = c.g.mul_mat_id(c.g.weight(format::q4_K, {512, 64, 8}), wide, ids);
    c.g.node(op::add_id, format::f32, {64, 2, 1}, {m, c.g.weight(format::f32, {64, 8}), ids});
    const plan p = planned(c.g);
    CHECK(steps_of(p) == "1: 0 1, 3: 3 4");
    CHECK(p.args(1, nullptr).matvec.member[0].bias_nb1 == 64 * 4);
}

TEST_CASE("a residual is added where it exists already", "[epilogue]") {
    norm_case c;
    const id early = c.g.other({c.x});
    const id o = c.g.matmul(format::q4_K, 512, c.mul);
    const id sum = c.g.add(early, o);
    c.g.share(sum, early);
    const plan p = planned(c.g);
    CHECK(steps_of(p) == "1: 0 1, 3: 3 4");
    CHECK(p.args(1, nullptr).matvec.member[0].residual == c.g[early].data);
}

TEST_CASE("a residual that comes later moves the step to the ADD", "[epilogue]") {
    norm_case c;
    const id o = c.g.matmul(format::q4_K, 512, c.mul);
    const id late = c.g.other({c.x});
    c.g.add(o, late);
    CHECK(steps_of(planned(c.g)) == "1: 0 1, 4: 2 4");
}

TEST_CASE("a residual is added to the only row that there is to pick", "[epilogue]") {
    for (const std::int64_t columns : {1, 2}) {
        CAPTURE(columns);
        graph_builder g;
        const id x = g.input(format::f32, {512, columns});
        const id normed = g.mul(g.rms_norm(x), g.weight(format::f32, {512}));
        const id ids = g.input(format::i32, {columns});
        const auto picked = [&](id of) {
            return g.node(op::get_rows, format::f32, {512, columns}, {of, ids});
        };
        const id row = picked(g.matmul(format::q4_K, 512, normed)), residual = picked(x);
        const id sum = g.add(row, residual);
        const plan p = planned(g);
        if (columns == 2) {
            CHECK(p.at(5).step < 0);
            continue;
        }
        CHECK(steps_of(p) == "1: 0 1, 5: 2 3 5");
        CHECK(p.args(1, nullptr).matvec.member[0].residual == g[residual].data);
        CHECK(p.args(1, nullptr).matvec.member[0].dst == g[sum].data);
    }
    norm_case c;
    const id o = c.g.matmul(format::q4_K, 512, c.mul);
    const id row = c.g.node(op::get_rows, format::f32, {512, 1}, {o, c.g.input(format::i32, {1})});
    c.g.other({c.g.add(row, c.x), row});
    CHECK(steps_of(planned(c.g)) == "1: 0 1, 2: 2");  // somebody else reads the row
}

TEST_CASE("a LoRA beside a weight of a group stays right", "[epilogue]") {
    norm_case c;
    const id q = c.g.matmul(format::q4_K, 512, c.mul);
    const id k = c.g.matmul(format::q4_K, 512, c.mul);
    const id down = c.g.mul_mat(c.g.weight(format::f32, {512, 16}), c.mul);
    const id lora = c.g.scale(c.g.mul_mat(c.g.weight(format::f32, {16, 512}), down), 2.0f);
    const id sum = c.g.add(q, lora);
    c.g.other({sum, k});
    const plan p = planned(c.g);
    CHECK_FALSE(p.at(1).elided);  // the adapter reads f32
    CHECK(p.at(6).step < 0);      // its product is the engine's
}

TEST_CASE("members with epilogues that may not stand at the first join without them",
          "[epilogue]") {
    norm_case c;
    const id q = c.g.matmul(format::q4_K, 128, c.mul);
    const id between = c.g.other({q});
    const id k = c.g.matmul(format::q4_K, 128, c.mul);
    const id sum = c.g.add(k, c.g.weight(format::f32, {128}));
    c.g.share(sum, between);  // written early it would be overwritten
    c.g.other({sum});
    const plan p = planned(c.g);
    CHECK(steps_of(p) == "1: 0 1, 2: 2 4");
    CHECK(left_why(p, 4) == reason::epilogue_apart);
}

TEST_CASE("at prompt sizes each matmul reads the layout that its weights want", "[epilogue]") {
    graph_builder g;
    const id x = g.input(format::f32, {512, 64});
    const id mul = g.scaled_norm(x);
    g.matmul(format::q4_K, 128, mul);
    g.matmul(format::q6_K, 64, mul);
    g.matmul(format::q4_K, 64, mul);
    const plan p = planned(g);
    CHECK(steps_of(p) == "1: 0 1, 2: 2 4, 3: 3");
    CHECK(p.steps()[0].what.row().needs.emits ==
          (format_set::of(format::q8_1_mmq_d4) | format::q8_1_mmq_ds4));
    CHECK(p.steps()[1].what.product().needs.activation == format::q8_1_mmq_ds4);
    CHECK(p.steps()[2].what.product().needs.activation == format::q8_1_mmq_d4);
    alignas(256) static std::byte room[1 << 17];
    CHECK(p.args(1, room).matmul.x == p.args(0, room).row.q8_1_mmq_ds4);
    CHECK(p.args(2, room).matmul.x == p.args(0, room).row.q8_1_mmq_d4);
    CHECK(p.args(0, room).row.q8_1 == nullptr);
    const matmul_args a = p.args(1, room).matmul;
    CHECK(a.columns == 64);
    CHECK(a.x_rows == 64);
    CHECK(a.experts == 0);
    CHECK(a.tiles == 2 + 1);
    CHECK(a.member[1].first_band == 2);
    CHECK(p.steps()[1].config.blocks == 3 * 4);
    CHECK(p.steps()[1].config.shared_bytes ==
          shared_bytes(
              p.steps()[1].what.product().needs,
              matmul_policy{.threads = 64, .rows = 32, .columns = 16, .piece = 256, .stages = 2},
              512, 64));
}

TEST_CASE("the tokens decide how experts are multiplied: each column alone, or grouped by expert",
          "[epilogue]") {
    for (const std::int64_t tokens : {8, 9}) {
        graph_builder g;
        const id x = g.other({g.input(format::f32, {512, 1, tokens})});
        const id ids = g.input(format::i32, {2, tokens});
        const id gate = g.mul_mat_id(g.weight(format::q4_K, {512, 64, 5}), x, ids);
        const id up = g.mul_mat_id(g.weight(format::q4_K, {512, 64, 5}), x, ids);
        g.glu(gate, up);
        const plan p = planned(g);
        REQUIRE(p.steps().size() == 2);
        const step& s = p.steps()[1];
        CHECK(p.args(1, nullptr).kind == (tokens == 8 ? skeleton::matvec : skeleton::matmul));
        if (tokens == 8) continue;
        const matmul_args a = p.args(1, nullptr).matmul;
        CHECK(a.x_rows == 9);
        CHECK(a.columns == 18);
        CHECK(a.slots == 2);
        CHECK(a.experts == 5);
        CHECK(a.members == 1);
        CHECK(a.tiles == 64 / 32);
        CHECK(a.member[0].up == g[g[up].src[0]].data);
        CHECK(s.config.blocks == 5 * 2);
    }
}

TEST_CASE("at prompt sizes a GLU is quantized in the layouts that its readers want", "[epilogue]") {
    ffn_case c{40};
    SECTION("one") {
        const plan p = planned(c.g);
        CHECK(steps_of(p) == "1: 0 1, 2: 2 3 4, 5: 5");
        CHECK(p.at(4).elided);  // only the matmul reads it
        CHECK(p.makes(1, 0) == 1);
        CHECK(p.chains()[1].layouts == format_set::of(format::q8_1_mmq_d4));
        alignas(256) static std::byte room[1 << 17];
        const matvec_member m = p.args(1, room).matmul.member[0];
        CHECK(m.dst == nullptr);
        CHECK(m.q8_1 == nullptr);
        CHECK(m.q8_1_mmq_ds4 == nullptr);
        CHECK(m.q8_1_mmq_d4 != nullptr);
        CHECK(m.q8_1_mmq_d4 == p.args(2, room).matmul.x);
    }
    SECTION("two, and f32 for somebody else") {
        c.g.matmul(format::q4_K, 512, c.value);
        c.g.other({c.value});
        const plan p = planned(c.g);
        CHECK(steps_of(p) == "1: 0 1, 2: 2 3 4, 5: 5, 6: 6");
        alignas(256) static std::byte room[1 << 17];
        const matvec_member m = p.args(1, room).matmul.member[0];
        CHECK(m.dst == c.g[c.value].data);
        CHECK(m.q8_1_mmq_d4 == p.args(2, room).matmul.x);
        CHECK(m.q8_1_mmq_ds4 == p.args(3, room).matmul.x);
    }
}

TEST_CASE("a matmul does not quantize for readers that cut its rows otherwise", "[epilogue]") {
    graph_builder g;
    const id x = g.scaled_norm(g.input(format::f32, {512, 16}));
    const id wide = g.matmul(format::q4_K, 1024, x);
    g.matmul(format::q4_K, 64, g.reshape(wide, {512, 32}));
    const plan p = planned(g);
    CHECK(steps_of(p) == "1: 0 1, 2: 2, 4:, 4: 4");
    CHECK_FALSE(p.at(2).elided);
}

TEST_CASE("a GLU may lie over the activation that its own gate and up read", "[epilogue]") {
    ffn_case c;
    c.g.share(c.value, c.mul);
    CHECK(steps_of(planned(c.g)) == "1: 0 1, 2: 2 3 4, 5: 5");
}

TEST_CASE("a GLU over an activation that is still read as f32 is not written early", "[epilogue]") {
    norm_case c;
    const id gate = c.g.matmul(format::q4_K, 512, c.mul);
    const id router = c.g.other({c.mul});
    const id up = c.g.matmul(format::q4_K, 512, c.mul);
    const id value = c.g.glu(gate, up);
    c.g.share(value, c.mul);
    c.g.other({value, router});
    const plan p = planned(c.g);
    CHECK_FALSE(p.at(1).elided);
    CHECK(steps_of(p) == "1: 0 1, 5: 2 4 5");  // where the GLU stands
}

TEST_CASE("a norm whose input shares memory with a reading matmul's result stays right",
          "[epilogue]") {
    norm_case c;
    const id out = c.g.matmul(format::q4_K, 512, c.mul);
    c.g.share(out, c.x);
    c.g.other({out});
    CHECK(steps_of(planned(c.g)) == "1: 0 1, 2: 2");
}

TEST_CASE("a GLU joins two matmuls only if both have a bias or none has", "[epilogue]") {
    for (const bool of_gate : {true, false}) {
        norm_case c;
        const id gate = c.g.matmul(format::q4_K, 256, c.mul);
        const id up = c.g.matmul(format::q4_K, 256, c.mul);
        const id biased = c.g.add(of_gate ? gate : up, c.g.weight(format::f32, {256}));
        const id out = of_gate ? c.g.glu(biased, up) : c.g.glu(gate, biased);
        c.g.other({out});
        const plan p = planned(c.g);
        for (const step& s : p.steps()) CHECK_FALSE(epilogue_of(s.what).has(epilogue_part::glu));
    }
}

TEST_CASE("nothing is quantized for a reader on another stream", "[epilogue]") {
    norm_case c;
    const id inner = c.g.matmul(format::q4_K, 512, c.mul);
    const id out = c.g.matmul(format::q4_K, 64, inner);
    c.g.other({out});
    const auto quantizes = [&c] {
        const plan p = planned(c.g);
        return epilogue_of(p.steps()[1].what).has(epilogue_part::quantize);
    };
    CHECK(quantizes());
    c.g[out].stream = 1;
    CHECK_FALSE(quantizes());
}

TEST_CASE("both matrices of a GLU decide how they are copied", "[epilogue]") {
    ffn_case c;
    tensor& w = c.g[c.g[c.up].src[0]];
    w.offset += 2;
    w.data = static_cast<std::byte*>(w.data) + 2;
    const plan p = planned(c.g);
    const step& s = p.steps()[static_cast<std::size_t>(p.at(3).step)];
    CHECK(epilogue_of(s.what).has(epilogue_part::glu));
    CHECK(s.what.product().alignment == 2);
}

TEST_CASE("no step spans two streams", "[epilogue]") {
    ffn_case c;
    c.g[c.up].stream = 1;
    const plan p = planned(c.g);
    CHECK(p.at(3).step < 0);
    CHECK(left_why(p, 3) != reason::none);
}

TEST_CASE("what a kernel cannot reach is left, with the reason", "[epilogue]") {
    ffn_case c;
    c.g[c.g[c.up].src[0]].reachable = false;
    const plan p = planned(c.g);
    CHECK(p.at(3).step < 0);
    CHECK(left_why(p, 3) == reason::unreachable);
    ffn_case d;
    d.g[d.x].reachable = false;
    CHECK(left_why(planned(d.g), 0) == reason::unreachable);
}
