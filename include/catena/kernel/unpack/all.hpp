// Every weight format that the skeletons can take apart.
#pragma once

#include "catena/kernel/unpack/q4_0.hpp"
#include "catena/kernel/unpack/q4_K.hpp"
#include "catena/kernel/unpack/q6_K.hpp"
#include "catena/kernel/unpack/q8_0.hpp"
