// The executor that needs no GPU: kernel bodies run thread by thread on one core, and everything
// that a GPU does not check is checked. Needs Boost.Context; for tests and tools.
#pragma once

#include "catena/exec/host/device.hpp"
