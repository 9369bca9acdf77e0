// What engines compile against. A name that is gone, another signature and a field that moved do
// not compile here: such a change needs a new minor version (docs/installing.md) and a line in
// CHANGELOG.md, and then this list follows.
#include "catena/pick/join.hpp"
#include "catena/plan/explain_text.hpp"
#include "catena/plan/log.hpp"
#include "catena/plan/verify.hpp"

#include "catena/arch/gpu.hpp"
#include "catena/arch/served.hpp"
#include "catena/launch/row.hpp"
#include "catena/launch/timer.hpp"
#include "catena/match/ggml_cuda.hpp"
#include "catena/pick/choice.hpp"
#include "catena/pick/measured_file.hpp"
#include "catena/runtime.hpp"

#include <cstddef>
#include <type_traits>

namespace names {

// A graph, and what the engine fuses of it.
using catena::array_view, catena::contiguous, catena::elements, catena::engine_model,
    catena::extent_bytes, catena::format, catena::format_named, catena::ggml_cuda,
    catena::graph_view, catena::info, catena::no_buffer, catena::no_tensor, catena::node_by_node,
    catena::op, catena::row_bytes, catena::sub_op, catena::tensor, catena::unknown_uses;
// Planning.
using catena::fingerprint_of, catena::keep_alive, catena::log_level, catena::options,
    catena::ordering, catena::plan_cache, catena::planner, catena::preference, catena::status,
    catena::status_code;
// A plan and its report.
using catena::choice, catena::explanation, catena::launch_event, catena::left_over,
    catena::log_as_asked, catena::node_plan, catena::observer, catena::plan_counters,
    catena::planned_chain, catena::reason, catena::role, catena::sentence, catena::step,
    catena::step_args, catena::summary, catena::verification, catena::with_addresses,
    catena::workspace_alignment;
// Tables.
using catena::arch, catena::arch_named, catena::capability_named, catena::gpu_registry,
    catena::joined, catena::measured_file, catena::nearest_served, catena::row, catena::row_name,
    catena::served_registry, catena::table, catena::with_figures;
// Launches.
using catena::basic_step_timer, catena::head_member, catena::heads_args, catena::launch_config,
    catena::launch_row, catena::matmul_args, catena::matvec_args, catena::route_args,
    catena::row_args, catena::row_launcher;

}  // namespace names

