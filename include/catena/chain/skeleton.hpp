// The skeletons: the kernel templates that chains share. A launch is a row step or a product, by a
// matvec or a matmul; what is asked of one means nothing for the other.
#pragma once

#include "catena/config.hpp"

#include <cassert>
#include <cstdint>

namespace CATENA_NAMESPACE {

enum class skeleton : std::uint8_t { row, matvec, matmul };
constexpr const char* name(skeleton s) {
    return s == skeleton::row ? "row" : s == skeleton::matvec ? "matvec" : "matmul";
}

/// Either a value for a row step or a value for a product; `kind` says which one is there. A
/// product says by skeleton_of() whether it is that of a matvec or of a matmul.
template <class Row, class Product>
class by_skeleton {
  public:
    constexpr by_skeleton() : by_skeleton(Row{}) {}
    constexpr by_skeleton(const Row& r) : is_row_(true), row_(r) {}
    constexpr by_skeleton(const Product& p) : is_row_(false), product_(p) {}

    constexpr skeleton kind() const { return is_row_ ? skeleton::row : skeleton_of(product_); }
    constexpr const Row& row() const { return assert(is_row_), row_; }
    constexpr Row& row() { return assert(is_row_), row_; }
    constexpr const Product& product() const { return assert(!is_row_), product_; }
    constexpr Product& product() { return assert(!is_row_), product_; }

    /// f(row()) or f(product()).
    template <class F>
    constexpr decltype(auto) visit(const F& f) const {
        return is_row_ ? f(row_) : f(product_);
    }

    friend constexpr bool operator==(const by_skeleton& a, const by_skeleton& b) {
        if (a.is_row_ != b.is_row_) return false;
        return a.is_row_ ? a.row_ == b.row_ : a.product_ == b.product_;
    }
    friend constexpr bool operator!=(const by_skeleton& a, const by_skeleton& b) {
        return !(a == b);
    }

  private:
    bool is_row_;
    union {
        Row row_;
        Product product_;
    };
};

}  // namespace CATENA_NAMESPACE
