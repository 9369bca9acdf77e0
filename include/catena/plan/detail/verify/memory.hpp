// Memory of a proof: every byte says which write left it there. Bytes are kept in cells between
// those addresses at which some tensor begins or ends.
#pragma once

#include "catena/match/graph.hpp"
#include "catena/plan/detail/verify/value.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <unordered_set>
#include <utility>
#include <vector>

namespace CATENA_NAMESPACE::proof {

/// A position or a number as an index.
inline std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

/// The dimensions of a value in which one element stands for many. Neighboring dimensions that are
/// alike count as one.
class spreading {
  public:
    void add(std::int64_t count, bool repeated) {
        if (count == 1) return;
        if (dimensions_ > 0 && repeated_[dimensions_ - 1] == repeated) {
            counts_[dimensions_ - 1] *= count;
            return;
        }
        counts_[dimensions_] = count;
        repeated_[dimensions_++] = repeated;
    }
    bool any() const { return dimensions_ > 1 || (dimensions_ == 1 && repeated_[0]); }
    value of(const value& v) const {
        if (!any()) return v;
        std::uint64_t h = hash_of(term::spread, v.hash);
        for (int d = 0; d < dimensions_; ++d)
            h = mixed(mixed(h, static_cast<std::uint64_t>(counts_[d])), repeated_[d] ? 1 : 0);
        return single(h);
    }
    bool operator==(const spreading& o) const {
        if (dimensions_ != o.dimensions_) return false;
        for (int d = 0; d < dimensions_; ++d)
            if (counts_[d] != o.counts_[d] || repeated_[d] != o.repeated_[d]) return false;
        return true;
    }

  private:
    std::int64_t counts_[4] = {};
    bool repeated_[4] = {};
    int dimensions_ = 0;
};

/// Elements of one size in up to four dimensions, as they lie in memory. Dimensions of one element
/// are left out and those that lie without a gap are one, so a tensor and its RESHAPE are equal. A
/// stride of 0 repeats what lies there.
class region {
  public:
    std::uint64_t begin = 0, end = 0;

    region() = default;
    region(std::uint64_t address, std::int64_t unit) : begin(address), end(address), unit_(unit) {}

    /// Adds a dimension: `count` elements, or runs of what is there, `stride` bytes apart.
    void add(std::int64_t count, std::int64_t stride) {
        if (dimensions_ == 0 && begin == end) end = begin + static_cast<std::uint64_t>(unit_);
        empty_ = empty_ || count == 0;
        repeats_.add(count, stride == 0);
        if (count == 1 || stride == 0) return;
        end += static_cast<std::uint64_t>((count - 1) * stride);
        if (dimensions_ == 0 && stride == unit_) {
            run_ = count;
        } else if (dimensions_ == 0 && run_ == 1) {
            push(count, stride);
        } else if (dimensions_ == 0 && stride == run_ * unit_) {
            run_ *= count;
        } else if (dimensions_ > 0 &&
                   stride == strides_[dimensions_ - 1] * counts_[dimensions_ - 1]) {
            counts_[dimensions_ - 1] *= count;
        } else {
            push(count, stride);
        }
    }

    bool empty() const { return empty_ || begin == end; }
    std::uint64_t bytes() const { return end - begin; }
    bool overlaps(const region& o) const {
        return !empty() && !o.empty() && begin < o.end && o.begin < end;
    }

    /// The way its elements lie, wherever that is and however often they are repeated.
    std::uint64_t shape() const {
        std::uint64_t h = hash_of(term::shape, unit_, run_);
        for (int d = 0; d < dimensions_; ++d)
            h = mixed(mixed(h, static_cast<std::uint64_t>(counts_[d])),
                      static_cast<std::uint64_t>(strides_[d]));
        return h;
    }
    const spreading& repeats() const { return repeats_; }
    bool same_elements(const region& o) const { return lies_as(o) && repeats_ == o.repeats_; }

