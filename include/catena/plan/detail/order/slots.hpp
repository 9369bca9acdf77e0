// The workspace: slots that quantized activations share when they are not alive together. Slots are
// dealt by the topology of the graph alone, sizes ignored, to every activation that a plan could
// quantize. So a plan with fewer columns, or that fuses less, never needs more than the bound which
// the graph's largest sizes give.
#pragma once

#include "catena/kernel/layout.hpp"
#include "catena/match/detail/epilogue.hpp"
#include "catena/match/detail/reader.hpp"
#include "catena/match/pattern.hpp"
#include "catena/plan/plan.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace CATENA_NAMESPACE {

class slot_map {
  public:
    /// An activation that matmuls read in rows of k on one of the engine's streams.
    struct candidate {
        std::int32_t value = no_tensor;
        std::int64_t k = 0;
        std::int32_t stream = 0;
        std::int32_t from = 0, until = 0;  ///< positions, both included
        std::int32_t readers = 0;
        format_set layouts;                 ///< layouts that the readers may ask for
        std::int64_t small = 0, large = 0;  ///< bytes in a layout of int8, and of 16-bit floats
        std::int64_t begun = 0;             ///< bytes in q8_1, with room for a norm that is begun
        std::int32_t slot = -1;
        format_set written;  ///< layouts of a plan: several steps may quantize the same value

        std::int64_t bytes(format layout) const {
            return in_mma_blocks(layout) ? large : layout == format::q8_1 ? begun : small;
        }
        std::int64_t bytes_written() const {
            std::int64_t sum = 0;
            for (const format layout : written) sum += bytes(layout);
            return sum;
        }
    };

    explicit slot_map(const graph_index& g) : g_(g), view_(g.view) {
        first_.assign(static_cast<std::size_t>(view_.tensor_count), -1);
        met_.assign(static_cast<std::size_t>(view_.node_count), 0);
        all_.reserve(g_.matmuls().size());
        next_.reserve(g_.matmuls().size());
        for (const matmul_read& m : g_.matmuls())
            if (const format_set layouts = layouts_of(m); !layouts.empty()) add(m, layouts);
        for (candidate& c : all_) {
            c.from = std::min(c.from, earliest(c.value));
            c.until = last_read(c);
        }
        deal();
    }

    /// The candidate of a value that is read in rows of k on a stream.
    candidate& of(std::int32_t value, std::int64_t k, std::int32_t stream) {
        return all_[at(find(value, k, stream))];
    }
    const candidate& of(std::int32_t value, std::int64_t k, std::int32_t stream) const {
        return all_[at(find(value, k, stream))];
    }

    std::int32_t slots() const { return static_cast<std::int32_t>(ends_.size()); }
    array_view<candidate> candidates() const { return {all_.data(), all_.data() + all_.size()}; }

    /// Bytes of a workspace that serves every plan of this topology whose sizes are no larger.
    std::int64_t bound() const {
        std::vector<std::int64_t> bytes(ends_.size(), 0);
        for (const candidate& c : all_) {
            std::int32_t copies = c.readers;
            std::int64_t most = 0;  // in the largest layouts, one for a reader
            for (const bool large : {true, false})
                for (const format layout : c.layouts)
                    if (in_mma_blocks(layout) == large && copies-- > 0) most += c.bytes(layout);
            bytes[at(c.slot)] = std::max(bytes[at(c.slot)], most);
        }
        std::int64_t sum = 0;
        for (const std::int64_t b : bytes) sum += b;
        return sum;
    }

    /// The last position at which a step could run the matmul: that of the last op which may join
    /// it there.
    std::int32_t latest(std::int32_t matmul) const {
        std::int32_t last = matmul;
        each_joining(matmul, [&last](use next) { last = std::max(last, next.node); });
        return last;
    }

    /// Calls f(use) for each op that may join the step of a matmul: the op, and how it reads what
    /// the one before it makes. Two readers are the halves of a gated result. An output has no more
    /// nodes than a node_list has room for.
    template <class F>
    void each_joining(std::int32_t matmul, const F& f) const {
        const std::int32_t root = g_.root(view_.nodes[matmul]);
        if (g_.reader_count(root) > 2) return;
        for (use next : g_.readers(root)) {
            int room = node_list::max_nodes;
            for (; room > 0 && next.node >= 0 && joins_steps(next.node); --room) {
                f(next);
                next = g_.only_reader(view_.nodes[next.node]);
            }
        }
    }

  private:
    struct slot_end {
        std::int32_t until, stream;
    };
    const graph_index& g_;
    const graph_view& view_;
    std::vector<candidate> all_;
    std::vector<std::int32_t> first_;  // per tensor: its first candidate
    std::vector<std::int32_t> next_;   // per candidate: the next of the same value
    std::vector<slot_end> ends_;       // per slot: who was the last to use it

    // Scratch of first_covered: nodes that were met and are to be looked at, in order; how often
    // each was met; the matmuls at which the way back ended.
    static constexpr std::int32_t certain = 1 << 20;
    std::vector<std::int32_t> ahead_, met_, products_;

    static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

    std::int32_t find(std::int32_t value, std::int64_t k, std::int32_t stream) const {
        std::int32_t c = first_[at(value)];
        while (c >= 0 && (all_[at(c)].k != k || all_[at(c)].stream != stream)) c = next_[at(c)];
        return c;
    }

