// How ops are spelled, as ggml does: in graph files, and where an adapter asks for an op by its
// name.
#pragma once

#include "catena/match/graph.hpp"

#include <string_view>

namespace CATENA_NAMESPACE {

/// The version of graph files that is written, and the newest that is read (docs/graph-format.md).
inline constexpr int graph_file_version = 2;

struct op_spelling {
    std::string_view name;
    op kind;
};

inline constexpr op_spelling op_spellings[] = {{"NONE", op::none},
                                               {"ADD", op::add},
                                               {"MUL", op::mul},
                                               {"SCALE", op::scale},
                                               {"RMS_NORM", op::rms_norm},
                                               {"NORM", op::norm},
                                               {"MUL_MAT", op::mul_mat},
                                               {"MUL_MAT_ID", op::mul_mat_id},
                                               {"ADD_ID", op::add_id},
                                               {"GLU", op::glu},
                                               {"UNARY", op::unary},
                                               {"RESHAPE", op::reshape},
                                               {"VIEW", op::view},
                                               {"PERMUTE", op::permute},
                                               {"TRANSPOSE", op::transpose},
                                               {"GET_ROWS", op::get_rows},
                                               {"SET_ROWS", op::set_rows},
                                               {"ROPE", op::rope},
                                               {"CPY", op::cpy},
                                               {"CONT", op::cont},
                                               {"SOFT_MAX", op::soft_max},
                                               {"ARGSORT", op::argsort},
                                               {"FLASH_ATTN_EXT", op::flash_attn_ext},
                                               {"SUM_ROWS", op::sum_rows},
                                               {"CLAMP", op::clamp},
                                               {"DIV", op::div},
                                               {"CONCAT", op::concat},
                                               {"SQR", op::sqr},
                                               {"SSM_CONV", op::ssm_conv},
                                               {"REPEAT", op::repeat},
                                               {"GATED_DELTA_NET", op::gated_delta_net},
                                               {"FILL", op::fill},
                                               {"SQRT", op::sqrt}};

struct sub_op_spelling {
    std::string_view name;
    sub_op kind;
};

inline constexpr sub_op_spelling sub_op_spellings[] = {{"", sub_op::none},
                                                       {"SILU", sub_op::silu},
                                                       {"SIGMOID", sub_op::sigmoid},
                                                       {"GELU", sub_op::gelu},
                                                       {"GELU_ERF", sub_op::gelu_erf},
                                                       {"GELU_QUICK", sub_op::gelu_quick},
                                                       {"RELU", sub_op::relu},
                                                       {"SWIGLU", sub_op::swiglu},
                                                       {"GEGLU", sub_op::geglu},
                                                       {"GEGLU_ERF", sub_op::geglu_erf},
                                                       {"GEGLU_QUICK", sub_op::geglu_quick},
                                                       {"REGLU", sub_op::reglu},
                                                       {"SWIGLU_OAI", sub_op::swiglu_oai},
                                                       {"SOFTPLUS", sub_op::softplus},
                                                       {"TANH", sub_op::tanh},
                                                       {"SWIGLU_CLAMP", sub_op::swiglu_clamp}};

/// The op called `name`, or op::other.
constexpr op op_named(std::string_view name) {
    for (const op_spelling& s : op_spellings)
        if (s.name == name) return s.kind;
    return op::other;
}

/// Which UNARY or GLU is called `name`; "" is sub_op::none, an unknown one sub_op::other.
constexpr sub_op sub_op_named(std::string_view name) {
    for (const sub_op_spelling& s : sub_op_spellings)
        if (s.name == name) return s.kind;
    return sub_op::other;
}

}  // namespace CATENA_NAMESPACE
