// Answers that plans share: right, made once, and not kept without end.
#include "catena/plan/memo.hpp"

#include "catena_test/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

using namespace catena;

namespace {

struct number {
    int value;
    bool operator==(const number& o) const { return value == o.value; }
};
std::uint64_t hash(number n) { return static_cast<std::uint64_t>(n.value % 7); }  // many are alike

}  // namespace

TEST_CASE("an answer is made once, however many keys have its hash", "[memo]") {
    shared_memo<number, int> squares;
    int made = 0;
    for (int round = 0; round < 3; ++round)
        for (int i = 0; i < 100; ++i)
            CHECK(squares.of({i}, [&] { return ++made, i * i; }) == i * i);
    CHECK(made == 100);
}

TEST_CASE("what is shared forgets, and answers right after that", "[memo]") {
    shared_memo<number, int> squares;
    int made = 0;
    std::size_t most = 0;
    for (int round = 0; round < 2; ++round)
        for (int i = 0; i < 3000; ++i) {
            CHECK(squares.of({i}, [&] { return ++made, i * i; }) == i * i);
            most = std::max(most, squares.size());
        }
    CHECK(made == 6000);
    CHECK(most == 1024);
}