    /// Do two that meet surely share no byte, because one lies between the rows of the other?
    friend bool apart(const region& a, const region& b) {
        if (!a.overlaps(b)) return true;
        const auto between = [&](std::int64_t stride) {
            const std::uint64_t s = static_cast<std::uint64_t>(stride), in_a = a.bytes_within(s),
                                in_b = b.bytes_within(s);
            if (in_a == 0 || in_b == 0) return false;
            const std::uint64_t gap = (b.begin % s + s - a.begin % s) % s;
            return in_a <= gap && gap + in_b <= s;
        };
        for (const region* r : {&a, &b})
            for (int d = 0; d < r->dimensions_; ++d)
                if (r->strides_[d] > 0 && between(r->strides_[d])) return true;
        return false;
    }

    /// The same elements, however often they are repeated?
    bool lies_as(const region& o) const {
        if (begin != o.begin || end != o.end || run_ != o.run_ || dimensions_ != o.dimensions_)
            return false;
        for (int d = 0; d < dimensions_; ++d)
            if (counts_[d] != o.counts_[d] || strides_[d] != o.strides_[d]) return false;
        return true;
    }

  private:
    std::int64_t unit_ = 1, run_ = 1;
    std::int64_t counts_[4] = {}, strides_[4] = {};
    int dimensions_ = 0;
    bool empty_ = false;
    spreading repeats_;

