// From text to a program: names become units of registers, numbers and addresses of variables
// become constants, labels become places.
#include "program.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdlib>
#include <map>
#include <optional>
#include <stdexcept>
#include <unordered_map>

namespace ptx {
namespace {

struct reg {
    char kind = 'w';  ///< 'w', 'd', 'p'
    int at = 0;
};

struct known_function {
    int start = 0;
    std::vector<int> parameters, results;  ///< units, one after the other
    int return_unit = 0;
};

int units_of(const variable& v) { return static_cast<int>((v.bytes() + 3) / 4); }

class binder {
  public:
    binder(const module& m, program& p) : module_(m), p_(p) {}

    void bind_entry(const function& f) {
        globals();
        shared_variables(module_.variables);
        for (const variable& v : f.parameters) {
            p_.parameter_bytes = rounded(p_.parameter_bytes, v.align);
            symbols_[v.name] = p_.parameter_bytes;
            p_.parameter_bytes += v.bytes();
        }
        for (const statement& s : f.body)
            if (s.kind == statement_kind::instruction && s.op.starts_with("call")) callee(s);
        p_.entry = static_cast<int>(p_.code.size());
        p_.max_threads = f.max_threads;
        body(f, -1);
        for (std::size_t i = 0; i < p_.code.size(); ++i)
            p_.code[i].at = p_.operands.data() + first_operand_[i];
    }

  private:
    static std::size_t rounded(std::size_t n, int to) {
        const auto unit = static_cast<std::size_t>(to);
        return (n + unit - 1) / unit * unit;
    }

    [[noreturn]] void refuse(const std::string& why) const {
        throw std::runtime_error("PTX line " + std::to_string(at_->line) + ": " + why + ": " +
                                 at_->text);
    }

    void globals() {
        for (const variable& v : module_.variables) {
            if (v.space != "global") continue;
            const auto align = static_cast<std::size_t>(v.align);
            auto bytes = std::make_shared<std::vector<std::byte>>(v.bytes() + align);
            const auto start = reinterpret_cast<std::uintptr_t>(bytes->data());
            std::byte* at = bytes->data() + ((start + align - 1) / align * align - start);
            const auto element = static_cast<std::size_t>(v.element_bytes());
            for (std::size_t i = 0; i < v.initial.size(); ++i)
                std::memcpy(at + i * element, &v.initial[i], element);
            symbols_[v.name] = reinterpret_cast<std::uintptr_t>(at);
            p_.globals.push_back({v.name, std::move(bytes), at, v.bytes()});
        }
    }

    void shared_variables(const std::vector<variable>& variables) {
        for (const variable& v : variables) {
            if (v.space != "shared") continue;
            p_.static_shared = rounded(p_.static_shared, v.align);
            symbols_[v.name] = shared_base + p_.static_shared;
            p_.static_shared += v.bytes();
            dynamic_shared_ = dynamic_shared_ || v.external;
            if (dynamic_shared_ && p_.static_shared != 0)
                throw std::runtime_error("PTX: static shared memory beside dynamic");
        }
    }

    void callee(const statement& s) {
        at_ = &s;
        const std::string& name = s.operands[s.operands[0].starts_with('(') ? 1 : 0];
        if (functions_.contains(name)) return;
        const function* f = module_.find(name);
        if (f == nullptr) refuse("calls what is not there");
        known_function known;
        for (const statement& inner : f->body)
            if (inner.kind == statement_kind::instruction && inner.op.starts_with("call"))
                callee(inner);
        scopes_.emplace_back();
        const auto hold = [&](const std::vector<variable>& variables, std::vector<int>& units) {
            for (const variable& v : variables) {
                scopes_.back()[v.name] = {'v', p_.units};
                for (int i = 0; i < units_of(v); ++i) units.push_back(p_.units++);
            }
        };
        hold(f->parameters, known.parameters);
        hold(f->results, known.results);
        known.return_unit = p_.units++;
        known.start = static_cast<int>(p_.code.size());
        functions_[name] = known;
        body(*f, known.return_unit);
        scopes_.pop_back();
    }

