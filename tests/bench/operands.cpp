// Operands dealt for a problem are all that a kernel reads: one row of every computation of a set,
// with the formats and the inner product that it has, runs on the host executor without a finding.
#include "catena_test/catch.hpp"

#include "ids.hpp"
#include "operands.hpp"

#include "catena/exec/host.hpp"
#include "catena/instances/on_host.hpp"
#include "catena/instances/sm_90.hpp"
#include "catena/pick/config.hpp"
#include "catena/pick/constraints.hpp"
#include "catena/pick/name.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <set>
#include <string>

using namespace catena;
using namespace catena::bench;

namespace {

row_problem small_row(const row& r) {
    row_problem p;
    p.needs = r.computes.row();
    p.k = p.quant_k = 512;
    p.rows = 2;
    const bool scanned = scans(p.needs.stages);
    if (recalls(p.needs.stages) || scanned) {  // two heads, for three tokens of two sequences
        p.k = 128, p.slots = 3, p.sequences = 2;
        p.rows = 2 * (scanned ? 64 : p.k) / values_of_warp * p.sequences;
    }
    if (attends(p.needs.stages)) {  // two heads of keys, for three tokens
        p.k = 128, p.slots = 12, p.positions = 150;
        p.rows = 2 * p.slots, p.stored = 2 * 2 * 3;
        p.quant_k = 8 * p.k;
    }
    return p;
}

product_problem small_product(const row& r) {
    product_problem p;
    p.needs = r.computes.product();
    p.needs.epilogue =
        has_heads(p.needs.epilogue) ? epilogue_set::of(epilogue_part::heads) : epilogue_set{};
    p.k = 512;
    p.columns = r.computes.kind() == skeleton::matmul ? 9 : r.policy.matvec().columns;
    for (const format f : r.computes.product().weights)
        p.member[p.member_count++] = {f, 64, 0, p.needs.epilogue};
    if (has_heads(p.needs.epilogue)) p.member[0].written = false;
    return p;
}

/// The problem with matrices that ids pick, two for each token.
product_problem of_experts(product_problem p) {
    p.expert = true;
    p.tokens = p.needs.kind == skeleton::matmul ? 9 : routes(p) ? 1 : 2;
    p.columns = 2 * p.tokens;
    for (int i = 0; i < p.member_count; ++i) p.member[i].experts = 3 + i;
    return p;
}

}  // namespace

TEST_CASE("Operands that are dealt for a problem are all that its kernels read") {
    const table described = instances::sm_90();
    const table rows = instances::on_host(described);
    constexpr std::size_t bytes = std::size_t{8} << 20;
    struct freed {
        void operator()(void* p) const { std::free(p); }
    };
    const std::unique_ptr<void, freed> room(std::aligned_alloc(256, bytes));
    std::memset(room.get(), 0, bytes);

    std::set<std::string> ran;
    for (int n = 0; n < 2 * rows.row_count; ++n) {
        const int i = n / 2;
        const bool experts = n % 2 != 0;
        const row& r = rows.rows[i];
        const bool is_row = r.computes.kind() == skeleton::row;
        if (experts && (is_row || has_norm(r.computes.product().stages))) continue;
        if (!experts && !is_row && routes(r.computes.product().stages)) continue;
        const problem p = is_row    ? problem(small_row(r))
                          : experts ? of_experts(small_product(r))
                                    : small_product(r);
        const arch& a = *rows.target;
        const int resident = blocks_per_sm(r, p, a);
        if (rows.kernels[i] == nullptr || constraint(r, p, a).why != limit::none || resident < 1)
            continue;
        // One of each kind; policies only differ in how they go through the same operands.
        const std::string kind = row_name(rows, i).substr(0, row_name(rows, i).rfind('.'));
        const std::string of = kind.substr(0, kind.rfind('.')) + (experts ? " of experts" : "") +
                               (experts && routes(p.product()) ? " that it finds" : "") +
                               (!is_row && has_heads(p.product().needs.epilogue) ? " turned" : "") +
                               std::to_string(static_cast<int>(placement_of(r.policy)));
        if (!ran.insert(of).second) continue;
        CAPTURE(row_name(rows, i));
        const launch_shape shape = shape_of_launch(r, p, a, resident);
        dealer deal(static_cast<std::byte*>(room.get()), bytes);
        const operands o = operands_of(p, shape.band, deal);
        if (o.kind == skeleton::matmul) CHECK(o.matmul.x_rows == tokens_of(p.product()));
        // All that a launch has to write is poison before, and a number after.
        for (const stretch& s : o.outputs)
            std::memset(s.at, 0xff, static_cast<std::size_t>(s.bytes));
        exec::host_device device{3};
        device.add("inputs", room.get(), bytes / 2, exec::memory::constant);
        device.add("outputs", static_cast<std::byte*>(room.get()) + bytes / 2, bytes / 2,
                   exec::memory::uninitialized);
        for (const stretch& s : o.inputs)  // that are written, too
            if (s.at - static_cast<std::byte*>(room.get()) >= std::ptrdiff_t{bytes / 2})
                device.mark(s.at, static_cast<std::size_t>(s.bytes), true);
        const status done = rows.launch(rows.kernels[i], config_of(r, p, a, shape), o.args(),
                                        o.args_bytes(), &device);
        std::string why = done.ok() ? "" : done.message;
        if (!device.findings().empty()) why = device.findings().back().message;
        CHECK(why == "");
        for (const stretch& s : o.outputs)
            for (std::int64_t at = 0; s.type == format::f32 && at < s.bytes / 4; ++at)
                if (std::isnan(reinterpret_cast<const float*>(s.at)[at])) {
                    FAIL_CHECK("value " << at << " of an output was not written");
                    break;
                }
    }
    CHECK(ran.size() > 50);  // of the fewest kernels that tests are built with
}