    /// Bytes from the first to the last of what lies at every `stride`; 0: it lies otherwise.
    std::uint64_t bytes_within(std::uint64_t stride) const {
        std::uint64_t bytes = static_cast<std::uint64_t>(run_ * unit_);
        for (int d = 0; d < dimensions_; ++d) {
            const auto own = static_cast<std::uint64_t>(strides_[d]);
            if (own < stride)
                bytes += own * static_cast<std::uint64_t>(counts_[d] - 1);
            else if (own % stride != 0)
                return 0;
        }
        return bytes <= stride ? bytes : 0;
    }
    void push(std::int64_t count, std::int64_t stride) {
        counts_[dimensions_] = count;
        strides_[dimensions_++] = stride;
    }
};

inline std::uint64_t address_of(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

/// f32 rows: ne elements in dimension d, nb[d] bytes apart.
inline region rows_at(std::uint64_t p, std::int64_t ne0, std::int64_t ne1, std::int64_t nb1,
                      std::int64_t ne2 = 1, std::int64_t nb2 = 0, std::int64_t ne3 = 1,
                      std::int64_t nb3 = 0) {
    region out(p, 4);
    out.add(ne0, 4);
    out.add(ne1, nb1);
    out.add(ne2, nb2);
    out.add(ne3, nb3);
    return out;
}
template <class... Sizes>
region rows_at(const void* p, Sizes... sizes) {
    return rows_at(address_of(p), sizes...);
}

/// A tensor's elements; of a format whose size is not known, its bytes. Without an address:
/// nothing.
inline region region_of(const tensor& t) {
    const format_info& f = info(t.type);
    if (elements(t) == 0 || t.data == nullptr) return {};
    if (f.block_elements == 0) {
        region out(address_of(t.data), 1);
        out.add(extent_bytes(t), 1);
        return out;
    }
    region out(address_of(t.data), f.block_bytes);
    out.add(quotient(t.ne[0], f.block_elements), t.nb[0]);
    for (int d = 1; d < 4; ++d) out.add(t.ne[d], t.nb[d]);
    return out;
}

/// Bytes that hold leaves of weights, as ranges in ascending order that do not overlap.
class weight_bytes {
  public:
    void add(std::uint64_t begin, std::uint64_t end) { ranges_.emplace_back(begin, end); }

    /// Once all are added. A leaf may be a part of another one.
    void sort() {
        std::sort(ranges_.begin(), ranges_.end());
        std::size_t last = 0;
        for (std::size_t i = 1; i < ranges_.size(); ++i) {
            if (ranges_[i].first < ranges_[last].second)
                ranges_[last].second = std::max(ranges_[last].second, ranges_[i].second);
            else
                ranges_[++last] = ranges_[i];
        }
        if (!ranges_.empty()) ranges_.resize(last + 1);
    }

    /// Do all bytes of a region lie in one range?
    bool hold(const region& r) const {
        const auto above = std::upper_bound(ranges_.begin(), ranges_.end(),
                                            std::make_pair(r.begin, ~std::uint64_t{0}));
        return above != ranges_.begin() && std::prev(above)->second >= r.end;
    }

  private:
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges_;
};

/// One write: the value that it left behind, and where.
struct written {
    value what;
    region where;
    std::int64_t half = 0;  ///< elements of half a row, for a matmul's result; 0: another result
    std::uint64_t halves[2] = {};  ///< hashes of the two halves of the rows

    /// The first or the second half of each row; of rows that lie one after the other.
    region half_of_rows(int which) const {
        const std::int64_t n = static_cast<std::int64_t>(where.bytes()) / (8 * half);
        return rows_at(where.begin + static_cast<std::uint64_t>(4 * half * which), half, n,
                       8 * half);
    }
};

class memory {
  public:
    /// The write that a byte comes from: an index into the writes; 0: the byte was there before.
    using write = std::int32_t;

    /// `bounds`: where regions that are written, or may be, begin or end, in any order and number.
    explicit memory(const std::unordered_set<std::uint64_t>& bounds)
        : bounds_(bounds.begin(), bounds.end()) {
        std::sort(bounds_.begin(), bounds_.end());
        cells_.assign(bounds_.size(), 0);
    }

    void store(const region& r, write by) {
        if (r.empty()) return;
        for (std::size_t c = first(r.begin); c < cells_.size() && bounds_[c] < r.end; ++c)
            cells_[c] = by;
    }

    /// f(begin, end, write) for every run of bytes of a region that one write left.
    template <class F>
    void each_run(const region& r, F&& f) const {
        std::uint64_t from = r.begin;
        write by = 0;
        for (std::size_t c = first(r.begin); c < cells_.size() && bounds_[c] < r.end; ++c) {
            if (bounds_[c] <= from) {
                by = cells_[c];
            } else if (cells_[c] != by) {
                f(from, bounds_[c], by);
                from = bounds_[c], by = cells_[c];
            }
        }
        f(from, r.end, by);
    }

    /// Was any byte written?
    bool touched(std::uint64_t begin, std::uint64_t end) const {
        for (std::size_t c = first(begin); c < cells_.size() && bounds_[c] < end; ++c)
            if (cells_[c] != 0 && next(c) > begin) return true;
        return false;
    }

  private:
    std::vector<std::uint64_t> bounds_;
    std::vector<write> cells_;  // from a bound to the next

    /// The cell that holds an address, or the first behind it.
    std::size_t first(std::uint64_t address) const {
        const auto above = std::upper_bound(bounds_.begin(), bounds_.end(), address);
        return above == bounds_.begin() ? 0 : static_cast<std::size_t>(above - bounds_.begin()) - 1;
    }
    std::uint64_t next(std::size_t c) const {
        return c + 1 < bounds_.size() ? bounds_[c + 1] : ~0ull;
    }
};

/// The elements of a value, which lie as `whole`, that lie as `part` from byte `offset` on.
inline value part_of(const value& all, const region& whole, const region& part,
                     std::uint64_t offset) {
    return single(hash_of(term::part, all.hash, whole.shape(), offset, part.bytes(), part.shape()));
}

/// The value in a region, each element once.
inline value read_once(const memory& m, const std::vector<written>& writes, const region& r) {
    int runs = 0;
    memory::write only = 0;
    std::uint64_t all = hash_of(term::pieces, r.shape());
    m.each_run(r, [&](std::uint64_t begin, std::uint64_t end, memory::write by) {
        const written& w = writes[static_cast<std::size_t>(by)];
        all = mixed(mixed(mixed(all, w.what.hash), begin - w.where.begin), end - begin);
        only = by;
        ++runs;
    });
    if (runs > 1) return single(all);
    const written& w = writes[static_cast<std::size_t>(only)];
    if (only == 0) return single(hash_of(term::initial, r.begin, r.end, r.shape()));
    if (w.where.lies_as(r)) return w.what;
    for (int h = 0; h < 2; ++h)
        if (w.half > 0 && w.half_of_rows(h).lies_as(r)) return single(w.halves[h]);
    return part_of(w.what, w.where, r, r.begin - w.where.begin);
}

/// The value that a reader of a region finds.
inline value read(const memory& m, const std::vector<written>& writes, const region& r) {
    return r.repeats().of(read_once(m, writes, r));
}

}  // namespace CATENA_NAMESPACE::proof
