#include "text.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <stdexcept>

namespace ptx {
namespace {

[[noreturn]] void refuse(int line, const std::string& what) {
    throw std::runtime_error("PTX line " + std::to_string(line) + ": " + what);
}

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

/// Comments become blanks: lines stay where they are.
std::string without_comments(std::string_view text) {
    std::string out(text);
    for (std::size_t i = 0; i + 1 < out.size(); ++i) {
        if (out[i] != '/') continue;
        const bool block = out[i + 1] == '*';
        if (!block && out[i + 1] != '/') continue;
        std::size_t end = block ? out.find("*/", i + 2) + 2 : out.find('\n', i);
        end = std::min(end, out.size());
        for (; i < end; ++i)
            if (out[i] != '\n') out[i] = ' ';
    }
    return out;
}

class reader {
  public:
    explicit reader(const std::string& text) : text_(text) {}

    module read() {
        module out;
        while (skip_space(), at_ < text_.size()) {
            const std::string_view rest = std::string_view(text_).substr(at_);
            if (rest.starts_with(".version") || rest.starts_with(".target") ||
                rest.starts_with(".address_size")) {
                up_to(text_.find('\n', at_));
                continue;
            }
            const int line = line_;
            const std::size_t end = text_.find_first_of(";{", at_);
            const bool initialized = text_.substr(at_, end - at_).find('=') != std::string::npos;
            if (initialized || end == std::string::npos || text_[end] == ';') {
                const std::string text(trimmed(up_to(text_.find(';', at_))));
                ++at_;
                if (text.find(".func") == std::string::npos)  // else it is declared before its body
                    out.variables.push_back(parse_variable(text, line));
                continue;
            }
            function f = header(std::string(trimmed(up_to(end))), line);
            ++at_;
            f.body = body();
            out.functions.push_back(std::move(f));
        }
        return out;
    }

  private:
    void skip_space() {
        while (at_ < text_.size() && is_space(text_[at_])) step();
    }
    void step() {
        if (text_[at_] == '\n') ++line_;
        ++at_;
    }
    std::string_view up_to(std::size_t end) {
        const std::size_t from = at_;
        end = std::min(end, text_.size());
        while (at_ < end) step();
        return std::string_view(text_).substr(from, end - from);
    }

    /// ".visible .entry name(parameters) .maxntid 512, 1, 1", ".func (result) name(parameters)".
    static function header(const std::string& text, int line) {
        function f;
        f.entry = text.find(".entry") != std::string::npos;
        std::size_t at = text.find(f.entry ? ".entry" : ".func");
        if (at == std::string::npos) refuse(line, "neither a variable nor a function: " + text);
        at += f.entry ? 6 : 5;
        const auto list = [&](std::vector<variable>& to) {
            const std::size_t end = text.find(')', at);
            for (const std::string& one : split(text.substr(at + 1, end - at - 1)))
                to.push_back(parse_variable(one, line));
            at = end + 1;
        };
        while (is_space(text[at])) ++at;
        if (text[at] == '(') list(f.results);
        const std::size_t end = std::min(text.find_first_of("(\n", at), text.size());
        f.name = trimmed(std::string_view(text).substr(at, end - at));
        at = end;
        if (at < text.size()) at = text.find('(', at);
        if (at < text.size()) list(f.parameters);
        if (const auto most = text.find(".maxntid"); most != std::string::npos)
            f.max_threads = std::atoi(text.c_str() + most + 8);
        return f;
    }

    std::vector<statement> body() {
        std::vector<statement> out;
        for (int depth = 1;;) {
            skip_space();
            if (at_ >= text_.size()) refuse(line_, "a function without an end");
            const int line = line_;
            if (text_[at_] == '{' || text_[at_] == '}') {
                const bool open = text_[at_++] == '{';
                depth += open ? 1 : -1;
                if (depth == 0) return out;
                out.push_back({open ? statement_kind::open : statement_kind::close, line, ""});
                continue;
            }
            const std::size_t end = text_.find_first_of(":;", at_);
            if (end != std::string::npos && text_[end] == ':' && names_label(end)) {
                out.push_back({statement_kind::label, line, std::string(up_to(end))});
                ++at_;
                continue;
            }
            const std::string text(trimmed(up_to(text_.find(';', at_))));
            ++at_;
            if (text.starts_with(".pragma")) continue;
            if (text.starts_with("."))
                out.push_back({statement_kind::declaration, line, text});
            else if (!text.empty())
                out.push_back(instruction(text, line));
        }
    }