TEST_CASE("Every operand that a stage of a chain reads is dealt, and its bytes are counted") {
    const table rows = instances::sm_90();
    constexpr std::size_t bytes = std::size_t{1} << 20;
    const auto room = std::make_unique<std::byte[]>(bytes);
    std::set<operand> seen;
    for (int c = 0; c < rows.chain_count; ++c) {
        const lowered_chain& chain = rows.chains[c];
        row_problem p;
        for (int i = 0; i < chain.count; ++i)
            if (row_stages.has(chain.stages[i].kind))
                p.needs.stages = p.needs.stages | chain.stages[i].kind;
        p.k = 512;
        p.rows = 2;
        p.slots = p.needs.stages.has(stage_kind::combine) ? 2 : 0;
        if (attends(p.needs.stages)) p.slots = p.rows, p.positions = 64;
        for (int i = 0; i < chain.count; ++i) {
            const stage& s = chain.stages[i];
            const auto* const end = std::end(row_operand_fields);
            const auto* const field =
                std::find_if(std::begin(row_operand_fields), end,
                             [&s](const row_operand_field& f) { return f.which == s.reads; });
            if (!row_stages.has(s.kind) || field == end) continue;
            CAPTURE(chain.signature, i);
            dealer deal(room.get(), bytes);
            const operands o = operands_of(p, 0, deal);
            const bool of_heads = has_heads(p.needs.stages) && s.reads == operand::weight;
            const float* const data = of_heads ? o.heads.member[0].weight : o.row.*field->data;
            CHECK(data != nullptr);
            row_problem without = p;
            without.needs.stages = p.needs.stages.without(s.kind);
            const std::int64_t rows_read = field->at != nullptr ? p.rows : 1;
            CHECK(bytes_of(p) - bytes_of(without) >= 4 * p.k * rows_read);
            seen.insert(s.reads);
        }
    }
    CHECK(seen.size() >= 5);
}

