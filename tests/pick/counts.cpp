// What a matvec's instructions cost, by the counts of its machine code.
#include "catena/pick/cost.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/invented.hpp"
#include "catena_test/problems.hpp"

#include <algorithm>

using namespace catena;
using namespace catena_test;

namespace {

constexpr matvec_policy how = {.threads = 128,
                               .min_blocks = 4,
                               .rows = 1,
                               .columns = 1,
                               .piece = 1024,
                               .stages = 4,
                               .copy = copy_method::bulk,
                               .activation = activation_source::shared,
                               .product = inner_product::dp4a};

row counted(const warp_code& code) {
    row r = row_of(matvec_of(format_set::of(format::q4_K)), how);
    r.registers = 64;
    r.code.of[0] = code;
    return r;
}

/// Constants with which instructions and stalls alone count, of blocks that spread evenly.
cost_constants code_alone() {
    cost_constants c;
    c.stalled = 1;
    c.bulk_slice_us = c.column_us = c.async_chunk_us = c.crowding = 0;
    c.read_by_all_bytes = 1e9;
    return c;
}

/// The time of the code: no time to read weights, nor columns from shared memory.
double code_us(const row& r, std::int64_t k, int rows, int per_sm,
               const cost_constants& c = code_alone(), double head_start_us = whole_head_start_us) {
    arch a = *arch_named("sm_90");
    a.bytes_per_us = 1e12;
    const product_problem p = matvec_problem(k, {{.type = format::q4_K, .rows = rows}});
    const launch_shape shape = shape_of_launch(r, p, a, per_sm);
    const detail::matvec_share has = detail::share_of_matvec(r, p, a, shape);
    const double read = has.rows * has.of_sm / r.policy.matvec().rows *
                        detail::column_bytes(r.policy.matvec(), p) / detail::shared_memory_bytes /
                        a.cycles_per_us * (r.policy.matvec().columns > 1 ? mma_columns : 1);
    return predicted_us(r, p, a, shape, c, head_start_us) - a.node_us - read;
}

}  // namespace

TEST_CASE("An SM issues four instructions of its warps in a cycle, and a warp waits for its stalls",
          "[cost]") {
    const int rows = 132 * 4 * 8 * 16;
    const double groups = rows / 132.0, of_warp = groups / (4 * 8);
    const double once = code_us(counted({100, 100, 0, 0}), 4096, rows, 8);
    CHECK(once == Approx((groups * 4 * 100 / 4 + of_warp * 4 * 100) / 1980).epsilon(0.01));
    CHECK(code_us(counted({200, 200, 0, 0}), 4096, rows, 8) == Approx(2 * once).epsilon(0.01));
    CHECK(code_us(counted({100, 100, 200, 200}), 4096, rows, 8) ==
          Approx(1.5 * once).epsilon(0.01));
}

TEST_CASE("Few warps take as long as one of them", "[cost]") {
    const int rows = 132 * 4;  // a group for each warp, four warps on an SM
    const warp_code stalls = {1, 1000, 1, 500};
    const double us = code_us(counted(stalls), 4096, rows, 8);
    CHECK(us == Approx((4 * 1000 + 500) / 1980.0).epsilon(0.02));
    CHECK(code_us(counted(stalls), 4096, 4 * rows, 8) == Approx(us).epsilon(0.02));  // 16 warps
    CHECK(code_us(counted(stalls), 4096, 16 * rows, 8) == Approx(2 * us).epsilon(0.02));  // 32
}

TEST_CASE("Blocks that start early crowd on an SM that has room for them", "[cost]") {
    const row r = counted({400000, 1, 1, 1});
    const int rows = 132 * 4;  // a block on each SM
    const double even = code_us(r, 4096, rows, 1);
    cost_constants c = code_alone();
    c.crowding = 0.5;
    CHECK(code_us(r, 4096, rows, 1, c) == even);
    CHECK(code_us(r, 4096, rows, 3, c) == Approx((1 + 0.5 * 2) * even).epsilon(0.001));
    CHECK(code_us(r, 4096, rows, 3, c, 0) == Approx(even + detail::late_node_us).epsilon(0.001));
    CHECK(code_us(r, 4096, 4, 3, c) == Approx(even).epsilon(0.001));             // one block in all
    CHECK(code_us(r, 4096, 3 * rows, 3, c) == Approx(3 * even).epsilon(0.001));  // no room
}

