// A chain that may not be written.
#include "catena/catena.hpp"

namespace my_kernels {
using namespace catena::chain;
using enum catena::format;

inline constexpr auto catalogue =
    hana::make_tuple(entry<"two_norms">(rms_norm | rms_norm | emit<f32>));
}  // namespace my_kernels
