#include "inputs.hpp"

#include "catena/format/random.hpp"

namespace catena_test {

const char* name(input i) {
    switch (i) {
        case input::bell_curve:
            return "bell curve";
        case input::outliers_1e3:
            return "outliers of 1000 times";
        case input::outliers_1e6:
            return "outliers of 1e6 times";
        case input::one_huge:
            return "one value of 8e6";
        case input::equal:
            return "equal values";
        case input::alternating:
            return "alternating signs";
        case input::zeros:
            return "zeros";
        case input::denormal:
            return "denormal numbers";
    }
    return "";
}

std::vector<float> values_of(input i, int k, int rows) {
    std::vector<float> out(static_cast<std::size_t>(k) * static_cast<std::size_t>(rows));
    catena::fill_random_values(40, 0, out);
    const auto each = [&](auto change) {
        for (int row = 0; row < rows; ++row)
            for (int at = 0; at < k; ++at) {
                float& v = out[static_cast<std::size_t>(row * k + at)];
                v = change(v, row, at);
            }
    };
    const auto outliers = [&](float times) {
        each(
            [times](float v, int row, int at) { return (at + 7 * row) % 64 == 5 ? v * times : v; });
    };
    switch (i) {
        case input::bell_curve:
            break;
        case input::outliers_1e3:
            outliers(1e3f);
            break;
        case input::outliers_1e6:
            outliers(1e6f);
            break;
        case input::one_huge:
            each([k](float v, int row, int at) { return at == (k / 2 + row) % k ? 8e6f : v; });
            break;
        case input::equal:
            each([](float, int, int) { return 0.7f; });
            break;
        case input::alternating:
            each([](float, int, int at) { return at % 2 == 0 ? 0.7f : -0.7f; });
            break;
        case input::zeros:
            each([](float, int, int) { return 0.0f; });
            break;
        case input::denormal:
            each([](float v, int, int) { return v * 1e-39f; });
            break;
    }
    return out;
}

}  // namespace catena_test
