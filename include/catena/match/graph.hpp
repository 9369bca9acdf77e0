// The graph view: the read-only face of an engine's graph. An engine adapter fills one `tensor` per
// tensor of the graph (all of them: leaves too) and the execution order; Catena never writes to it.
#pragma once

#include "catena/format/format.hpp"
#include "catena/match/engine_model.hpp"

#include <cstddef>
#include <cstdint>

namespace CATENA_NAMESPACE {

// name, ggml's spelling.
#define CATENA_OPS(X)                                                                              \
    X(none, "NONE")                                                                                \
    X(add, "ADD")                                                                                  \
    X(mul, "MUL")                                                                                  \
    X(scale, "SCALE")                                                                              \
    X(rms_norm, "RMS_NORM")                                                                        \
    X(norm, "NORM")                                                                                \
    X(mul_mat, "MUL_MAT")                                                                          \
    X(mul_mat_id, "MUL_MAT_ID")                                                                    \
    X(add_id, "ADD_ID")                                                                            \
    X(glu, "GLU")                                                                                  \
    X(unary, "UNARY")                                                                              \
    X(reshape, "RESHAPE")                                                                          \
    X(view, "VIEW")                                                                                \
    X(permute, "PERMUTE")                                                                          \
    X(transpose, "TRANSPOSE")                                                                      \
    X(get_rows, "GET_ROWS")                                                                        \
    X(set_rows, "SET_ROWS")                                                                        \
    X(rope, "ROPE")                                                                                \
    X(cpy, "CPY")                                                                                  \
    X(cont, "CONT")                                                                                \
    X(soft_max, "SOFT_MAX")                                                                        \
    X(argsort, "ARGSORT")                                                                          \
    X(flash_attn_ext, "FLASH_ATTN_EXT")                                                            \
    X(sum_rows, "SUM_ROWS")                                                                        \
    X(clamp, "CLAMP")                                                                              \
    X(div, "DIV")                                                                                  \
    X(concat, "CONCAT")                                                                            \
    X(sqr, "SQR")                                                                                  \
    X(ssm_conv, "SSM_CONV")                                                                        \
    X(repeat, "REPEAT")                                                                            \
    X(gated_delta_net, "GATED_DELTA_NET")                                                          \
    X(ssm_scan, "SSM_SCAN")                                                                        \
    X(fill, "FILL")                                                                                \
    X(sqrt, "SQRT")                                                                                \
    X(moe_ffn, "MOE_FFN")
/// The ops that some rule of Catena tells apart; every other op is `other` and is left to the
/// engine.
enum class op : std::uint8_t {
    other,
#define CATENA_ENUMERATOR(name, spelling) name,
    CATENA_OPS(CATENA_ENUMERATOR)
#undef CATENA_ENUMERATOR
};

/// Does the op multiply by a matrix?
constexpr bool is_matmul(op kind) { return kind == op::mul_mat || kind == op::mul_mat_id; }

/// True for ops that only rename memory: they launch nothing.
constexpr bool launches_nothing(op o) {
    return o == op::none || o == op::reshape || o == op::view || o == op::permute ||
           o == op::transpose;
}

// name, ggml's spelling.
#define CATENA_SUB_OPS(X)                                                                          \
    X(none, "")                                                                                    \
    X(silu, "SILU")                                                                                \
    X(sigmoid, "SIGMOID")                                                                          \
    X(gelu, "GELU")                                                                                \
    X(gelu_erf, "GELU_ERF")                                                                        \
    X(gelu_quick, "GELU_QUICK")                                                                    \
    X(relu, "RELU")                                                                                \
    X(swiglu, "SWIGLU")                                                                            \
    X(geglu, "GEGLU")                                                                              \
    X(geglu_erf, "GEGLU_ERF")                                                                      \
    X(geglu_quick, "GEGLU_QUICK")                                                                  \
    X(reglu, "REGLU")                                                                              \
    X(swiglu_oai, "SWIGLU_OAI")                                                                    \
    X(softplus, "SOFTPLUS")                                                                        \
    X(tanh, "TANH")                                                                                \
    X(swiglu_clamp, "SWIGLU_CLAMP")
/// Which function an op::unary or op::glu has; every other one is `other`.
enum class sub_op : std::uint8_t {
    other,
#define CATENA_ENUMERATOR(name, spelling) name,
    CATENA_SUB_OPS(CATENA_ENUMERATOR)
#undef CATENA_ENUMERATOR
};

/// Bits of tensor::flags, as in ggml.
enum tensor_flag : std::uint8_t {
    flag_input = 1,
    flag_output = 2,
    flag_param = 4,
    flag_compute = 16
};

inline constexpr int max_src = 10;
inline constexpr int max_params = 16;
inline constexpr std::int32_t no_tensor = -1;
inline constexpr std::int32_t unknown_uses = -1;
inline constexpr std::int32_t no_buffer = -1;

/// A tensor of the engine's, or a node: what is computed, where its result lies, and who reads it.
struct tensor {
    op kind = op::none;
    sub_op sub = sub_op::none;
    format type = format::unknown;
    std::uint8_t flags = 0;  ///< tensor_flag bits
    bool weight = false;     ///< a leaf that the engine never writes while the graph lives. Names
                             ///< of its memory need no flag (is_weight)
    bool reachable = true;   ///< a kernel can follow `data`: not host memory, not a split buffer
    bool inside = false;     ///< the engine runs it as a part of another node (match/moe_ffn.hpp)
    std::int64_t ne[4] = {1, 1, 1, 1};  ///< elements, innermost first
    std::int64_t nb[4] = {0, 0, 0, 0};  ///< strides in bytes
    std::int32_t src[max_src] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1};  ///< tensor indices
    std::int32_t view_src = no_tensor;     ///< tensor whose memory this one renames, if any
    std::int32_t params[max_params] = {};  ///< op_params words as ggml lays them out
    std::int32_t buffer = no_buffer;  ///< number of the allocation; no_buffer: not allocated yet
    std::uint64_t offset = 0;    ///< byte offset in that buffer; a view has that of its first byte
    std::int64_t allocated = 0;  ///< bytes that the backend set aside from its first byte on; 0: no
                                 ///< more than its extent. The engine's node may write in all of
                                 ///< them while it runs; nobody reads those behind the extent
    void* data = nullptr;        ///< address on the device that executes; null in a bare graph file
    std::int32_t stream = 0;     ///< nodes: the engine's stream that runs it; no step spans two
    std::int32_t uses = unknown_uses;  ///< edges that read it anywhere, outside the view too;
                                       ///< unknown_uses counts as infinitely many
    const char* name = "";             ///< name for reports; names repeat
    const char* op_name = "";          ///< the engine's spelling, for reports and ops of one's own
};