    void body(const function& f, int return_unit) {
        scopes_.emplace_back();
        std::map<std::string, int> labels;
        std::vector<std::pair<int, std::string>> jumps;
        std::map<int, const statement*> jump_at;
        for (const statement& s : f.body) {
            at_ = &s;
            if (s.kind == statement_kind::open) scopes_.emplace_back();
            if (s.kind == statement_kind::close) scopes_.pop_back();
            if (s.kind == statement_kind::declaration) declare(parse_variable(s.text, s.line));
            if (s.kind == statement_kind::label) labels[s.text] = static_cast<int>(p_.code.size());
            if (s.kind != statement_kind::instruction) continue;
            if (s.op == "bra" || s.op == "bra.uni") {
                jump_at[static_cast<int>(p_.code.size())] = &s;
                jumps.emplace_back(static_cast<int>(p_.code.size()), s.operands.at(0));
                add({.how = flow::branch}, {});
            } else if (s.op == "ret" || s.op == "exit") {
                add({.how = flow::leave, .offset = s.op == "exit" ? -1 : return_unit}, {});
            } else if (s.op.starts_with("call")) {
                call(s);
            } else {
                operation(s);
            }
        }
        // Who falls off the end leaves.
        add({.how = flow::leave, .offset = return_unit}, {});
        p_.code.back().guard = -1;
        for (const auto& [from, label] : jumps) {
            at_ = jump_at[from];
            const auto to = labels.find(label);
            if (to == labels.end()) refuse("no such label");
            p_.code[static_cast<std::size_t>(from)].target = to->second;
        }
        scopes_.pop_back();
    }

    void declare(const variable& v) {
        if (v.space == "reg") {
            const char kind = v.type == "pred" ? 'p' : v.element_bytes() == 8 ? 'd' : 'w';
            int& next = kind == 'p' ? p_.predicates : p_.units;
            const int each = kind == 'd' ? 2 : 1;
            for (int i = 0; i < v.count; ++i, next += each)
                scopes_.back()[v.range ? v.name + std::to_string(i) : v.name] = {kind, next};
        } else if (v.space == "param") {
            scopes_.back()[v.name] = {'v', p_.units};
            p_.units += units_of(v);
        } else if (v.space == "local") {
            p_.local_bytes = rounded(p_.local_bytes, v.align);
            symbols_[v.name] = p_.local_bytes;
            p_.local_bytes += v.bytes();
        } else if (v.space == "shared") {
            shared_variables({v});
        } else {
            refuse("a declaration that is not known");
        }
    }

    std::optional<reg> find(const std::string& name) const {
        for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
            if (const auto r = scope->find(name); r != scope->end()) return r->second;
        return {};
    }

    int constant_unit(bool wide, std::uint64_t bits) {
        const auto [known, fresh] = constants_.try_emplace({wide, bits}, p_.units);
        if (fresh) {
            p_.units += wide ? 2 : 1;
            p_.constants.push_back({known->second, wide, bits});
        }
        return known->second;
    }

    int constant_predicate(const std::string& text) {
        if (text != "0" && text != "-1" && text != "1") refuse(text + " is no predicate");
        int& at = (text == "0" ? p_.never : p_.always);
        if (at < 0) at = p_.predicates++;
        return at;
    }

    std::optional<int> special_unit(const std::string& name) {
        static const std::map<std::string, special> known = {
            {"%tid.x", special::tid},
            {"%ntid.x", special::ntid},
            {"%ctaid.x", special::ctaid},
            {"%nctaid.x", special::nctaid},
            {"%laneid", special::laneid},
            {"%clusterid.x", special::clusterid},
            {"%cluster_ctarank", special::cluster_ctarank},
            {"%cluster_nctaid.x", special::cluster_nctaid}};
        const auto what = known.find(name);
        if (what == known.end()) return {};
        for (const auto& [kind, unit] : p_.specials)
            if (kind == what->second) return unit;
        p_.specials.emplace_back(what->second, p_.units);
        return p_.units++;
    }

    /// A conversion may name a wider register than its source's type: it takes the low word.
    int low_word(reg wide) {
        const int word = p_.units++;
        add({.run = arithmetic("cvt.u32.u64").run}, {word, wide.at});
        return word;
    }

