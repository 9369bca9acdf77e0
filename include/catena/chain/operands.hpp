// The named operands of a chain. Each becomes a launch argument.
#pragma once

#include "catena/chain/lowered.hpp"

#include <type_traits>

namespace CATENA_NAMESPACE::chain {

template <operand Which>
struct operand_name {
    static constexpr operand which = Which;
};

inline constexpr operand_name<operand::residual> residual{};
inline constexpr operand_name<operand::weight> weight{};
inline constexpr operand_name<operand::one_plus_weight> one_plus_weight{};
inline constexpr operand_name<operand::bias> bias{};
inline constexpr operand_name<operand::scale> scale{};
inline constexpr operand_name<operand::next_weight> next_weight{};
inline constexpr operand_name<operand::factor> factor{};

template <class T, operand Which>
inline constexpr bool is_operand = std::is_same_v<T, operand_name<Which>>;

constexpr const char* name(operand o) {
    switch (o) {
        case operand::none:
            return "none";
        case operand::x:
            return "x";
        case operand::residual:
            return "residual";
        case operand::weight:
            return "weight";
        case operand::one_plus_weight:
            return "one_plus_weight";
        case operand::bias:
            return "bias";
        case operand::gate:
            return "gate";
        case operand::scale:
            return "scale";
        case operand::next_weight:
            return "next_weight";
        case operand::factor:
            return "factor";
    }
    return "unknown";
}

}  // namespace CATENA_NAMESPACE::chain
