// One row step by hand, for an engine with matmuls of its own: rms_norm(x) * (1 + weight),
// quantized to fp8 with a scale for each token. On a GPU the table is
// catena::instances::for_device(0), and the last argument a CUDA stream.
#include "catena/format/minifloat.hpp"
#include "catena/instances/on_host.hpp"
#include "catena/instances/sm_90.hpp"
#include "catena/launch/row.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>

using namespace catena;

int main() {
    constexpr int k = 512, tokens = 2;
    exec::host_device machine;
    const auto floats = [&](int count, float value) {
        float* to = machine.allocate<float>("operand", count, exec::memory::initialized);
        std::fill_n(to, count, value);
        return to;
    };
    auto* data = machine.allocate<std::uint8_t>("fp8", k * tokens, exec::memory::initialized);
    float* scales = floats(tokens, 0);

    row_args a;
    a.x = floats(k * tokens, 3);
    a.x_at.nb1 = k * sizeof(float);  // bytes from one token to the next
    a.k = k;
    a.n1 = a.rows = tokens;
    a.weight = floats(k, 0.5f);
    a.one_plus_weight = true;
    a.eps = 1e-6f;
    a.fp8_token = {data, scales};

    const row_launcher rows(instances::on_host(instances::sm_90()));
    const status said = rows.launch(stage_kind::rms_norm | stage_kind::mul_weight, a, &machine);
    if (!said.ok()) {
        std::fprintf(stderr, "%s\n", said.message);
        return 1;
    }
    const float value = scales[1] * f32_from_bits(f32_bits_from_e4m3(data[k]));
    std::printf("token 1: scale %g, first value %g\n", scales[1], value);
    return std::fabs(value - 1.5f) < 0.01f ? 0 : 1;
}
