#include "check.hpp"

#include "catena/match/detail/value.hpp"
#include "catena/match/detail/weight_scale.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

namespace CATENA_NAMESPACE::json {
namespace {

std::string shape(const tensor& t) { return fmt::format("{}", t.ne); }

struct checker {
    const graph& g;
    std::int32_t id;
    const tensor& t;

    [[noreturn]] void fail(const char* field, const std::string& sentence) const {
        throw error(g.file, id, field, sentence);
    }
    const tensor& source(int i) const { return g.tensors[static_cast<std::size_t>(t.src[i])]; }

    void expect_shape(const std::int64_t (&ne)[4], const std::string& why) const {
        if (!std::equal(ne, ne + 4, t.ne))
            fail("ne", fmt::format("expected {} ({}), found {}", ne, why, shape(t)));
    }
    void expect_same_shape(int i) const {
        expect_shape(source(i).ne, fmt::format("the shape of source {}", i));
    }

    void sizes() const {
        const format_info& f = info(t.type);
        if (f.block_elements > 1 && t.ne[0] % f.block_elements != 0)
            fail("ne",
                 fmt::format("expected ne[0] to be a multiple of {}, the block of {}, found {}",
                             f.block_elements, f.name, t.ne[0]));
        std::int64_t count = 1;
        // The last byte, and a limit that keeps every product of a size and a stride in range.
        std::int64_t end = 0;
        for (int d = 0; d < 4; ++d) {
            std::int64_t span = 0;
            if (__builtin_mul_overflow(count, std::max<std::int64_t>(t.ne[d], 1), &count))
                fail("ne", fmt::format("expected a tensor whose elements fit 63 bits, found {}",
                                       shape(t)));
            if (__builtin_mul_overflow(t.ne[d], t.nb[d], &span) ||
                __builtin_add_overflow(end, span, &end))
                fail("nb", fmt::format("expected strides whose last byte fits 63 bits, found ne {} "
                                       "with nb {}",
                                       shape(t), t.nb));
        }
        if (t.allocated != 0 && t.allocated < extent_bytes(t))
            fail("alloc",
                 fmt::format("expected 0 or the {} bytes of its elements at least, found {}",
                             extent_bytes(t), t.allocated));
        if (t.allocated != 0 && t.view_src != no_tensor)
            fail("alloc", fmt::format("expected 0 for a view, whose memory is that of tensor {}, "
                                      "found {}",
                                      t.view_src, t.allocated));
        end = std::max(end, t.allocated);
        if (__builtin_add_overflow(end, static_cast<std::int64_t>(t.offset), &end))
            fail("off", fmt::format("expected an offset whose last byte fits 63 bits, found {}",
                                    t.offset));
    }

    /// `written`: by the node that makes it. What is only read may lie over itself, as the windows
    /// of a convolution and what is broadcast do.
    void strides(bool written) const {
        if (written && overlaps_itself(t))
            fail("nb", fmt::format("expected strides that keep the elements apart, since {} writes "
                                   "them, found ne {} with nb {}",
                                   t.op_name, shape(t), t.nb));
        const format_info& f = info(t.type);
        if (f.block_elements == 0) return;
        for (int d = 0; d < 4; ++d)
            if (t.ne[d] > (d == 0 ? f.block_elements : 1) && t.nb[d] > 0 && t.nb[d] < f.block_bytes)
                fail("nb", fmt::format("expected strides of 0 or of {} bytes at least, an element "
                                       "or block of {}, found ne {} with nb {}",
                                       f.block_bytes, f.name, shape(t), t.nb));
    }

    void view(std::int64_t begin) const {
        if (t.view_src == no_tensor) return;
        const tensor& source = g.tensors[static_cast<std::size_t>(t.view_src)];
        if (source.buffer != t.buffer)
            fail("buf",
                 fmt::format("expected {}, the buffer of the tensor {} that it views, found {}",
                             source.buffer, t.view_src, t.buffer));
        if (t.buffer != no_buffer && t.offset - source.offset != static_cast<std::uint64_t>(begin))
            fail("off",
                 fmt::format("expected {} + {}, the offset of tensor {} and view_offs, found {}",
                             source.offset, begin, t.view_src, t.offset));
        if (t.type == format::unknown || source.type == format::unknown) return;
        const std::int64_t bytes = extent_bytes(t);
        if (bytes != 0 && bytes > extent_bytes(source) - begin)
            fail("view_offs",
                 fmt::format("expected a view inside the {} bytes of tensor {}, found {} "
                             "bytes from byte {}",
                             extent_bytes(source), t.view_src, bytes, begin));
    }

