// Launches that their kernels cannot do, though the values are right.
#include "fault_places.hpp"

namespace catena_test {

namespace {

/// The first row of the table for which `f` holds, -1: there is none.
template <class F>
int row_where(const plan_faults& p, F f) {
    const table& t = p.p.rows();
    for (int r = 0; r < t.row_count; ++r)
        if (f(t.rows[r])) return r;
    return -1;
}

/// Lets a row that computes the same do the step, if one is there for whose policy `f` holds.
template <class F>
bool give_row_of(const plan_faults& p, std::size_t s, F f) {
    const row& own = p.p.rows().rows[p.at(s).row];
    const int other = row_where(p, [&](const row& r) {
        return r.computes.kind() == own.computes.kind() && r.computes == own.computes &&
               f(r.policy);
    });
    if (other >= 0) p.give_row(s, other);
    return other >= 0;
}

}  // namespace

std::vector<fault> faults_of_kernels() {
    return {
        {"threads that are missing",
         [](plan_faults& p, std::size_t s) {
             const int all = p.p.rows().rows[p.at(s).row].policy.threads();
             return (p.at(s).config.threads = static_cast<unsigned>(all) / 2) > 0;
         }},
        {"shared memory that is missing",
         [](plan_faults& p, std::size_t s) {
             return std::exchange(p.at(s).config.shared_bytes, 16) > 16;
         }},
        {"a cluster that its kernel knows nothing of",
         [](plan_faults& p, std::size_t s) {
             launch_config& c = p.at(s).config;
             if (cluster_of(p.p.rows().rows[p.at(s).row].policy) != 0) return false;
             c.cluster *= 2;
             return (c.blocks *= 2) > 0;
         }},
        {"a row that is longer than its kernel holds",
         [](plan_faults& p, std::size_t s) {
             return p.is_row(s) && give_row_of(p, s, [&](const policy& o) {
                        return o.row().values > 0 &&
                               o.row().threads / rows_of_block(o.row()) * o.row().values <
                                   p.row(s).k;
                    });
         }},
        {"heads that are longer than its kernel holds",
         [](plan_faults& p, std::size_t s) {
             return !p.is_group(s) && p.is_heads(s) && give_row_of(p, s, [&](const policy& o) {
                 return head_values(o.row()) < p.heads(s).member[0].k;
             });
         }},
        {"more columns than its kernel has",
         [](plan_faults& p, std::size_t s) {
             return p.at(s).what.kind() == skeleton::matvec && p.head(s).ids == nullptr &&
                    give_row_of(p, s, [&](const policy& o) {
                        return o.matvec().columns < p.head(s).columns;
                    });
         }},
        {"more slots than its kernel adds up",
         [](plan_faults& p, std::size_t s) {
             return p.is_group(s) && p.head(s).combined && give_row_of(p, s, [&](const policy& o) {
                        return slots_added(o.matvec()) < p.head(s).slots;
                    });
         }},
        {"more results added up than meet in a block",
         [](plan_faults& p, std::size_t s) {
             if (!p.is_group(s) || !p.head(s).combined || p.members(s) != 1) return false;
             auto& head = p.head(s);
             const int band = 2 * max_finished_rows;
             const int bands = (p.member(s, 0).rows + band - 1) / band;
             unsigned& blocks = p.at(s).config.blocks;
             blocks = blocks / static_cast<unsigned>(head.bands) * static_cast<unsigned>(bands);
             p.at(s).band_rows = band, head.bands = bands;
             return true;
         }},
        {"a row of the table for matrices",
         [](plan_faults& p, std::size_t s) {
             if (p.is_row(s))
                 p.give_row(s, row_where(p, [](const row& r) {
                                return r.computes.kind() == skeleton::matvec;
                            }));
             return p.is_row(s);
         }},
        {"padding that is not written",
         [](plan_faults& p, std::size_t s) {
             const planned_chain& c = p.chains()[static_cast<std::size_t>(p.at(s).chain)];
             return p.is_row(s) && c.layouts.has(format::q8_1) && --p.row(s).quant_blocks > 0;
         }},
        {"a layout that nobody reads", in_row([](row_args& a) {
             a.int8_token.data = a.f32;
             return a.f32 != nullptr;
         })},
        {"tokens in two dimensions", in_row([](row_args& a) {
             if (a.experts.results == nullptr || a.n1 % 2 != 0 || a.n1 < 4) return false;
             a.n1 /= 2, a.n2 *= 2;
             for (row_strides* at : {&a.x_at, &a.f32_at, &a.sum_at, &a.residual_at})
                 at->nb2 = at->nb1 * a.n1;
             return true;
         })},
        {"a slot before the workspace",
         [](plan_faults& p, std::size_t s) {
             planned_chain& c = p.chains()[static_cast<std::size_t>(p.at(s).chain)];
             if (!reads_workspace(p, s)) return false;
             for (std::int64_t& to : c.workspace_offset) to = -256;
             return c.layouts.size() == 1;
         }},
        {"an activation at other distances",
         [](plan_faults& p, std::size_t s) {
             if (!reads_workspace(p, s) || !p.is_group(s)) return false;
             const bool q8_1 = p.at(s).what.product().needs.activation == format::q8_1;
             return q8_1 && p.head(s).ids == nullptr && p.head(s).columns > 1 &&
                    (p.head(s).x_bytes += 36) > 0;
         }},
        {"a weight that ends too early",
         in_member([](matvec_member& m) { return (m.weight_bytes -= m.row_bytes) > 0; })},
        {"a matrix that no block goes through",
         [](plan_faults& p, std::size_t s) {
             if (!p.is_group(s) || p.head(s).experts < 2) return false;
             p.at(s).config.blocks -= static_cast<unsigned>(p.head(s).bands);
             return --p.head(s).experts > 0;
         }},
        {"a result over a weight", in_member([](matvec_member& m) {
             if (m.dst != nullptr) m.dst = static_cast<float*>(const_cast<void*>(m.weight));
             return m.dst != nullptr;
         })},
        {"a step that is launched elsewhere",
         [](plan_faults& p, std::size_t s) {
             return p.first_steps()[static_cast<std::size_t>(p.at(s).launch_at) + 1]-- > 0;
         }},
        {"a first step that no node launches",
         [](plan_faults& p, std::size_t s) { return s == 0 && ++p.first_steps()[0] > 0; }},
        {"a step that is launched twice",
         [](plan_faults& p, std::size_t s) {
             const auto n = static_cast<std::size_t>(p.at(s).launch_at) + 1;
             return s + 1 < p.steps() && p.at(s + 1).launch_at > p.at(s).launch_at &&
                    ++p.first_steps()[n] > 0;
         }},
    };
}

}  // namespace catena_test