TEST_CASE("A last stage has the product's steps for its values, and all else", "[cost]") {
    const int rows = 132 * 4 * 8 * 4;
    row r = counted({200, 200, 0, 0, 160, 160});
    r.policy.matvec().piece = 4096;  // four steps
    const double one = code_us(r, 4096, rows, 8);
    CHECK(code_us(r, 4096 + 512, rows, 8) == Approx(one * (200 + 40 + 40) / 200).epsilon(0.02));
    CHECK(code_us(r, 4096 + 2048, rows, 8) == Approx(one * (200 + 40 + 80) / 200).epsilon(0.02));
    CHECK(code_us(r, 512, rows, 8) == Approx(one * (40 + 40) / 200).epsilon(0.02));
}

TEST_CASE("Warps that share a row take the time of the one with the most pieces", "[cost]") {
    row r = counted({1, 1000, 1, 500});
    matvec_policy& p = r.policy.matvec();
    p.rows = 16, p.columns = 8, p.product = inner_product::mma;
    const int rows = 132 * 4 * 16;  // a group for each warp
    const double spare = 1.21;      // of one column
    CHECK(code_us(r, 8192, rows, 8) == Approx((8 * 1000 + 500) / 1980.0 * spare).epsilon(0.1));
    p.slices = 4;  // a group for each block, four of which are on an SM at once
    const double two = code_us(r, 8192, rows, 8);
    CHECK(two == Approx((2 * 1000 + 500) / 1980.0 * spare).epsilon(0.2));
    CHECK(code_us(r, 8192 + 1024, rows, 8) - two == Approx(1000 / 1980.0 * spare).epsilon(0.1));
    CHECK(code_us(r, 8192, rows, 1) == Approx(4 * (2 * 1000 + 500) / 1980.0 * spare).epsilon(0.1));
}

TEST_CASE("Slices of a team's last turn take the time of the busiest scheduler", "[cost]") {
    row r = counted({8000, 1, 1, 1});
    matvec_policy& p = r.policy.matvec();
    p.rows = 16, p.columns = 8, p.product = inner_product::mma, p.slices = 4;
    const int rows = 132 * 16;  // a group for each block, one of which is on an SM
    const double four = code_us(r, 4 * 1024, rows, 1);
    CHECK(code_us(r, 1024, rows, 1) == Approx(four).epsilon(0.01));
    CHECK(code_us(r, 5 * 1024, rows, 1) == Approx(2 * four).epsilon(0.01));
    CHECK(code_us(r, 8 * 1024, rows, 1) == Approx(2 * four).epsilon(0.01));
}

TEST_CASE("Columns of f32 are on their way together where registers hold them", "[cost]") {
    row r = row_of(matvec_of(format_set::of(format::f32)), how);
    matvec_policy& n = r.policy.matvec();
    n.columns = 4, n.product = inner_product::fma, n.activation = activation_source::global;
    product_problem p = matvec_problem(2048, {{.type = format::f32, .rows = 32}}, 4);
    p.needs.activation = format::f32;
    const arch& a = *arch_named("sm_90");
    const launch_shape shape = shape_of_launch(r, p, a, 1);
    const cost_constants hot = code_alone(), cold = with_cold_columns(code_alone());
    const auto us = [&](int registers, const cost_constants& c) {
        r.registers = registers;
        return predicted_us(r, p, a, shape, c);
    };
    const double steps = 2048 / 256;
    CHECK(us(87, hot) - us(88, hot) == Approx(3 * steps * hot.float_step_us).epsilon(0.02));
    CHECK(us(255, hot) == us(88, hot));
    CHECK(us(88, cold) - us(88, hot) ==
          Approx(steps * (cold.float_step_us - hot.float_step_us)).epsilon(0.02));
    n.placement = norm_placement::passing;
    CHECK(us(88, cold) == us(88, hot));
}

