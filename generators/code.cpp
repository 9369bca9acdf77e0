#include "code.hpp"

#include "catena/instances/rows.hpp"

namespace catena::generator {

namespace {

/// The fields of one braced list.
class braces {
  public:
    braces& field(const char* name, const std::string& value) {
        text_ += (text_.empty() ? "." : ", .") + std::string(name) + " = " + value;
        return *this;
    }
    braces& number(const char* name, long long value, long long normal = 0) {
        return value == normal ? *this : field(name, std::to_string(value));
    }
    braces& flag(const char* name, bool value) { return value ? field(name, "true") : *this; }
    std::string text() const { return "{" + text_ + "}"; }

  private:
    std::string text_;
};

std::string quoted(const std::string& text) { return '"' + text + '"'; }

std::string spelled(stage_kind kind) { return "stage_kind::" + std::string(name(kind)); }

std::string code(stage_set stages) {
    std::string list;
    for (const stage_kind kind : stages) {
        const std::string one = spelled(kind);
        list += list.empty() ? "stage_set::of(" + one + ")" : " | " + one;
    }
    return list;
}

std::string spelled(operand o) { return "operand::" + std::string(chain::name(o)); }

std::string code(epilogue_set parts) {
    if (parts == instances::full_epilogue) return "full_epilogue";
    if (parts == instances::tile_epilogue) return "tile_epilogue";
    std::string list;
    for (const epilogue_part part : parts) {
        const std::string one = "epilogue_part::" + std::string(name(part));
        list += list.empty() ? "epilogue_set::of(" + one + ")" : " | " + one;
    }
    return list;
}

std::string stage_code(const stage& s) {
    braces out;
    out.field("kind", spelled(s.kind));
    if (s.reads != operand::none) out.field("reads", spelled(s.reads));
    if (!s.formats.empty()) out.field("formats", generator::code(s.formats));
    if (!s.parts.empty()) out.field("parts", code(s.parts));
    return out.text();
}

std::string fields(const row_computation& c) {
    braces out;
    if (!c.stages.empty()) out.field("stages", code(c.stages));
    if (!c.emits.empty()) out.field("emits", generator::code(c.emits));
    return out.flag("own", c.own).text();
}

/// As the functions of catena/instances/rows.hpp make it, or with all its fields.
std::string fields(const product_computation& c) {
    const std::string weights = formats_part(c.weights);
    const bool tiles = c.kind == skeleton::matmul;
    const auto usual = tiles ? instances::matmul : instances::matvec;
    if (c == usual(c.activation, weights))
        return std::string(name(c.kind)) + "(format::" + name(c.activation) + ", " +
               quoted(weights) + ")";
    braces out;
    out.field("kind", "skeleton::" + std::string(name(c.kind)));
    if (!c.stages.empty()) out.field("stages", code(c.stages));
    if (!c.emits.empty()) out.field("emits", generator::code(c.emits));
    if (c.activation != format::unknown)
        out.field("activation", "format::" + std::string(name(c.activation)));
    if (!c.weights.empty()) out.field("weights", generator::code(c.weights));
    if (!c.epilogue.empty()) out.field("epilogue", code(c.epilogue));
    return out.flag("own", c.own).text();
}

}  // namespace

std::string code(format_set formats) { return "formats(" + quoted(formats_part(formats)) + ")"; }

std::string code(const computation& c) {
    return c.visit([](const auto& own) { return fields(own); });
}

std::string code(const provenance& p) {
    switch (p.kind) {
        case provenance_kind::predicted:
            break;
        case provenance_kind::inherited:
            return "inherited(" + quoted(p.arch) + ")";
        case provenance_kind::measured:
            return (p.by_medians ? "found(" : "measured(") + quoted(p.gpu) + ", " + quoted(p.cuda) +
                   ", " + quoted(p.date) + ", " + std::to_string(p.median_us) + ", " +
                   std::to_string(p.spread) + ")";
    }
    return "predicted";
}

std::string computation_name(const computation& c) {
    const std::string out = launch_part(c) + "_" + formats_part(c);
    if (c.kind() == skeleton::row) return out;
    const product_computation& p = c.product();
    if (p.kind == skeleton::matmul) return out + "_" + name(p.activation);
    const std::string end = has_heads(p.epilogue) ? "_heads" : "";
    return p.stages.empty() ? out + end : out + (routes(p.stages) ? "_routed" : "_norm") + end;
}

std::string code(const warp_codes& all) {
    if (all == warp_codes{}) return "uncounted";
    std::string out;
    for (const warp_code& c : all.of) {
        if (c == warp_code{}) continue;
        out += (out.empty() ? "counted({" : ", {") + std::to_string(c.stage_issues) + ", " +
               std::to_string(c.stage_cycles) + ", " + std::to_string(c.result_issues) + ", " +
               std::to_string(c.result_cycles) + ", " + std::to_string(c.product_issues) + ", " +
               std::to_string(c.product_cycles) + "}";
    }
    return out + ")";
}

std::string code(const row& r) {
    const computation& c = r.computes;
    return "CATENA_ROW(" + launch_part(c) + ", " + formats_part(c) + ", " + policy_part(r.policy) +
           ", " + computation_name(c) + ", " + std::to_string(r.order) + ", " +
           std::to_string(r.registers) + ", " + code(r.code) + ", " + code(r.evidence) + ")";
}

std::string code(const lowered_chain& c) {
    std::string out = "{.name = " + quoted(c.name) + ",\n .signature = " + quoted(c.signature) +
                      ",\n .count = " + std::to_string(c.count) + ",\n .stages = {";
    for (int i = 0; i < c.count; ++i)
        out += (i == 0 ? "" : ",\n            ") + stage_code(c.stages[i]);
    return out + "}}";
}

}  // namespace catena::generator
