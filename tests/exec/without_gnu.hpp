// Included before all else: what follows takes the compiler for one without GNU's extensions. The
// headers of the standard library and of Boost, which need them, were read before.
#pragma once

#include <bits/stdc++.h>
#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>

#undef __GNUC__