TEST_CASE("A warp that makes a norm in passing waits once for the steps that it has in flight",
          "[cost]") {
    row r = row_of(matvec_of(format_set::of(format::f32)), how);
    matvec_policy& n = r.policy.matvec();
    n.product = inner_product::fma, n.activation = activation_source::global;
    n.placement = norm_placement::passing;
    product_problem p = matvec_problem(2048, {{.type = format::f32, .rows = 32}});
    p.needs.activation = format::f32;
    const arch& a = *arch_named("sm_90");
    const auto waits = [&](int piece, std::int64_t k, const cost_constants& c) {
        n.piece = piece, p.k = k;
        cost_constants with = c;
        with.global_step_us = 1000;  // hides all else
        return predicted_us(r, p, a, shape_of_launch(r, p, a, 1), with) / 1000;
    };
    const cost_constants now = code_alone(), recorded = as_recorded(code_alone());
    CHECK(waits(256, 2048, now) == Approx(8).epsilon(0.02));
    CHECK(waits(512, 2048, now) == Approx(4).epsilon(0.02));
    CHECK(waits(2048, 2048, now) == Approx(2).epsilon(0.02));
    CHECK(waits(2048, 2880, now) == Approx(3).epsilon(0.02));
    CHECK(waits(2048, 2048, recorded) == Approx(8).epsilon(0.02));
}

TEST_CASE("The columns of slots that are added up are copied as one", "[cost]") {
    row r = counted({1, 100000, 1, 1});  // all else hides nothing
    r.policy.matvec().copy = copy_method::async;
    product_problem p =
        matvec_problem(768, {{.type = format::q4_K, .rows = 2048, .experts = 128}}, 8);
    p.expert = true, p.tokens = 1;
    const arch& a = *arch_named("sm_90");
    const auto copies = [&] {  // of a thread, one after the other
        const launch_shape shape = shape_of_launch(r, p, a, 4);
        cost_constants c = code_alone();
        const double without = predicted_us(r, p, a, shape, c);
        c.column_us = 1;
        return predicted_us(r, p, a, shape, c) - without;
    };
    CHECK(copies() == Approx(1).epsilon(0.05));  // 1152 bytes by 128 threads
    p.needs.epilogue = epilogue_set::of(epilogue_part::combine);
    r.policy.matvec().min_blocks = 1;
    CHECK(copies() == Approx(5).epsilon(0.05));  // 9216 bytes, not 8 times 1152
}

TEST_CASE("Results that are quantized take the time that a row step has for that", "[cost]") {
    const row r = counted({100, 100, 0, 0});
    const arch& a = *arch_named("sm_90");
    product_problem p = matvec_problem(4096, {{.type = format::q4_K, .rows = 4096}});
    const launch_shape shape = shape_of_launch(r, p, a, 4);
    const double us = predicted_us(r, p, a, shape);
    p.needs.epilogue = epilogue_set::of(epilogue_part::quantize);
    CHECK(predicted_us(r, p, a, shape) == Approx(us + cost_constants{}.quantize_us));
}

TEST_CASE("A row that is not on record costs what is usual for its product", "[cost]") {
    const int rows = 132 * 4 * 8 * 16;
    const double groups = rows / 132.0, bytes = 4096.0 / 256 * 144;
    const double us = code_us(counted({}), 4096, rows, 8) * 1980;
    CHECK(us > groups * bytes / 32 * detail::usual_issues(inner_product::dp4a, {}) / 4);
    CHECK(us < groups * bytes / 32 * detail::usual_issues(inner_product::dp4a, {}));
}

