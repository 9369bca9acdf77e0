// Refused with: catena: weigh makes weights of chosen scores: put it behind choose
#include "violation.hpp"

CATENA_WRITE(score | weigh)
