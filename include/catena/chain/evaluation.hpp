// The data that a chain is evaluated on in double: plain vectors, rows of k elements one after
// another.
#pragma once

#include "catena/chain/gate.hpp"
#include "catena/chain/rotation.hpp"
#include "catena/chain/routing.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace CATENA_NAMESPACE::chain {

/// What a part of an epilogue reads in memory (part_operand), and what it reads for a second
/// matrix: one number or one for each expert, [rows] or [rows, experts], or a tensor of the
/// result's shape.
struct part_values {
    std::vector<double> values = {}, of_up = {};
};

/// One reader of the activation, decoded: [k, rows] when dense, [k, rows, experts] when expert.
struct matrix {
    /// The operand of a part of the epilogue; empty as long as nobody gives the matrix one.
    part_values& operator[](epilogue_part p) { return operands[static_cast<std::size_t>(p)]; }
    const part_values& operator[](epilogue_part p) const {
        return operands[static_cast<std::size_t>(p)];
    }

    format type = format::unknown;
    std::int64_t rows = 0;
    std::int64_t experts = 0;  ///< 0: dense
    std::vector<double> values;

    // What the chain's epilogue does with the products: nothing as long as all this is empty.
    epilogue_numbers numbers = {};
    std::array<part_values, epilogue_part_count> operands = {};  ///< as operator[] has them
    std::vector<double> up = {};  ///< second matrix, gated by the first one; laid out as values
    bool combined = false;        ///< expert: products times inputs::expert_weights are added up
    std::int64_t head = 0;        ///< elements of a head of the products, which are turned as
                                  ///< inputs::rope says; 0: they are not turned
    double head_scale = 1;        ///< factor of the products, after their turn
    gating gated_by = {};  ///< function that gates up, or without up the function of the product
    gating own = {};       ///< an engine's own op, applied to the gated value
};

/// Vectors that the chain does not read stay empty.
struct inputs {
    /// The values of a named operand besides x: [k, rows], a vector [k], or one number, a factor of
    /// the sum of a norm and a residual. The bias of a routing is [k], added to the scores of k
    /// experts for their choice.
    std::vector<double>& operator[](operand o) { return operands[static_cast<std::size_t>(o)]; }
    const std::vector<double>& operator[](operand o) const {
        return operands[static_cast<std::size_t>(o)];
    }

