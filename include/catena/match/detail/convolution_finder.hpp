// Finds the convolution that one launch can take: an SSM_CONV with the nodes that gather what it
// reads and keep the state of the sequence, its function, and the norms of the heads that it makes.
//
// `Rewrite A to B` above a rule says which nodes A the rule takes over, and which operands of a
// launch B replace them. Names in capitals are ggml's ops, and v is the value so far.
#pragma once

#include "catena/match/detail/match.hpp"
#include "catena/match/detail/state.hpp"
#include "catena/match/ggml_cuda.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace CATENA_NAMESPACE {

/// A convolution, and the values of its launch: heads that are normed, and between them the
/// channels that are not.
struct convolved_values {
    obstacle why;  ///< reason why no launch takes the convolution
    convolution by;
    std::vector<head_chain> values;

    /// Does the launch norm none of what it makes?
    bool alone() const {
        return std::all_of(values.begin(), values.end(),
                           [](const head_chain& h) { return h.norm < 0; });
    }
};

class convolution_finder {
  public:
    explicit convolution_finder(const graph_index& g) : g_(g), view_(g.view) {}

    convolved_values of(std::int32_t node) const {
        convolved_values out;
        out.by.convolve = node;
        out.why = convolved(node, out.by);
        if (out.why.found()) return out;
        function_behind(out.by);
        read_value(out);
        fill_gaps(out);
        return out.values.size() > max_head_members ? without_norms(out.by) : out;
    }

    /// The same convolution, whose value others norm.
    static convolved_values without_norms(const convolution& by) {
        convolved_values out;
        out.by = by;
        out.by.written = true;
        fill_gaps(out);
        return out;
    }

  private:
    /// The most tokens that a warp takes one after the other.
    static constexpr std::int64_t max_tokens = 8;
    static constexpr std::int64_t max_channels = std::int64_t{1} << 20;

    const graph_index& g_;
    const graph_view& view_;

    bool floats(std::int32_t t) const {
        return t != no_tensor && plain_rows(view_.at(t)) == reason::none;
    }

    /// Rewrite SSM_CONV(CONCAT(state, x), taps) to convolve(x, state, taps).
    obstacle convolved(std::int32_t node, convolution& c) const {
        if (const obstacle f = node_fits(g_, node, 2); f.found()) return f;
        const tensor& t = view_.node(node);
        const tensor& taps = view_.at(t.src[1]);
        c.taps = t.src[1];
        c.channels = t.ne[0], c.tokens = t.ne[1], c.sequences = t.ne[2], c.length = taps.ne[0];
        if (c.tokens > max_tokens) return {node, reason::convolution_tokens, c.tokens, max_tokens};
        const bool fits = c.length >= min_taps && c.length <= max_taps && g_.constant(c.taps) &&
                          floats(c.taps) && contiguous(taps) &&
                          elements(taps) == c.length * c.channels && contiguous(t) &&
                          t.ne[3] == 1 && c.channels <= max_channels;
        if (!fits) return {node, reason::convolution_taps, c.length};
        c.join = g_.position(t.src[0]);
        if (c.join < 0 || g_.kind(c.join) != op::concat || !joins(c))
            return {node, reason::convolution_state};
        return {};
    }

    /// Rewrite CONCAT(state, TRANSPOSE(x)) to x behind the states of the sequences, and
    /// CPY(VIEW(v), next_state) to a store of these states. Nobody else may read v.
    bool joins(convolution& c) const {
        const tensor& t = view_.node(c.join);
        const std::int64_t kept = c.length - 1;
        const auto shaped = [&](const tensor& of, std::int64_t columns) {
            return of.ne[0] == columns && of.ne[1] == c.channels && of.ne[2] == c.sequences &&
                   of.ne[3] == 1;
        };
        if (node_fits(g_, c.join, 2).found() || t.params[0] != 0) return false;
        const tensor& state = view_.at(t.src[0]);
        const tensor& x = view_.at(t.src[1]);
        const bool fits = shaped(t, kept + c.tokens) && shaped(state, kept) &&
                          shaped(x, c.tokens) && contiguous(t) && floats(t.src[0]) &&
                          x.type == format::f32 && x.reachable && words_aligned(x) &&
                          (c.channels == 1 || x.nb[1] == 4) &&
                          (c.sequences == 1 || x.nb[2] == c.tokens * x.nb[0]);
        c.state_nb = state_distance(c, state);
        if (!fits || c.state_nb < 0) return false;
        c.x = t.src[1];
        c.state = t.src[0];
        c.states = c.sequences;
        picked(c);
        return kept_behind(c);
    }

