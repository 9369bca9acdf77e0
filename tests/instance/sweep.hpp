// The cases that every row of every table has to stand: shapes that fit, shapes that do not, and
// values that leave the range of a format.
#pragma once

#include "attention_case.hpp"
#include "convolution_case.hpp"
#include "delta_case.hpp"
#include "head_case.hpp"
#include "matvec_case.hpp"
#include "route_case.hpp"
#include "row_case.hpp"
#include "scan_case.hpp"

#include <vector>

namespace catena_test {

inline std::vector<catena::format> formats_in(catena::format_set set) {
    std::vector<catena::format> out;
    for (int f = 1; f < catena::format_count; ++f)
        if (set.has(static_cast<catena::format>(f))) out.push_back(static_cast<catena::format>(f));
    return out;
}

/// The elements of the longest block, 32 at least.
int largest_block(const std::vector<catena::format>& formats);

std::vector<row_case> row_cases(const catena::row_computation& computes,
                                const catena::row_policy& how);
std::vector<head_case> head_cases(const catena::row_computation& computes,
                                  const catena::row_policy& how);
std::vector<convolution_case> convolution_cases(const catena::row_policy& how);
std::vector<delta_case> delta_cases(const catena::row_policy& how);
std::vector<scan_case> scan_cases(const catena::row_policy& how);
std::vector<attention_case> attention_cases(const catena::row_policy& how);
std::vector<route_case> route_cases(int most_experts);
std::vector<matvec_case> combined_cases(const catena::product_computation& computes,
                                        const catena::matvec_policy& how);
std::vector<matvec_case> begun_cases(const catena::product_computation& computes,
                                     const catena::matvec_policy& how);
std::vector<matvec_case> routed_cases(const catena::product_computation& computes,
                                      const catena::matvec_policy& how);
std::vector<matvec_case> turned_cases(const catena::product_computation& computes,
                                      const catena::matvec_policy& how);
std::vector<matvec_case> matvec_cases(const catena::product_computation& computes,
                                      const catena::matvec_policy& how);

std::vector<matvec_case> matmul_cases(const catena::product_computation& computes,
                                      const catena::matmul_policy& how);

/// Lets the cases of a computation with ops of an engine's own apply these, and adds cases.
void apply_own(std::vector<row_case>& cases, const instance& on);
void apply_own(std::vector<matvec_case>& cases, const instance& on);

/// Runs and checks every case of the instance. With `peer`, the same instance on another machine,
/// both must write the same bytes. `every`: of the cases one in so many, other ones for an instance
/// of another name.
void sweep(const instance& on, const instance* peer = nullptr, std::size_t every = 1);

}  // namespace catena_test
