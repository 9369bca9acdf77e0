// Every weight format that the skeletons can take apart.
#pragma once

#include "catena/kernel/unpack/iq1.hpp"
#include "catena/kernel/unpack/iq2.hpp"
#include "catena/kernel/unpack/iq3.hpp"
#include "catena/kernel/unpack/iq4.hpp"
#include "catena/kernel/unpack/mxfp4.hpp"
#include "catena/kernel/unpack/q1_0.hpp"
#include "catena/kernel/unpack/q2_K.hpp"
#include "catena/kernel/unpack/q3_K.hpp"
#include "catena/kernel/unpack/q4_0.hpp"
#include "catena/kernel/unpack/q4_1.hpp"
#include "catena/kernel/unpack/q4_K.hpp"
#include "catena/kernel/unpack/q5_0.hpp"
#include "catena/kernel/unpack/q5_K.hpp"
#include "catena/kernel/unpack/q6_K.hpp"
#include "catena/kernel/unpack/q8_0.hpp"
#include "catena/kernel/unpack/tq.hpp"
