#include "cut.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace catena::bench {
namespace {

/// A number of the model that is `one` for one token and `four` for four.
std::int64_t for_tokens(std::int64_t one, std::int64_t four, int tokens) {
    return one + (four - one) / 3 * (tokens - 1);
}

tensor sized(const tensor& one, const tensor& four, int tokens) {
    tensor t = one;
    for (int d = 0; d < 4; ++d) {
        t.ne[d] = for_tokens(one.ne[d], four.ne[d], tokens);
        t.nb[d] = for_tokens(one.nb[d], four.nb[d], tokens);
    }
    t.buffer = no_buffer;
    t.offset = 0;
    t.data = nullptr;
    return t;
}

/// Copies tensors of the model into a small graph, each once.
class cutter {
  public:
    cutter(const model& m, const std::vector<std::int32_t>& positions, int tokens)
        : m_(m), tokens_(tokens) {
        for (const std::int32_t p : positions)
            wanted_[m.one.nodes[static_cast<std::size_t>(p)]] = true;
        for (const std::int32_t p : positions) take(m.one.nodes[static_cast<std::size_t>(p)]);
    }

    small_graph result() { return std::move(out_); }

  private:
    const model& m_;
    const int tokens_;
    small_graph out_;
    std::map<std::int32_t, bool> wanted_;
    std::map<std::int32_t, std::int32_t> taken_;

    const tensor& one(std::int32_t id) const {
        return m_.one.tensors[static_cast<std::size_t>(id)];
    }
    const tensor& four(std::int32_t id) const {
        return m_.four.tensors[static_cast<std::size_t>(id)];
    }

    std::int32_t take(std::int32_t id) {
        if (const auto known = taken_.find(id); known != taken_.end()) return known->second;
        tensor t = sized(one(id), four(id), tokens_);
        t.allocated = 0;  // of another number of tokens
        const std::int32_t renamed = t.kind == op::none ? no_tensor : named_by(t);
        const bool renames = renamed != no_tensor && launches_nothing(t.kind);
        const bool node = wanted_.count(id) != 0 || renames;
        for (std::int32_t& s : t.src)
            if (s != no_tensor) s = node ? take(s) : no_tensor;
        std::int64_t offset = 0;
        t.view_src = no_tensor;
        if (renames) {
            t.view_src = take(root(id));
            offset = for_tokens(offset_of(m_.one, id), offset_of(m_.four, id), tokens_);
        }
        if (!node) t.kind = op::none, t.sub = sub_op::none, t.op_name = "NONE";
        const auto index = static_cast<std::int32_t>(out_.tensors.size());
        out_.tensors.push_back(t);
        out_.view_offset.push_back(offset);
        if (node) out_.nodes.push_back(index);
        return taken_[id] = index;
    }

    std::int32_t root(std::int32_t id) const {
        while (launches_nothing(one(id).kind) && named_by(one(id)) != no_tensor)
            id = named_by(one(id));
        return id;
    }
    std::int64_t offset_of(const json::graph& g, std::int32_t id) const {
        const auto at = [&g](std::int32_t i) {
            return static_cast<std::int64_t>(g.tensors[static_cast<std::size_t>(i)].offset);
        };
        return at(id) - at(root(id));
    }
};

/// The tensors that `id` is a matrix of experts for, or their biases.
bool read_by_experts(const tensor& reader, int src) {
    return (reader.kind == op::mul_mat_id && src == 0) || (reader.kind == op::add_id && src == 1);
}

std::int64_t shrunk_size(std::int64_t n) { return n <= 512 ? n : (n / 8 + 255) / 256 * 256; }

}  // namespace

model model::read(const std::string& folder, const std::string& name) {
    model m{json::read(folder + "/" + name + ".tg1.json.gz"),
            json::read(folder + "/" + name + ".b4.json.gz")};
    bool same = m.one.nodes == m.four.nodes && m.one.tensors.size() == m.four.tensors.size();
    for (std::size_t i = 0; same && i < m.one.tensors.size(); ++i)
        same = m.one.tensors[i].kind == m.four.tensors[i].kind;
    if (!same)
        throw std::runtime_error(m.one.file + " and " + m.four.file +
                                 " are not the same model for one token and four: node for node "
                                 "they must hold the same ops");
    return m;
}