    void need_sources(int n) const {
        for (int i = 0; i < n; ++i)
            if (t.src[i] == no_tensor)
                fail("src",
                     fmt::format("expected {} source{} for {}, found {}", n, n == 1 ? "" : "s",
                                 t.op_name, i == 0 ? "none" : std::to_string(i)));
    }

    void mul_mat() const {
        const tensor& w = source(0);
        const tensor& x = source(1);
        if (w.ne[0] != x.ne[0])
            fail("src", fmt::format("expected both sources to have the same ne[0], found {} and {}",
                                    shape(w), shape(x)));
        if (w.ne[2] < 1 || w.ne[3] < 1 || x.ne[2] % w.ne[2] != 0 || x.ne[3] % w.ne[3] != 0)
            fail("src",
                 fmt::format("expected ne[2] and ne[3] of source 1 to be multiples of those of "
                             "source 0, found {} and {}",
                             shape(x), shape(w)));
        expect_shape({w.ne[1], x.ne[1], x.ne[2], x.ne[3]}, "rows of source 0, columns of source 1");
        weight_scales();
    }

    /// Behind the sources of a matmul, if its weights are fp8_e4m3.
    void weight_scales() const {
        const tensor& w = source(0);
        const int slot = plain_sources(t.kind);
        if (w.type != format::fp8_e4m3 || t.src[slot] == no_tensor) return;
        const tensor& scales = source(slot);
        if (scales.type != format::f32)
            fail("src",
                 fmt::format("expected source {}, the scales of its fp8_e4m3 weights, to be f32, "
                             "found {}",
                             slot, name(scales.type)));
        if (shape_of_scales(w, scales).rows == 0)
            fail("src", fmt::format(
                            "expected source {}, the scales of its weights {}, to be one number "
                            "[1, 1], one a row [1, {}] or one a square of 128 [{}, {}], with ne[2] "
                            "and ne[3] of the weights, found {}",
                            slot, shape(w), w.ne[1], (w.ne[0] + 127) / 128, (w.ne[1] + 127) / 128,
                            shape(scales)));
    }

    void mul_mat_id() const {
        const tensor& w = source(0);
        const tensor& x = source(1);
        const tensor& ids = source(2);
        if (w.ne[0] != x.ne[0])
            fail("src",
                 fmt::format("expected sources 0 and 1 to have the same ne[0], found {} and {}",
                             shape(w), shape(x)));
        if (ids.type != format::i32)
            fail("src", fmt::format("expected source 2, the expert ids, to be i32, found {}",
                                    name(ids.type)));
        if (x.ne[1] < 1 || ids.ne[0] % x.ne[1] != 0 || ids.ne[1] != x.ne[2])
            fail("src",
                 fmt::format("expected source 1 to be [k, slots or 1, tokens] for expert ids "
                             "[slots, tokens] = {}, found {}",
                             shape(ids), shape(x)));
        expect_shape({w.ne[1], ids.ne[0], x.ne[2], 1}, "rows of source 0, slots, tokens");
        weight_scales();
    }

    void broadcast() const {
        const tensor& b = source(1);
        for (int d = 0; d < 4; ++d)
            if (b.ne[d] == 0 ? t.ne[d] != 0 : t.ne[d] % b.ne[d] != 0)
                fail("src",
                     fmt::format("expected source 1 to divide the shape {} of source 0, found "
                                 "{}",
                                 shape(source(0)), shape(b)));
    }

    void eps() const {
        if (!finite_from_zero(t.params[0]))
            fail("params", fmt::format("expected the bits of an eps from 0 on, found those of {}",
                                       std::bit_cast<float>(t.params[0])));
    }

