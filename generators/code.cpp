#include "code.hpp"

#include "catena/pick/name.hpp"

#include <utility>

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

const char* spelled(operand o) {
    switch (o) {
        case operand::none:
            return "operand::none";
        case operand::residual:
            return "operand::residual";
        case operand::weight:
            return "operand::weight";
        case operand::one_plus_weight:
            return "operand::one_plus_weight";
        case operand::bias:
            return "operand::bias";
        case operand::gate:
            return "operand::gate";
        case operand::scale:
            return "operand::scale";
        case operand::next_weight:
            return "operand::next_weight";
        case operand::factor:
            return "operand::factor";
    }
    return "";
}

std::string code(epilogue_set parts) {
    static constexpr std::pair<epilogue_part, const char*> all[] = {
        {epilogue_part::scale, "scale"},       {epilogue_part::factor, "factor"},
        {epilogue_part::bias, "bias"},         {epilogue_part::glu, "glu"},
        {epilogue_part::act, "act"},           {epilogue_part::combine, "combine"},
        {epilogue_part::residual, "residual"}, {epilogue_part::quantize, "quantize"}};
    std::string list;
    for (const auto& [part, name] : all) {
        if (!parts.has(part)) continue;
        const std::string one = "epilogue_part::" + std::string(name);
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

}  // namespace

std::string code(format_set formats) {
    std::string list;
    for (const format f : formats) {
        const std::string one = "format::" + std::string(name(f));
        list += list.empty() ? "format_set::of(" + one + ")" : " | " + one;
    }
    return list;
}

std::string code(const computation& c) {
    braces out;
    out.field("kind", "skeleton::" + std::string(name(c.kind)));
    if (!c.stages.empty()) out.field("stages", code(c.stages));
    if (!c.emits.empty()) out.field("emits", code(c.emits));
    if (c.activation != format::unknown)
        out.field("activation", "format::" + std::string(name(c.activation)));
    if (!c.weights.empty()) out.field("weights", code(c.weights));
    if (!c.epilogue.empty()) out.field("epilogue", code(c.epilogue));
    return out.text();
}

std::string code(const policy& p) {
    braces out;
    out.number("threads", p.threads)
        .number("min_blocks", p.min_blocks, 1)
        .number("values", p.values);
    out.number("rows", p.rows).number("columns", p.columns).number("piece", p.piece);
    out.number("stages", p.stages).number("slices", p.slices).number("cluster", p.cluster);
    if (p.copy != copy_method::plain)
        out.field("copy", "copy_method::" + std::string(name(p.copy)));
    if (p.activation == activation_source::shared)
        out.field("activation", "activation_source::shared");
    if (p.product != inner_product::dp4a)
        out.field("product", "inner_product::" + std::string(name(p.product)));
    if (p.placement != norm_placement::producer)
        out.field("placement", "norm_placement::" + std::string(name(p.placement)));
    return out.flag("vector", p.vector).text();
}

std::string code(const provenance& p) {
    braces out;
    switch (p.kind) {
        case provenance_kind::predicted:
            return "{}";
        case provenance_kind::inherited:
            out.field("kind", "provenance_kind::inherited").field("arch", quoted(p.arch));
            break;
        case provenance_kind::measured:
            out.field("kind", "provenance_kind::measured").field("gpu", quoted(p.gpu));
            out.field("cuda", quoted(p.cuda)).field("date", quoted(p.date));
            out.field("median_us", std::to_string(p.median_us));
            out.field("spread", std::to_string(p.spread));
            break;
    }
    return out.text();
}

std::string code(const row& r) {
    return "{.computes = " + code(r.computes) + ",\n .numbers = " + code(r.numbers) +
           ",\n .order = " + std::to_string(r.order) +
           ", .registers = " + std::to_string(r.registers) + ", .evidence = " + code(r.evidence) +
           "}";
}

std::string code(const lowered_chain& c) {
    std::string out = "{.name = " + quoted(c.name) + ",\n .signature = " + quoted(c.signature) +
                      ",\n .count = " + std::to_string(c.count) + ",\n .stages = {";
    for (int i = 0; i < c.count; ++i)
        out += (i == 0 ? "" : ",\n            ") + stage_code(c.stages[i]);
    return out + "}}";
}

}  // namespace catena::generator