    /// The layouts of the copies that may be made for a matmul. f32 needs none; quantized weights
    /// also have that of a matvec.
    static format_set layouts_of(const matmul_read& m) {
        format_set all = matmul_layouts(m.weight);
        all.bits &= ~format_set::of(format::f32).bits;
        return m.float_weight ? all : all | format::q8_1;
    }

    void add(const matmul_read& m, format_set layouts) {
        const std::int32_t value = m.value;
        const std::int64_t k = m.k;
        std::int32_t c = find(value, k, m.stream);
        if (c < 0) {
            c = static_cast<std::int32_t>(all_.size());
            candidate fresh;
            fresh.value = value;
            fresh.k = k;
            fresh.stream = m.stream;
            fresh.from = m.node;
            const std::int64_t rows = k > 0 ? quotient(elements(view_.at(value)), k) : 0;
            const auto bytes = [&](std::int64_t of_row) {
                return round_up(rows * of_row, static_cast<std::int64_t>(workspace_alignment));
            };
            fresh.small = fresh.begun = bytes(activation_row_bytes(format::q8_1, k));
            fresh.large = bytes(activation_row_bytes(format::bf16_mma, k));
            // A row more without squares takes at least as much, so the bound holds.
            if (rows > 1 && rows <= mma_columns) fresh.begun = bytes(begun_row_bytes(k));
            all_.push_back(fresh);
            next_.push_back(first_[at(value)]);
            first_[at(value)] = c;
        }
        candidate& known = all_[at(c)];
        known.until = std::max(known.until, latest(m.node));
        ++known.readers;
        known.layouts = known.layouts | layouts;
    }

    /// Readers of other row lengths may share the copy.
    std::int32_t last_read(const candidate& c) const {
        std::int32_t last = c.until;
        for (std::int32_t o = first_[at(c.value)]; o >= 0; o = next_[at(o)])
            last = std::max(last, all_[at(o)].until);
        return last;
    }

    /// The first position at which a step could write `value`: a row step launches at one of the
    /// nodes that it covers, a group at one of what any of its members covers behind its matmul.
    std::int32_t earliest(std::int32_t value) {
        const std::int32_t made = g_.position(value);
        if (made < 0) return g_.forever;
        std::int32_t first = first_covered(made);
        for (const std::int32_t matmul : products_) {
            const std::int32_t activation = view_.node(matmul).src[1];
            if (activation == no_tensor) continue;
            const array_view<use> group = g_.readers(g_.root(activation));
            first = std::min(first, group.size() > 0 ? group[0].node : matmul);
        }
        return first;
    }

    /// Ops that steps take over beside norms and matmuls.
    bool joins_steps(std::int32_t node) const {
        switch (g_.kind(node)) {
            case op::cont:
            case op::repeat:
            case op::get_rows:
                return true;
            default:
                return follows_matmul(g_, node);
        }
    }

    /// The first node that a step could cover which makes the result of node `made`. A step covers
    /// a node if it covers all that read its result; what a norm reads may be written for others
    /// too. The way back ends at matmuls, which are put into products_ if a step may cover them.
    std::int32_t first_covered(std::int32_t made) {
        products_.clear();
        std::int32_t first = made;
        bool normed = false;
        visit(made, true);
        while (!ahead_.empty()) {
            const std::int32_t n = ahead_.back();
            ahead_.pop_back();
            const std::int32_t root = g_.root(view_.nodes[n]);
            const bool whole =
                met_[at(n)] >= g_.reader_count(root) && !g_.output(root) && !g_.read_outside(root);
            const bool covered = whole || met_[at(n)] >= certain;
            met_[at(n)] = 0;
            if (!covered) continue;
            const op kind = g_.kind(n);
            if (is_matmul(kind)) products_.push_back(n);
            const bool norm = kind == op::rms_norm || kind == op::norm;
            normed = normed || norm;
            if (!norm && !joins_steps(n)) continue;
            first = std::min(first, n);
            for (const read_edge& r : g_.reads(n))
                if (const std::int32_t maker = g_.position(g_.root(r.tensor)); maker >= 0)
                    visit(maker, norm);
        }
        if (normed) products_.clear();  // no step has both
        return first;
    }

    /// Meets a node on the way back from a reader of its result; `sure`: it may be covered with
    /// that reader, whoever else reads it.
    void visit(std::int32_t node, bool sure) {
        std::int32_t& met = met_[at(node)];
        if (met == 0) ahead_.insert(std::upper_bound(ahead_.begin(), ahead_.end(), node), node);
        met = sure ? certain : met + 1;
    }

    /// Candidates in order of birth take the first slot whose last user is dead. Streams do not
    /// share: nothing orders them.
    void deal() {
        std::vector<std::int32_t> order(all_.size());
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [this](std::int32_t a, std::int32_t b) {
            return all_[at(a)].from < all_[at(b)].from;
        });
        for (const std::int32_t i : order) {
            candidate& c = all_[at(i)];
            const auto free = std::find_if(ends_.begin(), ends_.end(), [&c](const slot_end& e) {
                return e.until < c.from && e.stream == c.stream;
            });
            c.slot = static_cast<std::int32_t>(free - ends_.begin());
            if (free == ends_.end())
                ends_.push_back({c.until, c.stream});
            else
                free->until = c.until;
        }
    }
};

}  // namespace CATENA_NAMESPACE
