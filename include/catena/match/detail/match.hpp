// What matching finds at a node: a place where a chain fits, with its operands and every reader of
// its value, or the reason why not.
#pragma once

#include "catena/chain/rotation.hpp"
#include "catena/chain/routing.hpp"
#include "catena/match/detail/experts.hpp"
#include "catena/match/detail/gated.hpp"
#include "catena/match/detail/reader.hpp"

#include <algorithm>
#include <vector>

namespace CATENA_NAMESPACE {

/// The turn that a ROPE makes: its numbers, the positions of the tokens, and the divisors of
/// angles.
struct head_turn {
    rope_numbers numbers;
    std::int32_t positions = no_tensor, factors = no_tensor;
};

inline bool operator==(const head_turn& a, const head_turn& b) {
    return a.positions == b.positions && a.factors == b.factors &&
           rotation_of(a.numbers) == rotation_of(b.numbers);
}

/// The convolution that makes the heads of a launch, of the tokens of each sequence. The nodes are
/// at most GET_ROWS, CONCAT, CPY, SSM_CONV, ADD and UNARY, given by their positions; -1: there is
/// none.
struct convolution {
    std::int32_t x = no_tensor;  ///< [channels, tokens, sequences], in whatever order its strides
                                 ///< say
    std::int32_t state = no_tensor;  ///< the states, of which the ids pick one for each sequence
    std::int32_t state_ids = no_tensor, taps = no_tensor, bias = no_tensor;
    std::int64_t channels = 0, tokens = 0, sequences = 0, length = 0, states = 0;
    std::int64_t state_nb = 0, next_state_nb = 0;  ///< bytes from one state to the next
    std::int32_t pick = -1, join = -1, keep = -1, convolve = -1, add = -1, act = -1;
    bool written = false;  ///< others than norms of heads read the value

    bool found() const { return convolve >= 0; }
    std::int64_t all_tokens() const { return tokens * sequences; }
    std::int64_t state_size() const { return (length - 1) * channels; }
    /// The node whose result the value is.
    std::int32_t made_by() const { return act >= 0 ? act : add >= 0 ? add : convolve; }

    static constexpr int most_nodes = 6;
    /// f(position) for each node, in the order in which the value passes them.
    template <class F>
    void each_node(const F& f) const {
        for (const std::int32_t n : {pick, join, keep, convolve, add, act})
            if (n >= 0) f(n);
    }
};

/// Where a number of each head of each token lies, as kernel/args.hpp says.
struct head_places {
    std::int64_t abreast = 1, nb1 = 0, nb2 = 0;
};

/// The gated delta rule that makes the heads of a launch, of the tokens of each sequence. The nodes
/// are at most REPEATs of queries and keys, CONT, ADD, SOFTPLUS and MUL, which make the decay, CONT
/// and SIGMOID, which make beta, GET_ROWS, GATED_DELTA_NET and CPY, given by their positions; -1:
/// there is none.
struct delta_rule {
    std::int32_t queries = no_tensor, keys = no_tensor, values = no_tensor;  ///< [k, heads, tokens]
    row_strides queries_at, keys_at, values_at;  ///< head to head, token to token
    bool neighbors = false;                      ///< neighboring heads share a key
    std::int32_t decay = no_tensor;              ///< what the logarithm is made of, or itself
    std::int32_t decay_factor = no_tensor;       ///< of the softplus that makes it, or no_tensor
    std::int32_t decay_bias = no_tensor;         ///< of what that is of, or no_tensor
    std::int32_t beta = no_tensor;
    head_places decay_at, beta_at;
    std::int32_t state = no_tensor;  ///< the states, of which the ids pick one for each sequence
    std::int32_t state_ids = no_tensor;
    std::int64_t k = 0, heads = 0, key_heads = 0, tokens = 0, sequences = 0, states = 0;
    std::int32_t repeat_queries = -1, repeat_keys = -1, copy_decay = -1, bias = -1, soften = -1,
                 weigh = -1, copy_beta = -1, sigmoid = -1, pick = -1, rule = -1, keep = -1;
    bool by_value = false;  ///< each value of a key has a decay of its own

    bool found() const { return rule >= 0; }
    std::int64_t all_tokens() const { return tokens * sequences; }
    std::int64_t state_size() const { return k * k * heads; }
    /// Does it do more than an engine's launch of the op, which may keep the states, too?
    bool more_than_op() const {
        return pick >= 0 || weigh >= 0 || sigmoid >= 0 || repeat_queries >= 0;
    }

