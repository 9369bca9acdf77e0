// PTX as text: a module's variables and functions, each function's body as statements. What the
// statements mean is bind.cpp's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ptx {

enum class statement_kind { instruction, label, declaration, open, close };

struct statement {
    statement_kind kind;
    int line = 0;
    std::string text;        ///< whole, for messages; a label's name
    std::string guard = {};  ///< a predicate, "" for none
    bool negated = false;
    std::string op = {};                     ///< "add.s32"
    std::vector<std::string> operands = {};  ///< {...}, [...] and (...) whole
};

/// ".shared .align 16 .b8 name[64]", ".reg .b32 %r<8>", ".param .b64 name".
struct variable {
    std::string space;  ///< "reg", "param", "shared", "local", "global"
    std::string type;   ///< "b32", "pred"
    std::string name;
    int align = 1;
    int count = 1;       ///< of an array; 0: its size is given at launch
    bool range = false;  ///< name<count>: that many registers
    bool external = false;
    std::vector<std::int64_t> initial = {};

    int element_bytes() const;
    std::size_t bytes() const;
};

struct function {
    std::string name;
    bool entry = false;
    int max_threads = 0;
    std::vector<variable> parameters, results;
    std::vector<statement> body;
};

struct module {
    std::vector<variable> variables;
    std::vector<function> functions;

    const function* find(std::string_view name) const;
};

/// Throws std::runtime_error with the line where the text is not understood.
module parse(std::string_view text);
variable parse_variable(std::string_view text, int line);

std::string_view trimmed(std::string_view text);
/// At commas outside of any bracket.
std::vector<std::string> split(std::string_view text);

}  // namespace ptx