    /// A register, a special one, a number or the address of a variable.
    int value(const std::string& text, char kind) {
        if (const auto r = find(text)) {
            if (r->kind == kind) return r->at;
            if (kind == 'w' && r->kind == 'd' && at_->op.starts_with("cvt.")) return low_word(*r);
            refuse(text + " is no register of this width");
        }
        if (kind == 'p') return constant_predicate(text);
        const bool wide = kind == 'd';
        if (!wide)
            if (const auto unit = special_unit(text)) return *unit;
        if (const auto s = symbols_.find(text); s != symbols_.end())
            return constant_unit(wide, s->second);
        const char first = text[0];
        if (first != '-' && std::isdigit(static_cast<unsigned char>(first)) == 0)
            refuse(text + " is not known");
        if (text.starts_with("0f") || text.starts_with("0F"))
            return constant_unit(wide, std::strtoull(text.c_str() + 2, nullptr, 16));
        char* end = nullptr;
        std::uint64_t bits = first == '-'
                                 ? static_cast<std::uint64_t>(std::strtoll(text.c_str(), &end, 0))
                                 : std::strtoull(text.c_str(), &end, 0);
        if (*end == 'U') ++end;
        if (*end != 0) refuse(text + " is no number");
        if (!wide) bits &= 0xffffffffu;
        return constant_unit(wide, bits);
    }

    struct address {
        std::string base;
        std::int64_t offset = 0;
    };
    /// "[base+offset]".
    address address_of(const std::string& text) const {
        std::string inner(trimmed(std::string_view(text).substr(1, text.size() - 2)));
        address a;
        const auto plus = inner.find('+');
        if (plus != std::string::npos) {
            a.offset = std::strtoll(inner.c_str() + plus + 1, nullptr, 0);
            inner = trimmed(inner.substr(0, plus));
        }
        a.base = inner;
        return a;
    }

    void add(instruction i, const std::vector<int>& units) {
        i.line = at_->line;
        i.negated = at_->negated;
        if (!at_->guard.empty()) i.guard = value(at_->guard, 'p');
        first_operand_.push_back(p_.operands.size());
        p_.operands.insert(p_.operands.end(), units.begin(), units.end());
        p_.code.push_back(i);
        p_.lines.push_back(at_->text);
    }

    void operation(const statement& s) {
        std::vector<std::string> parts;
        bool wide_address = true, vectors = false;
        int addresses = 0;
        for (const std::string& o : s.operands) {
            if (o.starts_with('{')) {
                vectors = true;
                for (const std::string& e : split(std::string_view(o).substr(1, o.size() - 2)))
                    parts.push_back(e);
            } else if (o.starts_with('[')) {
                if (const auto r = find(address_of(o).base)) {
                    if (r->kind == 'v') return parameter(s, *r);
                    if (++addresses == 1) wide_address = r->kind == 'd';
                } else if (s.op.find("shared") != std::string::npos) {
                    wide_address = false;
                }
                parts.push_back(o);
            } else if (const auto bar = o.find('|'); bar != std::string::npos) {
                parts.emplace_back(trimmed(std::string_view(o).substr(0, bar)));
                parts.emplace_back(trimmed(std::string_view(o).substr(bar + 1)));
            } else {
                parts.push_back(o);
            }
        }
        std::string name = s.op;
        if (vectors && name.starts_with("mov."))
            name += s.operands[0].starts_with('{') ? ".apart" : ".joined";
        const auto first = parts.empty() ? std::optional<reg>{} : find(parts[0]);
        const bool wide_data = first && first->kind == 'd';
        opcode o = arithmetic(name);
        if (o.run == nullptr) o = memory_access(name, wide_address, wide_data);
        if (o.run == nullptr) o = warp_operation(name);
        if (o.run == nullptr) o = tensor_operation(name);
        if (o.run == nullptr) o = asynchronous(name);
        if (o.run == nullptr) refuse("an instruction that is not known");
        if (o.form.size() != parts.size())
            refuse("has " + std::to_string(parts.size()) + " operands, not " + o.form);

        instruction i{.run = o.run, .how = o.how};
        std::vector<int> units;
        for (std::size_t n = 0; n < parts.size(); ++n) {
            const char kind = o.form[n];
            if (kind == 'a' || kind == 'A') {
                const address a = address_of(parts[n]);
                units.push_back(value(a.base, kind == 'A' ? 'd' : 'w'));
                if (a.offset != 0 && o.form.find_first_of("aA") != o.form.find_last_of("aA"))
                    refuse("an offset in one of several addresses");
                i.offset += a.offset;
            } else if (kind == 'm') {  // the lanes that take part
                i.mask = value(parts[n], 'w');
            } else if (kind == 'n') {  // an immediate
                char* end = nullptr;
                i.offset = i.offset << 8 | std::strtoll(parts[n].c_str(), &end, 0);
                if (*end != 0) refuse(parts[n] + " is no number");
            } else {
                units.push_back(value(parts[n], kind));
            }
        }
        add(i, units);
    }

