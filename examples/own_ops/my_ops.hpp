// Three ops that Catena lacks, each by what it means, how kernels compute it, and which nodes it
// is.
#pragma once

#include "catena/kernel/own_ops.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace my_ops {
using namespace catena;

struct tangent {  // an activation function
    static constexpr const char* name = "tangent";
    static double reference(double v, const op_numbers&) { return std::tanh(v); }
    CATENA_FN static real compute(real v, const op_numbers&) { return tanh(v); }
    static bool match(const tensor& node, op_numbers&) { return node.sub == sub_op::tanh; }
};

struct bounded {  // a stage of a row
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

struct leaky {  // a part of an epilogue
    static constexpr const char* name = "leaky";
    static double reference(double v, const op_numbers& n) { return v < 0 ? v * double{n.a} : v; }
    CATENA_FN static real compute(real v, const op_numbers& n) {
        return less(v, real{0}) ? v * real{n.a} : v;
    }
    static bool match(const tensor& node, op_numbers& n) {
        n.a = float_param(node, 0);
        return std::strcmp(node.op_name, "LEAKY_RELU") == 0;
    }
};

using ops = own_op_list<tangent, bounded, leaky>;
}  // namespace my_ops
