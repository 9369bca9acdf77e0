#include "peer.hpp"

#include "catena/plan/detail/result/fallback.hpp"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace catena::tool {
namespace {

using ops = std::vector<std::string_view>;

struct fusion {
    int nodes = 1;
    const char* rule = nullptr;
};

bool same_layout(const tensor& a, const tensor& b) {
    return a.type == b.type && same_shape(a, b) && std::equal(a.nb, a.nb + 4, b.nb);
}

bool overlap(const tensor& a, const tensor& b) {
    if (a.buffer != b.buffer || a.buffer == no_buffer) return false;
    const auto end = [](const tensor& t) {
        return t.offset + static_cast<std::uint64_t>(extent_bytes(t));
    };
    return a.offset < end(b) && b.offset < end(a);
}

/// The rules, asked at one position. `id(n)` is the tensor index of the node n places further on.
class rules_at {
  public:
    rules_at(const graph_view& g, const std::vector<bool>& mine, int at)
        : g_(g), mine_(mine), at_(at) {}

    fusion longest() const {
        // In the engine's order: the first rule that fits is taken.
        for (const auto rule :
             {&rules_at::reduction, &rules_at::delta_net, &rules_at::routing, &rules_at::rope,
              &rules_at::run_of, &rules_at::gated, &rules_at::matmul_scale, &rules_at::matmul_add,
              &rules_at::norm, &rules_at::conv, &rules_at::gate, &rules_at::softcap})
            if (const fusion f = (this->*rule)(); f.nodes > 1) return f;
        return {};
    }

  private:
    std::int32_t id(int n) const { return g_.nodes[at_ + n]; }
    const tensor& node(int n) const { return g_.at(id(n)); }
    bool reads(int n, int source, int from) const { return node(n).src[source] == id(from); }
    bool reads(int n, int from) const { return reads(n, 0, from) || reads(n, 1, from); }

    bool are(const ops& names) const {
        if (at_ + static_cast<int>(names.size()) > g_.size()) return false;
        int n = 0;
        for (const std::string_view name : names) {
            const bool taken = !mine_.empty() && mine_[static_cast<std::size_t>(at_ + n)];
            if (taken || name != node(n).op_name || !(node(n).flags & flag_compute)) return false;
            ++n;
        }
        return true;
    }

    /// Each node is read by the next alone, in the same shape.
    bool linear(const ops& names) const {
        if (!are(names)) return false;
        for (int n = 1; n < static_cast<int>(names.size()); ++n) {
            const tensor& before = node(n - 1);
            if (before.uses != 1 || before.view_src != no_tensor || (before.flags & flag_output))
                return false;
            if (!reads(n, n - 1) || !same_shape(before, node(n))) return false;
        }
        return true;
    }

    /// Nothing outside reads any of the nodes but `results`.
    bool closed(const ops& names, std::initializer_list<int> results) const {
        if (!are(names)) return false;
        const int count = static_cast<int>(names.size());
        for (int n = 0; n < count; ++n) {
            if (std::find(results.begin(), results.end(), n) != results.end()) continue;
            const tensor& t = node(n);
            if (t.flags & flag_output) return false;
            int inside = 0;
            bool viewed_inside = t.view_src == no_tensor || g_.at(t.view_src).weight;
            for (int m = 0; m < count; ++m) {
                viewed_inside = viewed_inside || id(m) == t.view_src;
                if (m > n)
                    inside +=
                        static_cast<int>(std::count(node(m).src, node(m).src + max_src, id(n)));
            }
            if (inside != t.uses || !viewed_inside) return false;
        }
        return true;
    }

    /// The results lie over nothing that the nodes read from outside, but what may lie there.
    bool apart(int count, std::initializer_list<int> results, std::int32_t but = no_tensor) const {
        for (const int r : results)
            for (int n = 0; n < count; ++n)
                for (const std::int32_t s : node(n).src) {
                    if (s == no_tensor || s == but || g_.at(s).kind == op::none ||
                        !overlap(node(r), g_.at(s)))
                        continue;
                    bool inside = false;
                    for (int m = 0; m < n; ++m) inside = inside || id(m) == s;
                    if (!inside) return false;
                }
        return true;
    }

    /// A routing of 8 tokens at most has one block, which may also write over the logits, under the
    /// name that its first node reads.
    bool apart_from_logits(int count, std::initializer_list<int> results) const {
        return apart(count, results, node(0).ne[1] <= 8 ? node(0).src[0] : no_tensor);
    }

