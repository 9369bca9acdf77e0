// What the records of the tests race: two policies of a matvec on sm_90.
#pragma once

#include "catena_catalogue.hpp"
#include "tuning.hpp"

#include "catena/arch/arch.hpp"

#include <stdexcept>

namespace catena_test {

using namespace catena;

inline const arch& sm_90 = *arch_named("sm_90");

/// The catalogue's matvec of such weights that makes no norm.
inline product_computation matvec_of(format weights) {
    for (const computation& c : generator::computations_of(generator::catena_catalogue()))
        if (c.kind() == skeleton::matvec && c.product().weights == format_set::of(weights) &&
            c.product().stages.empty())
            return c.product();
    throw std::runtime_error("the catalogue has no matvec of such weights");
}

inline constexpr matvec_policy lean = {.threads = 64,
                                       .rows = 1,
                                       .columns = 1,
                                       .piece = 1024,
                                       .stages = 2,
                                       .copy = copy_method::bulk,
                                       .activation = activation_source::shared};
inline constexpr matvec_policy rich = {.threads = 128,
                                       .rows = 4,
                                       .columns = 2,
                                       .piece = 2048,
                                       .stages = 6,
                                       .copy = copy_method::bulk,
                                       .activation = activation_source::shared};

}  // namespace catena_test