    std::int64_t k = 0;
    std::int64_t rows = 0;         ///< rows of x
    double eps = 0, next_eps = 0;  ///< eps of the first norm and of the second one
    double x_scale = 1;     ///< factor of x, before a residual is added and the sum is normed
    double norm_scale = 1;  ///< factor of the first norm
    std::vector<double> x;  ///< [k, rows]; with experts it may be empty
    std::vector<double> experts = {};  ///< [k, slots, rows]: the results that combine adds up
    std::vector<double> expert_weights = {};  ///< [slots, rows], or [slots, tokens] for matrices;
                                              ///< empty: each is 1
    std::vector<double> shared_gate = {};     ///< [rows], gate of x, which a shared expert made;
                                              ///< empty: x as it is
    std::int64_t expert_slots = 0;
    gating gated_by;                 ///< function that glu applies to the gate, or of a convolution
    gating own = {};                 ///< an engine's own op, applied to the finished value
    std::int64_t heads = 1;          ///< rows of x that a token has next to each other
    std::vector<double> taps = {};   ///< [length, channels] of a convolution, the last tap for a
                                     ///< token's own value; channels are heads next to each other
    std::vector<double> state = {};  ///< [length - 1, channels] of a convolution: values before the
                                     ///< first token; [k, k, heads] of the delta rule;
                                     ///< [state_size, k, heads] of a scan
    std::int64_t key_heads = 0;      ///< heads of a token's keys in the delta rule, whose values
                                     ///< are x
    std::vector<double> queries = {}, keys = {};  ///< [k, key_heads, tokens]
    std::vector<double> decay = {};  ///< [heads, tokens] or [k, heads, tokens]: the logarithm of
                                     ///< what a token leaves of the state
    std::vector<double> beta = {};   ///< [heads, tokens]: the share of an error that is corrected
    std::int64_t state_size = 0, groups = 1;  ///< sizes of a scan, whose values are x
    std::vector<double> dt = {};              ///< [heads, tokens], what steps are softplus of
    std::vector<double> a = {}, d = {};       ///< [heads]; d empty: nothing is added
    std::vector<double> b = {}, c = {};       ///< [state_size, groups, tokens]
    std::vector<double> z = {};               ///< [k, heads, tokens]; empty: there is no gate
    std::vector<double> values = {};  ///< attention: [k, key_heads, positions_attended], as `keys`
                                      ///< then are: a cache that has the tokens' own rows, too
    std::int64_t positions_attended = 0;
    std::vector<double> mask = {};   ///< [positions_attended, tokens], added to scores; empty: 0
    std::vector<double> sinks = {};  ///< [heads]: a score of each head beside; empty: there is none
    double score_scale = 1;          ///< factor of scores, before the mask
    rope_numbers rope = {};
    std::vector<std::int32_t> positions = {};  ///< [tokens], or [tokens, 4] of a rope with sections
    std::vector<double> factors = {};          ///< [rope.dims / 2]: angles are divided by them
    double head_scale = 1;                     ///< factor of a head, after its turn
    std::vector<std::int64_t> cache_rows = {};  ///< [tokens]; empty: nothing is stored
    routing_numbers routing = {};  ///< parameters of a routing, whose rows are logits of k experts
    std::vector<double> routed_x = {};  ///< [routed_k, rows]: activation of the experts, if the
                                        ///< chain has their matrices too
    std::int64_t routed_k = 0;          ///< elements of a row of routed_x
    std::array<std::vector<double>, operand_count> operands;  ///< as operator[] has them
    std::vector<matrix> matrices;
    std::vector<std::int32_t> ids;  ///< expert: [slots, tokens]
    std::int64_t slots = 1;         ///< expert: matrices used per token
    std::int64_t x_slots = 1;       ///< expert: rows of x per token, 1 or slots
};

struct outputs {
    std::vector<double> sum;         ///< [k, rows], if the chain emits it
    std::vector<double> value;       ///< [k, rows]: what every emit<F> and quantize<F> rounds
    std::vector<double> state = {};  ///< the state behind the last token, as inputs::state
    std::map<std::int64_t, std::vector<double>> stored = {};  ///< rows of the cache by their
                                                              ///< numbers: the heads of a token
    /// [k, rows]: scores of a token's experts, what these are sorted by, and their numbers, the
    /// best first. Then `value` is the weights, [routing.chosen, rows].
    std::vector<double> scores = {}, choice = {};
    std::vector<std::int32_t> chosen = {};
    format_set emitted = {};  ///< the formats that `value` is written in, the activation's included
    /// Past the epilogue, per matrix: [rows, columns] or [rows, slots, tokens], combined
    /// [rows, tokens].
    std::vector<std::vector<double>> products;
};

struct evaluation {
    const inputs& in;
    std::vector<double> value;
    int norms = 0;        ///< norms passed so far
    bool at_sum = false;  ///< the value is a sum, fresh: an emit here writes what a norm reads
    std::vector<std::vector<double>> seconds = {};  ///< products of up, one vector for each matrix
    std::vector<std::int32_t> chosen = {};          ///< [routing.chosen, rows]
    outputs out = {};
};

/// The matrix of each column, where each has one of several: those that the chain has chosen, or
/// that it was given.
inline const std::vector<std::int32_t>& ids_of(const evaluation& e) {
    return e.chosen.empty() ? e.in.ids : e.chosen;
}

/// Throws unless `data` has the elements that its place in the chain asks for.
inline void expect_elements(const char* what, const std::vector<double>& data,
                            std::int64_t wanted) {
    if (static_cast<std::int64_t>(data.size()) == wanted) return;
    throw std::invalid_argument("reference: " + std::string(what) + " has " +
                                std::to_string(data.size()) + " elements, the chain reads " +
                                std::to_string(wanted));
}

}  // namespace CATENA_NAMESPACE::chain
