// The rows of a table by what they compute. Made once for a table, so that picking looks at the
// rows that may serve, however many others there are.
#pragma once

#include "catena/pick/constraints.hpp"
#include "catena/pick/problem.hpp"
#include "catena/pick/row.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace CATENA_NAMESPACE {

/// Rows that stand together in the table and compute the same: [first, last).
struct row_run {
    std::int32_t first = 0, last = 0;
    computation computes;
};

class row_index {
  public:
    /// The table may be a bad one, or one of another Catena: it has no runs then, and rows() says
    /// why.
    explicit row_index(const table& given) : table_(readable(given)) {
        const table& t = table_;
        if (t.rows == nullptr || t.target == nullptr) return;
        fits_arch_.reserve(static_cast<std::size_t>(t.row_count));
        for (std::int32_t i = 0; i < t.row_count; ++i)
            fits_arch_.push_back(detail::fits_arch(t.rows[i], t.limits()));
        for (std::int32_t first = 0, last = 0; first < t.row_count; first = last) {
            const computation& c = t.rows[first].computes;
            for (last = first + 1; last < t.row_count && t.rows[last].computes == c;) ++last;
            if (c.kind() == skeleton::row) {
                row_steps_.push_back({first, last, c});
                continue;
            }
            for (const format f : c.product().weights)
                groups_[static_cast<int>(f)].push_back({first, last, c});
        }
    }

    const table& rows() const { return table_; }

    /// Runs of groups that hold matrices of a format among others, in the table's order.
    const std::vector<row_run>& groups_of(format weight) const {
        return groups_[static_cast<int>(weight)];
    }

    /// What row i asks of the table's arch, whatever the problem: limit::none, or what it lacks.
    const rejection& fits_arch(std::int32_t i) const {
        return fits_arch_[static_cast<std::size_t>(i)];
    }

    /// Runs that might serve a problem.
    const std::vector<row_run>& candidates(const row_problem&) const { return row_steps_; }
    const std::vector<row_run>& candidates(const product_problem& p) const {
        return groups_of(p.member[0].type);
    }

  private:
    table table_;
    std::vector<rejection> fits_arch_;  // per row
    std::vector<row_run> row_steps_;
    std::vector<row_run> groups_[format_count];  // by weight format; [unknown] stays empty
};

}  // namespace CATENA_NAMESPACE
