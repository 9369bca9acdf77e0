// How the owners of what is shared are counted.
#pragma once

#include "catena/config.hpp"

#include <atomic>

namespace CATENA_NAMESPACE::detail {

/// What `shared` points to. A copy has an owner of its own.
struct owned {
    owned() = default;
    owned(const owned&) {}

    mutable std::atomic<int> owners{1};
};

template <class T>
void count_owner(const T* made) noexcept {
    made->owners.fetch_add(1, std::memory_order_relaxed);
}

template <class T>
void discount_owner(const T* made) noexcept {
    if (made->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete made;
}

}  // namespace CATENA_NAMESPACE::detail
