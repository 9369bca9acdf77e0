#include "count.hpp"

#include "peer.hpp"
#include "printable.hpp"

#include "catena/format/float_weights.hpp"

#include <algorithm>
#include <utility>

namespace catena::tool {
namespace {

std::int32_t without_reshapes(const graph_view& g, std::int32_t t) {
    while (g.at(t).kind == op::reshape) t = g.at(t).src[0];
    return t;
}

/// A matmul of a float weight that reads f32; attention's operands are no leaves.
bool reads_float_weights(const graph_view& g, const tensor& t) {
    if ((t.kind != op::mul_mat && t.kind != op::mul_mat_id) || !launches(t)) return false;
    return is_weight(g, t.src[0]) && reads_f32(g.at(t.src[0]).type);
}

bool is_norm(const tensor& t) { return t.kind == op::rms_norm || t.kind == op::norm; }

/// The norm that a norm x weight scales; no_tensor if `t` is something else.
std::int32_t scaled_norm(const graph_view& g, const tensor& t) {
    if (t.kind != op::mul) return no_tensor;
    for (const int i : {0, 1})
        if (is_norm(g.at(t.src[i])) && is_weight(g, t.src[1 - i])) return t.src[i];
    return no_tensor;
}

const char* sub_name(sub_op s) {
    switch (s) {
        case sub_op::none:
            return "";
        case sub_op::other:
            return "/other";
        case sub_op::silu:
            return "/SILU";
        case sub_op::sigmoid:
            return "/SIGMOID";
        case sub_op::gelu:
            return "/GELU";
        case sub_op::gelu_erf:
            return "/GELU_ERF";
        case sub_op::gelu_quick:
            return "/GELU_QUICK";
        case sub_op::relu:
            return "/RELU";
        case sub_op::swiglu:
            return "/SWIGLU";
        case sub_op::geglu:
            return "/GEGLU";
        case sub_op::geglu_erf:
            return "/GEGLU_ERF";
        case sub_op::geglu_quick:
            return "/GEGLU_QUICK";
        case sub_op::reglu:
            return "/REGLU";
        case sub_op::swiglu_oai:
            return "/SWIGLU_OAI";
        case sub_op::softplus:
            return "/SOFTPLUS";
        case sub_op::tanh:
            return "/TANH";
        case sub_op::swiglu_clamp:
            return "/SWIGLU_CLAMP";
    }
    return "";
}

std::string producer_text(const graph_view& g, const tensor& t) {
    if (const std::int32_t norm = scaled_norm(g, t); norm != no_tensor)
        return std::string("MUL(") + g.at(norm).op_name + ")";
    if (t.kind != op::mul) return op_text(t);
    return "MUL(" + op_text(g.at(without_reshapes(g, t.src[0]))) + ", " +
           op_text(g.at(without_reshapes(g, t.src[1]))) + ")";
}

/// Everything a plan says about the readers of one activation.
struct service {
    int readers_served = 0;
    std::vector<std::int32_t> chains;  ///< that serve them, each once
};

}  // namespace

std::string op_text(const tensor& t) { return printable(t.op_name) + sub_name(t.sub); }

wishes count(const graph_view& g) {
    wishes w;
    std::map<std::int32_t, std::size_t> known;
    for (int i = 0; i < g.size(); ++i) {
        const tensor& t = g.node(i);
        w.launches_per_node += launches(t);
        w.scaled_norms += scaled_norm(g, t) != no_tensor;
        if (reads_float_weights(g, t)) w.float_weights.push_back(i);
        if (!reads_quantized(g, t)) continue;
        ++w.matmuls;
        w.launches_per_node += launches(t);
        const std::int32_t source = without_reshapes(g, t.src[1]);
        const auto [at, is_new] = known.emplace(source, w.activations.size());
        if (is_new)
            w.activations.push_back({source,
                                     producer_text(g, g.at(source)),
                                     {},
                                     scaled_norm(g, g.at(source)) != no_tensor});
        w.activations[at->second].readers.push_back(i);
    }
    return w;
}

progress judge(const graph_view& g, const wishes& w, const explanation& e) {
    const auto n = static_cast<std::size_t>(g.size());
    std::vector<std::int32_t> served_by(n, -1);
    for (std::size_t c = 0; c < e.chains.size(); ++c)
        for (const std::int32_t node : e.chains[c].served)
            served_by[static_cast<std::size_t>(node)] = static_cast<std::int32_t>(c);

    progress p;
    p.not_fused = e.not_fused;
    std::vector<bool> said(n, false);
    for (const left_node& left : e.not_fused) said[static_cast<std::size_t>(left.node)] = true;

    for (const activation& a : w.activations) {
        tally& mine = p.by_producer[a.producer];
        const std::int32_t chain = served_by[static_cast<std::size_t>(a.readers.front())];
        bool once = chain >= 0;
        for (const std::int32_t r : a.readers) {
            const auto at = static_cast<std::size_t>(r);
            once = once && served_by[at] == chain;
            if (served_by[at] < 0 && !said[at])
                p.not_fused.push_back({r, reason::no_chain,
                                       "its activation is made by " + a.producer +
                                           ", and no chain of the table quantizes that"});
        }
        for (tally* t : {&p.all, &mine}) {
            ++t->wanted;
            t->matmuls += static_cast<int>(a.readers.size());
            t->quantized_once += once;
        }
        p.norms_wanted += a.scaled_norm;
        p.norms_emitted +=
            a.scaled_norm && once && has_norm(e.chains[static_cast<std::size_t>(chain)].stages);
        p.standalone += once && e.chains[static_cast<std::size_t>(chain)].standalone();
    }
    std::stable_sort(p.not_fused.begin(), p.not_fused.end(),
                     [](const left_node& a, const left_node& b) { return a.node < b.node; });

    std::vector<bool> covered(n, false);
    for (const explained_step& s : e.steps)
        for (const std::int32_t node : s.nodes) covered[static_cast<std::size_t>(node)] = true;
    for (const std::int32_t node : w.float_weights)
        p.float_weights_served += covered[static_cast<std::size_t>(node)];
    p.launches = static_cast<int>(e.steps.size());
    const peer_launches engine = count_peer(g, covered);
    p.launches_engine_fused = p.launches + engine.launches;
    for (const auto& [op, count] : engine.by_op) p.engine[printable(op)] += count;
    for (int i = 0; i < g.size(); ++i) {
        if (covered[static_cast<std::size_t>(i)] || !launches(g.node(i))) continue;
        p.launches += 1 + reads_quantized(g, g.node(i));
    }
    return p;
}

}  // namespace catena::tool