    /// A function's parameters and results are registers: what is stored there is moved.
    void parameter(const statement& s, reg r) {
        const bool load = s.op.starts_with("ld.param.");
        if (!load && !s.op.starts_with("st.param.")) refuse("an address of a parameter");
        const std::string type = s.op.substr(9);
        const bool wide = type.ends_with("64");
        if (!wide && !type.ends_with("32") && type != "u8") refuse("a parameter of this type");
        const std::int64_t offset = address_of(s.operands.at(load ? 1 : 0)).offset;
        const int at = r.at + static_cast<int>(offset / 4);
        if (offset % 4 != 0) refuse("a parameter that is not aligned");
        const int other = value(s.operands.at(load ? 0 : 1), wide ? 'd' : 'w');
        const char* name = load && type == "u8" ? "cvt.u32.u8"
                           : !wide              ? "mov.b32"
                           : load               ? "mov.b64.joined"
                                                : "mov.b64.apart";
        std::vector<int> units = load ? std::vector{other, at} : std::vector{at, other};
        if (wide) units = load ? std::vector{other, at, at + 1} : std::vector{at, at + 1, other};
        add({.run = arithmetic(name).run}, units);
    }

    /// "(results), name, (parameters)", either list may be missing.
    void call(const statement& s) {
        std::size_t n = 0;
        std::vector<std::string> results, given;
        const auto list = [&](std::vector<std::string>& to) {
            if (n >= s.operands.size() || !s.operands[n].starts_with('(')) return;
            to = split(std::string_view(s.operands[n]).substr(1, s.operands[n].size() - 2));
            ++n;
        };
        list(results);
        const known_function& f = functions_.at(s.operands.at(n++));
        list(given);
        call_site site;
        site.return_unit = f.return_unit;
        const auto pair = [&](const std::vector<std::string>& names, const std::vector<int>& units,
                              bool in) {
            std::size_t unit = 0;
            for (const std::string& name : names) {
                const auto r = find(name);
                if (!r || r->kind != 'v') refuse(name + " is no parameter");
                const std::size_t here = names.size() == 1 ? units.size() : 1;
                for (std::size_t i = 0; i < here; ++i, ++unit) {
                    if (unit >= units.size()) refuse("too many parameters");
                    const int own = r->at + static_cast<int>(i);
                    if (in)
                        site.in.emplace_back(own, units[unit]);
                    else
                        site.out.emplace_back(units[unit], own);
                }
            }
            if (unit != units.size()) refuse("parameters that do not match");
        };
        pair(given, f.parameters, true);
        pair(results, f.results, false);
        p_.calls.push_back(site);
        add({.how = flow::call,
             .target = f.start,
             .offset = static_cast<std::int64_t>(p_.calls.size()) - 1},
            {});
    }

    const module& module_;
    program& p_;
    const statement* at_ = nullptr;
    std::vector<std::unordered_map<std::string, reg>> scopes_;
    std::map<std::string, std::uint64_t> symbols_;
    bool dynamic_shared_ = false;
    std::map<std::string, known_function> functions_;
    std::map<std::pair<bool, std::uint64_t>, int> constants_;
    std::vector<std::size_t> first_operand_;
};

}  // namespace

program bind(const module& m, std::string_view entry) {
    const function* f = m.find(entry);
    if (f == nullptr || !f->entry) throw std::runtime_error("PTX: no entry " + std::string(entry));
    program p;
    p.name = entry;
    binder(m, p).bind_entry(*f);
    return p;
}

}  // namespace ptx
