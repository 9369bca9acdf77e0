// Behind which nodes of ggml-cuda a step may start early (docs/integrating.md). ggml-cuda launches
// some kernels with programmatic stream serialization (common.cuh, ggml_cuda_kernel_launch): such
// a kernel starts while those before it run. If one of its threads waits for them
// (ggml_cuda_pdl_sync), it is not done before they are, and who waits for it has waited for all.
// A kernel that is launched in the common way starts when all is done.
#pragma once

#include "catena/match/graph.hpp"

#include <cstdint>
#include <string_view>

namespace CATENA_NAMESPACE {

/// The version of ggml whose sources were read for this; the test `llama_waits` reads them again.
inline constexpr std::string_view ggml_cuda_version = "0.25.3";

/// A file of ggml-cuda, and every kernel in it. One thread at least of each waits, or the kernel is
/// not launched programmatically. What returns before it waits is out of bounds; the first thread
/// is not, for ggml launches nothing for empty nodes.
struct read_file {
    std::string_view name, kernels;
};

// clang-format off
inline constexpr read_file ggml_cuda_files[] = {
    // ADD, MUL, DIV
    {"binbcast.cu", "k_bin_bcast k_bin_bcast_unravel k_repeat_back"},
    {"add-id.cu", "add_id_kernel"},
    {"scale.cu", "scale_f32"},
    {"softcap.cu", "softcap_f32"},
    {"clamp.cu", "op_clamp_kernel"},
    // RMS_NORM, NORM
    {"norm.cu", "norm_f32 group_norm_f32 rms_norm_f32 rms_norm_back_f32 l2_norm_f32"},
    // UNARY, GLU, SQR
    {"unary.cu", "unary_op_kernel unary_gated_op_kernel swiglu_oai_kernel swiglu_clamp_kernel "
                 "xielu_kernel silu_back_kernel leaky_relu_kernel"},
    // ROPE, and a norm or SET_ROWS with it
    {"rope.cu", "rope_norm rope_neox rope_multi rope_vision rms_norm_mul_rope_f32"},
    {"getrows.cu", "k_get_rows k_get_rows_kq k_get_rows_float k_get_rows_float_vec "
                   "k_get_rows_back_float"},
    {"set-rows.cu", "k_set_rows k_set_rows_quant"},
    // CPY, CONT: also copies by the driver, which start when all is done
    {"cpy.cu", "cpy_scalar cpy_scalar_transpose cpy_scalar_contiguous cpy_f32_q cpy_q_f32"},
    {"concat.cu", "concat_cont concat_non_cont"},
    // SOFT_MAX, ARGSORT of short rows, and the routing of experts by either
    {"softmax.cu", "soft_max_f32 soft_max_f32_parallelize_cols soft_max_back_f32"},
    {"argsort.cu", "init_indices init_offsets k_argsort_f32_i32"},
    {"topk-moe.cu", "topk_moe_cuda"},
    {"moe-weighted-reduction.cu", "moe_weighted_reduction_f32"},
    {"reduce_rows.cuh", "reduce_rows_f32 reduce_rows_f32_strided"},
    {"ssm-conv.cu", "ssm_conv_f32 ssm_conv_long_token_f32"},
    // FLASH_ATTN_EXT
    {"fattn.cu", "flash_attn_mask_to_sparse_indices"},
    {"fattn-common.cuh", "flash_attn_mask_to_KV_max flash_attn_stream_k_fixup_uniform "
                         "flash_attn_stream_k_fixup_general flash_attn_combine_results"},
    {"fattn-mma-f16.cuh", "flash_attn_ext_f16"},
    {"fattn-tile.cuh", "flash_attn_tile"},
    {"fattn-vec.cuh", "flash_attn_ext_vec"},
};
// clang-format on

/// With more keys than one tile of flash attention by mma holds, some block of
/// flash_attn_stream_k_fixup_general begins within a tile: it waits. With one tile none does, and
/// the kernel may be done while those before it run.
inline constexpr std::int64_t longest_key_tile = 128;

/// Longer rows are sorted by kernels of CUB, which nobody has read.
inline constexpr std::int64_t longest_sorted_row = 1024;

/// Is nothing that was launched before the node still running when its last kernel is done? The
/// answer for what was not read is no: matmuls, which may be cuBLAS's, and ops without a name here.
inline bool ggml_cuda_waits(const graph_view& view, std::int32_t position) {
    const tensor& t = view.node(position);
    switch (t.kind) {
        case op::add:
        case op::mul:
        case op::div:
        case op::add_id:
        case op::scale:
        case op::clamp:
        case op::rms_norm:
        case op::norm:
        case op::unary:
        case op::glu:
        case op::sqr:
        case op::rope:
        case op::get_rows:
        case op::set_rows:
        case op::cpy:
        case op::cont:
        case op::concat:
        case op::soft_max:
        case op::sum_rows:
        case op::ssm_conv:
            return true;
        case op::argsort:
            return t.ne[0] <= longest_sorted_row;
        case op::flash_attn_ext: {
            const std::int32_t keys_of_a_query = t.params[4];  // 0: all
            const bool one_tile = view.at(t.src[1]).ne[1] <= longest_key_tile ||
                                  (keys_of_a_query > 0 && keys_of_a_query <= longest_key_tile);
            return !one_tile;
        }
        default:
            return launches_nothing(t.kind);
    }
}

}  // namespace CATENA_NAMESPACE
