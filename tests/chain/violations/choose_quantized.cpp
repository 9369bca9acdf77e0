// Refused with: catena: weights of experts are read as f32: remove quantize<F>
#include "violation.hpp"

CATENA_WRITE(choose | weigh | emit<f32> | quantize<q8_1>)
