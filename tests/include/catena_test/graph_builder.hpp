// Small graphs by hand: one call per tensor. Every tensor gets memory of its own unless a test
// gives it another's; use counts are those of the graph unless a test adds readers outside.
#pragma once

#include "catena/match/graph.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

namespace catena_test {

using catena::format;
using catena::op;
using id = std::int32_t;
using shape = std::initializer_list<std::int64_t>;

class graph_builder {
  public:
    std::vector<catena::tensor> tensors;
    std::vector<id> nodes;

    catena::tensor& operator[](id t) { return tensors[static_cast<std::size_t>(t)]; }
    int position(id t) const {
        return static_cast<int>(std::find(nodes.begin(), nodes.end(), t) - nodes.begin());
    }

    id input(format type, shape ne) { return leaf(type, ne, false); }
    id weight(format type, shape ne) { return leaf(type, ne, true); }

    /// Any node; its memory is new.
    id node(op kind, format type, shape ne, std::initializer_list<id> sources) {
        const id t = tensor(kind, type, ne, 1);
        (*this)[t].flags = catena::flag_compute;
        std::copy(sources.begin(), sources.end(), (*this)[t].src);
        nodes.push_back(t);
        return t;
    }
    id same_shape(op kind, id like, std::initializer_list<id> sources) {
        const std::int64_t* ne = (*this)[like].ne;
        return node(kind, format::f32, {ne[0], ne[1], ne[2], ne[3]}, sources);
    }
    id rms_norm(id x, float eps = 1e-6f) {
        const id t = same_shape(op::rms_norm, x, {x});
        std::memcpy((*this)[t].params, &eps, sizeof(eps));
        return t;
    }
    id mul(id a, id b) { return same_shape(op::mul, a, {a, b}); }
    id add(id a, id b) { return same_shape(op::add, a, {a, b}); }
    /// GLU of two tensors, the first the gate.
    id glu(id gate, id x, catena::sub_op sub = catena::sub_op::swiglu) {
        const id t = same_shape(op::glu, gate, {gate, x});
        (*this)[t].sub = sub;
        return t;
    }
    /// GLU of one tensor, the first half of its rows the gate.
    id glu_of_halves(id both, bool swapped = false) {
        const auto& b = (*this)[both];
        const id t = node(op::glu, format::f32, {b.ne[0] / 2, b.ne[1], b.ne[2], b.ne[3]}, {both});
        (*this)[t].sub = catena::sub_op::swiglu;
        (*this)[t].params[1] = swapped;
        return t;
    }
    /// GLU of two views, the halves of each row of a tensor: the gate is the first, or swapped.
    id glu_of_views(id both, bool swapped = false) {
        const auto half = [&](bool second) {
            const catena::tensor b = (*this)[both];
            const id t =
                view(both, {b.ne[0] / 2, b.ne[1], b.ne[2], b.ne[3]}, second ? b.ne[0] / 2 * 4 : 0);
            for (int d = 1; d < 4; ++d) (*this)[t].nb[d] = b.nb[d];
            return t;
        };
        const id gate = half(swapped);
        return glu(gate, half(!swapped));
    }
    id unary(id x, catena::sub_op sub) {
        const id t = same_shape(op::unary, x, {x});
        (*this)[t].sub = sub;
        return t;
    }
    id scale(id x, float by) {
        const id t = same_shape(op::scale, x, {x});
        std::memcpy((*this)[t].params, &by, sizeof(by));
        return t;
    }
    /// A norm and its MUL with a new weight.
    id scaled_norm(id x) { return mul(rms_norm(x), weight(format::f32, {(*this)[x].ne[0]})); }
    id mul_mat(id w, id x) {
        const auto& a = (*this)[w];
        const auto& b = (*this)[x];
        return node(op::mul_mat, format::f32, {a.ne[1], b.ne[1], b.ne[2], b.ne[3]}, {w, x});
    }
    /// A MUL_MAT with a new weight of `rows` rows.
    id matmul(format type, std::int64_t rows, id x) {
        return mul_mat(weight(type, {(*this)[x].ne[0], rows}), x);
    }
    id mul_mat_id(id w, id x, id ids) {
        const auto& i = (*this)[ids];
        return node(op::mul_mat_id, format::f32, {(*this)[w].ne[1], i.ne[0], i.ne[1]}, {w, x, ids});
    }
    /// An op that Catena does not know, of its first source's shape.
    id other(std::initializer_list<id> sources) {
        return same_shape(op::other, *sources.begin(), sources);
    }

