// Refused with: catena: what queries attend to is quantized for few columns: write quantize<q8_1>
#include "violation.hpp"

CATENA_WRITE(rope | store<f16> | attend | emit<f32> | quantize<q8_1, q8_1_mmq_d4>)
