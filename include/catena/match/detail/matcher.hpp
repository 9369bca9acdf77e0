// Matching: does a chain fit at a node? Use edges are followed, not neighbors.
#pragma once

#include "catena/match/detail/row/stages.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace CATENA_NAMESPACE {

class matcher {
  public:
    static constexpr std::int32_t all_readers = std::numeric_limits<std::int32_t>::max();

    matcher(const graph_index& index, const pattern& chain)
        : index_(index), view_(index.view), chain_(chain) {}

    /// A chain that makes a value, at node `position`: a norm, or a GLU, MUL, UNARY, SQR or CONT.
    match at(std::int32_t position) const {
        slot_sums sums(index_);
        match m = place_at({index_, view_, chain_, sums, position, nullptr});
        if (m.found()) read(m);
        return m;
    }

    /// A match of a chain without ops before the value, at a tensor that somebody else writes, with
    /// its readers from node `from` on, `most` of them.
    match at_value(std::int32_t value, std::int32_t from = 0,
                   std::int32_t most = all_readers) const {
        match m;
        const tensor& t = view_.at(value);
        m.reads[operand::x] = {value, 0, strides_of(t)};
        m.activation = value;
        m.why = plain_rows_at(view_, value, index_.position(value));
        if (m.found() && index_.written_in_place(index_.root(value)))
            m.why.why = reason::written_in_place;
        if (m.found() && elements(t) > max_values)
            m.why = {m.why.node, reason::too_large, elements(t), max_values};
        if (!m.found()) return m;
        read(m, from, most);
        const auto elsewhere = [&](const reader& r) {
            return !names_whole(view_, view_.node(r.node).src[r.slot], value);
        };
        m.readers.erase(std::remove_if(m.readers.begin(), m.readers.end(), elsewhere),
                        m.readers.end());
        return m;
    }

    /// Lists and judges all that read the value of a match, or `most` of them from node `from` on.
    void read(match& m, std::int32_t from = 0, std::int32_t most = all_readers) const {
        const std::int32_t value = m.activation;
        const std::int32_t root = index_.root(value);
        m.f32_needed = index_.read_outside(root) || index_.output(root);
        const array_view<use> all = index_.readers(root);  // in node order
        const use* const first =
            std::lower_bound(all.begin(), all.end(), from,
                             [](const use& u, std::int32_t node) { return u.node < node; });
        const auto count = std::min<std::ptrdiff_t>(all.end() - first, most);
        m.readers.reserve(static_cast<std::size_t>(count));
        for (const use& u : array_view<use>{first, first + count}) {
            const tensor& node = view_.node(u.node);
            reader r = read_of(view_, chain_, value, u);
            if (r.servable() && !index_.constant(node.src[0])) r.left.why = reason::weight_not_leaf;
            if (r.servable() && r.float_weight())
                judge_stream(m, r);
            else if (r.servable())
                judge_row(m, r, node.src[u.slot]);
            m.f32_needed = m.f32_needed || !r.servable();
            m.readers.push_back(r);
        }
    }

  private:
    const graph_index& index_;
    const graph_view& view_;
    const pattern& chain_;

    /// Readers of different row lengths share one quantized copy if padding moves no block. The
    /// first reader that is served says how long the rows are.
    void judge_row(match& m, reader& r, std::int32_t name) const {
        const std::int64_t k = rows_of(view_, m).ne[0];
        const std::int64_t length = view_.at(name).ne[0];
        const bool whole = stored_elements(format::q8_1, length) == length;
        const bool first = m.quant_k == 0;
        const bool together = first || length == m.quant_k || (whole && m.whole_blocks());
        if (!together || !rows_of_both(length, k)) {
            r.left = {r.node, reason::row_length, length, first ? k : m.quant_k};
        } else if (judge_stream(m, r) && first) {
            m.quant_k = length;
        }
    }

    /// All of a match is on one stream. If the match computes nothing itself, that is the stream of
    /// the first reader that is served.
    bool judge_stream(match& m, reader& r) const {
        const std::int32_t stream = view_.node(r.node).stream;
        if (m.stream == no_stream) m.stream = stream;
        if (stream != m.stream) r.left = {r.node, reason::stream, stream, m.stream};
        return r.servable();
    }
};

}  // namespace CATENA_NAMESPACE
