// Catch2, version 2 (one header) or 3 (many), under one name. Approx and the matchers are found in
// namespace Catch in both.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
