// How ops are spelled, as ggml does: in graph files, and where an adapter asks for an op by its
// name.
#pragma once

#include "catena/match/graph.hpp"

#include <string_view>

namespace CATENA_NAMESPACE {

/// The version of graph files that is written, and the newest that is read (docs/graph-format.md).
inline constexpr int graph_file_version = 2;

struct op_spelling {
    std::string_view name;
    op kind;
};

inline constexpr op_spelling op_spellings[] = {
#define CATENA_SPELLING(name, spelling) {spelling, op::name},
    CATENA_OPS(CATENA_SPELLING)
#undef CATENA_SPELLING
};

struct sub_op_spelling {
    std::string_view name;
    sub_op kind;
};

inline constexpr sub_op_spelling sub_op_spellings[] = {
#define CATENA_SPELLING(name, spelling) {spelling, sub_op::name},
    CATENA_SUB_OPS(CATENA_SPELLING)
#undef CATENA_SPELLING
};

/// The op called `name`, or op::other.
constexpr op op_named(std::string_view name) {
    for (const op_spelling& s : op_spellings)
        if (s.name == name) return s.kind;
    return op::other;
}

/// The spelling of an op that Catena knows; of op::other "".
constexpr const char* spelling(op kind) {
    for (const op_spelling& s : op_spellings)
        if (s.kind == kind) return s.name.data();
    return "";
}

/// Which UNARY or GLU is called `name`; "" is sub_op::none, an unknown one sub_op::other.
constexpr sub_op sub_op_named(std::string_view name) {
    for (const sub_op_spelling& s : sub_op_spellings)
        if (s.name == name) return s.kind;
    return sub_op::other;
}

}  // namespace CATENA_NAMESPACE