/// A graph, or a slice of one: `tensors` may hold more than the slice's nodes use. Indices in
/// `nodes` and `src` point into `tensors`. The view must outlive nothing: plans copy what they
/// need.
struct graph_view {
    const tensor* tensors = nullptr;
    std::int32_t tensor_count = 0;
    const std::int32_t* nodes = nullptr;  ///< tensor index of each node, in execution order
    std::int32_t node_count = 0;
    const engine_model* engine = nullptr;  ///< what the engine fuses; null: ggml-cuda's model
    void* scratch = nullptr;  ///< memory for values inside nodes (match/moe_ffn.hpp: scratch_bytes)

    /// The number of nodes.
    int size() const { return node_count; }
    /// A tensor by its index.
    const tensor& at(std::int32_t tensor_index) const { return tensors[tensor_index]; }
    /// The tensor of the node at a position of the order, 0 to size() - 1.
    const tensor& node(int i) const { return tensors[nodes[i]]; }
};

/// A read-only view of an array that somebody else owns.
template <class T>
struct array_view {
    const T* first = nullptr;
    const T* last = nullptr;
    /// The start of a loop over the array.
    const T* begin() const { return first; }
    /// The end of a loop over the array.
    const T* end() const { return last; }
    /// How many there are.
    std::size_t size() const { return static_cast<std::size_t>(last - first); }
    /// The i-th, i < size().
    const T& operator[](std::size_t i) const { return first[i]; }
};