    bool one_column(const tensor& t, std::int64_t experts_tokens) const {
        if (g_.at(t.src[1]).type != format::f32) return false;
        return t.kind == op::mul_mat ? t.ne[1] == 1 && t.ne[2] == 1 : t.ne[2] <= experts_tokens;
    }

    fusion delta_net() const {
        if (!are({"GATED_DELTA_NET"})) return {};
        for (int n = 1; at_ + n < g_.size(); ++n) {
            const tensor& t = node(n);
            if (!launches(t)) continue;
            const bool copies_state = t.kind == op::cpy && t.src[0] != no_tensor &&
                                      g_.at(t.src[0]).view_src == id(0) &&
                                      contiguous(g_.at(t.src[0]));
            return copies_state ? fusion{n + 1, "GATED_DELTA_NET+CPY"} : fusion{};
        }
        return {};
    }

    /// The results of 2 to 15 experts times their weights, and maybe a scale of each, summed.
    fusion reduction() const {
        const int products = are({"MUL", "MUL"}) && reads(1, 0) ? 2 : 1;
        const auto slots = static_cast<int>(node(0).ne[1]);
        const int nodes = 2 * slots + products - 1;
        if (node(0).kind != op::mul || node(0).ne[1] < 2 || node(0).ne[1] > 15) return {};
        if (at_ + nodes > g_.size() || !contiguous(node(0))) return {};
        for (int p = 0; p < products; ++p) {
            const tensor& t = node(p);
            const bool first = same_shape(g_.at(t.src[0]), t);
            const tensor& whole = g_.at(t.src[first ? 0 : 1]);
            const tensor& each = g_.at(t.src[first ? 1 : 0]);
            if (!same_shape(whole, t) || each.ne[0] != 1 || each.ne[1] != t.ne[1] ||
                each.ne[2] != t.ne[2] || each.ne[3] != t.ne[3] || !contiguous(each))
                return {};
        }
        ops names(static_cast<std::size_t>(products), "MUL");
        int views = 0, sum = -1;
        for (int n = products; n < nodes; ++n) {
            names.push_back(node(n).op_name);
            const bool adds = views > 1 && reads(n, 0, sum < 0 ? products : sum);
            if (node(n).kind == op::view && node(n).src[0] == id(products - 1))
                ++views;
            else if (node(n).kind == op::add && adds)
                sum = n;
            else
                return {};
        }
        const bool whole = views == slots && sum == nodes - 1 && closed(names, {sum});
        return whole && apart(nodes, {sum}) ? fusion{nodes, "MUL...+ADD... of experts"} : fusion{};
    }

    /// From the logits of a router to the ids of its experts and their weights: SOFT_MAX, SIGMOID
    /// or SOFTPLUS SQRT, RESHAPE [ADD] ARGSORT VIEW GET_ROWS [RESHAPE SUM_ROWS CLAMP DIV RESHAPE]
    /// [SCALE].
    fusion routing() const {
        const char* rule = "topk-moe";
        const auto kernel_for = [](std::int64_t experts) {
            const bool power_of_two = (experts & (experts - 1)) == 0 && experts <= 512;
            return power_of_two || experts == 288 || experts == 576;
        };
        if (are({"ARGSORT", "VIEW", "GET_ROWS", "RESHAPE", "SOFT_MAX", "RESHAPE"}))
            return at_ > 0 && reads(2, 0, -1) && reads(2, 1, 1) && kernel_for(node(0).ne[0]) &&
                           closed({"ARGSORT", "VIEW", "GET_ROWS", "RESHAPE", "SOFT_MAX", "RESHAPE"},
                                  {1, 5}) &&
                           apart_from_logits(6, {1, 5})
                       ? fusion{6, rule}
                       : fusion{};
        ops names;
        if (are({"UNARY"}) && node(0).sub == sub_op::sigmoid) names = {"UNARY"};
        if (are({"UNARY", "SQRT"}) && node(0).sub == sub_op::softplus) names = {"UNARY", "SQRT"};
        if (are({"SOFT_MAX"}) && node(0).src[1] == no_tensor) names = {"SOFT_MAX"};
        if (names.empty()) return {};
        const auto next = [&names] { return static_cast<int>(names.size()); };
        const auto extend = [&](const ops& by) {
            ops longer = names;
            longer.insert(longer.end(), by.begin(), by.end());
            if (!are(longer)) return false;
            names = std::move(longer);
            return true;
        };
        const int values = next() - 1;
        if (!extend({"RESHAPE", "ADD", "ARGSORT"}) && !extend({"RESHAPE", "ARGSORT"})) return {};
        const int sorted = next() - 1;
        if (!reads(sorted, 0, sorted == values + 2 ? values : sorted - 1) ||
            !kernel_for(node(sorted).ne[0]) || !extend({"VIEW", "GET_ROWS"}) ||
            !reads(sorted + 2, 0, values + 1) || !reads(sorted + 2, 1, sorted + 1))
            return {};
        extend({"RESHAPE", "SUM_ROWS", "CLAMP", "DIV", "RESHAPE"});
        extend({"SCALE"});
        const int weights = next() - 1;
        const bool fits = closed(names, {sorted + 1, weights}) &&
                          apart_from_logits(next(), {sorted + 1, weights});
        return fits ? fusion{next(), rule} : fusion{};
    }

