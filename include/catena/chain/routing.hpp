// How the tokens of a layer are sent to its experts: from logits, one for each expert, to the
// experts of a token, the best first, and their weights. C++17, so that an engine can read it.
#pragma once

#include "catena/config.hpp"

#include <cstdint>
#include <limits>

namespace CATENA_NAMESPACE {

/// What makes a score of an expert's logit.
enum class scoring : std::uint8_t {
    none,      ///< the logit is the score
    soft_max,  ///< the soft max of the logits of all experts
    sigmoid,
    sqrt_softplus  ///< sqrt(log(1 + e^logit)), where 1 + e^logit is rounded as ggml rounds it
};

/// What the choice of an expert is made of.
enum class choosing : std::uint8_t {
    by_score,
    by_logit,
    by_sigmoid  ///< of the logit
};

/// The most experts that a token is sent to: a lane has the weight of each.
inline constexpr int max_chosen = 32;
/// The most groups that experts are cut into.
inline constexpr int max_groups = 32;

/// The numbers of a routing, as a graph gives them.
///
/// Experts are sorted by their choice: what `choice` says, plus a bias if there is one. Equal
/// choices keep the order of their experts, and a NaN stands behind all numbers. Of experts in
/// groups only those of the best groups are chosen from, as if the choice of all others were minus
/// infinity; a group is as good as its two best choices together. The weights of the first `chosen`
/// experts are made of their scores.
struct routing_numbers {
    scoring score = scoring::none;
    choosing choice = choosing::by_score;
    bool soft_max_chosen = false;  ///< the weights are a soft max of the chosen scores
    bool normalized = false;       ///< the weights are the chosen scores divided by their sum
    float least = -std::numeric_limits<float>::infinity();  ///< lower bound of that sum
    float scale = 1;                                        ///< factor of the weights
    std::int32_t chosen = 0;
    std::int32_t groups = 1, groups_chosen = 1;  ///< groups have equally many experts
};

}  // namespace CATENA_NAMESPACE
