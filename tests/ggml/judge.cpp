// What an engine produced against ggml's CPU backend.
#include "cpu.hpp"
#include "engine.hpp"
#include "exact.hpp"

#include <ggml-alloc.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace catena_test {

double nmse(const std::vector<std::byte>& expected, const std::vector<std::byte>& found) {
    double error = 0;
    double size = 0;
    for (std::size_t i = 0; i + sizeof(float) <= expected.size(); i += sizeof(float)) {
        float a, b;
        std::memcpy(&a, &expected[i], sizeof(a));
        std::memcpy(&b, &found[i], sizeof(b));
        error += (double{a} - b) * (double{a} - b);
        size += double{a} * a;
    }
    if (error == 0) return 0;
    return size == 0 ? std::numeric_limits<double>::infinity() : error / size;
}

namespace {

/// The f32 values of a tensor's bytes.
std::vector<std::byte> as_f32(const ggml_tensor* t, const std::vector<std::byte>& bytes) {
    if (t->type == GGML_TYPE_F32) return bytes;
    std::vector<std::byte> out(sizeof(float) * static_cast<std::size_t>(ggml_nelements(t)));
    ggml_get_type_traits(t->type)->to_float(bytes.data(), reinterpret_cast<float*>(out.data()),
                                            ggml_nelements(t));
    return out;
}

std::string scientific(double x) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2e", x);
    return text;
}

/// What an ARGSORT sorts, in the order of its result: ggml-cpu leaves the order of equal numbers
/// open. Empty if a number comes up twice.
std::vector<std::byte> sorted_numbers(const ggml_tensor* t, const std::vector<std::byte>& order) {
    std::vector<std::int32_t> ids(order.size() / sizeof(std::int32_t));
    std::memcpy(ids.data(), order.data(), order.size());
    const std::vector<std::byte> numbers = bytes_of(t->src[0]);
    const auto k = static_cast<std::size_t>(t->ne[0]);
    std::vector<std::byte> out;
    std::vector<bool> seen(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const std::size_t of = i / k * k + static_cast<std::uint32_t>(ids[i]);
        if (static_cast<std::uint32_t>(ids[i]) >= k || seen[of]) return {};
        seen[of] = true;
        const auto first = numbers.begin() + static_cast<std::ptrdiff_t>(of * sizeof(float));
        out.insert(out.end(), first, first + sizeof(float));
    }
    return out;
}

/// The bytes of a node's result that a step makes. A GATED_DELTA_NET and an SSM_SCAN have the next
/// states behind their values; a step has these where a CPY leaves them.
std::size_t bytes_of_step(const ggml_tensor* t) {
    const ggml_tensor* const like = t->op == GGML_OP_GATED_DELTA_NET ? t->src[2]
                                    : t->op == GGML_OP_SSM_SCAN      ? t->src[1]
                                                                     : t;
    return like == t ? ggml_nbytes(t)
                     : sizeof(float) * static_cast<std::size_t>(ggml_nelements(like));
}

/// How far attention of a step may be from ggml's, which adds up values in f16.
constexpr double allowed_of_attention = 1e-5;

/// How far a row step's result may be from ggml's: of a cache, by values that round the other way.
double allowed_of(ggml_type type) {
    switch (type) {
        case GGML_TYPE_Q4_0:
            return 1e-3;
        case GGML_TYPE_Q8_0:
            return 1e-5;
        case GGML_TYPE_BF16:
        case GGML_TYPE_F16:
            return 1e-6;
        default:
            return 1e-7;
    }
}

}  // namespace

verdict judge(built& reference, const outcome& seen) {
    const ggml_backend_buffer_ptr buffer(ggml_backend_alloc_ctx_tensors_from_buft(
        reference.nodes_context(), ggml_backend_cpu_buffer_type()));
    ggml_backend_buffer_clear(buffer.get(), 0);
    reference.write_inputs();
    cpu oracle;
    verdict out;
    std::map<const ggml_tensor*, int> unwritten;  // matmuls behind a value that was never written
    for (int i = 0; i < reference.size(); ++i) {
        ggml_tensor* node = reference.node(i);
        oracle.compute(node);
        std::vector<std::byte> found = seen.produced[static_cast<std::size_t>(i)];
        int matmuls = is_matmul(node) ? 1 : 0;
        for (const ggml_tensor* s : node->src)
            if (const auto known = unwritten.find(s); known != unwritten.end())
                matmuls += known->second;
        if (found.empty()) unwritten[node] = matmuls;  // a view that names such a value too
        if (!computes(node)) continue;
        const bool by_step = seen.by_step[static_cast<std::size_t>(i)];
        const std::string what =
            "node " + std::to_string(i) + ", " + ggml_op_name(node->op) + " " + node->name;
        if (found.empty()) {
            if (!by_step && out.wrong.empty()) out.wrong = what + ": nobody computed it";
            continue;
        }
        std::vector<std::byte> expected = bytes_of(node);
        if (by_step && node->op == GGML_OP_FLASH_ATTN_EXT && out.wrong.empty() &&
            !(nmse(expected, found) <= allowed_of_attention))
            out.wrong = what + " of a step: NMSE " + scientific(nmse(expected, found));
        if (by_step && rounds_to_f16(node)) expected = exact(node);
        if (by_step) {
            found.resize(bytes_of_step(node));
            expected.resize(found.size());
        }
        ++(by_step ? out.step_nodes : out.engine_nodes);
        const bool numbers = by_step && node->type != GGML_TYPE_I32;
        const bool any_order = by_step && node->op == GGML_OP_ARGSORT && node->ne[0] > 16 &&
                               sorted_numbers(node, expected) == sorted_numbers(node, found);
        const double error = expected == found || any_order ? 0
                             : numbers ? nmse(as_f32(node, expected), as_f32(node, found))
                                       : 1;
        const bool by_matmul = seen.by_matmul[static_cast<std::size_t>(i)];
        const double allowed = !by_step    ? 0
                               : by_matmul ? 5e-4 * std::max(matmuls, 1)
                                           : allowed_of(node->type);
        if (!(error <= allowed) && out.wrong.empty())
            out.wrong = what + (by_step ? " of a step: NMSE " + scientific(error)
                                        : " of the engine: other bytes");
        ggml_backend_tensor_set(node, found.data(), 0, found.size());
    }
    const void* state = ggml_backend_buffer_get_base(reference.state());
    if (out.wrong.empty() && std::memcmp(state, seen.state.data(), seen.state.size()) != 0)
        out.wrong = "what lasts beyond the graph has other bytes at the end";
    return out;
}

std::vector<std::byte> computed_by_ggml(built& g, int node) {
    ggml_gallocr_ptr allocator(ggml_gallocr_new(ggml_backend_cpu_buffer_type()));
    ggml_gallocr_alloc_graph(allocator.get(), g.cgraph());
    g.write_inputs();
    cpu().compute(g.cgraph());
    return bytes_of(g.node(node));
}

}  // namespace catena_test