TEST_CASE("Every operand that a part of an epilogue reads has a place in a member, and is dealt") {
    constexpr std::size_t bytes = std::size_t{1} << 20;
    const auto room = std::make_unique<std::byte[]>(bytes);
    for (const epilogue_part part : all_epilogue_parts) {
        CAPTURE(name(part));
        const auto* const end = std::end(part_operand_fields);
        const auto* const field =
            std::find_if(std::begin(part_operand_fields), end,
                         [part](const part_operand_field& f) { return f.part == part; });
        const part_operand reads = info(part).reads;
        REQUIRE((field != end) == (reads != part_operand::none));
        if (field == end) continue;
        for (const bool pair : {false, true}) {
            product_problem p;
            p.needs.kind = skeleton::matvec;
            p.needs.activation = format::q8_1;
            p.k = 512, p.columns = 3, p.member_count = 1;
            p.member[0] = {format::q4_K, 64, 0, {}};
            if (pair) p.member[0].epilogue = epilogue_set::of(epilogue_part::glu);
            const std::int64_t without = bytes_of(p);
            const auto dealt = [&] {
                dealer deal(room.get(), bytes);
                return operands_of(p, 8, deal).matvec.member[0];
            };
            CHECK(dealt().*field->data == nullptr);
            p.member[0].epilogue = p.member[0].epilogue | part;
            const matvec_member m = dealt();
            CHECK(m.*field->data != nullptr);
            if (field->of_up != nullptr) CHECK((m.*field->of_up != nullptr) == pair);
            if (reads == part_operand::result)
                CHECK(bytes_of(p) - without == 4 * p.member[0].rows * p.columns);
        }
    }
}

TEST_CASE("A launch that gates its activation is dealt a gate, and a weight for a norm of heads") {
    constexpr std::size_t bytes = std::size_t{1} << 20;
    const auto room = std::make_unique<std::byte[]>(bytes);
    for (const bool normed : {false, true}) {
        product_problem p;
        p.needs.kind = skeleton::matvec;
        p.needs.activation = format::f32;
        p.needs.stages = stage_set::of(stage_kind::glu);
        if (normed)
            p.needs.stages = stage_kind::rms_norm | stage_kind::mul_weight | stage_kind::gate;
        p.k = 512, p.gate_k = 128, p.columns = 1, p.member_count = 1;
        p.member[0] = {format::q4_K, 64, 0, {}};
        p.needs.weights = format_set::of(format::q4_K);
        dealer deal(room.get(), bytes);
        const matvec_args a = operands_of(p, 64, deal).matvec;
        CHECK(a.gate.data != nullptr);
        CHECK(a.gate.k == 128);
        CHECK(a.gate.nb1 == 512);
        CHECK((a.norm_weight != nullptr) == normed);
    }
}

TEST_CASE("A launch that begins or ends a norm is dealt its weight and squares") {
    constexpr std::size_t bytes = std::size_t{1} << 20;
    const auto room = std::make_unique<std::byte[]>(bytes);
    for (const bool both : {false, true}) {
        product_problem p;
        p.needs.kind = skeleton::matvec;
        p.needs.activation = format::q8_1;
        p.needs.epilogue = epilogue_set::of(epilogue_part::quantize);
        p.k = 512, p.columns = 3, p.member_count = 1;
        p.member[0] = {format::q4_K, 64, 0, p.needs.epilogue};
        p.begins_norm = p.ends_norm = both;
        dealer deal(room.get(), bytes);
        const matvec_args a = operands_of(p, 64, deal).matvec;
        CHECK((a.begun_squares != nullptr) == both);
        CHECK((a.member[0].begun_weight != nullptr) == both);
        CHECK((a.member[0].begun_squares != nullptr) == both);
        if (both) CHECK(a.eps > 3.5f / 32);  // random squares may be as far below 0
    }
}

TEST_CASE("Tokens are dealt experts at random, each of them distinct ones") {
    constexpr int tokens = 4, slots = 4, experts = 32, launches = 2000;
    int met = 0;
    for (int seed = 0; seed < launches; ++seed) {
        const auto ids = ids_of({nullptr, 4 * tokens * slots, format::i32, experts, slots},
                                static_cast<std::uint64_t>(seed));
        REQUIRE(ids.size() == tokens * slots);
        for (auto token = ids.begin(); token != ids.end(); token += slots)
            CHECK(std::set<std::int32_t>(token, token + slots).size() == slots);
        met += static_cast<int>(std::set<std::int32_t>(ids.begin(), ids.end()).size());
    }
    product_problem p;
    p.needs.kind = skeleton::matvec;
    p.expert = true, p.tokens = tokens, p.columns = tokens * slots;
    CHECK(static_cast<double>(met) / launches ==
          Approx(matrices_read(p, {.experts = experts})).epsilon(0.01));
    const auto distinct = ids_of({nullptr, 4 * 31, format::i32, 32}, 1);
    CHECK(std::set<std::int32_t>(distinct.begin(), distinct.end()).size() == 31);
}
