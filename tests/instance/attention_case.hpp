// A case that a row which attends has to stand: its queries, keys and values, and the caches.
#pragma once

#include "head_case.hpp"
#include "machine.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace catena_test {

/// What a mask hides of positions, with the score -inf.
enum class hidden_positions {
    none,
    third,  ///< each third position but the last, from the first token; other tokens see it if
            ///< `differs` says so
    all     ///< all positions, from the first token
};

struct attention_case {
    std::string what;
    int k = 0;
    int key_heads = 2, group = 1;  ///< `group` heads of queries share a head of keys
    int tokens = 1;
    int positions = 64;
    int cluster = 8;                     ///< the most blocks of a cluster that the GPU has
    int sms = 132;                       ///< the GPU's: with few of them no clusters share queries
    int first_row = 0, rows_behind = 0;  ///< rows of the caches before the positions, and behind
    bool normed = false, weighted = false, turned = false;
    bool masked = false, sinks = false;
    hidden_positions hidden = hidden_positions::none;  ///< a mask alone hides some
    bool differs = false;                              ///< the mask hides each token's own ones
    float query_scale = 1;
    std::vector<std::int64_t> rows = {};  ///< of the caches, for each token; empty: the last ones
    bool ids_of_64_bits = true;
    int gap = 0;              ///< elements between the heads of x, and of results
    bool by_head = false;     ///< the results of a head of all tokens lie together
    bool f32 = true;          ///< the results are written as f32; as q8_1 they are if heads are of
                              ///< whole blocks
    int nan_key = -1;         ///< a position whose key has a NaN in the first head
    int nan_value = -1;       ///< a position whose value has a NaN as element 1 of the first head
    bool hardly = false;      ///< the mask leaves that position a share below 2^-25
    bool large_keys = false;  ///< scores lie far apart
};

struct attention_output {
    bytes f32, q8_1, keys, values;
    bool operator==(const attention_output&) const = default;
};

/// May a block have so much shared memory?
bool has_room(const instance& on, const attention_case& c);
attention_output run(const instance& on, const attention_case& c);
void check(const instance& on, const attention_case& c, const attention_output& outputs);

/// The results of all tokens, without gaps: [k, heads, tokens].
std::vector<float> results_in(const attention_case& c, const bytes& f32);
/// The same launch with one of the tokens alone, with the caches that the launch of all has left.
attention_output run_token(const instance& on, const attention_case& c,
                           const attention_output& of_all, int token);

}  // namespace catena_test