    /// "::" stands in names of instructions.
    bool names_label(std::size_t colon) const {
        if (colon + 1 < text_.size() && text_[colon + 1] == ':') return false;
        return std::all_of(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                           text_.begin() + static_cast<std::ptrdiff_t>(colon),
                           [](char c) { return !is_space(c) && c != ','; });
    }

    static statement instruction(const std::string& text, int line) {
        statement s{statement_kind::instruction, line, text};
        std::string_view rest = text;
        if (rest.starts_with('@')) {
            rest.remove_prefix(1);
            s.negated = rest.starts_with('!');
            if (s.negated) rest.remove_prefix(1);
            const auto end = std::min(rest.find_first_of(" \t\n"), rest.size());
            s.guard = rest.substr(0, end);
            rest = trimmed(rest.substr(end));
        }
        const auto end = std::min(rest.find_first_of(" \t\n{"), rest.size());
        s.op = rest.substr(0, end);
        s.operands = split(rest.substr(end));
        return s;
    }

    const std::string& text_;
    std::size_t at_ = 0;
    int line_ = 1;
};

}  // namespace

module parse(std::string_view text) {
    const std::string plain = without_comments(text);
    return reader(plain).read();
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return text;
}

std::vector<std::string> split(std::string_view text) {
    std::vector<std::string> out;
    int depth = 0;
    std::size_t from = 0;
    const auto add = [&](std::size_t to) {
        const auto one = trimmed(text.substr(from, to - from));
        if (!one.empty()) out.emplace_back(one);
        from = to + 1;
    };
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '{' || c == '[' || c == '(') ++depth;
        if (c == '}' || c == ']' || c == ')') --depth;
        if (c == ',' && depth == 0) add(i);
    }
    add(text.size());
    return out;
}

int variable::element_bytes() const { return type == "pred" ? 0 : std::atoi(type.c_str() + 1) / 8; }
std::size_t variable::bytes() const {
    return static_cast<std::size_t>(element_bytes()) * static_cast<std::size_t>(count);
}

variable parse_variable(std::string_view text, int line) {
    variable v;
    std::string_view rest = trimmed(text);
    while (rest.starts_with('.')) {
        const auto end = rest.find_first_of(" \t\n");
        const std::string word(rest.substr(1, end - 1));
        rest = trimmed(rest.substr(std::min(end, rest.size())));
        if (word == "reg" || word == "param" || word == "shared" || word == "local" ||
            word == "global") {
            v.space = word;
        } else if (word == "align") {
            v.align = std::atoi(std::string(rest).c_str());
            rest = trimmed(rest.substr(rest.find_first_of(" \t\n")));
        } else if (word == "extern") {
            v.external = true;
        } else if (word != "visible" && word != "weak") {
            v.type = word;
        }
    }
    const auto equals = std::min(rest.find('='), rest.size());
    const std::string_view name = trimmed(rest.substr(0, equals));
    const auto bracket = std::min(name.find_first_of("[<"), name.size());
    v.name = trimmed(name.substr(0, bracket));
    if (bracket < name.size()) {
        v.range = name[bracket] == '<';
        v.count = std::atoi(std::string(name.substr(bracket + 1)).c_str());
    }
    if (equals < rest.size()) {
        std::string_view values = trimmed(rest.substr(equals + 1));
        if (values.starts_with('{')) values = values.substr(1, values.size() - 2);
        for (const std::string& one : split(values))
            v.initial.push_back(std::strtoll(one.c_str(), nullptr, 0));
    }
    if (v.space.empty() || v.type.empty() || v.name.empty())
        refuse(line, "not understood: " + std::string(text.substr(0, 100)));
    if (v.type != "pred" && v.type != "b8" && v.element_bytes() == 0)
        refuse(line, "a type not understood: " + v.type);
    v.align = std::max(v.align, v.element_bytes());
    return v;
}

const function* module::find(std::string_view name) const {
    for (const function& f : functions)
        if (f.name == name) return &f;
    return nullptr;
}

}  // namespace ptx
