// Refused with: catena: rope turns heads: put it first, or behind rms_norm and mul(weight), and
// before store<F...> and emit<F>
#include "violation.hpp"

CATENA_WRITE(rms_norm | mul(weight) | glu | rope | emit<f32>)
