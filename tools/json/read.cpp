#include "catena/engine/json.hpp"

#include "bytes.hpp"
#include "check.hpp"
#include "graph_fields.hpp"
#include "nesting.hpp"
#include "printable.hpp"

#include "catena/match/op_name.hpp"

#include <fmt/format.h>

#include <map>
#include <stdexcept>
#include <utility>

namespace CATENA_NAMESPACE::json {
namespace {

/// Names found in the file that this library does not know, with how often and where first.
struct unknowns {
    struct seen {
        int count = 0;
        std::int32_t first = no_tensor;
    };
    std::map<std::string, seen> types, ops;

    static void add(std::map<std::string, seen>& to, const std::string& text, std::int32_t id) {
        seen& s = to[text];
        if (s.count++ == 0) s.first = id;
    }
    std::vector<std::string> notes() const {
        std::vector<std::string> all;
        for (const auto& [text, s] : types)
            all.push_back(
                fmt::format("type '{}' is not known ({} tensors, first {}): what reads or "
                            "writes it stays with the engine",
                            tool::printable(text), s.count, s.first));
        for (const auto& [text, s] : ops)
            all.push_back(
                fmt::format("op '{}' is not known ({} nodes, first {}): it stays with the "
                            "engine",
                            tool::printable(text), s.count, s.first));
        return all;
    }
};

/// Reads tensor objects into a graph. The names go to one pool, which must not move once they point
/// there.
class tensor_reader {
  public:
    tensor_reader(graph& g, std::size_t tensors, std::size_t text_bytes)
        : g_(g),
          pool_(std::make_shared<std::vector<char>>()),
          filled_(tensors, false),
          view_offsets_(tensors, 0) {
        g.tensors.resize(tensors);
        pool_->reserve(text_bytes);
    }

    void tensor_at(std::size_t index, const value& object) {
        if (!object.is_object())
            throw error(g_.file, static_cast<std::int32_t>(index), "",
                        fmt::format("expected an object, found {}", shown(object)));
        location at{object, g_.file, static_cast<std::int32_t>(index)};
        const auto last = static_cast<std::int64_t>(g_.tensors.size()) - 1;
        const auto id = static_cast<std::size_t>(whole(at, "id", field(at, "id"), 0, last));
        at.tensor = static_cast<std::int32_t>(id);
        if (filled_[id]) at.fail("id", "expected every id once, found it twice");
        filled_[id] = true;
        read(at, g_.tensors[id]);
    }

    const std::vector<std::int64_t>& view_offsets() const { return view_offsets_; }

    void finish() {
        g_.notes = unknown_.notes();
        g_.text = std::move(pool_);
    }

  private:
    const char* keep(const std::string& s) {
        const std::size_t begin = pool_->size();
        pool_->insert(pool_->end(), s.c_str(), s.c_str() + s.size() + 1);
        return pool_->data() + begin;
    }

    std::int32_t id_or_null(const location& at, const char* name, const value& v) const {
        if (v.is_null()) return no_tensor;
        return static_cast<std::int32_t>(
            whole(at, name, v, 0, static_cast<std::int64_t>(g_.tensors.size()) - 1));
    }

    void read(const location& at, tensor& t) {
        const std::string op_text = text(at, "op");
        const std::string type_text = text(at, "type");
        t.kind = op_named(op_text);
        t.sub = sub_op_named(text(at, "sub"));
        t.type = format_named(type_text.c_str());
        t.name = keep(text(at, "name"));
        t.op_name = keep(op_text);
        if (t.kind == op::other) unknowns::add(unknown_.ops, op_text, at.tensor);
        if (t.type == format::unknown) unknowns::add(unknown_.types, type_text, at.tensor);
        t.flags = static_cast<std::uint8_t>(whole(at, "flags", field(at, "flags"), 0, 255));
        t.weight = truth(at, "weight");
        t.buffer =
            static_cast<std::int32_t>(whole(at, "buf", field(at, "buf"), no_buffer, 1 << 20));
        constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
        t.offset = static_cast<std::uint64_t>(whole(at, "off", field(at, "off"), 0, most));
        if (at.object.contains("alloc"))  // since version 2
            t.allocated = whole(at, "alloc", field(at, "alloc"), 0, std::int64_t{1} << 62);
        for (std::size_t d = 0; d < 4; ++d) {
            t.ne[d] = whole(at, "ne", array(at, "ne", 4, 4)[d], 0, most);
            t.nb[d] = whole(at, "nb", array(at, "nb", 4, 4)[d], 0, most);
        }
        const value& sources = array(at, "src", 0, max_src);
        for (std::size_t i = 0; i < sources.size(); ++i)
            t.src[i] = id_or_null(at, "src", sources[i]);
        const value& words = array(at, "params", 0, 16);
        for (std::size_t i = 0; i < words.size(); ++i)
            t.params[i] = static_cast<std::int32_t>(
                whole(at, "params", words[i], std::numeric_limits<std::int32_t>::min(),
                      std::numeric_limits<std::int32_t>::max()));
        t.view_src = id_or_null(at, "view_src", field(at, "view_src"));
        view_offsets_[static_cast<std::size_t>(at.tensor)] =
            whole(at, "view_offs", field(at, "view_offs"), 0, most);
    }