    /// The bytes from one sequence's state to the next; -1: there are gaps in a state.
    std::int64_t state_distance(const convolution& c, const tensor& t) const {
        const std::int64_t kept = c.length - 1, bytes = 4 * c.state_size();
        if (contiguous(t)) return bytes;
        const bool rows = t.ne[0] == kept && t.ne[1] == c.channels && t.ne[2] == c.sequences &&
                          t.nb[0] == 4 && t.nb[1] == 4 * kept && t.nb[2] >= bytes;
        return rows ? t.nb[2] : -1;
    }

    /// Rewrite GET_ROWS(states, ids) to the numbers of the states.
    void picked(convolution& c) const {
        const std::int32_t pick = g_.position(g_.root(c.state));
        if (pick < 0 || g_.kind(pick) != op::get_rows || node_fits(g_, pick, 2).found()) return;
        const tensor& t = view_.node(pick);
        const tensor& all = view_.at(t.src[0]);
        const std::int64_t values = c.state_size();
        const bool fits = g_.only_reader(view_.nodes[pick]).node == c.join && t.ne[0] == values &&
                          elements(t) == values * c.sequences && contiguous(view_.at(c.state)) &&
                          floats(t.src[0]) && contiguous(all) && all.ne[0] == values &&
                          all.ne[2] == 1 && all.ne[3] == 1 && all.ne[1] <= max_channels &&
                          numbers_states(view_.at(t.src[1]), c.sequences);
        if (!fits || written_between(t.src[0], pick, c.join)) return;
        c.pick = pick;
        c.state = t.src[0];
        c.state_ids = t.src[1];
        c.states = all.ne[1];
    }

    /// Does a node between two others write into a tensor? So states are copied to unused places.
    bool written_between(std::int32_t tensor, std::int32_t first, std::int32_t end) const {
        for (std::int32_t n = first + 1; n < end; ++n)
            if (!launches_nothing(g_.kind(n)) && elements(view_.node(n)) != 0 &&
                g_.root(view_.nodes[n]) == g_.root(tensor))
                return true;
        return false;
    }

    /// Do only the SSM_CONV and a CPY of the last values read what was joined?
    bool kept_behind(convolution& c) const {
        const std::int32_t joined = view_.nodes[c.join];
        if (g_.read_outside(joined) || g_.output(joined)) return false;
        for (const use& u : g_.readers(joined)) {
            if (u.node == c.convolve && u.slot == 0) continue;
            if (c.keep >= 0 || g_.kind(u.node) != op::cpy || u.slot != 0 || !keeps(c, u.node))
                return false;
            c.keep = u.node;
        }
        return true;
    }
    bool keeps(convolution& c, std::int32_t node) const {
        const tensor& to = view_.node(node);
        const tensor& last = view_.at(to.src[0]);
        const tensor& joined = view_.node(c.join);
        const std::int64_t kept = c.length - 1;
        const bool whole = last.type == format::f32 && last.ne[0] == kept &&
                           last.ne[1] == c.channels && last.ne[2] == c.sequences &&
                           last.ne[3] == 1 && last.nb[0] == 4 && last.nb[1] == joined.nb[1] &&
                           (c.sequences == 1 || last.nb[2] == joined.nb[2]) &&
                           offset_in(g_, to.src[0], view_.nodes[c.join]) == 4 * c.tokens;
        c.next_state_nb = state_distance(c, to);
        return whole && (to.flags & flag_compute) != 0 && to.type == format::f32 && to.reachable &&
               c.next_state_nb >= 0 && words_aligned(to) &&
               elements(to) == c.state_size() * c.sequences;
    }

    /// Rewrite SILU(ADD(v, bias)) to the function and the bias of the convolution.
    void function_behind(convolution& c) const {
        use next = g_.only_reader(view_.nodes[c.convolve]);
        if (next.node >= 0 && g_.kind(next.node) == op::add && adds_bias(c, next)) {
            c.add = next.node;
            c.bias = view_.node(next.node).src[1 - next.slot];
            next = g_.only_reader(view_.nodes[next.node]);
        }
        if (next.node < 0 || view_.node(next.node).sub != sub_op::silu) return;
        const tensor& t = view_.node(next.node);
        const std::int32_t sum = view_.nodes[c.add >= 0 ? c.add : c.convolve];
        const bool alike = g_.kind(next.node) == op::unary && same_elements(c, t) &&
                           names_whole(view_, t.src[0], sum) &&
                           !node_fits(g_, next.node, 1).found();
        if (alike) c.act = next.node;
    }
    bool adds_bias(const convolution& c, const use& u) const {
        const tensor& t = view_.node(u.node);
        const std::int32_t bias = t.src[1 - u.slot];
        return u.slot < 2 && !node_fits(g_, u.node, 2).found() && same_elements(c, t) &&
               names_whole(view_, t.src[u.slot], view_.nodes[c.convolve]) && g_.constant(bias) &&
               floats(bias) && contiguous(view_.at(bias)) && view_.at(bias).ne[0] == c.channels &&
               elements(view_.at(bias)) == c.channels;
    }
    bool same_elements(const convolution& c, const tensor& t) const {
        return contiguous(t) && t.ne[0] == c.channels &&
               elements(t) == elements(view_.node(c.convolve));
    }

