// Integer mma of the host executor: the operands of a warp, and what each lane gets of their
// product. The layout of fragments is the one that exec/executor.hpp states.
#pragma once

#include <cstdint>
#include <cstring>

namespace catena::exec {

/// Register by register, the lanes of each next to each other: so four lanes hold 16 values of a
/// row (a column) in K's sequence.
struct mma_operands {
    unsigned a[4][32];
    unsigned b[2][32];

    template <int Steps>
    void put(int lane, const unsigned* a_words, const unsigned* b_words) {
        for (int i = 0; i < 2 * Steps; ++i) a[i][lane] = a_words[i];
        for (int i = 0; i < Steps; ++i) b[i][lane] = b_words[i];
    }

    template <int Steps>
    void add_product(int lane, int (&d)[4]) const {
        for (int i = 0; i < 4; ++i) {
            const int upper = i / 2, row = lane / 4, column = 2 * (lane % 4) + i % 2;
            int sum = 0;
            for (int step = 0; step < Steps; ++step)
                sum += dot_of_16(&a[2 * step + upper][4 * row], &b[step][4 * column]);
            d[i] = static_cast<int>(static_cast<unsigned>(d[i]) + static_cast<unsigned>(sum));
        }
    }

  private:
    static int dot_of_16(const unsigned* a_words, const unsigned* b_words) {
        std::int8_t x[16], y[16];
        std::memcpy(x, a_words, sizeof x);
        std::memcpy(y, b_words, sizeof y);
        int sum = 0;
        for (int k = 0; k < 16; ++k) sum += x[k] * y[k];
        return sum;
    }
};

}  // namespace catena::exec
