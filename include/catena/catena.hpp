// Everything that a catalogue needs: the chain language, its checks, and what is derived from a
// chain. C++20 and Boost.Hana; engines include catena/runtime.hpp instead.
#pragma once

#include "catena/arch/arch.hpp"
#include "catena/chain/catalogue.hpp"
#include "catena/chain/lower.hpp"
#include "catena/chain/parts.hpp"
#include "catena/chain/reference.hpp"