    /// Only the plain modes are fused, whose pairs are neighbors or halves.
    bool plain_rope(int rope) const {
        constexpr int dimensions = 1, mode = 2, offset = 15, neox = 2;
        const std::int32_t* p = node(rope).params;
        return (p[mode] == 0 || p[mode] == neox) && p[dimensions] % 2 == 0 && p[offset] == 0;
    }

    bool stores_rope(int rope) const {
        const tensor& view = node(rope + 1);
        const tensor& set = node(rope + 2);
        return plain_rope(rope) && view.view_src == id(rope) && set.src[0] == id(rope + 1) &&
               contiguous(view) && view.ne[0] == node(rope).ne[0] * node(rope).ne[1] &&
               node(rope).ne[3] == 1 && (set.type == format::f32 || set.type == format::f16) &&
               g_.at(set.src[1]).type == format::i64;
    }

    fusion rope() const {
        if (closed({"ROPE", "VIEW", "SET_ROWS"}, {2}) && stores_rope(0) && apart(3, {2}))
            return {3, "ROPE+SET_ROWS"};
        return {};
    }

    fusion run_of() const {
        for (const char* name : {"ADD", "MUL"}) {
            int n = 0;
            while (n < 7 && at_ + n + 1 < g_.size()) {
                const rules_at next{g_, mine_, at_ + n};
                if (!next.linear({name, name}) || !next.reads(1, 0, 0)) break;
                if (!same_layout(g_.at(node(n).src[1]), g_.at(node(n + 1).src[1]))) break;
                ++n;
            }
            if (n > 0) return {n + 1, *name == 'A' ? "ADD..." : "MUL..."};
        }
        return {};
    }

    bool is_gate_and_up(int gate, int up, int glu) const {
        const tensor& a = node(gate);
        const tensor& b = node(up);
        const tensor& g = node(glu);
        const bool kind = g.sub == sub_op::swiglu || g.sub == sub_op::geglu ||
                          g.sub == sub_op::swiglu_oai || g.sub == sub_op::swiglu_clamp;
        return kind && g.params[1] == 0 && reads(glu, 0, up - 1) && reads(glu, 1, glu - 1) &&
               a.src[1] == b.src[1] && a.src[2] == b.src[2] &&
               same_layout(g_.at(a.src[0]), g_.at(b.src[0])) &&
               one_column(b, reads_quantized(g_, b) ? 8 : 1) && apart(glu + 1, {glu});
    }

    fusion gated() const {
        if (closed({"MUL_MAT", "MUL_MAT", "GLU"}, {2}) && is_gate_and_up(0, 1, 2))
            return {3, "MUL_MAT+MUL_MAT+GLU"};
        if (closed({"MUL_MAT_ID", "MUL_MAT_ID", "GLU"}, {2}) && is_gate_and_up(0, 1, 2))
            return {3, "MUL_MAT_ID+MUL_MAT_ID+GLU"};
        if (closed({"MUL_MAT", "MUL", "MUL_MAT", "MUL", "GLU"}, {4}) && scales(1, 0) &&
            scales(3, 2) && is_gate_and_up(0, 2, 4))
            return {5, "MUL_MAT+MUL+MUL_MAT+MUL+GLU"};
        if (closed({"MUL_MAT", "ADD", "MUL_MAT", "ADD", "GLU"}, {4}) && is_gate_and_up(0, 2, 4))
            return {5, "MUL_MAT+ADD+MUL_MAT+ADD+GLU"};
        if (closed({"MUL_MAT_ID", "ADD_ID", "MUL_MAT_ID", "ADD_ID", "GLU"}, {4}) &&
            is_gate_and_up(0, 2, 4))
            return {5, "MUL_MAT_ID+ADD_ID+MUL_MAT_ID+ADD_ID+GLU"};
        return {};
    }