small_graph cut(const model& m, const std::vector<std::int32_t>& positions, int tokens) {
    return cutter(m, positions, tokens).result();
}

bool leaves_the_cut(const small_graph& g, std::int32_t tensor) {
    int inside = 0;
    for (const std::int32_t node : g.nodes)
        for (const std::int32_t s : g.tensors[static_cast<std::size_t>(node)].src)
            inside += s == tensor;
    const int uses = g.tensors[static_cast<std::size_t>(tensor)].uses;
    return uses < 0 || uses > inside || inside == 0;
}

double least_bytes(const small_graph& g) {
    std::vector<double> share(g.tensors.size(), 1.0);
    for (const std::int32_t node : g.nodes) {
        const tensor& reader = g.tensors[static_cast<std::size_t>(node)];
        for (int s = 0; s < 2; ++s) {
            if (!read_by_experts(reader, s)) continue;
            const auto index = static_cast<std::size_t>(reader.src[s]);
            const tensor& of = g.tensors[index];
            const auto experts = static_cast<double>(of.ne[reader.kind == op::mul_mat_id ? 2 : 1]);
            const auto used = static_cast<double>(reader.ne[1] * reader.ne[2]);
            share[index] = std::min(1.0, used / experts);
        }
    }
    double bytes = 0;
    for (std::size_t i = 0; i < g.tensors.size(); ++i) {
        const tensor& t = g.tensors[i];
        const bool node = t.kind != op::none;
        if (launches_nothing(t.kind) && node) continue;
        if (!node || leaves_the_cut(g, static_cast<std::int32_t>(i)))
            bytes += share[i] * static_cast<double>(extent_bytes(t));
    }
    return bytes;
}

products products_of(const small_graph& g) {
    products out;
    for (const std::int32_t node : g.nodes) {
        const tensor& t = g.tensors[static_cast<std::size_t>(node)];
        if (t.kind != op::mul_mat && t.kind != op::mul_mat_id) continue;
        const tensor& weight = g.tensors[static_cast<std::size_t>(t.src[0])];
        const bool plain = t.kind == op::mul_mat && weight.ne[2] == 1 && weight.ne[3] == 1;
        out.others = out.others || !plain;
        if (plain) out.all.push_back({weight.ne[1], weight.ne[0], elements(t) / t.ne[0]});
    }
    return out;
}

small_graph shrunk(small_graph g) {
    const auto refuse = [](const tensor& t) {
        throw std::runtime_error(std::string("tensor '") + t.name +
                                 "' is a view into another: this cut cannot be shrunk");
    };
    for (std::size_t i = 0; i < g.tensors.size(); ++i) {
        tensor& t = g.tensors[i];
        if (t.type == format::i32) continue;  // ids of experts, as many as before
        const std::int64_t row = row_bytes(t.type, t.ne[0]);
        for (std::int64_t& n : t.ne) n = shrunk_size(n);
        t.nb[0] = info(t.type).block_bytes;
        t.nb[1] = row_bytes(t.type, t.ne[0]);
        for (int d = 2; d < 4; ++d) t.nb[d] = t.nb[d - 1] * t.ne[d - 1];
        if (t.view_src == no_tensor || t.kind == op::reshape) continue;
        // One slot of what experts made, for every token.
        const tensor& of = g.tensors[static_cast<std::size_t>(t.src[0])];
        std::int64_t& offset = g.view_offset[i];
        if (t.ne[0] != of.ne[0] || t.ne[1] != of.ne[2] || offset % row != 0) refuse(t);
        for (int d = 1; d < 4; ++d) t.nb[d] = of.nb[2] * (d > 1 ? t.ne[1] : 1);
        offset = offset / row * of.nb[1];
        std::memcpy(t.params, &offset, sizeof offset);
    }
    return g;
}

}  // namespace catena::bench
