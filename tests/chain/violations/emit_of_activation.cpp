// Refused with: catena: emit<F> writes f32, f16 or bf16: for an activation format write quantize<F>
#include "violation.hpp"

CATENA_WRITE(rms_norm | emit<q8_1>)
