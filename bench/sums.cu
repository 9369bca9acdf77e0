#include "sums.hpp"

#include "catena/exec/cuda.cuh"
#include "catena/kernel/row.hpp"
#include "catena/launch/cuda.cuh"

namespace catena::bench {
namespace {

template <int Row>
constexpr row_policy sum_policy = sum_rows[Row].policy.row();

template <int Row>
__global__ __launch_bounds__(sum_policy<Row>.threads) void sum_kernel(
    const __grid_constant__ row_args args) {
    exec::cuda x;
    kernel::row_body<exec::cuda, sum_policy<Row>, sum_alone>(x, args);
}

template <int Row>
const void* kernel_of() {
    return reinterpret_cast<const void*>(&sum_kernel<Row>);
}

}  // namespace

table sums_on_device(const arch& target) {
    static const void* const kernels[] = {kernel_of<0>(), kernel_of<1>(), kernel_of<2>(),
                                          kernel_of<3>()};
    static_assert(std::size(kernels) == sum_row_count, "a kernel for each row");
    return sums(target, kernels, launch_cuda);
}

}  // namespace catena::bench
