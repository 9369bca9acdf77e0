// Behind which nodes of ggml-cuda a step may start early (docs/integrating.md). ggml-cuda launches
// some kernels with programmatic stream serialization (common.cuh, ggml_cuda_kernel_launch): such
// a kernel starts while those before it run. If one of its threads waits for them
// (ggml_cuda_pdl_sync), it is not done before they are, and who waits for it has waited for all.
// A kernel that is launched in the common way starts when all is done.
#pragma once

#include "catena/match/graph.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace CATENA_NAMESPACE {

/// The version of ggml whose sources were read for this; the test `llama_waits` reads them again.
inline constexpr std::string_view ggml_cuda_version = "0.25.3";

/// An op, and the kernels that compute it, by the files of ggml-cuda; also those of the fusions
/// that begin with it. One thread at least of each waits, or the kernel is not launched
/// programmatically. What returns before it waits is out of bounds; the first thread is not, for
/// ggml launches nothing for empty nodes. A copy by the driver starts when all is done.
struct read_op {
    op kind;
    std::string_view kernels;
};

// clang-format off
inline constexpr read_op ggml_cuda_ops[] = {
    {op::add, "binbcast.cu: k_bin_bcast k_bin_bcast_unravel"},
    {op::mul, "binbcast.cu: k_bin_bcast k_bin_bcast_unravel, snake.cu: snake_kernel, "
              "moe-weighted-reduction.cu: moe_weighted_reduction_f32"},
    {op::div, "binbcast.cu: k_bin_bcast k_bin_bcast_unravel"},
    {op::repeat, "binbcast.cu: k_bin_bcast k_bin_bcast_unravel"},
    {op::add_id, "add-id.cu: add_id_kernel"},
    {op::scale, "scale.cu: scale_f32, softcap.cu: softcap_f32"},
    {op::clamp, "clamp.cu: op_clamp_kernel"},
    {op::rms_norm, "norm.cu: rms_norm_f32, rope.cu: rms_norm_mul_rope_f32"},
    {op::norm, "norm.cu: norm_f32"},
    {op::unary, "unary.cu: unary_op_kernel unary_gated_op_kernel xielu_kernel, "
                "topk-moe.cu: topk_moe_cuda"},
    {op::glu, "unary.cu: unary_gated_op_kernel swiglu_oai_kernel swiglu_clamp_kernel"},
    {op::sqr, "unary.cu: unary_op_kernel"},
    {op::sqrt, "unary.cu: unary_op_kernel"},
    {op::rope, "rope.cu: rope_norm rope_neox rope_multi rope_vision"},
    {op::get_rows, "getrows.cu: k_get_rows k_get_rows_kq k_get_rows_float k_get_rows_float_vec"},
    {op::set_rows, "set-rows.cu: k_set_rows k_set_rows_quant"},
    {op::cpy, "cpy.cu: cpy_scalar cpy_scalar_transpose cpy_scalar_contiguous cpy_f32_q cpy_q_f32"},
    {op::cont, "cpy.cu: cpy_scalar cpy_scalar_transpose cpy_scalar_contiguous cpy_f32_q cpy_q_f32"},
    {op::concat, "concat.cu: concat_cont concat_non_cont"},
    {op::soft_max, "softmax.cu: soft_max_f32 soft_max_f32_parallelize_cols, "
                   "topk-moe.cu: topk_moe_cuda"},
    {op::argsort, "argsort.cu: init_indices init_offsets k_argsort_f32_i32, "
                  "topk-moe.cu: topk_moe_cuda"},
    {op::sum_rows, "reduce_rows.cuh: reduce_rows_f32 reduce_rows_f32_strided"},
    {op::ssm_conv, "ssm-conv.cu: ssm_conv_f32 ssm_conv_long_token_f32"},
    {op::gated_delta_net, "gated_delta_net.cu: gated_delta_net_cuda"},
    {op::mul_mat, "quantize.cu: quantize_q8_1, mmvq.cu: mul_mat_vec_q mul_mat_vec_q_moe"},
    {op::mul_mat_id, "quantize.cu: quantize_q8_1, mmvq.cu: mul_mat_vec_q mul_mat_vec_q_moe"},
    {op::flash_attn_ext,
     "convert.cu: convert_unary convert_unary_cont_vec4 dequantize_block dequantize_block_q8_0_f16 "
     "dequantize_block_q4_0 dequantize_block_q4_1 dequantize_block_q2_K dequantize_block_q3_K "
     "dequantize_block_q4_K dequantize_block_q5_K dequantize_block_q6_K dequantize_block_iq2_xxs "
     "dequantize_block_iq2_xs dequantize_block_iq2_s dequantize_block_iq3_xxs "
     "dequantize_block_iq3_s dequantize_block_iq1_s dequantize_block_iq1_m "
     "dequantize_block_iq4_nl dequantize_block_iq4_xs dequantize_block_mxfp4 "
     "dequantize_block_nvfp4, "
     "fattn.cu: flash_attn_mask_to_sparse_indices, "
     "fattn-common.cuh: flash_attn_mask_to_KV_max flash_attn_stream_k_fixup_uniform "
     "flash_attn_stream_k_fixup_general flash_attn_combine_results, "
     "fattn-mma-f16.cuh: flash_attn_ext_f16, fattn-tile.cuh: flash_attn_tile, "
     "fattn-vec.cuh: flash_attn_ext_vec"},
};
// clang-format on

