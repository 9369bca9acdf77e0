// A ggml graph as a graph file (docs/graph-format.md), so that a user can send one. It holds
// shapes, names and places in memory; no numbers of the model.
#pragma once

#include "catena/engine/ggml.hpp"
#include "catena/match/op_name.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace CATENA_NAMESPACE::ggml {

/// What a graph file says of where its graph comes from; any of it may be empty.
struct origin {
    std::string_view model, arch, case_name, quant, source;
};

namespace detail {

/// Appends JSON to a text; `comma` is due before the next member.
class json_writer {
  public:
    std::string text;

    void open(char bracket) {
        separate();
        text += bracket;
        comma_ = false;
    }
    void close(char bracket) {
        text += bracket;
        comma_ = true;
    }
    void key(std::string_view name) {
        string(name);
        text += ':';
        comma_ = false;
    }
    void literal(std::string_view word) {
        separate();
        text += word;
    }
    void number(std::int64_t n) { literal(std::to_string(n)); }
    void truth(bool b) { literal(b ? "true" : "false"); }
    void tensor(std::int32_t id) { id == no_tensor ? literal("null") : number(id); }

    /// Bytes that are not printable ASCII are written as code points of one byte: ggml cuts names
    /// anywhere.
    void string(std::string_view bytes) {
        separate();
        text += '"';
        for (const char c : bytes) {
            const auto byte = static_cast<unsigned char>(c);
            if (byte < 0x20 || byte > 0x7e) {
                constexpr char digits[] = "0123456789abcdef";
                text += "\\u00";
                text += digits[byte >> 4];
                text += digits[byte & 15];
            } else {
                if (c == '"' || c == '\\') text += '\\';
                text += c;
            }
        }
        text += '"';
    }

  private:
    bool comma_ = false;

    void separate() {
        if (comma_) text += ',';
        comma_ = true;
    }
};

inline std::string_view sub_name(const catena::tensor& t, const ggml_tensor& s) {
    if (t.sub == sub_op::none) return "";
    return s.op == GGML_OP_GLU ? ggml_glu_op_name(ggml_get_glu_op(&s))
                               : ggml_unary_op_name(ggml_get_unary_op(&s));
}

inline void write_list(json_writer& out, std::string_view name, const std::int64_t (&values)[4]) {
    out.key(name);
    out.open('[');
    for (const std::int64_t v : values) out.number(v);
    out.close(']');
}

inline void write_tensor(json_writer& out, std::int32_t id, const catena::tensor& t,
                         const ggml_tensor& s) {
    out.open('{');
    out.key("id"), out.number(id);
    out.key("name"), out.string(t.name);
    out.key("op"), out.string(t.op_name);
    out.key("sub"), out.string(sub_name(t, s));
    out.key("type"), out.string(t.type == format::unknown ? ggml_type_name(s.type) : name(t.type));
    write_list(out, "ne", t.ne);
    write_list(out, "nb", t.nb);
    out.key("src");
    out.open('[');
    int sources = max_src;
    while (sources > 0 && t.src[sources - 1] == no_tensor) --sources;
    for (int i = 0; i < sources; ++i) out.tensor(t.src[i]);
    out.close(']');
    out.key("view_src"), out.tensor(t.view_src);
    out.key("view_offs"),
        out.number(t.view_src == no_tensor ? 0 : static_cast<std::int64_t>(s.view_offs));
    out.key("params");
    out.open('[');
    int words = 16;
    while (words > 0 && t.params[words - 1] == 0) --words;
    for (int i = 0; i < words; ++i) out.number(t.params[i]);
    out.close(']');
    out.key("flags"), out.number(t.flags);
    out.key("weight"), out.truth(t.weight);
    out.key("buf"), out.number(t.buffer);
    out.key("off"), out.number(static_cast<std::int64_t>(t.offset));
    if (t.allocated != 0) out.key("alloc"), out.number(t.allocated);
    out.close('}');
}

}  // namespace detail

/// The text of a graph file for the graph that `built` holds. A slice is written as a graph of its
/// own, whose tensors made elsewhere are leaves; the readers that it has elsewhere are not in the
/// file.
inline std::string dump(const view_builder& built, const origin& from) {
    const graph_view view = built.view();
    bool flash_attention = false;
    for (int i = 0; i < view.size(); ++i)
        flash_attention = flash_attention || view.node(i).kind == op::flash_attn_ext;

    detail::json_writer out;
    out.open('{');
    out.key("version"), out.number(graph_file_version);
    out.key("model"), out.string(from.model);
    out.key("arch"), out.string(from.arch);
    out.key("case"), out.string(from.case_name);
    out.key("quant"), out.string(from.quant);
    out.key("source"), out.string(from.source);
    out.key("flash_attn"), out.truth(flash_attention);
    out.key("tensors");
    out.open('[');
    for (std::int32_t i = 0; i < view.tensor_count; ++i) {
        out.text += '\n';
        detail::write_tensor(out, i, view.at(i), *built.source(i));
    }
    out.close(']');
    out.key("nodes");
    out.open('[');
    for (int i = 0; i < view.size(); ++i) out.number(view.nodes[i]);
    out.close(']');
    out.close('}');
    out.text += '\n';
    return std::move(out.text);
}

}  // namespace CATENA_NAMESPACE::ggml
