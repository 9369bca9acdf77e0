// What a planner knows before it sees a graph: the table, the options, and what follows from the
// two alone.
#pragma once

#include "catena/pick/row_index.hpp"
#include "catena/plan/families.hpp"
#include "catena/plan/options.hpp"

#include <vector>

namespace catena {

struct premises {
    row_index rows;
    options asked;
    std::vector<family> families;

    premises(const table& t, const options& o) : rows(t), asked(o), families(families_of(t, o)) {}
};

}  // namespace catena
