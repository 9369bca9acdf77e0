// Refused with: catena: choose sorts the experts of a token: put it first, or behind score
#include "violation.hpp"

CATENA_WRITE(score | choose | choose)
