// Groups: the readers of an activation are dealt to launches, with as much of what follows each
// matmul as is legal.
#pragma once

#include "catena/plan/detail/draft/group_trial.hpp"
#include "catena/plan/detail/draft/head_fuser.hpp"
#include "catena/plan/detail/draft/outputs.hpp"
#include "catena/plan/detail/draft/route_fuser.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace CATENA_NAMESPACE {

class grouper : drafter {
  public:
    grouper(draft& drafted, output_finder& outputs, group_trial& trial)
        : drafter(drafted), outputs_(outputs), trial_(trial), routes_(drafted), heads_(drafted) {}

    /// Deals the readers of an activation to steps: by kind (dense, one set of expert ids, or
    /// both), then by the listed set of formats that holds most of them, then by what is legal at
    /// the first member's position.
    void group(const family& f, std::int32_t activation) {
        std::vector<reader>& all = draft_.activation(activation).found.readers;
        reader* const end =
            all.data() + all.size();  // stays where it is when there are more activations
        for (reader* r = all.data(); r != end; ++r) {
            if (r->dealt || !r->servable()) continue;
            std::vector<output> waiting = outputs_.outputs(f.common, r, end);
            while (!waiting.empty()) {
                attempt tried = trial_.begin(activation, waiting.front().matmul);
                if (trial_.fill(f, tried, waiting)) close(tried);
            }
            outputs_.reuse(std::move(waiting));
        }
    }

    /// Accepts the step that is tried, and groups the readers of what it quantizes.
    void close(attempt& tried) {
        std::vector<made_value> values = trial_.take_values();
        std::optional<routing> routed = routes_.fuse(tried);
        std::optional<std::vector<head_chain>> turned = heads_.fuse(tried);
        const std::int32_t index = tried.accept();
        if (routed) routes_.report(std::move(*routed), index);
        if (turned) heads_.report(std::move(*turned), index);
        for (auto o = static_cast<std::size_t>(draft_.first_output.back());
             o < draft_.outputs.size(); ++o)
            draft_.leave(left_behind(g_, draft_.outputs[o].what));
        for (made_value& m : values) {
            const std::int32_t p =
                draft_.add_activation(choices_.chain_of(*m.of, m.value), std::move(m.value), index);
            draft_.activation(p).begun = m.begins;
            draft_.outputs[static_cast<std::size_t>(m.output)].makes = p;
            group(*m.of, p);
        }
    }

  private:
    output_finder& outputs_;
    group_trial& trial_;
    route_fuser routes_;
    head_fuser heads_;
};

}  // namespace CATENA_NAMESPACE