    static constexpr int most_nodes = 11;
    /// f(position) for each node, in the order in which values pass them.
    template <class F>
    void each_node(const F& f) const {
        for (const std::int32_t n : {repeat_queries, repeat_keys, copy_decay, bias, soften, weigh,
                                     copy_beta, sigmoid, pick, rule, keep})
            if (n >= 0) f(n);
    }
};

/// The scan of a state space (SSM_SCAN, as in Mamba-2) that makes the heads of a launch, of the
/// tokens of each sequence. The nodes are at most CONT and ADD, which make dt, SSM_SCAN, CPY, MUL
/// and ADD of d * x, and CONT and GLU of z, given by their positions; -1: there is none.
struct state_scan {
    std::int32_t x = no_tensor, dt = no_tensor, dt_bias = no_tensor, a = no_tensor, b = no_tensor,
                 c = no_tensor, d = no_tensor, z = no_tensor;
    std::int32_t state = no_tensor;  ///< the states, of which the ids pick one for each sequence
    std::int32_t state_ids = no_tensor;
    std::int64_t size = 0;                      ///< numbers of the state for a value
    std::int64_t k = 0, heads = 0, groups = 0;  ///< values of a head; heads; groups of b and c
    std::int64_t tokens = 0, sequences = 0, states = 0;              ///< tokens: of a sequence
    std::int64_t x_nb = 0, dt_nb = 0, b_nb = 0, c_nb = 0, z_nb = 0;  ///< bytes: token to token
    std::int32_t copy_dt = -1, bias = -1, scan = -1, keep = -1, skip = -1, add = -1, copy_z = -1,
                 gate = -1;

    bool found() const { return scan >= 0; }
    std::int64_t all_tokens() const { return tokens * sequences; }
    std::int64_t state_size() const { return size * k * heads; }
    /// The node whose result the heads are: the first of its result, if it is the SSM_SCAN.
    std::int32_t made_by() const { return gate >= 0 ? gate : add >= 0 ? add : scan; }

    static constexpr int most_nodes = 8;
    /// f(position) for each node, in the order in which values pass them.
    template <class F>
    void each_node(const F& f) const {
        for (const std::int32_t n : {copy_dt, bias, scan, keep, skip, add, copy_z, gate})
            if (n >= 0) f(n);
    }
};

/// The heads of one value, such as Q, K or V on its way to attention, and the nodes of its chain,
/// which are at most RMS_NORM, MUL, ROPE, SCALE, CONCAT and SET_ROWS. A node is given by its
/// position; -1: there is none. A CONCAT puts the heads of two values into one row each: the value
/// in front has the nodes from the CONCAT on, so that each node is one value's.
struct head_chain {
    obstacle why;  ///< reason why no launch takes these heads
    std::int32_t x = no_tensor;
    row_strides at;                 ///< strides of x: head to head, token to token
    std::int64_t k = 0, count = 0;  ///< elements of a head, heads of a token
    std::int64_t tokens = 0;
    std::int64_t first_channel = 0;  ///< of a convolution that makes the heads
    std::int64_t first = 0;          ///< element of the CONCAT's rows at which a head begins
    std::int32_t norm = -1, mul = -1, rope = -1, scaled = -1, join = -1, store = -1;
    std::int32_t weight = no_tensor;  ///< weight of the norm
    float eps = 0, scale = 1;
    head_turn turn;           ///< the turn, if there is a ROPE
    bool token_norm = false;  ///< the norm is one of all heads of a token
    bool written = false;     ///< others than the SET_ROWS read the value, or the CONCAT's result

    /// The node that makes the heads alone; -1: they are x itself.
    std::int32_t heads_by() const {
        return scaled >= 0 ? scaled : rope >= 0 ? rope : mul >= 0 ? mul : norm;
    }
    /// The node whose result has the heads; -1: x itself, which is only stored.
    std::int32_t made_by() const { return join >= 0 ? join : heads_by(); }
    /// Is it the second value of a CONCAT?
    bool joins_front() const { return first > 0; }

    /// f(position) for each node, in the order in which the value passes them.
    template <class F>
    void each_node(const F& f) const {
        for (const std::int32_t n : {norm, mul, rope, scaled})
            if (n >= 0) f(n);
        if (joins_front()) return;
        for (const std::int32_t n : {join, store})
            if (n >= 0) f(n);
    }
    bool has(std::int32_t node) const {
        bool found = false;
        each_node([&](std::int32_t n) { found = found || n == node; });
        return found;
    }
};

/// The attention of few tokens (FLASH_ATTN_EXT) that a launch of heads goes on to: those of
/// queries, keys and values. Keys and values are stored in caches of f16, of whose rows it reads
/// some.
struct attention {
    std::int32_t node = -1;  ///< position of the FLASH_ATTN_EXT
    std::int32_t mask = no_tensor, sinks = no_tensor;
    std::int64_t positions = 0;  ///< rows of the caches that it reads
    std::int64_t first_row = 0;  ///< the first of them, in both caches
    float scale = 1;             ///< factor of scores