/// How many elements it has: 0 if an extent is 0.
constexpr std::int64_t elements(const tensor& t) { return t.ne[0] * t.ne[1] * t.ne[2] * t.ne[3]; }

/// Has it one row, as every value of a decode step with one token?
constexpr bool one_row(const tensor& t) { return elements(t) == t.ne[0]; }

/// Do two tensors have equally many rows in each dimension?
constexpr bool same_rows(const tensor& a, const tensor& b) {
    return a.ne[1] == b.ne[1] && a.ne[2] == b.ne[2] && a.ne[3] == b.ne[3];
}
/// Do two tensors have equally many elements in each dimension?
constexpr bool same_shape(const tensor& a, const tensor& b) {
    return a.ne[0] == b.ne[0] && same_rows(a, b);
}

/// The tensor whose memory `t` names: what it says, or the source that its op can only rename.
constexpr std::int32_t named_by(const tensor& t) {
    const bool renames = t.kind != op::none && launches_nothing(t.kind);
    return t.view_src == no_tensor && renames ? t.src[0] : t.view_src;
}

/// Is tensor `index` a weight: a leaf with that flag, or what RESHAPEs and VIEWs name of one? It is
/// read where it says that it lies, so it need not be the whole leaf.
constexpr bool is_weight(const graph_view& view, std::int32_t index) {
    for (std::int32_t hops = 0; index != no_tensor && hops <= view.tensor_count; ++hops) {
        const tensor& t = view.at(index);
        if (t.kind == op::none) return t.weight;
        if (!launches_nothing(t.kind)) return false;
        index = named_by(t);
    }
    return false;
}

/// Does source `s` of tensor `index` only name the memory that the node writes? ggml_cast makes a
/// CPY its own source 1. The CPY does not wait for such a source.
constexpr bool is_own_destination(const tensor& t, std::int32_t index, std::int32_t s) {
    return t.kind == op::cpy && s == index && t.src[0] != index;
}

/// Has a matmul several matrices? Ids pick them, or each part of the activation in dimension 2 has
/// its own.
constexpr bool has_matrices(const graph_view& view, const tensor& t) {
    return t.kind == op::mul_mat_id || (t.kind == op::mul_mat && view.at(t.src[0]).ne[2] > 1);
}

/// Do two matmuls of one kind pick their matrices by the same ids, if they pick?
constexpr bool same_ids(const tensor& a, const tensor& b) {
    return a.kind != op::mul_mat_id || a.src[2] == b.src[2];
}

/// Does it have a source that is not among the first `count`?
constexpr bool has_more_sources(const tensor& t, int count) {
    std::int32_t none = no_tensor;
    for (int s = count; s < max_src; ++s) none &= t.src[s];
    return none != no_tensor;
}

/// How many entries of src may hold a source: two if all others are empty, as in most tensors.
constexpr int source_slots(const tensor& t) { return has_more_sources(t, 2) ? max_src : 2; }

/// A node that multiplies by a quantized weight, and is computed.
constexpr bool quantized_matmul(const graph_view& view, const tensor& t) {
    if (!is_matmul(t.kind)) return false;
    if (t.src[0] == no_tensor || t.src[1] == no_tensor || elements(t) == 0) return false;
    const tensor& w = view.at(t.src[0]);
    return (t.flags & flag_compute) != 0 && info(w.type).role == format_role::weight &&
           is_weight(view, t.src[0]);
}

