// An op that Catena lacks: by what it means, how kernels compute it, and which nodes it is.
#pragma once

#include "catena/kernel/own_ops.hpp"

namespace my_kernels {
using namespace catena;

struct bounded {
    static constexpr const char* name = "bounded";
    static double reference(double v, const op_numbers& n) {
        return v < double{n.a} ? double{n.a} : v > double{n.b} ? double{n.b} : v;
    }
    CATENA_FN static real compute(real v, const op_numbers& n) {
        return clamp(v, real{n.a}, real{n.b});
    }
    static bool match(const tensor& node, op_numbers& n) {
        n = {float_param(node, 0), float_param(node, 1)};
        return node.kind == op::clamp && n.a <= n.b;
    }
};

using ops = own_op_list<bounded>;
}  // namespace my_kernels