    id reshape(id x, shape ne) { return rename(op::reshape, x, ne, 0); }
    id view(id x, shape ne, std::int64_t offset = 0) { return rename(op::view, x, ne, offset); }

    /// Gives `t` the memory that starts where that of `at` does, plus some bytes.
    void share(id t, id at, std::int64_t bytes = 0) {
        (*this)[t].buffer = (*this)[at].buffer;
        (*this)[t].offset = (*this)[at].offset + static_cast<std::uint64_t>(bytes);
        (*this)[t].data = address((*this)[t]);
    }
    /// Lets `t` be a view of `root`, in its memory.
    void rename(id t, id root) {
        (*this)[t].view_src = root;
        share(t, root);
    }
    /// Undoes allocation: what a graph looks like before the engine has given out memory.
    void deallocate() {
        for (catena::tensor& t : tensors) {
            if (t.weight || (t.view_src != catena::no_tensor && (*this)[t.view_src].weight))
                continue;
            t.buffer = catena::no_buffer;
            t.offset = 0;
            t.data = nullptr;
        }
    }
    void read_outside(id t, int times = 1) { outside_.push_back({t, times}); }

    catena::graph_view view() { return slice(0, static_cast<int>(nodes.size())); }

    /// The nodes [first, last); counts stay those of the whole graph.
    catena::graph_view slice(int first, int last) {
        for (catena::tensor& t : tensors) t.uses = 0;
        for (const id n : nodes)
            for (const id s : (*this)[n].src)
                if (s != catena::no_tensor) ++(*this)[s].uses;
        for (const auto& o : outside_) (*this)[o.tensor].uses += o.times;
        for (const id t : uncounted) (*this)[t].uses = catena::unknown_uses;
        return {tensors.data(), static_cast<id>(tensors.size()), nodes.data() + first,
                last - first};
    }

    std::vector<id> uncounted;  ///< tensors whose use count the engine does not know

  private:
    struct extra {
        id tensor;
        int times;
    };
    std::vector<extra> outside_;
    std::uint64_t used_[2] = {0, 0};

    static void* address(const catena::tensor& t) {
        const std::uint64_t base = static_cast<std::uint64_t>(t.buffer + 1) << 40;
        return reinterpret_cast<void*>(base + t.offset);
    }

    id tensor(op kind, format type, shape ne, int buffer) {
        catena::tensor t;
        t.kind = kind;
        t.type = type;
        std::copy(ne.begin(), ne.end(), t.ne);
        const catena::format_info& f = catena::info(type);
        t.nb[0] = f.block_bytes;
        t.nb[1] = t.ne[0] / f.block_elements * f.block_bytes;
        for (int d = 2; d < 4; ++d) t.nb[d] = t.nb[d - 1] * t.ne[d - 1];
        t.buffer = buffer;
        t.offset = used_[buffer];
        used_[buffer] += (static_cast<std::uint64_t>(catena::extent_bytes(t)) + 255) / 256 * 256;
        t.data = address(t);
        tensors.push_back(t);
        return static_cast<id>(tensors.size() - 1);
    }
    id leaf(format type, shape ne, bool weight) {
        const id t = tensor(op::none, type, ne, weight ? 0 : 1);
        (*this)[t].weight = weight;
        return t;
    }
    id rename(op kind, id x, shape ne, std::int64_t offset) {
        const id t = node(kind, (*this)[x].type, ne, {x});
        const id root = (*this)[x].view_src;
        (*this)[t].view_src = root == catena::no_tensor ? x : root;
        (*this)[t].params[0] = static_cast<std::int32_t>(kind == op::view ? offset : 0);
        share(t, x, offset);
        return t;
    }
};

}  // namespace catena_test
