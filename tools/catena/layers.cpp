#include "layers.hpp"

#include "peer.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

namespace catena::tool {
namespace {

using key = std::vector<std::int64_t>;

/// A number per distinct key.
class numbering {
  public:
    int of(key k) {
        return known_.emplace(std::move(k), static_cast<int>(known_.size())).first->second;
    }

  private:
    std::map<key, int> known_;
};

void append(key& to, const std::string& text) {
    to.push_back(static_cast<std::int64_t>(text.size()));
    to.insert(to.end(), text.begin(), text.end());
}

/// What repeats: of each node that launches something its op and shape, and its op alone. Nodes
/// that only rename memory are left out: shared ones stand in the first layer and in no other.
struct sequence {
    std::vector<std::int32_t> position;
    std::vector<int> shape, op;
    std::vector<bool> matmul;

    int size() const { return static_cast<int>(position.size()); }
};

sequence sequence_of(const graph_view& g) {
    sequence s;
    numbering shapes, ops;
    for (int i = 0; i < g.size(); ++i) {
        const tensor& t = g.node(i);
        if (!launches(t)) continue;
        s.position.push_back(i);
        key k{static_cast<std::int64_t>(t.sub)};
        append(k, t.op_name);
        s.op.push_back(ops.of(k));
        k.push_back(static_cast<std::int64_t>(t.type));
        k.insert(k.end(), t.ne, t.ne + 4);
        s.shape.push_back(shapes.of(std::move(k)));
        s.matmul.push_back(t.kind == op::mul_mat || t.kind == op::mul_mat_id);
    }
    return s;
}

struct repetition {
    int first = 0, period = 0, count = 0;
    int covered() const { return period * count; }
};

/// Shorter than this, a repetition is part of a layer and no layer.
constexpr int least_period = 8;

/// The repetition in [first, last) that covers most nodes; of equals the one with the shortest
/// period. A run of nodes that equal the ones a period further on is a repetition of as many whole
/// periods.
repetition longest_repetition(const sequence& s, int first, int last) {
    repetition best;
    const auto node = [&s](int i) { return s.shape[static_cast<std::size_t>(i)]; };
    const auto has_matmul = [&s](int from, int until) {
        const auto at = s.matmul.begin();
        return std::find(at + from, at + until, true) != at + until;
    };
    for (int period = least_period; 2 * period <= last - first; ++period) {
        int run = 0;
        for (int i = first; i + period < last; ++i) {
            run = node(i) == node(i + period) ? run + 1 : 0;
            const repetition r{i - run + 1, period, run / period + 1};
            if (run >= period && r.covered() > best.covered() &&
                has_matmul(r.first, r.first + period))
                best = r;
        }
    }
    return best;
}

struct stretch {
    int first, last;
};

/// Cuts [first, last): around its repetition, and each period again where half of it or more
/// repeats (three layers of one kind and one of another). `least` nodes must repeat.
void cut(const sequence& s, int first, int last, int least, std::vector<stretch>& out) {
    if (first == last) return;
    const repetition r = longest_repetition(s, first, last);
    if (r.covered() < std::max(least, 1)) {
        out.push_back({first, last});
        return;
    }
    const int end = r.first + r.covered();
    cut(s, first, r.first, 0, out);
    std::vector<stretch> one;
    cut(s, r.first, r.first + r.period, (r.period + 1) / 2, one);
    for (int n = 0; n < r.count; ++n)
        for (const stretch& part : one)
            out.push_back({part.first + n * r.period, part.last + n * r.period});
    cut(s, end, last, 0, out);
}

/// Where `model` ends in `longer`, which may hold a few nodes more on the way; -1: it does not.
int end_of(const sequence& s, const stretch& model, const stretch& longer) {
    constexpr int most_inserted = 4;
    int at = longer.first, inserted = 0;
    for (int m = model.first; m < model.last; ++m, ++at) {
        while (at < longer.last &&
               s.op[static_cast<std::size_t>(at)] != s.op[static_cast<std::size_t>(m)]) {
            if (++inserted > most_inserted) return -1;
            ++at;
        }
        if (at == longer.last) return -1;
    }
    return at;
}

/// What the plan does with a stretch, in numbers relative to its begin.
class outcome {
  public:
    outcome(const graph_view& g, const sequence& s, const explanation& plan,
            const std::vector<left_node>& not_fused)
        : g_(g),
          s_(s),
          plan_(plan),
          index_(static_cast<std::size_t>(g.size())),
          steps_(static_cast<std::size_t>(s.size())),
          left_(steps_.size()) {
        std::size_t next = 0;
        for (std::size_t i = 0; i < index_.size(); ++i) {
            index_[i] = static_cast<std::int64_t>(next);
            if (next < s.position.size() && s.position[next] == static_cast<std::int32_t>(i))
                ++next;
        }
        for (std::size_t n = 0; n < plan.steps.size(); ++n) {
            const explained_step& step = plan.steps[n];
            add(steps_, step.launch_at, static_cast<std::int64_t>(n));
            for (const std::int32_t node : step.nodes)
                if (node != step.launch_at) add(steps_, node, static_cast<std::int64_t>(n));
        }
        for (const left_node& l : not_fused) add(left_, l.node, static_cast<std::int64_t>(l.why));
    }

