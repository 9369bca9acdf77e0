// What a stage of a row does, as hooks that the row calls in the order of the stages. A stage has a
// header of its own, which specializes `row_stage` for its kind and defines the hooks that it
// needs.
#pragma once

#include "catena/chain/stage.hpp"
#include "catena/kernel/row/thread.hpp"

#include <concepts>

namespace CATENA_NAMESPACE::kernel {

/// The hooks of a stage that does nothing. `Row` is a row_thread.
template <class Row>
struct idle_stage {
    using quads = typename Row::quads;

    /// Does the launch have what the stage needs? A stage without its operands is skipped.
    CATENA_FN bool active(const Row&) const { return true; }
    /// Reads what no kernel before this one writes; may run before the grid wait.
    CATENA_FN void load_constants(const Row&, int, int) {}
    /// Reads the operands of quad j from element `at` on.
    CATENA_FN void load(const Row&, int, int) {}
    /// Reads the stage's numbers, once for a row.
    CATENA_FN void load_numbers(const Row&) {}
    /// Makes the value, or adds to it, before anything is known of the whole row.
    CATENA_FN void make(const Row&, int, quads&) const {}
    /// Learns of the whole row what `apply` needs; `remake(at)` makes what is not kept.
    template <class Remake>
    CATENA_FN void measure(Row&, quads&, Remake) {}
    /// Changes quad j.
    CATENA_FN void apply(const Row&, int, int, real (&)[quad]) const {}
};

template <stage_kind Kind, class Row>
struct row_stage;

/// What a row asks of a stage: the hooks of idle_stage.
template <class Stage, class Row>
concept stage_of_row = requires(Stage stage, const Stage known, Row& row, const Row& same, int at,
                                int j, typename Row::quads& all, real (&some)[quad],
                                void (*remake)(int at)) {
    { known.active(same) } -> std::same_as<bool>;
    stage.load_constants(same, at, j);
    stage.load(same, at, j);
    stage.load_numbers(same);
    known.make(same, at, all);
    stage.measure(row, all, remake);
    known.apply(same, at, j, some);
};

}  // namespace CATENA_NAMESPACE::kernel