namespace {

using namespace catena;

template <auto Member, class Type>
constexpr bool is = std::is_same_v<decltype(Member), Type>;

static_assert(is<&planner::plan, plan (planner::*)(const graph_view&) const noexcept>);
static_assert(
    is<&plan::launch, status (plan::*)(int, void*, void*, const observer*) const noexcept>);
static_assert(is<&plan::at, node_plan (plan::*)(int) const>);
static_assert(is<&plan::size, int (plan::*)() const>);
static_assert(is<&plan::state, const status& (plan::*)() const>);
static_assert(is<&plan::steps, array_view<step> (plan::*)() const>);
static_assert(is<&plan::workspace_bytes, std::int64_t (plan::*)() const>);
static_assert(is<&plan::explain, explanation (plan::*)() const>);
static_assert(is<&plan::counters, const plan_counters& (plan::*)() const>);
static_assert(is<&plan_cache::find, const plan* (plan_cache::*)(std::uint64_t) const noexcept>);
static_assert(
    is<&ordering::nodes, std::vector<std::int32_t> (ordering::*)(const graph_view&) const>);
static_assert(std::is_same_v<decltype(options::from_environment()), options>);
static_assert(std::is_constructible_v<planner, const table&, const options&>);
static_assert(std::is_constructible_v<plan_cache, planner, std::size_t>);
static_assert(std::is_aggregate_v<graph_view> && std::is_aggregate_v<tensor>);

// Sizes in bytes and the places of fields, where an int has 32 bits and an address 64.
#define CATENA_AT(type, field, place) static_assert(offsetof(type, field) == (place))
static_assert(sizeof(tensor) == 232);
CATENA_AT(tensor, kind, 0);
CATENA_AT(tensor, sub, 1);
CATENA_AT(tensor, type, 2);
CATENA_AT(tensor, flags, 3);
CATENA_AT(tensor, weight, 4);
CATENA_AT(tensor, reachable, 5);
CATENA_AT(tensor, inside, 6);
CATENA_AT(tensor, ne, 8);
CATENA_AT(tensor, nb, 40);
CATENA_AT(tensor, src, 72);
CATENA_AT(tensor, view_src, 112);
CATENA_AT(tensor, params, 116);
CATENA_AT(tensor, buffer, 180);
CATENA_AT(tensor, offset, 184);
CATENA_AT(tensor, allocated, 192);
CATENA_AT(tensor, data, 200);
CATENA_AT(tensor, stream, 208);
CATENA_AT(tensor, uses, 212);
CATENA_AT(tensor, name, 216);
CATENA_AT(tensor, op_name, 224);
static_assert(sizeof(graph_view) == 48);
CATENA_AT(graph_view, tensors, 0);
CATENA_AT(graph_view, tensor_count, 8);
CATENA_AT(graph_view, nodes, 16);
CATENA_AT(graph_view, node_count, 24);
CATENA_AT(graph_view, engine, 32);
CATENA_AT(graph_view, scratch, 40);
static_assert(sizeof(engine_model) == 64);
CATENA_AT(engine_model, name, 0);
CATENA_AT(engine_model, fuses, 8);
CATENA_AT(engine_model, launches, 16);
CATENA_AT(engine_model, head_launches, 24);
CATENA_AT(engine_model, routing_launches, 32);
CATENA_AT(engine_model, waits, 40);
CATENA_AT(engine_model, attention_us, 48);
CATENA_AT(engine_model, attention_of_few_us, 56);
static_assert(sizeof(status) == 257);
CATENA_AT(status, code, 0);
CATENA_AT(status, message, 1);
static_assert(sizeof(launch_config) == 20);
CATENA_AT(launch_config, blocks, 0);
CATENA_AT(launch_config, threads, 4);
CATENA_AT(launch_config, shared_bytes, 8);
CATENA_AT(launch_config, dependent, 12);
CATENA_AT(launch_config, cluster, 16);
static_assert(sizeof(launch_event) == 32);
CATENA_AT(launch_event, from, 0);
CATENA_AT(launch_event, step, 8);
CATENA_AT(launch_event, row, 16);
CATENA_AT(launch_event, stream, 24);
static_assert(sizeof(observer) == 24);
CATENA_AT(observer, before, 0);
CATENA_AT(observer, after, 8);
CATENA_AT(observer, user, 16);
static_assert(sizeof(node_plan) == 8);
CATENA_AT(node_plan, step, 0);
CATENA_AT(node_plan, role, 4);
CATENA_AT(node_plan, elided, 5);
static_assert(sizeof(step) == 416);
CATENA_AT(step, chain, 0);
CATENA_AT(step, row, 4);
CATENA_AT(step, launch_at, 8);
CATENA_AT(step, first_node, 12);
CATENA_AT(step, node_count, 16);
CATENA_AT(step, what, 24);
CATENA_AT(step, config, 368);
CATENA_AT(step, band_rows, 388);
CATENA_AT(step, bytes, 392);
CATENA_AT(step, predicted_us, 400);
CATENA_AT(step, clusters_refused, 408);
static_assert(sizeof(row_args) == 576);
CATENA_AT(row_args, x, 40);
CATENA_AT(row_args, gate, 48);
CATENA_AT(row_args, experts, 56);
CATENA_AT(row_args, residual, 128);
CATENA_AT(row_args, weight, 136);
CATENA_AT(row_args, bias, 144);
CATENA_AT(row_args, next_weight, 152);
CATENA_AT(row_args, sum_factor, 160);
CATENA_AT(row_args, sum, 168);
CATENA_AT(row_args, f32, 176);
CATENA_AT(row_args, f16, 184);
CATENA_AT(row_args, bf16, 192);
CATENA_AT(row_args, q8_1, 200);
CATENA_AT(row_args, q8_1_mmq_d4, 208);
CATENA_AT(row_args, q8_1_mmq_ds4, 216);
CATENA_AT(row_args, bf16_mma, 224);
CATENA_AT(row_args, f16_mma, 232);
CATENA_AT(row_args, int8_token, 240);
CATENA_AT(row_args, fp8_tensor, 256);
CATENA_AT(row_args, fp8_token, 272);
CATENA_AT(row_args, fp8_group, 288);
CATENA_AT(row_args, mxfp8, 304);
CATENA_AT(row_args, mxfp4, 320);
CATENA_AT(row_args, nvfp4, 336);
CATENA_AT(row_args, int8_sums, 352);
CATENA_AT(row_args, fp8_scale, 360);
CATENA_AT(row_args, nvfp4_scale, 368);
CATENA_AT(row_args, x_at, 376);
CATENA_AT(row_args, gate_at, 400);
CATENA_AT(row_args, residual_at, 424);
CATENA_AT(row_args, sum_at, 448);
CATENA_AT(row_args, f32_at, 472);
CATENA_AT(row_args, f16_at, 496);
CATENA_AT(row_args, bf16_at, 520);
CATENA_AT(row_args, k, 544);
CATENA_AT(row_args, rows, 548);
CATENA_AT(row_args, n1, 552);
CATENA_AT(row_args, n2, 556);
CATENA_AT(row_args, quant_k, 560);
CATENA_AT(row_args, quant_blocks, 564);
CATENA_AT(row_args, scale_type, 568);
CATENA_AT(row_args, one_plus_weight, 569);
CATENA_AT(row_args, weight_early, 570);
static_assert(sizeof(heads_args) == 1064);
CATENA_AT(heads_args, positions, 0);
CATENA_AT(heads_args, factors, 8);
CATENA_AT(heads_args, turn, 16);
CATENA_AT(heads_args, members, 76);
CATENA_AT(heads_args, tokens, 80);
CATENA_AT(heads_args, rows, 84);
CATENA_AT(heads_args, member, 88);
CATENA_AT(heads_args, convolved, 568);
CATENA_AT(heads_args, recalled, 680);
CATENA_AT(heads_args, scanned, 872);
CATENA_AT(heads_args, attended, 1016);
static_assert(sizeof(head_member) == 120);
CATENA_AT(head_member, x, 0);
CATENA_AT(head_member, weight, 8);
CATENA_AT(head_member, f32, 16);
CATENA_AT(head_member, cache, 24);
CATENA_AT(head_member, cache_ids, 32);
CATENA_AT(head_member, x_nb1, 40);
CATENA_AT(head_member, x_nb2, 48);
CATENA_AT(head_member, f32_nb1, 56);
CATENA_AT(head_member, f32_nb2, 64);
CATENA_AT(head_member, cache_nb, 72);
CATENA_AT(head_member, k, 80);
CATENA_AT(head_member, heads, 84);
CATENA_AT(head_member, first_row, 88);
CATENA_AT(head_member, cache_rows, 92);
CATENA_AT(head_member, eps, 96);
CATENA_AT(head_member, scale, 100);
CATENA_AT(head_member, cache_type, 104);
CATENA_AT(head_member, ids_of_64_bits, 105);
CATENA_AT(head_member, normed, 106);
CATENA_AT(head_member, token_norm, 107);
CATENA_AT(head_member, turned, 108);
CATENA_AT(head_member, first_channel, 112);
static_assert(sizeof(convolution_args) == 112);
CATENA_AT(convolution_args, x, 0);
CATENA_AT(convolution_args, taps, 8);
CATENA_AT(convolution_args, bias, 16);
CATENA_AT(convolution_args, state, 24);
CATENA_AT(convolution_args, state_ids, 32);
CATENA_AT(convolution_args, next_state, 40);
CATENA_AT(convolution_args, f32, 48);
CATENA_AT(convolution_args, x_nb, 56);
CATENA_AT(convolution_args, f32_nb, 64);
CATENA_AT(convolution_args, state_nb, 72);
CATENA_AT(convolution_args, next_state_nb, 80);
CATENA_AT(convolution_args, channels, 88);
CATENA_AT(convolution_args, length, 92);
CATENA_AT(convolution_args, states, 96);
CATENA_AT(convolution_args, sequences, 100);
CATENA_AT(convolution_args, function, 104);
static_assert(sizeof(head_numbers) == 32);
CATENA_AT(head_numbers, first, 0);
CATENA_AT(head_numbers, nb1, 8);
CATENA_AT(head_numbers, nb2, 16);
CATENA_AT(head_numbers, abreast, 24);
static_assert(sizeof(delta_args) == 192);
CATENA_AT(delta_args, queries, 0);
CATENA_AT(delta_args, keys, 8);
CATENA_AT(delta_args, values, 16);
CATENA_AT(delta_args, decay, 24);
CATENA_AT(delta_args, decay_factor, 56);
CATENA_AT(delta_args, decay_bias, 64);
CATENA_AT(delta_args, beta, 72);
CATENA_AT(delta_args, state, 104);
CATENA_AT(delta_args, state_ids, 112);
CATENA_AT(delta_args, next_state, 120);
CATENA_AT(delta_args, queries_nb1, 128);
CATENA_AT(delta_args, queries_nb2, 136);
CATENA_AT(delta_args, keys_nb1, 144);
CATENA_AT(delta_args, keys_nb2, 152);
CATENA_AT(delta_args, values_nb1, 160);
CATENA_AT(delta_args, values_nb2, 168);
CATENA_AT(delta_args, key_heads, 176);
CATENA_AT(delta_args, states, 180);
CATENA_AT(delta_args, sequences, 184);
CATENA_AT(delta_args, by_value, 188);
CATENA_AT(delta_args, logit, 189);
CATENA_AT(delta_args, neighbors, 190);
static_assert(sizeof(scan_args) == 144);
CATENA_AT(scan_args, x, 0);
CATENA_AT(scan_args, dt, 8);
CATENA_AT(scan_args, dt_bias, 16);
CATENA_AT(scan_args, a, 24);
CATENA_AT(scan_args, b, 32);
CATENA_AT(scan_args, c, 40);
CATENA_AT(scan_args, d, 48);
CATENA_AT(scan_args, z, 56);
CATENA_AT(scan_args, state, 64);
CATENA_AT(scan_args, state_ids, 72);
CATENA_AT(scan_args, next_state, 80);
CATENA_AT(scan_args, x_nb, 88);
CATENA_AT(scan_args, dt_nb, 96);
CATENA_AT(scan_args, b_nb, 104);
CATENA_AT(scan_args, c_nb, 112);
CATENA_AT(scan_args, z_nb, 120);
CATENA_AT(scan_args, size, 128);
CATENA_AT(scan_args, groups, 132);
CATENA_AT(scan_args, states, 136);
CATENA_AT(scan_args, sequences, 140);
static_assert(sizeof(attention_args) == 48);
CATENA_AT(attention_args, mask, 0);
CATENA_AT(attention_args, sinks, 8);
CATENA_AT(attention_args, mask_nb, 16);
CATENA_AT(attention_args, positions, 24);
CATENA_AT(attention_args, first_row, 28);
CATENA_AT(attention_args, scale, 32);
CATENA_AT(attention_args, q8_1, 40);
static_assert(sizeof(route_args) == 88);
CATENA_AT(route_args, x, 0);
CATENA_AT(route_args, bias, 8);
CATENA_AT(route_args, ids, 16);
CATENA_AT(route_args, weights, 24);
CATENA_AT(route_args, x_nb, 32);
CATENA_AT(route_args, ids_nb, 40);
CATENA_AT(route_args, weights_nb, 48);
CATENA_AT(route_args, numbers, 56);
CATENA_AT(route_args, experts, 80);
CATENA_AT(route_args, tokens, 84);
#undef CATENA_AT

}  // namespace
