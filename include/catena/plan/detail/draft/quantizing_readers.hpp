// Who quantizes a value that one launch makes and another multiplies: its maker, in its epilogue,
// or its readers, which then read floats. A maker's results first have to meet, 32 of them in a
// block of its shared memory. Readers quantize while their first weights are on their way.
#pragma once

#include "catena/plan/detail/draft/inside_judge.hpp"
#include "catena/plan/detail/draft/outputs.hpp"
#include "catena/plan/detail/find/weigh.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace CATENA_NAMESPACE {

class quantizing_readers : drafter {
  public:
    quantizing_readers(draft& drafted, output_finder& outputs, weigher& weigh)
        : drafter(drafted), outputs_(outputs), weigh_(weigh), judge_(drafted) {}

    /// Are all readers of an output in one launch that may quantize it, and does that take less
    /// time than if the output's launch does? `value` is the output as an activation; `group` has
    /// not the output yet. A table that has the engine's times looks them up for a maker together
    /// with its readers, so there the maker quantizes.
    bool take_less_time(const family& f, const product_problem& group, const output& o,
                        const match& value) {
        if (known_.rows.rows().engine_count > 0 || value.readers.size() > max_members ||
            !follow_alike(f) || judge_.fits(value, judge_.scope_of(value, false)).found())
            return false;
        std::vector<reader> all = value.readers;
        std::vector<output> made = outputs_.outputs(f.common, all.data(), all.data() + all.size());
        const bool together =
            std::all_of(all.begin(), all.end(), [](const reader& r) { return r.dealt; });
        const bool better = together && may_run(made) && pays(value, group, o, made);
        outputs_.reuse(std::move(made));
        return better;
    }

  private:
    output_finder& outputs_;
    weigher& weigh_;
    inside_judge judge_;
    trial_step together_;  // scratch: the readers' launch

    /// May the same follow a matmul that reads a value where it lies as one that reads it by a
    /// family? In a table that was joined, one may have ops of an engine's own.
    bool follow_alike(const family& f) const {
        const auto of_values =
            std::find_if(known_.families.begin(), known_.families.end(),
                         [](const family& one) { return one.common.stages.empty(); });
        return of_values != known_.families.end() &&
               of_values->common.epilogue == f.common.epilogue;
    }

    /// May the launch of these outputs run where its first matmul or its last node would? There it
    /// reads the value where it lies. Its memory may have other values by then, or be that of a sum
    /// which the launch adds.
    bool may_run(const std::vector<output>& made) {
        const node_list& lead = made.front().nodes;
        together_.nodes.clear();
        for (const output& o : made)
            for (const std::int32_t n : o.nodes) together_.nodes.push_back(node_of(g_, o, n, true));
        const auto may_run_at = [this](std::int32_t node) {
            together_.launch_at = node;
            return draft_.accepted.blocker(together_) < 0;
        };
        return may_run_at(made.front().matmul) ||
               may_run_at(*std::max_element(lead.begin(), lead.end()));
    }

    /// Their launch must take less time than a row step and a launch behind it, too.
    bool pays(const match& value, const product_problem& group, const output& o,
              const std::vector<output>& made) {
        product_problem reads =
            empty_group(view_, skeleton::matvec, format::q8_1, made.front().matmul);
        for (const output& by : made) add_member(view_, reads, by, false, true);
        product_problem quantizes = reads;
        quantizes.needs.activation = format::f32;
        return !weigh_.inside(value, quantizes).found() &&
               weigh_.quantizing_pays(group, o, reads, quantizes);
    }
};

}  // namespace CATENA_NAMESPACE