TEST_CASE("A launch without a head start fills its ring before its columns come", "[cost]") {
    const arch& a = *arch_named("sm_90");
    row r = counted({1, 20000, 1, 500});  // a way that is much longer than the time of the bytes
    r.policy.matvec().stages = 8;
    product_problem p = matvec_problem(4096, {{.type = format::q4_K, .rows = 132 * 16}});
    const launch_shape shape = shape_of_launch(r, p, a, 4);
    const auto us = [&](double head_start) { return predicted_us(r, p, a, shape, {}, head_start); };
    const detail::matvec_share has = detail::share_of_matvec(r, p, a, shape);
    const double ring = has.ahead * has.weights / a.bytes_per_us;
    CHECK(ring > 0.5);
    CHECK(us(ring) == predicted_us(r, p, a, shape));
    CHECK(us(0) - us(ring) == Approx(ring + detail::late_node_us).epsilon(0.05));
    CHECK(us(ring / 2) - us(ring) == Approx(ring / 2).epsilon(0.05));
    CHECK(head_start_behind_us(5, a) == Approx(5 - a.node_us - cost_constants{}.row_launch_us));
    CHECK(head_start_behind_us(0.1, a) == 0);
}

TEST_CASE("With one stage memory and products overlap where a warp goes through one stage alone",
          "[cost]") {
    const arch& a = *arch_named("sm_90");
    const auto us = [&](int stages, int rows) {
        row r = counted({1000, 1000, 0, 0});
        r.policy.matvec().stages = stages;
        const product_problem p = matvec_problem(1024, {{.type = format::q4_K, .rows = rows}});
        return predicted_us(r, p, a, shape_of_launch(r, p, a, 4), code_alone());
    };
    const int once = 132 * 4 * 4;  // a group for each warp
    CHECK(us(1, once) == us(2, once));
    const double bytes_us = 8.0 * once * 576 / a.bytes_per_us;
    CHECK(us(1, 8 * once) - us(2, 8 * once) > 0.5 * bytes_us);
}

TEST_CASE("Columns that are not there are not multiplied", "[cost]") {
    row r = counted({1000, 2000, 100, 600, 800, 1600});
    r.policy.matvec().columns = 4;
    const cost_constants c;
    const warp_code one = detail::code_for_columns(r, format::q4_K, 1, c),
                    three = detail::code_for_columns(r, format::q4_K, 3, c),
                    four = detail::code_for_columns(r, format::q4_K, 4, c);
    CHECK(four == r.code.of[0]);
    CHECK(three.stage_issues == 1000 - 33);  // one step of one row
    CHECK(one.stage_issues == 1000 - 3 * 33);
    CHECK(one.product_issues == 800 - 3 * 33);
    CHECK(one.stage_cycles == 2000 - 3 * 117);
}

TEST_CASE("An mma multiplies four columns at the price of one, and the next four again", "[cost]") {
    row r = counted({1000, 2000, 100, 600, 800, 1600});
    matvec_policy& p = r.policy.matvec();
    p.rows = 16, p.columns = 8, p.piece = 512, p.product = inner_product::mma;
    p.activation = activation_source::shared;
    const auto issues = [&](int columns, const cost_constants& c) {
        return detail::code_for_columns(r, format::q4_K, columns, c).stage_issues;
    };
    CHECK(issues(5, {}) == 1000);
    CHECK(issues(4, {}) == 1000 - 4 * 4 * 13);  // of four steps
    CHECK(issues(1, {}) == issues(4, {}));
    CHECK(issues(4, as_recorded()) == 1000);
    p.activation = activation_source::global;  // counted with four
    CHECK(issues(4, {}) == 1000);
}

TEST_CASE("Warps that share rows wait for the columns of their first stage", "[cost]") {
    row r = counted({1000, 2000, 100, 600, 800, 1600});
    matvec_policy& p = r.policy.matvec();
    p.rows = 16, p.columns = 8, p.piece = 512, p.slices = 8, p.product = inner_product::mma;
    product_problem of = matvec_problem(1024, {{.type = format::q4_K, .rows = 4096}});
    const auto values = [&](std::int64_t k, const cost_constants& c) {
        of.k = k;
        return detail::values_waited_for(p, of, c);
    };
    CHECK(values(2048, {}) == 2048);
    CHECK(values(12288, {}) == 4096);
    CHECK(values(12288, as_recorded()) == 12288);
}

