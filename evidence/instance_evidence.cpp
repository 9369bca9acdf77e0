#include "instance_evidence.hpp"

#include "sass_loops.hpp"
#include "warp_code.hpp"

#include "catena/pick/cost.hpp"
#include "catena/pick/name.hpp"

#include <algorithm>

namespace catena::evidence {

namespace {

/// Values of K that a warp multiplies in a pass, of each of its rows: a step of the inner product,
/// and a group of it where groups are a loop.
int values_of_pass(const matvec_policy& p) {
    if (p.product != inner_product::mma) return warp_values / rows_abreast(p);
    return p.activation == activation_source::global ? 32 : 4 * 32;
}

/// Bytes of so many values of each row that a warp has, by the first format of a matvec's weights.
double weight_bytes(const row& r, int values) {
    const format_info& f = info(*r.computes.product().weights.begin());
    return static_cast<double>(r.policy.matvec().rows) * values * f.block_bytes / f.block_elements;
}

/// Is a piece more than one pass? Else ptxas makes no loop of it, and one around it would be found.
bool loops(const matvec_policy& p) { return p.piece > values_of_pass(p); }

dot_stage dot_of(const row& r, const sass_function& f) {
    dot_stage out;
    const matvec_policy& p = r.policy.matvec();
    if (!loops(p)) return out;
    const bool mma = p.product == inner_product::mma;
    const sass_kind kind = mma ? sass_kind::mma : sass_kind::dp4a;
    const sass_loop* longest = nullptr;
    const std::vector<sass_loop> loops = innermost_loops(f, kind);
    for (const sass_loop& l : loops)
        if (longest == nullptr || l.count(f, kind) > longest->count(f, kind)) longest = &l;
    if (longest == nullptr) return out;
    out.instructions = longest->size();
    out.weight_bytes = weight_bytes(r, values_of_pass(p));
    const int integer = longest->count(f, sass_kind::integer) + longest->count(f, sass_kind::dp4a);
    out.per_byte = out.instructions * 32 / out.weight_bytes;
    out.integer_per_byte = integer * 32 / out.weight_bytes;
    return out;
}

/// A square matrix of the row's first format, one column.
double square_us(const row& r, const arch& target) {
    product_problem p;
    p.needs.kind = skeleton::matvec;
    p.needs.activation = r.computes.product().activation;
    p.needs.weights = format_set::of(*r.computes.product().weights.begin());
    p.k = evidence_k;
    p.columns = 1;
    p.member_count = 1;
    p.member[0].type = *r.computes.product().weights.begin();
    p.member[0].rows = evidence_k;
    return predicted_us(r, p, target, shape_of_launch(r, p, target, blocks_per_sm(r, p, target)));
}

/// A problem with as many columns as the row takes at once and a block holds.
problem widest_of(const row& r, const arch& target) {
    if (r.computes.kind() == skeleton::row) return row_problem{};
    product_problem p;
    p.needs.kind = r.computes.kind();
    p.needs.weights = r.computes.product().weights;
    p.k = evidence_k;
    p.columns = std::max(1, columns_of(r.policy));
    while (p.columns > 1 && shared_bytes(r, p, target) > target.shared_per_block) --p.columns;
    return p;
}

void find_faults(instance_evidence& e, const row& r, const arch& target, const compiled_kernel& k) {
    const int promised = r.policy.min_blocks();
    const auto unless = [&](bool holds, const std::string& sentence) {
        if (!holds) e.faults.push_back(sentence);
    };
    const auto text = [](auto n) { return std::to_string(n); };
    unless(k.spilled_bytes == 0, "it spills " + text(k.spilled_bytes) + " bytes");
    unless(k.stack_bytes == 0, "it keeps " + text(k.stack_bytes) + " bytes in local memory");
    unless(blocks_by_registers(k.registers, r.policy.threads(), target) >= promised,
           "its registers leave no room for the " + text(promised) +
               " blocks that its policy promises");
    unless(
        e.shared_bytes <= target.shared_per_block,
        "a block asks for more shared memory than it may use: " + text(e.shared_bytes) + " bytes");
    if (r.computes.kind() == skeleton::row) {
        const bool vector = r.policy.row().vector;
        unless(!vector || e.loads16 > 0,
               "its policy says vector, and it loads no 16 bytes at once");
        unless(vector || e.loads16 == 0,
               "its policy says no vector, and it loads 16 bytes at once");
        return;
    }
    const copy_method copy = copy_of(r.policy);
    unless(copy != copy_method::bulk || e.bulk_copies > 0,
           "its policy says bulk, and it has no bulk copy");
    unless(copy != copy_method::async || e.async_copies > 0,
           "its policy says async, and it has no cp.async");
    unless(copy != copy_method::plain || e.loads16 > 0,
           "its policy says plain, and it loads no 16 bytes at once");
    if (r.computes.kind() == skeleton::matmul) {
        unless(e.mma > 0, "its policy says " + std::string(name(r.policy.matmul().product)) +
                              ", and it has none");
        return;
    }
    const inner_product product = r.policy.matvec().product;
    unless(product != inner_product::mma || e.mma > 0, "its policy says mma, and it has none");
    unless(product != inner_product::dp4a || e.dp4a > 0, "its policy says dp4a, and it has none");
    unless(!e.has_dot || e.dot.instructions > 0 || !loops(r.policy.matvec()),
           "it has no loop with its inner product in it");
}

}  // namespace

double issued_per_byte(const arch& target) {
    constexpr double cycles_per_us = 1750;
    return target.sms * 4 * 32 * cycles_per_us / target.bytes_per_us;
}

instance_evidence evidence_of(const row& r, const arch& target,
                              const std::vector<compiled_kernel>& kernels,
                              const std::vector<sass_function>& code) {
    instance_evidence e;
    e.name = row_name(r, target.name);
    const std::string wanted = symbol(r, target);
    const auto kernel = std::find_if(kernels.begin(), kernels.end(),
                                     [&](const compiled_kernel& k) { return k.symbol == wanted; });
    const auto function = std::find_if(code.begin(), code.end(),
                                       [&](const sass_function& f) { return f.name == wanted; });
    if (kernel == kernels.end() || function == code.end()) {
        e.faults.push_back("it was not compiled");
        return e;
    }
    row compiled = r;
    compiled.registers = kernel->registers;
    compiled.code = {};
    const problem p = widest_of(r, target);
    e.registers = kernel->registers;
    e.sass_bytes = 16 * static_cast<long long>(function->code.size());
    e.shared_bytes = shared_bytes(compiled, p, target);
    e.blocks = blocks_per_sm(compiled, p, target);
    e.asked = r.policy.min_blocks();
    e.loads16 = function->count(sass_kind::load16);
    e.async_copies = function->count(sass_kind::async_copy);
    e.bulk_copies = function->count(sass_kind::bulk_copy);
    const bool matmul = r.computes.kind() == skeleton::matmul;
    const bool warpgroups = matmul && by_warpgroups(r.policy.matmul());
    e.mma = function->count(warpgroups ? sass_kind::wgmma : sass_kind::mma);
    e.dp4a = function->count(sass_kind::dp4a);
    e.has_dot = r.computes.kind() == skeleton::matvec && r.computes.product().weights.size() == 1 &&
                r.policy.matvec().product != inner_product::fma;
    if (e.has_dot) {
        e.dot = dot_of(r, *function);
        const double allowed = issued_per_byte(target);
        e.keeps_up = e.dot.per_byte <= allowed && e.dot.integer_per_byte <= allowed / 2;
    }
    if (r.computes.kind() == skeleton::matvec) {
        e.by_bytes_us = square_us(compiled, target);
        e.code = compiled.code = warp_code_of(r, *function);
        e.counted_us = square_us(compiled, target);
        e.stage_bytes = weight_bytes(r, r.policy.matvec().piece);
    }
    find_faults(e, r, target, *kernel);
    return e;
}

}  // namespace catena::evidence
