// A choice: the row that was picked for a problem, and why every other row was not. The closed list
// of limits separates what cannot be (hard limits) from what would be slower (preference).
#pragma once

#include "catena/match/reason.hpp"
#include "catena/pick/problem.hpp"
#include "catena/pick/row.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace CATENA_NAMESPACE {

// name, sentence. In the order in which they are looked at: the later, the closer the row came.
#define CATENA_LIMITS(X)                                                                           \
    X(none, "picked")                                                                              \
    X(computes, "it computes something else")                                                      \
    X(switched_off, "the options demand measured rows, and this one is not")                       \
    X(max_columns, "{have} columns; the options leave more than {need} to the engine")             \
    X(threads, "{have} threads a block; the arch runs at most {need}, in warps of 32")             \
    X(launch_bounds, "its launch bounds promise {have} threads on an SM; the arch holds {need}")   \
    X(registers, "it needs {have} registers on an SM or thread; the arch has {need}")              \
    X(copy_method, "the arch has no instruction for its copies (sm_{need} on)")                    \
    X(product, "the arch has no tensor cores for its weights (sm_{need} on)")                      \
    X(warpgroups, "the arch does not multiply by warpgroups (sm_{need} alone does)")               \
    X(divisibility, "rows of {have} elements are not a multiple of {need}")                        \
    X(requantized, "{have} results a column; quantizing them wants whole blocks of {need}")        \
    X(held_values, "rows of {have} elements; its registers hold {need}")                           \
    X(columns, "{have} columns; it serves at most {need}")                                         \
    X(few_columns, "{have} columns; a matvec serves fewer than {need}")                            \
    X(pairs, "a warp takes {have} rows at once; a GLU of two matrices needs pairs")                \
    X(heads, "{have} matrices; it turns the results of at most {need}")                            \
    X(odd_heads, "a matrix has {have} rows; the elements of heads turn in pairs")                  \
    X(dense, "it serves experts, and no dense matrices")                                           \
    X(norm_of_two,                                                                                 \
      "a norm of two launches needs warps that share rows, or slots that are added up")            \
    X(gated_head, "it gates no heads of {have} elements of its activation, or does not norm them") \
    X(slots, "a token has {have} slots; it adds up at most {need}")                                \
    X(queries, "a head of keys has {have} queries; it attends for {need} or more")                 \
    X(scores, "{have} scores of a block's positions, of which it has {need} at most")              \
    X(sequences, "{have} sequences, which have a warp each; its blocks have {need}")               \
    X(alignment, "operands are aligned to {have} bytes; it needs {need}")                          \
    X(shared_memory, "it needs {have} bytes of shared memory; a block may use {need}")             \
    X(order, "its accumulation order is {have}; same_bits needs {need}")                           \
    X(medians_alone, "it is picked for problems that it was measured on, and this one is not")     \
    X(not_preferred, "the set prefers the picked row for this shape")                              \
    X(unmeasured,                                                                                  \
      "{have} ns are predicted, not surely less than {need} ns measured of the picked row")        \
    X(slower, "predicted to take {have} ns; {need} ns are expected of the picked row")             \
    X(measured_slower, "measured to take {have} ns; {need} ns are expected of the picked row")

/// Why a row was not picked: the list above.
enum class limit : std::uint8_t {
#define CATENA_ENUMERATOR(name, sentence) name,
    CATENA_LIMITS(CATENA_ENUMERATOR)
#undef CATENA_ENUMERATOR
};

inline constexpr worded limit_words[] = {
#define CATENA_WORDS(name, sentence) {#name, sentence},
    CATENA_LIMITS(CATENA_WORDS)
#undef CATENA_WORDS
};

constexpr const char* name(limit l) { return limit_words[static_cast<int>(l)].name; }

/// One row that was not picked.
struct rejection {
    std::int32_t row = -1;
    limit why = limit::none;
    std::int64_t have = 0, need = 0;
};

/// The reason with its numbers.
inline std::string sentence(const rejection& r) {
    return filled(limit_words[static_cast<int>(r.why)].sentence, r.have, r.need);
}

/// What a launch of a row for a problem looks like, and what it should take.
struct picked {
    std::int32_t row = -1;  ///< index into the table's rows; -1: no row serves
    launch_config config;
    std::int32_t band_rows = 0;  ///< matvec
    std::int64_t bytes = 0;      ///< bytes that the launch moves at least
    double predicted_us = 0;
    bool measured = false;  ///< predicted_us is a median of this row on this problem
    /// What would be picked without medians, and the cost model's time of it; -1: nothing.
    std::int32_t model_row = -1;
    double model_us = std::numeric_limits<double>::infinity();
    bool preferred = false;         ///< the set prefers the row for this shape
    bool clusters_refused = false;  ///< the device has no room for the clusters of the first choice
    std::uint64_t key = 0;          ///< problem_key, if the table has times of the engine
    rejection nearest;              ///< if no row serves: the rejection that came closest
};

/// What plan::choice_of and choose return: the row that a problem gets, and why no other.
struct choice {
    picked best;
    std::vector<rejection> rejected;  ///< every other row of the table, in its order
};

}  // namespace CATENA_NAMESPACE