    /// The norms of heads that read the value; all others read it where it is written.
    void read_value(convolved_values& out) const {
        const std::int32_t value = view_.nodes[out.by.made_by()];
        out.by.written = g_.read_outside(value) || g_.output(value);
        out.values.reserve(most_normed);
        for (const use& u : g_.readers(value)) {
            head_chain h;
            const bool normed = g_.kind(u.node) == op::rms_norm &&
                                out.values.size() < most_normed &&
                                norm_of_heads(out.by, u.node, h) && apart(out.values, h);
            if (normed)
                out.values.push_back(h);
            else
                out.by.written = true;
        }
        std::sort(out.values.begin(), out.values.end(),
                  [](const head_chain& a, const head_chain& b) {
                      return a.first_channel < b.first_channel;
                  });
    }
    static constexpr std::size_t most_normed = 2;

    static std::int64_t end_of(const head_chain& h) { return h.first_channel + h.k * h.count; }
    static bool apart(const std::vector<head_chain>& all, const head_chain& h) {
        return std::none_of(all.begin(), all.end(), [&h](const head_chain& o) {
            return o.first_channel < end_of(h) && h.first_channel < end_of(o);
        });
    }

    /// Rewrite SCALE(RMS_NORM(VIEW(v)), c) to a norm of heads of v and their factor.
    bool norm_of_heads(const convolution& by, std::int32_t node, head_chain& h) const {
        const tensor& t = view_.node(node);
        if (node_fits(g_, node, 1).found() || !finite_from_zero(t.params[0])) return false;
        const tensor& x = view_.at(t.src[0]);
        const std::int64_t offset = offset_in(g_, t.src[0], view_.nodes[by.made_by()]);
        const bool heads = same_shape(x, t) && x.ne[2] * x.ne[3] == by.all_tokens() &&
                           floats(t.src[0]) && even_tokens(node) && x.ne[0] <= max_head &&
                           (x.ne[1] == 1 || x.nb[1] == 4 * x.ne[0]) &&
                           (x.ne[2] == 1 || x.nb[2] == 4 * by.channels) &&
                           (x.ne[3] == 1 || x.nb[3] == 4 * by.channels * x.ne[2]) && offset >= 0 &&
                           offset % 4 == 0 && offset / 4 + x.ne[0] * x.ne[1] <= by.channels;
        if (!heads) return false;
        h.norm = node;
        h.eps = float_of(t.params[0]);
        h.k = x.ne[0], h.count = x.ne[1], h.tokens = by.all_tokens();
        h.first_channel = offset / 4;
        h.written = true;
        const std::int32_t scale = g_.only_reader(view_.nodes[node]).node;
        if (scale < 0 || engine_fuses(g_, scale)) return true;
        const bool whole = view_.node(scale).src[0] == view_.nodes[node];
        if (!whole || !even_tokens(scale)) return true;
        if (const std::optional<float> c = scale_at(g_, scale)) h.scaled = scale, h.scale = *c;
        return true;
    }
    static constexpr std::int64_t max_head = 256;

    /// Are a node's results rows of floats, and all tokens of all sequences equally far apart?
    bool even_tokens(std::int32_t node) const {
        const tensor& t = view_.node(node);
        return floats(view_.nodes[node]) && (t.ne[3] == 1 || t.nb[3] == t.ne[2] * t.nb[2]);
    }

    /// Adds the channels that no norm reads, cut into heads of any length.
    static void fill_gaps(convolved_values& out) {
        std::vector<head_chain> all;
        all.reserve(2 * out.values.size() + 1);
        std::int64_t next = 0;
        const auto fill = [&](std::int64_t end) {
            if (next == end) return;
            head_chain h;
            for (const std::int64_t k : {128, 64, 32, 4, 1})
                if (h.k == 0 && (end - next) % k == 0) h.k = k;
            h.count = (end - next) / h.k, h.tokens = out.by.all_tokens();
            h.first_channel = next;
            all.push_back(h);
        };
        for (const head_chain& h : out.values) {
            fill(h.first_channel);
            all.push_back(h);
            next = end_of(h);
        }
        fill(out.by.channels);
        out.values = std::move(all);
    }
};

}  // namespace CATENA_NAMESPACE
