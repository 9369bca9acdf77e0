// The graphs of tests/data, for tests.
#pragma once

#include "catena/engine/json.hpp"

#include <string>

/// A graph of tests/data/graphs, by its name without ".json.gz".
inline catena::json::graph given(const std::string& name) {
    return catena::json::read(CATENA_TEST_DATA "/graphs/" + name + ".json.gz");
}
