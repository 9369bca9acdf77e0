// A plan while it is built: the activations that were found, the steps that serve them, and what
// stays with the engine. One step is tried at a time (attempt.hpp); what was drafted since a mark
// can be taken back.
#pragma once

#include "catena/match/detail/epilogue.hpp"
#include "catena/match/detail/match.hpp"
#include "catena/match/detail/route_finder.hpp"
#include "catena/plan/detail/find/choices.hpp"
#include "catena/plan/detail/find/premises.hpp"
#include "catena/plan/detail/order/schedule.hpp"
#include "catena/plan/detail/order/slots.hpp"
#include "catena/plan/step.hpp"

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace CATENA_NAMESPACE {

/// A value that is quantized once, and its readers. A row step computes it, or the epilogue of a
/// group's step. Or it is there as f32, and its readers quantize it or multiply it as it is.
struct shared_activation {
    std::int32_t chain = -1;  ///< index into the table's chains
    match found;
    std::int32_t made_by = -1;  ///< step that makes it in these layouts; -1: none
    format_set layouts;         ///< layouts in which it is quantized
    bool begun = false;         ///< made_by begins the norm, and the readers end it
    obstacle norm_apart;        ///< why a step of its own makes its norm, not its readers'

    shared_activation(std::int32_t listed_by, match&& m, std::int32_t maker, format_set in)
        : chain(listed_by), found(std::move(m)), made_by(maker), layouts(in) {}
};

/// One output of a group's step.
struct drafted_output {
    output what;
    std::int32_t makes = -1;  ///< activation that the epilogue quantizes, or -1

    explicit drafted_output(const output& o) : what(o) {}
};

inline void run_by(step& s, const picked& p) {
    s.row = p.row;
    s.config = p.config;
    s.band_rows = p.band_rows;
    s.bytes = p.bytes;
    s.predicted_us = p.predicted_us;
    s.clusters_refused = p.clusters_refused;
}

struct draft {
    const graph_index& g;
    const premises& known;
    choices rows;           ///< what the table answered so far
    slot_sums sums;         ///< sums of experts that were found
    route_finder routings;  ///< the routing that was found last
    slot_map slots;         ///< slots of the workspace
    schedule accepted;
    std::vector<step> steps;                 ///< parallel to accepted.steps(); the last one may be
                                             ///< an attempt's
    std::vector<std::int32_t> first_output;  ///< parallel to steps: first index into outputs
    std::vector<drafted_output> outputs;  ///< outputs, those of one step together, in launch order
    std::vector<shared_activation> activations;
    std::unordered_map<std::int32_t, std::int32_t> routed;  ///< the routing of a group's step, by
                                                            ///< its place among accepted steps
    std::unordered_map<std::int32_t, std::int32_t> turned;  ///< the heads that a group's step makes
    std::vector<left_over> left;

    draft(const graph_index& index, const premises& of)
        : g(index),
          known(of),
          rows(g.view, of),
          sums(index),
          routings(index),
          slots(index),
          accepted(index) {
        blank_.what = product_problem{};
        const auto expected = static_cast<std::size_t>(g.view.node_count) / 8 + 8;
        steps.reserve(expected);
        first_output.reserve(expected);
        outputs.reserve(expected);
        activations.reserve(expected);
    }

    bool covered(std::int32_t node) const { return accepted.covered(node); }

    void leave(const obstacle& f, const rejection& nearest = {}) {
        if (f.node >= 0) left.push_back({f, nearest});
    }

    /// Records an activation; `made_by`: the step that makes it, or -1.
    std::int32_t add_activation(std::int32_t chain, match&& m, std::int32_t made_by) {
        const format_set layouts = m.layouts();
        activations.emplace_back(chain, std::move(m), made_by, layouts);
        return static_cast<std::int32_t>(activations.size()) - 1;
    }

    shared_activation& activation(std::int32_t i) {
        return activations[static_cast<std::size_t>(i)];
    }

    /// The slot of the quantized activation of a match.
    const slot_map::candidate& slot_of(const match& m) const {
        return slots.of(m.activation, m.quant_k, m.stream);
    }

    struct mark {
        std::size_t steps, outputs, activations, left;
    };
    mark here() const { return {steps.size(), outputs.size(), activations.size(), left.size()}; }

    /// Takes back all that came after a mark. No attempt is open.
    void back_to(const mark& m) {
        accepted.retract(m.steps);
        steps.resize(m.steps);
        first_output.resize(m.steps);
        outputs.erase(outputs.begin() + static_cast<std::ptrdiff_t>(m.outputs), outputs.end());
        activations.erase(activations.begin() + static_cast<std::ptrdiff_t>(m.activations),
                          activations.end());
        left.resize(m.left);
    }

  private:
    friend class attempt;
    trial_step trial_;  // of the open attempt: its memory serves the next one
    step blank_;        // a product, whose copy takes half as long as making one
};

}  // namespace CATENA_NAMESPACE