/// Bytes from a tensor's first to its last, strides respected (as ggml_nbytes). 0 when it has no
/// elements. If its type is unknown, the largest extent that its strides allow.
constexpr std::int64_t extent_bytes(const tensor& t) {
    if (elements(t) == 0) return 0;
    const format_info& f = info(t.type);
    std::int64_t bytes = 0;
    if (f.block_elements == 0) {
        for (int d = 0; d < 4; ++d)
            if (t.nb[d] * t.ne[d] > bytes) bytes = t.nb[d] * t.ne[d];
        return bytes;
    }
    bytes = f.block_elements == 1 ? f.block_bytes + (t.ne[0] - 1) * t.nb[0]
                                  : blocks_in(t.ne[0] * t.nb[0], f.block_elements);
    for (int d = 1; d < 4; ++d) bytes += (t.ne[d] - 1) * t.nb[d];
    return bytes;
}

/// Bytes from a tensor's first to the last that its backend set aside for it.
constexpr std::int64_t allocated_bytes(const tensor& t) {
    const std::int64_t bytes = extent_bytes(t);
    return t.allocated > bytes ? t.allocated : bytes;
}

/// The largest power of two up to 16 that divides the address `bytes` behind the first byte, or the
/// offset if there is no address yet.
inline int base_alignment(const tensor& t, std::int64_t bytes = 0) {
    const std::uint64_t at = t.data != nullptr       ? reinterpret_cast<std::uintptr_t>(t.data)
                             : t.buffer != no_buffer ? t.offset
                                                     : 0;
    const std::uint64_t bits = (at + static_cast<std::uint64_t>(bytes)) | 16;
    return static_cast<int>(bits & (~bits + 1));
}

/// Does every element of 4 bytes lie at a multiple of 4, where a kernel can load or store it?
inline bool words_aligned(const tensor& t) {
    bool aligned = base_alignment(t) >= 4;
    for (int d = 0; d < 4; ++d) aligned = aligned && (t.ne[d] == 1 || t.nb[d] % 4 == 0);
    return aligned;
}

/// True when the elements lie one after the other without gaps.
constexpr bool contiguous(const tensor& t) {
    const format_info& f = info(t.type);
    if (f.block_elements == 0) return false;
    if (t.nb[0] != f.block_bytes) return false;
    std::int64_t next = row_bytes(t.type, t.ne[0]);
    for (int d = 1; d < 4; ++d) {
        if (t.ne[d] != 1 && t.nb[d] != next) return false;
        next *= t.ne[d];
    }
    return true;
}

/// Do elements share bytes? Then a byte holds whatever was written to it last, and the order is not
/// known. A stride that steps over less than what lies inside it counts as an overlap. The answer
/// is no if the type, and so the size of an element, is unknown.
constexpr bool overlaps_itself(const tensor& t) {
    const format_info& f = info(t.type);
    if (f.block_elements == 0) return false;
    // In most tensors each dimension steps over all that lies in those before it.
    const bool nested = t.nb[0] >= f.block_bytes &&
                        t.nb[1] >= t.nb[0] * blocks_in(t.ne[0], f.block_elements) &&
                        t.nb[2] >= t.nb[1] * t.ne[1] && t.nb[3] >= t.nb[2] * t.ne[2];
    if (nested || elements(t) == 0) return false;
    const std::int64_t count[4] = {blocks_in(t.ne[0], f.block_elements), t.ne[1], t.ne[2], t.ne[3]};
    std::int64_t inside = f.block_bytes;  // bytes of what the dimensions so far hold
    bool seen[4] = {count[0] == 1, count[1] == 1, count[2] == 1, count[3] == 1};
    for (;;) {
        int next = -1;  // the dimension of the smallest stride that is left
        for (int d = 0; d < 4; ++d)
            if (!seen[d] && (next < 0 || t.nb[d] < t.nb[next])) next = d;
        if (next < 0) return false;
        if (t.nb[next] < inside) return true;
        inside += (count[next] - 1) * t.nb[next];
        seen[next] = true;
    }
}

}  // namespace CATENA_NAMESPACE
