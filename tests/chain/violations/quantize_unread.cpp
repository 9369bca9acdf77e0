// Refused with: catena: nobody reads what quantize<F> wrote: end the chain with mul_mat<W> or
// group<mul_mat<W>...>
#include "violation.hpp"

CATENA_LIST(rms_norm | quantize<q8_1>)