/// With more keys than one tile of flash attention by mma holds, some block of
/// flash_attn_stream_k_fixup_general begins within a tile: it waits. With one tile none does, and
/// the kernel may be done while those before it run.
inline constexpr std::int64_t longest_key_tile = 128;

/// Longer rows are sorted by kernels of CUB, which nobody has read.
inline constexpr std::int64_t longest_sorted_row = 1024;

/// Matrices of quantized weights and up to so many columns are mul_mat_vec_q's on every GPU that
/// launches programmatically. With more columns it depends on the GPU and on how ggml-cuda was
/// built, and the kernels may be cuBLAS's, which nobody has read; so may those of other weights.
inline constexpr std::int64_t most_columns_of_vectors = 4;

/// Is a matmul mul_mat_vec_q's?
inline bool multiplies_vectors(const graph_view& view, const tensor& t) {
    if (!quantized_matmul(view, t) || t.type != format::f32) return false;
    const tensor& x = view.at(t.src[1]);
    const std::int64_t columns = t.kind == op::mul_mat ? x.ne[1] : t.ne[2];
    return x.type == format::f32 && columns <= most_columns_of_vectors;
}

/// Are the keys of an attention more than one tile? Word 4 of its params says how many of them a
/// query may see; 0: all.
inline bool has_tiles_of_keys(const graph_view& view, const tensor& t) {
    const std::int32_t of_a_query = t.params[4];
    return t.src[1] != no_tensor && view.at(t.src[1]).ne[1] > longest_key_tile &&
           (of_a_query <= 0 || of_a_query > longest_key_tile);
}

/// Is nothing that was launched before the node still running when its last kernel is done? The
/// answer for what was not read is no: ops that are not listed, and kernels of libraries.
inline bool ggml_cuda_waits(const graph_view& view, std::int32_t position) {
    const tensor& t = view.node(position);
    if (launches_nothing(t.kind)) return true;
    const auto is_this = [&t](const read_op& o) { return o.kind == t.kind; };
    if (std::none_of(std::begin(ggml_cuda_ops), std::end(ggml_cuda_ops), is_this)) return false;
    switch (t.kind) {
        case op::argsort:
            return t.ne[0] <= longest_sorted_row;
        case op::mul_mat:
        case op::mul_mat_id:
            return multiplies_vectors(view, t);
        case op::flash_attn_ext:
            return has_tiles_of_keys(view, t);
        default:
            return true;
    }
}

}  // namespace CATENA_NAMESPACE