    key of(const stretch& p) const {
        key k;
        for (int i = p.first; i < p.last; ++i) {
            const auto at = static_cast<std::size_t>(i);
            for (const std::int32_t source : g_.node(s_.position[at]).src)
                if (source != no_tensor && is_weight(g_, source))
                    k.push_back(static_cast<std::int64_t>(g_.at(source).type));
            k.push_back(-1);
            for (const std::int64_t s : steps_[at]) {
                const explained_step& step = plan_.steps[static_cast<std::size_t>(s)];
                append(k, step.instance);
                k.push_back(index(step.launch_at) - p.first);
                for (const std::int32_t node : step.nodes) k.push_back(index(node) - p.first);
            }
            k.push_back(-2);
            k.insert(k.end(), left_[at].begin(), left_[at].end());
            k.push_back(-3);
        }
        return k;
    }

  private:
    std::int64_t index(std::int32_t node) const { return index_[static_cast<std::size_t>(node)]; }
    void add(std::vector<key>& to, std::int32_t node, std::int64_t what) const {
        const auto at = static_cast<std::size_t>(index(node));
        if (at < to.size()) to[at].push_back(what);
    }

    const graph_view& g_;
    const sequence& s_;
    const explanation& plan_;
    std::vector<std::int64_t>
        index_;  // of a node in the sequence, or of the next one that is there
    std::vector<key> steps_, left_;
};

}  // namespace

std::vector<layer> find_layers(const graph_view& g, const explanation& plan,
                               const std::vector<left_node>& not_fused) {
    const sequence s = sequence_of(g);
    std::vector<stretch> parts;
    cut(s, 0, s.size(), 0, parts);

    std::map<std::vector<int>, std::vector<stretch>> same;
    const auto shapes = [&s](const stretch& p) {
        return std::vector<int>(s.shape.begin() + p.first, s.shape.begin() + p.last);
    };
    for (const stretch& p : parts) same[shapes(p)].push_back(p);

    // What stands alone may begin with a layer that holds a few nodes more, as the last one often
    // does.
    std::vector<std::pair<stretch, int>> pieces;  // and the begin of the layer that it is like
    for (const stretch& p : parts) {
        int end = p.first, like = -1;
        if (same[shapes(p)].size() == 1)
            for (const auto& [unused, all] : same)
                if (const int e = all.size() > 1 ? end_of(s, all.front(), p) : -1; e > end)
                    end = e, like = all.front().first;
        if (like >= 0) pieces.push_back({{p.first, end}, like});
        if (end < p.last) pieces.push_back({{end, p.last}, -1});
    }

    numbering kinds;
    std::map<int, numbering> variants;
    std::map<int, int> kind_at, count;
    const outcome done{g, s, plan, not_fused};
    std::vector<layer> layers;
    for (const auto& [p, like] : pieces) {
        layer l;
        l.first = layers.empty() ? 0 : layers.back().last;
        l.last =
            p.last == s.size() ? g.size() : s.position[static_cast<std::size_t>(p.last) - 1] + 1;
        const std::vector<int> k = shapes(p);
        l.kind = kinds.of(key(k.begin(), k.end()));
        l.variant = variants[l.kind].of(done.of(p));
        l.like = like;
        kind_at[p.first] = l.kind;
        ++count[l.kind];
        layers.push_back(l);
    }
    if (layers.empty() && g.size() > 0) layers.push_back({0, g.size()});  // nothing of it launches
    for (layer& l : layers) {
        if (l.like >= 0) l.like = kind_at.at(l.like);
        l.repeats = count[l.kind] > 1 || l.like >= 0;
    }
    return layers;
}

}  // namespace catena::tool
