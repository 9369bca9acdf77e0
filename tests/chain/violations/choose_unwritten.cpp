// Refused with: catena: the chain writes nothing: end it with emit<F>, or with quantize<F> and a
// group
#include "violation.hpp"

CATENA_LIST(score | choose | weigh)
