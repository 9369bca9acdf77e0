// Where a fault goes into a plan: a row step, a matrix of a group, an address.
#pragma once

#include "faults.hpp"

#include <cstdint>
#include <functional>
#include <utility>

namespace catena_test {

using namespace catena;

using put_fault = std::function<bool(plan_faults&, std::size_t)>;

template <class T>
T* moved(T* p, std::int64_t bytes) {
    return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(p) +
                                static_cast<std::uintptr_t>(bytes));
}

/// A fault of row steps: f(arguments) says whether the step can have it.
template <class F>
put_fault in_row(F f) {
    return [f](plan_faults& p, std::size_t s) { return p.is_row(s) && f(p.row(s)); };
}

/// A fault of one matrix of a group.
template <class F>
put_fault in_member(F f) {
    return [f](plan_faults& p, std::size_t s) {
        for (int m = 0; m < p.members(s); ++m)
            if (f(p.member(s, m))) return true;
        return false;
    };
}

/// A fault of two matrices of a group that are alike.
template <class F>
put_fault in_two(F f) {
    return [f](plan_faults& p, std::size_t s) {
        for (int m = 0; m < p.members(s); ++m)
            for (int o = m + 1; o < p.members(s); ++o) {
                matvec_member &a = p.member(s, m), &b = p.member(s, o);
                if (a.rows == b.rows && a.type == b.type && f(a, b)) return true;
            }
        return false;
    };
}

/// A fault of the gate of an activation that a group makes.
template <class F>
put_fault in_gate(F f) {
    return [f](plan_faults& p, std::size_t s) {
        return p.is_group(s) && p.head(s).gate.data != nullptr && f(p.head(s).gate);
    };
}

/// Sets a pointer to null, if there is one.
template <class T>
bool drop(T*& p) {
    return std::exchange(p, nullptr) != nullptr;
}
template <class T>
bool shift(T*& p, std::int64_t bytes) {
    if (p == nullptr) return false;
    p = moved(p, bytes);
    return true;
}

/// The layout of a chain that lies in the workspace; -1: none does.
inline int some_layout(const planned_chain& c) {
    for (int l = 0; l < layout_count; ++l)
        if (c.layouts.has(activation_layouts[l])) return l;
    return -1;
}

inline bool reads_workspace(const plan_faults& p, std::size_t s) {
    return p.is_group(s) && p.at(s).what.product().needs.activation != format::f32 &&
           !makes_norm(p.at(s).what);
}

}  // namespace catena_test
