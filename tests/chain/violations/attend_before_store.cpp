// Refused with: catena: attend reads what store<F> has written: put it right behind that
#include "violation.hpp"

CATENA_WRITE(rope | attend)