TEST_CASE("A block that makes its column waits for a part of it, unless it gates", "[cost]") {
    row r = counted({1000, 2000, 100, 600, 800, 1600});
    matvec_policy& p = r.policy.matvec();
    p.threads = 256, p.piece = 2048, p.placement = norm_placement::deferred;
    p.activation = activation_source::shared;
    product_problem of = matvec_problem(8192, {{.type = format::q4_K, .rows = 4096}});
    of.needs.activation = format::f32;
    CHECK(detail::values_waited_for(p, of, {}) == 1024);  // a quad of each thread
    CHECK(detail::values_waited_for(p, of, as_recorded()) == 8192);
    p.threads = 128;  // whose quads are half a step
    CHECK(detail::values_waited_for(p, of, {}) == 2048);
    of.gate_k = 128;
    CHECK(detail::values_waited_for(p, of, {}) == 8192);
}

TEST_CASE("What products hide of the rest of the columns is not late", "[cost]") {
    row r = counted({1000, 2000, 100, 600, 800, 1600});
    matvec_policy& p = r.policy.matvec();
    const arch& a = *arch_named("sm_90");
    product_problem of = matvec_problem(8192, {{.type = format::q4_K, .rows = 4096}});
    cost_constants c;
    const auto late = [&](double stage_us) {
        const auto has = detail::share_of_matvec(r, of, a, shape_of_launch(r, of, a, 1));
        return detail::late_columns_us(p, of, a, has, c, stage_us);
    };
    const auto read = [&](std::int64_t values) {
        const auto has = detail::share_of_matvec(r, of, a, shape_of_launch(r, of, a, 1));
        return detail::read_us(p, of, a, has, c, values);
    };
    CHECK(late(0) == 0);  // all columns are there before any product
    SECTION("by a block that makes its column") {
        p.threads = 256, p.piece = 2048, p.placement = norm_placement::deferred;
        p.activation = activation_source::shared;
        of.needs.activation = format::f32;
        const double meetings = 7 * detail::meeting_cycles / a.cycles_per_us;
        CHECK(late(1e3) == Approx(meetings));
        CHECK(late(0) == Approx(7 * std::max(read(1024), c.late_load_us) + meetings));
        c.late_load_us = 100;  // each part is a load that takes as long
        CHECK(late(20) == Approx(7 * 90 + meetings));
    }
    SECTION("by warps that share rows") {
        p.threads = 256, p.rows = 16, p.columns = 8, p.piece = 256, p.slices = 8;
        p.product = inner_product::mma;
        p.activation = activation_source::shared;
        CHECK(late(1e3) == 0);
        CHECK(late(0) == Approx(read(8192) - read(2048)));
        const double stage = read(2048);
        CHECK(late(stage) ==
              Approx(stage));  // of three stages behind the first, two are multiplied
        of.k = 2048;
        CHECK(late(0) == 0);
    }
}

TEST_CASE("Each format of a launch has its own counts", "[cost]") {
    const int rows = 132 * 4 * 8 * 16;
    row r = row_of(matvec_of(format_set::of(format::q4_K) | format::q6_K), how);
    r.registers = 64;
    r.code = {{{100, 100, 0, 0}, {300, 300, 0, 0}}};
    arch a = *arch_named("sm_90");
    a.bytes_per_us = 1e12;
    const auto us = [&](const product_problem& p) {
        const double all = predicted_us(r, p, a, shape_of_launch(r, p, a, 8), code_alone());
        const double spare = 1 + detail::spare_share * (2.0 - p.needs.weights.size());
        return (all - a.node_us) / spare;
    };
    const problem_member small{.type = format::q4_K, .rows = rows},
        large{.type = format::q6_K, .rows = rows};
    const double q4_K = us(matvec_problem(4096, {small}));
    CHECK(us(matvec_problem(4096, {large})) > 2.5 * q4_K);
    CHECK(us(matvec_problem(4096, {large})) < 3 * q4_K);
    CHECK(us(matvec_problem(4096, {large, small})) > 3.2 * q4_K);
    CHECK(us(matvec_problem(4096, {large, small})) < 4.5 * q4_K);
}

