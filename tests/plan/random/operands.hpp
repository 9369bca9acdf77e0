// What a launch reads and writes, judged: nothing outside the tensors, nothing over another
// thread's.
#pragma once

#include "memory.hpp"

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

namespace catena_test {

template <class T>
T* offset(T* base, std::int64_t bytes) {
    using byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
    return reinterpret_cast<T*>(reinterpret_cast<byte*>(base) + bytes);
}

/// A tensor as a launch sees it: rows of `bytes`, n[0] * n[1] * n[2] of them.
struct operand_range {
    const char* name;
    const std::byte* first;
    std::int64_t bytes, n[3], nb[3];
    int owner = 0;  ///< member of a group

    std::int64_t extent() const {
        std::int64_t last = bytes;
        for (int d = 0; d < 3; ++d) last += (n[d] - 1) * nb[d];
        return last;
    }
    bool meets(const operand_range& o) const {
        return first < o.first + o.extent() && o.first < first + extent() && !between(o);
    }
    /// Do the rows of one lie in the gaps between those of the other, as the parts of a CONCAT do?
    bool between(const operand_range& o) const {
        bool alike = true;
        std::int64_t gap = 0;  // from row to row
        for (int d = 0; d < 3; ++d) {
            alike = alike && n[d] == o.n[d] && (n[d] == 1 || nb[d] == o.nb[d]);
            if (n[d] > 1 && (gap == 0 || nb[d] < gap)) gap = nb[d];
        }
        const std::int64_t ahead = o.first - first;
        return alike && gap > 0 &&
               (ahead >= 0 ? bytes <= ahead && ahead + o.bytes <= gap
                           : o.bytes <= -ahead && bytes - ahead <= gap);
    }
    /// Do both have the same rows? A dimension of one row may stand anywhere: of experts and what
    /// is dense beside them another one counts columns.
    bool same_place(const operand_range& o) const {
        int d = 0, e = 0;
        while (true) {
            while (d < 3 && n[d] == 1) ++d;
            while (e < 3 && o.n[e] == 1) ++e;
            if (d == 3 || e == 3) return d == e && first == o.first && bytes == o.bytes;
            if (n[d] != o.n[e] || nb[d] != o.nb[e]) return false;
            ++d, ++e;
        }
    }
};

/// What a step writes must not meet what another thread reads or writes.
class operands {
  public:
    explicit operands(machine& m) : machine_(m) {}

    void read(const operand_range& r, bool early = false) {
        machine_.reads(r.name, r.first, r.extent(), early);
        read_.push_back(r);
    }
    void write(const operand_range& r) {
        machine_.writes(r.name, r.first, r.extent());
        written_.push_back(r);
    }
    /// `element_wise`: inputs whose elements are read by the threads that write their like;
    /// `at_once`: all are, before any is written.
    void check(const char* const* element_wise, bool at_once = false) {
        for (std::size_t i = 0; i < written_.size(); ++i) {
            for (std::size_t j = 0; j < i; ++j)
                if (written_[i].meets(written_[j])) clash(written_[i], written_[j]);
            for (const operand_range& r : read_) {
                bool allowed = false;
                for (const char* const* e = element_wise; *e != nullptr; ++e)
                    allowed = allowed || std::strcmp(*e, r.name) == 0;
                allowed = at_once ||
                          (allowed && written_[i].owner == r.owner && written_[i].same_place(r));
                if (written_[i].meets(r) && !allowed) clash(written_[i], r);
            }
        }
    }

  private:
    machine& machine_;
    std::vector<operand_range> read_, written_;

    void clash(const operand_range& a, const operand_range& b) {
        machine_.blame(std::string(a.name) + " of a step lies over its own " + b.name);
    }
};

}  // namespace catena_test