    bool found() const { return node >= 0; }
};

/// From the logits of a layer's experts to the experts of each token and their weights. The nodes
/// are at most SOFT_MAX or SIGMOID, an ADD of a bias, the nodes that limit a token to groups of
/// experts, ARGSORT, GET_ROWS, SOFT_MAX, SUM_ROWS, CLAMP, DIV and SCALE. Nodes are given by their
/// positions.
struct routing {
    obstacle why;                   ///< reason why no launch takes it
    std::int32_t x = no_tensor;     ///< logits [experts, tokens]
    std::int32_t bias = no_tensor;  ///< [experts], added to the scores for the choice; or no_tensor
    routing_numbers numbers;
    std::int64_t experts = 0, tokens = 0;
    std::int32_t sort = -1;           ///< the ARGSORT of all experts, whose result is written
    std::int32_t weigh = -1;          ///< the last node of the weights, which are written
    std::vector<std::int32_t> nodes;  ///< positions of all nodes, in ascending order

    bool has(std::int32_t node) const {
        return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
    }
    bool writes(std::int32_t node) const { return node == sort || node == weigh; }
};

inline constexpr std::int32_t no_stream = -1;

/// A node that a stage of a chain takes over.
struct taken_node {
    stage_kind stage;
    std::int32_t node;   ///< position
    bool aside = false;  ///< the result is not the chain's value, but an operand of the next node
};

/// What a row step reads of a graph, by operand.
class row_operands {
  public:
    row_operand& operator[](operand o) { return all_[static_cast<int>(o)]; }
    const row_operand& operator[](operand o) const { return all_[static_cast<int>(o)]; }

  private:
    row_operand all_[operand_count];
};

struct match {
    obstacle why;                    ///< reason why the chain does not fit, or reason::none
    stage_set stages = {};           ///< stages that make the value; empty: another node makes it
    std::int32_t node = -1;          ///< position of the norm, or of the node of a gated value
    std::vector<taken_node> taken;   ///< nodes of the stages, in the order of the value's way
    std::vector<head_chain> values;  ///< values of a launch of heads, which reads nothing else
    convolution convolved;           ///< what makes these values, if a convolution does
    delta_rule recalled;             ///< the delta rule of a launch that reads nothing else
    state_scan scanned;              ///< the scan of a launch that reads nothing else
    attention attended;              ///< what becomes of queries, keys and values of a launch
    routing routed;                  ///< routing of a launch of routing, which reads nothing else
    combination experts;             ///< sum of experts that x and the residual join
    row_operands reads;
    row_params params;
    std::int32_t sum = -1;                ///< position of the sum that a norm reads, or -1
    std::int32_t activation = no_tensor;  ///< the tensor that holds the chain's value
    std::int64_t quant_k = 0;             ///< elements of a row as the served quantized matmuls
                                          ///< read it; 0: there are none
    std::vector<reader> readers;      ///< readers of the activation by all its names, in node order
    std::int32_t stream = no_stream;  ///< the engine's stream on which the whole match runs
    bool sum_needed = false;          ///< a node outside of the match reads, or may read, the sum
    bool f32_needed = false;          ///< a node that is not served reads, or may read, the value;
                                      ///< the planner adds matmuls of float weights

    /// Takes over a node of a stage, behind those of the stages up to it.
    void take(taken_node n) {
        if (taken.empty()) taken.reserve(8);  // as many as most chains take
        const auto behind = std::find_if(taken.begin(), taken.end(), [&n](const taken_node& other) {
            return other.stage > n.stage;
        });
        taken.insert(behind, n);
    }

    /// Is the value a copy of a CONT's rows, that is a gate without a function and without x?
    bool copies() const {
        return stages.has(stage_kind::glu) && params.function == gate_function::none &&
               reads[operand::x].tensor == no_tensor;
    }

    bool found() const { return !why.found(); }
    /// Do rows of any length that has whole blocks put a block at the same place?
    bool whole_blocks() const { return stored_elements(format::q8_1, quant_k) == quant_k; }
    /// The layouts in which the value is quantized for its readers.
    format_set layouts() const {
        format_set out;
        for (const reader& r : readers)
            if (r.quantized()) out = out | r.layout;
        return out;
    }
    int servable() const {
        int n = 0;
        for (const reader& r : readers) n += r.servable() ? 1 : 0;
        return n;
    }
};

/// The tensor whose rows a step computes one by one: the value, or the source of a CONT with gaps.
inline const tensor& rows_of(const graph_view& view, const match& m) {
    const tensor& value = view.at(m.activation);
    const bool copied = std::any_of(m.taken.begin(), m.taken.end(), [&](const taken_node& n) {
        return view.node(n.node).kind == op::cont;
    });
    if (!copied) return value;
    const tensor& from = view.at(m.reads[operand::gate].tensor);
    return contiguous(from) ? value : from;
}

}  // namespace CATENA_NAMESPACE