    /// Is node `n` the product of matmul `m` and the number that an nvfp4 matrix comes with?
    bool scales(int n, int m) const {
        const std::int32_t by = node(n).src[reads(n, 0, m) ? 1 : 0];
        return g_.at(node(m).src[0]).type == format::nvfp4 && elements(g_.at(by)) == 1;
    }

    fusion matmul_scale() const {
        if (!linear({"MUL_MAT", "MUL"}) || !scales(1, 0) || !one_column(node(0), 1)) return {};
        const bool bias = linear({"MUL_MAT", "MUL", "ADD"}) &&
                          same_shape(g_.at(node(2).src[0]), g_.at(node(2).src[1]));
        return bias ? fusion{3, "MUL_MAT+MUL+ADD"} : fusion{2, "MUL_MAT+MUL"};
    }

    fusion matmul_add() const {
        if (linear({"MUL_MAT", "ADD"}) && one_column(node(0), 1) &&
            same_shape(g_.at(node(1).src[0]), g_.at(node(1).src[1])))
            return {2, "MUL_MAT+ADD"};
        if (linear({"MUL_MAT_ID", "ADD_ID"}) && reads(1, 0, 0) &&
            node(1).src[2] == node(0).src[2] &&
            one_column(node(0), reads_quantized(g_, node(0)) ? 8 : 1))
            return {2, "MUL_MAT_ID+ADD_ID"};
        return {};
    }

    fusion norm() const {
        if (closed({"RMS_NORM", "MUL", "ROPE", "VIEW", "SET_ROWS"}, {4}) && reads(1, 0) &&
            reads(2, 0, 1) && stores_rope(2) && apart(5, {4}))
            return {5, "RMS_NORM+MUL+ROPE+SET_ROWS"};
        if (linear({"RMS_NORM", "MUL", "ROPE"}) && reads(2, 0, 1) && plain_rope(2) && apart(3, {2}))
            return {3, "RMS_NORM+MUL+ROPE"};
        if (linear({"RMS_NORM", "MUL", "ADD"})) return {3, "RMS_NORM+MUL+ADD"};
        if (linear({"RMS_NORM", "MUL"})) return {2, "RMS_NORM+MUL"};
        if (linear({"RMS_NORM", "SCALE"}) && node(1).params[1] == 0) return {2, "RMS_NORM+SCALE"};
        return {};
    }

    fusion conv() const {
        if (linear({"SSM_CONV", "ADD", "UNARY"}) && node(2).sub == sub_op::silu)
            return {3, "SSM_CONV+ADD+SILU"};
        if (linear({"SSM_CONV", "UNARY"}) && node(1).sub == sub_op::silu)
            return {2, "SSM_CONV+SILU"};
        return {};
    }

    fusion gate() const {
        if (linear({"UNARY", "SQR"}) && node(0).sub == sub_op::relu) return {2, "RELU+SQR"};
        if (!linear({"UNARY", "MUL"})) return {};
        const sub_op s = node(0).sub;
        if (s != sub_op::silu && s != sub_op::sigmoid && s != sub_op::softplus) return {};
        const tensor& other = g_.at(reads(1, 0, 0) ? node(1).src[1] : node(1).src[0]);
        if (other.type != node(0).type || !same_shape(other, node(0))) return {};
        return {2, "UNARY+MUL"};
    }

    fusion softcap() const {
        if (linear({"SCALE", "UNARY", "SCALE"}) && node(1).sub == sub_op::tanh)
            return {3, "SCALE+TANH+SCALE"};
        return {};
    }

    const graph_view& g_;
    const std::vector<bool>& mine_;
    int at_;
};

}  // namespace

bool launches(const tensor& t) {
    return !launches_nothing(t.kind) && elements(t) != 0 && (t.flags & flag_compute);
}

bool reads_quantized(const graph_view& g, const tensor& t) { return quantized_matmul(g, t); }

peer_launches count_peer(const graph_view& g, const std::vector<bool>& mine) {
    peer_launches total;
    for (int i = 0; i < g.size();) {
        if ((!mine.empty() && mine[static_cast<std::size_t>(i)]) || !launches(g.node(i))) {
            ++i;
            continue;
        }
        const fusion f = rules_at{g, mine, i}.longest();
        ++total.launches;
        if (f.rule) ++total.fused[f.rule];
        ++total.by_op[g.node(i).op_name];
        bool quantizes = false;  // matmuls that are fused read the same activation
        for (int n = i; n < i + f.nodes; ++n)
            quantizes = quantizes || reads_quantized(g, g.node(n));
        total.quantizes += quantizes;
        total.launches += quantizes;
        i += f.nodes;
    }
    return total;
}

}  // namespace catena::tool
