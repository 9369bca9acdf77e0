// combine: what a token's experts made times their weights, slot after slot with a few in flight
// together, and x, which a shared expert made. Without experts the value is x.
#pragma once

#include "catena/kernel/gate.hpp"
#include "catena/kernel/row/stage.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::kernel {

template <class Row>
struct row_stage<stage_kind::combine, Row> : idle_stage<Row> {
    using typename idle_stage<Row>::quads;

    CATENA_FN void make(const Row& r, int at, quads& v) const {
        if (r.a.experts.results == nullptr)
            return r.load_row(row_at(r.a.x, r.a.x_at, r.place), at, v);
        constexpr int abreast = Row::slots_abreast;
        const expert_results& e = r.a.experts;
        const auto of_row = [&r](const float* tensor, std::int64_t nb) {
            return row_at(tensor, {nb, 0, 0}, {r.place.i1, 0, 0});
        };
        const float* const results = of_row(e.results, e.nb2);
        const float* const weights = of_row(e.weights, e.weights_nb2);
        CATENA_UNROLL
        for (int j = 0; j < Row::held; ++j)
            for (int i = 0; i < quad; ++i) v[j][i] = -real{0};  // any number plus that is itself
        CATENA_NO_UNROLL
        for (int first = 0; first < e.slots; first += abreast) {
            quads result[abreast];
            real weight[abreast];
            CATENA_UNROLL
            for (int s = 0; s < abreast; ++s) {
                const int slot = first + s < e.slots ? first + s : first;
                r.load_row(row_at(results, {e.nb1, 0, 0}, {slot, 0, 0}), at, result[s]);
                weight[s] = real{1};
                if (e.weights != nullptr)
                    weight[s] =
                        real{r.x.load(row_at(weights, {e.weights_nb1, 0, 0}, {slot, 0, 0}))};
            }
            CATENA_UNROLL
            for (int s = 0; s < abreast; ++s) {
                if (first + s >= e.slots) continue;
                Row::scale(weight[s], result[s]);
                Row::add(result[s], v);
            }
        }
        if (r.a.x == nullptr) return;
        quads shared;
        r.load_row(row_at(r.a.x, r.a.x_at, r.place), at, shared);
        if (e.gate != nullptr) {
            const real g{r.x.load(of_row(e.gate, e.gate_nb))};
            Row::scale(gated(gate_function::sigmoid, g, real{1}, real{0}, real{0}), shared);
        }
        Row::add(shared, v);
    }
};

}  // namespace CATENA_NAMESPACE::kernel
