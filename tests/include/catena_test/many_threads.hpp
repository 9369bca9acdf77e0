// Threads that do the same at once.
#pragma once

#include <thread>
#include <vector>

namespace catena_test {

inline constexpr int thread_count = 16;

template <class F>
void in_many_threads(F&& f) {
    std::vector<std::thread> threads;
    for (int i = 0; i < thread_count; ++i) threads.emplace_back(f);
    for (std::thread& t : threads) t.join();
}

}  // namespace catena_test
