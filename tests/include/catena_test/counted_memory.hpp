// Counts what operator new gives out. It replaces the operator of the whole program, so one source
// of a program includes this.
#pragma once

#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace catena_test {

inline struct {
    std::size_t calls = 0, blocks = 0;          ///< of operator new: all, and those not freed yet
    std::size_t live = 0, peak = 0, total = 0;  ///< bytes: now, at most, and all together
} allocated;

}  // namespace catena_test

void* operator new(std::size_t size) {
    using catena_test::allocated;
    void* p = std::malloc(size);
    if (p == nullptr) throw std::bad_alloc{};
    const std::size_t got = malloc_usable_size(p);
    ++allocated.calls;
    ++allocated.blocks;
    allocated.live += got;
    allocated.total += got;
    allocated.peak = std::max(allocated.peak, allocated.live);
    return p;
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    try {
        return operator new(size);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}
void operator delete(void* p) noexcept {
    if (p == nullptr) return;
    --catena_test::allocated.blocks;
    catena_test::allocated.live -= malloc_usable_size(p);
    std::free(p);
}
void operator delete(void* p, std::size_t) noexcept { operator delete(p); }
