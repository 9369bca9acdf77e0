// A pointer that several objects share, as std::shared_ptr is; but in C++20 libstdc++'s <memory>
// reads <ostream>.
#pragma once

#include "catena/config.hpp"

namespace CATENA_NAMESPACE {

/// The last owner deletes what is shared. `add_owner` and `drop_owner` count the owners of a T;
/// they are declared beside T.
template <class T>
class shared {
  public:
    /// Takes `made`, whose first owner it is.
    explicit shared(T* made) noexcept : made_(made) {}
    /// A move is a copy: what was moved from can still be asked.
    shared(const shared& other) noexcept : made_(other.made_) { add_owner(made_); }
    /// An owner that does not change what one shares that may.
    template <class U>
    shared(const shared<U>& other) noexcept : made_(other.operator->()) {
        add_owner(made_);
    }
    shared& operator=(shared other) noexcept {
        T* const mine = made_;
        made_ = other.made_;
        other.made_ = mine;
        return *this;
    }
    ~shared() { drop_owner(made_); }

    T& operator*() const { return *made_; }
    T* operator->() const { return made_; }

  private:
    T* made_;
};

}  // namespace CATENA_NAMESPACE
