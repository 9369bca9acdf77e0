#include "shape.hpp"

#include "nearest.hpp"

#include "catena/format/float_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <vector>

namespace catena::tool {
namespace {

constexpr const char* example = "q4_K,4096,14336,8";
constexpr std::int64_t largest = 1 << 20;  // whose product with itself and a row's bytes fits

/// The parts that a graph can be drawn with.
constexpr epilogue_part parts[] = {epilogue_part::residual, epilogue_part::bias,
                                   epilogue_part::glu};

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> out(1);
    for (const char c : text)
        if (c == ',')
            out.emplace_back();
        else
            out.back() += c;
    return out;
}

format weight_format(const std::string& name, const char* option) {
    std::vector<std::string> known;
    for (int f = 1; f < format_count; ++f) {
        const auto weights = static_cast<format>(f);
        if (info(weights).role != format_role::weight && !is_float(weights)) continue;
        if (name == info(weights).name) return weights;
        known.emplace_back(info(weights).name);
    }
    throw std::runtime_error(fmt::format("{}: no weight format is called '{}'{}: take one of {}",
                                         option, name, did_you_mean(name, known),
                                         fmt::join(known, ", ")));
}

std::int64_t size_of(const std::string& text, const char* what, const char* option) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > largest)
        throw std::runtime_error(
            fmt::format("{0}: the number of {1} is '{2}': take 1 to {3}, as in {0} {4}", option,
                        what, text, largest, example));
    return value;
}

/// Tensors one behind the other in their buffers, each at a multiple of 256 bytes.
class drawing {
  public:
    std::int32_t weight(format type, std::int64_t k, std::int64_t rows) {
        const std::int32_t t = add(type, k, rows, 0);
        at(t).weight = true;
        return t;
    }
    std::int32_t value(std::int64_t k, std::int64_t columns) {
        return add(format::f32, k, columns, 1);
    }
    std::int32_t node(op kind, const char* name, std::int64_t rows, std::int32_t a,
                      std::int32_t b) {
        const std::int32_t t = value(rows, at(kind == op::mul_mat ? b : a).ne[1]);
        at(t).kind = kind;
        at(t).op_name = name;
        at(t).flags = flag_compute;
        at(t).src[0] = a;
        at(t).src[1] = b;
        ++at(a).uses;
        ++at(b).uses;
        graph_.nodes.push_back(t);
        return t;
    }
    tensor& at(std::int32_t t) { return graph_.tensors[static_cast<std::size_t>(t)]; }
    json::graph finished(std::int32_t result) {
        at(result).flags |= flag_output;
        return std::move(graph_);
    }

  private:
    json::graph graph_;
    std::uint64_t used_[2] = {0, 0};

    std::int32_t add(format type, std::int64_t ne0, std::int64_t ne1, int buffer) {
        tensor t;
        t.type = type;
        t.ne[0] = ne0;
        t.ne[1] = ne1;
        t.nb[0] = info(type).block_bytes;
        t.nb[1] = row_bytes(type, ne0);
        t.nb[2] = t.nb[3] = t.nb[1] * ne1;
        t.buffer = buffer;
        t.offset = used_[buffer];
        t.uses = 0;
        used_[buffer] += (static_cast<std::uint64_t>(t.nb[2]) + 255) / 256 * 256;
        graph_.tensors.push_back(t);
        return static_cast<std::int32_t>(graph_.tensors.size()) - 1;
    }
};

}  // namespace

matmul_shape parse_shape(const std::string& matmul, const std::string& epilogue,
                         const char* option) {
    const std::vector<std::string> words = split(matmul);
    if (words.size() != 4)
        throw std::runtime_error(fmt::format(
            "{0} takes FORMAT,ROWS,COLUMNS,BATCH and '{1}' has {2} of them: {0} {3} is a "
            "weight of 4096 rows and 14336 columns times 8 columns of an activation",
            option, matmul, words.size(), example));
    matmul_shape s;
    s.weights = weight_format(words[0], option);
    s.rows = size_of(words[1], "rows", option);
    s.k = size_of(words[2], "columns", option);
    s.columns = size_of(words[3], "batch columns", option);
    const std::int64_t block = info(s.weights).block_elements;
    if (s.k % block != 0)
        throw std::runtime_error(
            fmt::format("{}: {} columns are not whole blocks of {}, which have {} values: take {}",
                        option, s.k, words[0], block, (s.k / block + 1) * block));
    if (epilogue.empty()) return s;
    for (const std::string& word : split(epilogue)) {
        const auto* const part = std::find_if(std::begin(parts), std::end(parts),
                                              [&](epilogue_part p) { return name(p) == word; });
        if (part == std::end(parts)) {
            std::vector<std::string> known;
            for (const epilogue_part p : parts) known.emplace_back(name(p));
            throw std::runtime_error(
                fmt::format("--epilogue: no part is called '{}'{}: take some of {}", word,
                            did_you_mean(word, known), fmt::join(known, ",")));
        }
        s.epilogue = s.epilogue | *part;
    }
    return s;
}

std::string text(const matmul_shape& s) {
    std::string out = fmt::format("{}, {} rows x {} columns, {} batch column{}", name(s.weights),
                                  s.rows, s.k, s.columns, s.columns == 1 ? "" : "s");
    for (const epilogue_part p : parts)
        if (s.epilogue.has(p)) out += fmt::format(", + {}", name(p));
    return out;
}

json::graph graph_of(const matmul_shape& s) {
    drawing d;
    const std::int32_t x = d.value(s.k, s.columns);
    const auto product = [&] {
        std::int32_t made =
            d.node(op::mul_mat, "MUL_MAT", s.rows, d.weight(s.weights, s.k, s.rows), x);
        if (s.epilogue.has(epilogue_part::bias))
            made = d.node(op::add, "ADD", s.rows, made, d.weight(format::f32, s.rows, 1));
        return made;
    };
    std::int32_t result = product();
    if (s.epilogue.has(epilogue_part::glu)) {
        result = d.node(op::glu, "GLU", s.rows, result, product());
        d.at(result).sub = sub_op::swiglu;
    }
    if (s.epilogue.has(epilogue_part::residual))
        result = d.node(op::add, "ADD", s.rows, result, d.value(s.rows, s.columns));
    json::graph g = d.finished(result);
    g.model = text(s);
    g.file = g.model;
    return g;
}

}  // namespace catena::tool
