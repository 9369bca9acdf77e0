// Refused with: catena: a chain has one epilogue<...>: name all its parts in it
#include "violation.hpp"

CATENA_WRITE(quantize<q8_1> | mul_mat<q4_K> | epilogue<add(bias)> | epilogue<glu>)
