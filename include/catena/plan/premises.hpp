// What a planner knows before it sees a graph: the table, the options, and what follows from the
// two alone.
#pragma once

#include "catena/pick/pick.hpp"
#include "catena/pick/row_index.hpp"
#include "catena/plan/families.hpp"
#include "catena/plan/keys.hpp"
#include "catena/plan/options.hpp"

#include <algorithm>
#include <memory>
#include <vector>

namespace catena {

/// How a matmul runs on its own, if a row serves it: `nearest` says why not.
struct lone {
    skeleton kind = skeleton::matvec;
    format layout = format::unknown;
    rejection nearest;
};

/// What plans asked of the table and were told: the next need not ask again, for the answers depend
/// on nothing else.
struct known_answers {
    shared_memo<problem, picked> picks;
    shared_memo<lone_matmul, lone> alone;
};

struct premises {
    row_index rows;
    options asked;
    std::vector<family> families;
    format_set norms_inside;  ///< weights of the matvecs that make their activation
    int norm_columns = 0;     ///< the most columns of theirs
    std::shared_ptr<known_answers> answers = std::make_shared<known_answers>();  ///< copies share

    premises(const table& t, const options& o) : rows(t), asked(o), families(families_of(t, o)) {
        for (int i = 0; t.rows != nullptr && i < t.row_count; ++i) {
            const row& r = t.rows[i];
            if (r.numbers.placement == norm_placement::producer) continue;
            norms_inside = norms_inside | r.computes.weights;
            norm_columns = std::max(norm_columns, r.numbers.columns);
        }
    }
};

}  // namespace catena
