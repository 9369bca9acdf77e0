// Refused with: catena: mul_mat<W> of float weights reads f32: put emit<f32> before it
#include "violation.hpp"

CATENA_WRITE(rms_norm | emit<f16> | mul_mat<f16>)