    void operation() const {
        switch (t.kind) {
            case op::mul_mat:
                need_sources(2);
                return mul_mat();
            case op::mul_mat_id:
                need_sources(3);
                return mul_mat_id();
            case op::add:
            case op::mul:
            case op::div:
                need_sources(2);
                expect_same_shape(0);
                return broadcast();
            case op::rms_norm:
            case op::norm:
                need_sources(1);
                eps();
                return expect_same_shape(0);
            case op::scale:
            case op::unary:
            case op::clamp:
            case op::soft_max:
            case op::rope:
            case op::sqr:
            case op::sqrt:
            case op::fill:
                need_sources(1);
                return expect_same_shape(0);
            case op::reshape:
            case op::permute:
            case op::transpose:
            case op::cont:
                need_sources(1);
                if (elements(t) != elements(source(0)))
                    fail("ne",
                         fmt::format("expected as many elements as source 0 has, {}, found {}",
                                     shape(source(0)), shape(t)));
                return;
            case op::view:
            case op::glu:
            case op::argsort:
            case op::sum_rows:
            case op::repeat:
                return need_sources(1);
            case op::get_rows:
            case op::set_rows:
            case op::cpy:
            case op::concat:
            case op::ssm_conv:
                return need_sources(2);
            case op::add_id:
            case op::flash_attn_ext:
                return need_sources(3);
            case op::gated_delta_net:
                return need_sources(6);
            case op::ssm_scan:
                return need_sources(7);
            case op::none:
            case op::moe_ffn:  // match/moe_ffn.hpp judges it
            case op::other:
                return;
        }
    }
};

/// What tensor `id` waits for.
template <class F>
void each_source(const graph& g, std::int32_t id, F&& f) {
    const tensor& t = g.tensors[static_cast<std::size_t>(id)];
    for (const std::int32_t s : t.src)
        if (s != no_tensor && !is_own_destination(t, id, s)) f(s);
    if (t.view_src != no_tensor) f(t.view_src);
}

/// Follows sources that are still waiting for one another until a tensor comes up again.
[[noreturn]] void report_cycle(const graph& g, const std::vector<int>& waiting,
                               std::int32_t start) {
    std::vector<std::int32_t> path{start};
    for (;;) {
        std::int32_t next = no_tensor;
        each_source(g, path.back(), [&](std::int32_t s) {
            if (waiting[static_cast<std::size_t>(s)] > 0) next = s;
        });
        const auto seen = std::find(path.begin(), path.end(), next);
        if (seen == path.end()) {
            path.push_back(next);
            continue;
        }
        path.erase(path.begin(), seen);
        path.push_back(next);
        if (path.size() > 8) path.resize(8);
        throw error(
            g.file, next, "src",
            fmt::format("expected a graph without cycles, but tensor {} depends on itself: {}",
                        next, fmt::join(path, " <- ")));
    }
}

void check_cycles(const graph& g) {
    std::vector<int> waiting(g.tensors.size(), 0);
    std::vector<std::vector<std::int32_t>> readers(g.tensors.size());
    for (std::size_t i = 0; i < g.tensors.size(); ++i)
        each_source(g, static_cast<std::int32_t>(i), [&](std::int32_t s) {
            ++waiting[i];
            readers[static_cast<std::size_t>(s)].push_back(static_cast<std::int32_t>(i));
        });
    std::vector<std::int32_t> ready;
    for (std::size_t i = 0; i < waiting.size(); ++i)
        if (waiting[i] == 0) ready.push_back(static_cast<std::int32_t>(i));
    for (std::size_t done = 0; done < ready.size(); ++done)
        for (const std::int32_t r : readers[static_cast<std::size_t>(ready[done])])
            if (--waiting[static_cast<std::size_t>(r)] == 0) ready.push_back(r);
    for (std::size_t i = 0; i < waiting.size(); ++i)
        if (waiting[i] > 0) report_cycle(g, waiting, static_cast<std::int32_t>(i));
}

}  // namespace

void check_tensors(const graph& g, const std::vector<std::int64_t>& view_offsets) {
    for (std::size_t i = 0; i < g.tensors.size(); ++i)
        checker{g, static_cast<std::int32_t>(i), g.tensors[i]}.sizes();
    std::vector<bool> written(g.tensors.size(), false);
    for (const std::int32_t n : g.nodes) {
        const auto i = static_cast<std::size_t>(n);
        written[i] = !launches_nothing(g.tensors[i].kind);
    }
    for (std::size_t i = 0; i < g.tensors.size(); ++i) {
        const checker c{g, static_cast<std::int32_t>(i), g.tensors[i]};
        c.strides(written[i]);
        c.view(view_offsets[i]);
        c.operation();
    }
}

void check_order(const graph& g) {
    check_cycles(g);
    std::vector<std::int64_t> position(g.tensors.size(), -1);
    for (std::size_t n = 0; n < g.nodes.size(); ++n) {
        std::int64_t& p = position[static_cast<std::size_t>(g.nodes[n])];
        if (p >= 0)
            throw error(
                g.file, g.nodes[n], "nodes",
                fmt::format("expected every tensor once, but it is node {} and node {}", p, n));
        p = static_cast<std::int64_t>(n);
    }
    for (std::size_t n = 0; n < g.nodes.size(); ++n)
        each_source(g, g.nodes[n], [&](std::int32_t s) {
            const std::int64_t p = position[static_cast<std::size_t>(s)];
            if (p > static_cast<std::int64_t>(n))
                throw error(
                    g.file, g.nodes[n], "nodes",
                    fmt::format("expected its source {} to run before it, but it is node {} "
                                "and the source is node {}",
                                s, n, p));
        });
}

}  // namespace CATENA_NAMESPACE::json
