// Refused with: catena: epilogue<...> finishes the outputs of matrices: put it behind mul_mat<W> or
// group<mul_mat<W>...>
#include "violation.hpp"

CATENA_WRITE(rms_norm | epilogue<add(bias)> | emit<f32>)