TEST_CASE("A copy that starts while the launch before it runs takes no time", "[cost]") {
    const arch& a = *arch_named("sm_90");
    row r = counted({100, 100, 0, 0});
    r.policy.matvec().copy = copy_method::plain;
    const auto overlap = [&](const product_problem& p) {
        const int resident = blocks_per_sm(r, p, a);
        return detail::share_of_matvec(r, p, a, shape_of_launch(r, p, a, resident)).overlap;
    };
    product_problem p = matvec_problem(4096, {{.type = format::q4_K, .rows = 132 * 4}});
    CHECK(overlap(p) == 1);  // a block on each SM, which has room for more
    p.member[0].rows = 132 * 4 * 64;
    CHECK(overlap(p) == 0);  // blocks fill the GPU
    p.member[0].rows = 132 * 4;
    p.expert = true, p.member[0].experts = 8, p.tokens = 1;
    CHECK(overlap(p) == 0);  // nobody knows the ids
}

TEST_CASE("Warps that share rows and keep up with memory get one block on an SM", "[cost]") {
    matvec_policy p = how;
    p.threads = 256, p.min_blocks = 2, p.rows = 16, p.columns = 8, p.piece = 512, p.stages = 2;
    p.slices = 8, p.product = inner_product::mma;
    row r = row_of(matvec_of(format_set::of(format::q4_K)), p);
    r.registers = 128;
    const arch& a = *arch_named("sm_90");
    const product_problem problem = matvec_problem(4096, {{.type = format::q4_K, .rows = 4096}}, 8);
    const auto band = [&](int stage_cycles) {
        r.code.of[0] = {1000, stage_cycles, 100, 600, 800, 1200};
        return band_rows(r, problem, a, 2);
    };
    // Eight warps have 8 * 16 * 288 bytes of q4_K in a stage; an SM reads 11.48 bytes in a cycle.
    CHECK(band(3200) == 32);
    CHECK(band(3220) == 16);
    CHECK(band(0) == 16);  // not counted
}

TEST_CASE("Experts that several tokens draw come from memory once, and from L2 for the others",
          "[cost]") {
    const arch& a = *arch_named("sm_90");
    const row r = counted({1, 1, 0, 0});
    const auto bytes_us = [&](int experts, int tokens, const cost_constants& c = {}) {
        product_problem p = matvec_problem(4096, {{.type = format::q4_K, .rows = 4096}});
        p.expert = true, p.member[0].experts = experts, p.tokens = tokens, p.columns = 2 * tokens;
        return predicted_time(r, p, a, shape_of_launch(r, p, a, 8), c).bytes;
    };
    const double matrix = 4096.0 * 2304 / a.bytes_per_us;
    CHECK(bytes_us(4, 1) == Approx(2 * matrix));
    CHECK(bytes_us(4, 2) == Approx(3 * matrix));
    CHECK(bytes_us(1000, 2) == Approx(4 * matrix).epsilon(0.01));
    CHECK(bytes_us(2, 8) == Approx(16 * matrix / detail::l2_speedup));
    CHECK(bytes_us(4, 2, as_recorded()) == Approx(4 * matrix));

    product_problem p = matvec_problem(4096, {{.type = format::q4_K, .rows = 4096}});
    p.expert = true, p.member[0].experts = 4, p.tokens = 2, p.columns = 4;
    CHECK(detail::share_read_once(p, p.member[0]) == Approx(3.0 / 4));
    p.needs.epilogue = epilogue_set::of(epilogue_part::combine);  // blocks read both slots
    CHECK(detail::share_read_once(p, p.member[0]) == Approx(3.0 / 4));
    p.needs.epilogue = {}, p.columns = 2 * 4;  // a matrix of each head, which all tokens read
    CHECK(detail::share_read_once(p, p.member[0]) == Approx(1.0 / 2));

    p.member[0].experts = 1000, p.columns = 2;
    p.member[p.member_count++] = {.type = format::q4_K, .rows = 4096};  // both tokens read it
    CHECK(predicted_time(r, p, a, shape_of_launch(r, p, a, 8)).bytes ==
          Approx(3 * matrix).epsilon(0.01));
}