    graph& g_;
    std::shared_ptr<std::vector<char>> pool_;
    std::vector<bool> filled_;
    std::vector<std::int64_t> view_offsets_;
    unknowns unknown_;
};

void count_uses(graph& g) {
    for (tensor& t : g.tensors) t.uses = 0;
    for (const tensor& t : g.tensors)
        for (const std::int32_t s : t.src)
            if (s != no_tensor) ++g.tensors[static_cast<std::size_t>(s)].uses;
}

value parsed(std::string_view text, const std::string& name) {
    if (text.empty()) throw error(name, no_tensor, "", "expected a JSON object, found nothing");
    value v;
    try {
        v = value::parse(text, tool::bounded_nesting<value>());
    } catch (const value::exception& e) {
        const std::string_view why = e.what();  // "[json.exception.name.id] sentence"
        const std::size_t begin = why.find("] ");
        throw error(name, no_tensor, "",
                    fmt::format("expected JSON, found a {}",
                                why.substr(begin == why.npos ? 0 : begin + 2)));
    } catch (const std::runtime_error& e) {
        throw error(name, no_tensor, "", e.what());
    }
    if (!v.is_object())
        throw error(name, no_tensor, "", fmt::format("expected a JSON object, found {}", shown(v)));
    return v;
}

/// A file without a version is of the first.
void check_version(const location& at) {
    if (!at.object.contains("version")) return;
    const std::int64_t found = whole(at, "version", field(at, "version"), 1);
    if (found > graph_file_version)
        at.fail("version", fmt::format("expected {} at most, found {}: read it with a newer Catena",
                                       graph_file_version, found));
}

std::string optional_text(const location& at, const char* name) {
    return at.object.contains(name) ? text(at, name) : "";
}

std::string sentence_of(const std::string& file, std::int32_t tensor, const std::string& field,
                        const std::string& sentence) {
    std::string where = file;
    if (tensor != no_tensor) where += fmt::format(": tensor {}", tensor);
    if (!field.empty()) where += fmt::format(": field '{}'", field);
    return tool::printable(where + ": " + sentence);
}

}  // namespace

error::error(const std::string& file, std::int32_t tensor_id, const std::string& field_name,
             const std::string& sentence)
    : std::runtime_error(sentence_of(file, tensor_id, field_name, sentence)),
      tensor(tensor_id),
      field(field_name) {}

graph parse(std::string_view json_text, const std::string& name) {
    constexpr std::size_t most = std::size_t{1} << 24;
    const value root = parsed(json_text, name);
    graph g;
    g.file = name;
    const location at{root, g.file};
    check_version(at);
    g.model = text(at, "model");
    g.case_name = text(at, "case");
    g.arch = optional_text(at, "arch");
    g.quant = optional_text(at, "quant");

    const value& tensors = array(at, "tensors", 0, most);
    tensor_reader read_into{g, tensors.size(), json_text.size()};
    for (std::size_t i = 0; i < tensors.size(); ++i) read_into.tensor_at(i, tensors[i]);
    for (const value& id : array(at, "nodes", 0, tensors.size()))
        g.nodes.push_back(static_cast<std::int32_t>(
            whole(at, "nodes", id, 0, static_cast<std::int64_t>(tensors.size()) - 1)));
    check_tensors(g, read_into.view_offsets());
    check_order(g);
    count_uses(g);
    read_into.finish();
    return g;
}

graph read(const std::string& path) { return parse(bytes_of(path), path); }

}  // namespace CATENA_NAMESPACE::json
