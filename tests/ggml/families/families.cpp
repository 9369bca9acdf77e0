// Whole families of models, built with ggml's own builder as engines build them: every value that
// an engine and Catena's steps produce, judged one by one.
#include "families.hpp"
#include "engine.hpp"

#include "catena_test/catch.hpp"

#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using namespace catena_test;

struct subject {
    const char* name;
    network::family* draw;
    bool norms_inside = true;  ///< does a launch make a norm, where launches are dear?
    bool many_tokens = false;  ///< does the core run it for 64 tokens?
};

constexpr subject subjects[] = {
    {"latent attention", latent_attention},
    {"latent attention, K and V of each head", latent_attention_apart},
    {"gated attention", gated_attention},
    {"cross-attention", cross_attention},
    {"norms before and behind", sandwich_norms, false},
    {"sinks and biases", attention_with_sinks},
    {"attention in one op", attention_in_one_op},
    {"experts of the best groups", experts_of_groups, true, true},
    {"experts with biases", experts_with_biases},
    {"gate and up of experts in one matrix", experts_in_one_matrix},
    {"experts beside a gated one", experts_and_gated_one},
    {"experts weighed first", experts_weighed_first, true, true},
    {"experts by softplus", experts_by_softplus, true, true},
    {"experts by sigmoid", experts_by_sigmoid, true, true},
    {"experts with adapters", experts_with_adapters, false},
    {"Mamba", mamba},
    {"Mamba2 and attention", mamba_hybrid, true, true},
    {"short convolutions", short_convolutions},
    {"linear attention", linear_attention},
    {"linear attention of four users", linear_attention_of_users},
    {"states of Q, K and V in one row", convolutions_of_one_row},
    {"one norm for attention and feed-forward part", one_norm_for_both, false},
    {"two norms of one value", two_norms_of_one, false},
    {"norms behind, and of all heads", norms_behind, false},
    {"norms within, scales of matrices", norms_within},
    {"encoder", encoder, false, true},
    {"encoder with gates", gated_encoder, false},
    {"adapters and control vectors", adapters_and_vectors, false},
    {"outputs amid the graph", outputs_everywhere},
    {"linear attention of one user", linear_attention_of_one_user},
    {"Mamba2 of four users", mamba2_of_users},
    {"linear attention of neighbors", linear_attention_of_neighbors}};

/// The long form asks more of each family.
bool is_long() { return std::getenv("CATENA_EVERY_CUT") != nullptr; }

outcome run_and_judge(weight_store& w, const subject& s, int tokens, const mode& how) {
    network g(w, *s.draw, tokens);
    outcome seen = run(g, how);
    CHECK(seen.failure == "");
    network reference(w, *s.draw, tokens);
    if (!seen.failure.empty()) return seen;
    const verdict v = judge(reference, seen);
    CHECK(v.wrong == "");
    CHECK(v.step_nodes == seen.covered - seen.elided);
    return seen;
}

/// Each family, with formats drawn anew for each. The long form draws them `times` times.
template <class F>
void each_subject(unsigned times, F&& f) {
    unsigned number = 0;
    for (const subject& s : subjects) {
        DYNAMIC_SECTION(s.name) {
            for (unsigned i = 0; i < (is_long() ? times : 1); ++i) {
                CAPTURE(i);
                weight_store w(number + i);
                f(w, s);
            }
        }
        ++number;
    }
}

/// The ways in which an engine may plan a whole graph. The core takes some for each number of
/// tokens.
std::vector<mode> ways(int tokens) {
    mode plain, ordered, same_bits;
    ordered.optimize = same_bits.optimize = true;
    same_bits.options.pick.same_bits = true;
    if (is_long()) return {plain, ordered, same_bits};
    if (tokens == 1) return {plain, ordered};
    return {tokens == 4 ? same_bits : plain};
}

TEST_CASE("Every value of a family's graph is ggml's", "[ggml][families]") {
    each_subject(3, [](weight_store& w, const subject& s) {
        for (const int tokens : {1, 4, 64}) {
            if (tokens == 64 && !is_long() && !s.many_tokens) continue;
            for (mode how : ways(tokens)) {
                how.options.verify = true;
                CAPTURE(tokens, how.optimize);
                const outcome seen = run_and_judge(w, s, tokens, how);
                INFO(seen.launches << " launches of matmuls, " << seen.row_steps << " of rows");
                CHECK(seen.launches >= 4);
                CHECK(seen.row_steps > 0);
            }
        }
    });
}

TEST_CASE("Every value of a family's graph is ggml's where launches make their norms",
          "[ggml][families]") {
    for (const subject& s : subjects) DYNAMIC_SECTION(s.name) {
            weight_store w(1, GGML_TYPE_Q4_K);
            mode how;
            how.options.verify = true;
            how.dear_launches = how.optimize = true;
            const outcome seen = run_and_judge(w, s, 1, how);
            CHECK((seen.norms_inside > 0) == s.norms_inside);
        }
}

TEST_CASE("What attention makes, or a norm of it, is gated in the launch that multiplies it",
          "[ggml][families]") {
    for (const auto& [s, normed] :
         {std::pair{subject{"gated attention", gated_attention}, false},
          {subject{"linear attention of one user", linear_attention_of_one_user}, true}}) {
        CAPTURE(s.name);
        weight_store w(1, GGML_TYPE_Q4_K);
        mode how;
        how.options.verify = how.dear_launches = how.optimize = true;
        const outcome seen = run_and_judge(w, s, 1, how);
        CHECK(seen.gates_inside >= 2);  // one in each layer
        how.dear_launches = false;
        const outcome apart = run_and_judge(w, s, 4, how);
        CHECK(apart.gates_inside == 0);
        CHECK(seen.gated_norms == (normed ? seen.gates_inside : 0));
    }
}

TEST_CASE("One launch convolves the tokens of all users, whichever states they read",
          "[ggml][families]") {
    constexpr subject users = {"linear attention of four users", linear_attention_of_users};
    weight_store w(1, GGML_TYPE_Q4_K);
    mode how;
    how.options.verify = how.optimize = true;
    for (const int tokens : {1, 4, 8, 32}) {
        CAPTURE(tokens);
        CHECK(run_and_judge(w, users, tokens, how).states_picked == 2);  // one in each layer
    }
    CHECK(run_and_judge(w, users, 36, how).convolutions == 0);  // nine tokens of each
    constexpr subject one_row = {"states of Q, K and V in one row", convolutions_of_one_row};
    for (const int tokens : {1, 4, 16}) {
        CAPTURE(tokens);
        CHECK(run_and_judge(w, one_row, tokens, how).convolutions == 6);  // three in each layer
    }
}

TEST_CASE("One launch takes the heads of few tokens, stores keys and values, and attends",
          "[ggml][families]") {
    constexpr subject one_op = {"attention in one op", attention_in_one_op};
    weight_store w(1, GGML_TYPE_Q4_K);
    mode how;
    how.options.verify = how.optimize = true;
    for (const int tokens : {1, 4, 8}) {
        CAPTURE(tokens);
        const outcome seen = run_and_judge(w, one_op, tokens, how);
        // With one token, the launch of the matrices turns heads that have no norms.
        const int layers = tokens == 1 ? 1 : 2;
        CHECK(seen.attended == layers);
        // Two ROPEs, two SET_ROWS and FLASH_ATTN_EXT; in one of both layers two norms with a MUL.
        CHECK(seen.attended_nodes == layers * 5 + 4);
    }
    CHECK(run_and_judge(w, one_op, 9, how).attended == 0);
}

TEST_CASE("One launch recalls the heads of all users and replaces their states",
          "[ggml][families]") {
    constexpr subject user = {"linear attention of one user", linear_attention_of_one_user};
    weight_store w(1, GGML_TYPE_Q4_K);
    mode how;
    how.options.verify = how.optimize = true;
    for (const int tokens : {1, 2, 8}) {
        CAPTURE(tokens);
        const outcome seen = run_and_judge(w, user, tokens, how);
        CHECK(seen.recalls == 2);  // one in each layer
        // GET_ROWS, GATED_DELTA_NET and CPY of both, and what makes a decay of each head.
        CHECK(seen.recalled_nodes == 3 + 5);
    }
    CHECK(run_and_judge(w, user, 9, how).recalls == 0);
    constexpr subject users = {"linear attention of four users", linear_attention_of_users};
    weight_store other(1, GGML_TYPE_Q4_K);
    for (const int tokens : {4, 16}) {
        CAPTURE(tokens);
        const outcome seen = run_and_judge(other, users, tokens, how);
        CHECK(seen.recalls == 2);
        CHECK(seen.recalled_nodes == 3 + 5);
    }
    CHECK(run_and_judge(other, users, 36, how).recalls == 0);  // nine tokens of each
    constexpr subject neighbors = {"linear attention of neighbors", linear_attention_of_neighbors};
    weight_store third(1, GGML_TYPE_Q4_K);
    for (const int tokens : {1, 3, 16}) {
        CAPTURE(tokens);
        const outcome seen = run_and_judge(third, neighbors, tokens, how);
        CHECK(seen.recalls == 2);
        // The five, two REPEATs, CONT and ADD of the decay, CONT and SIGMOID of the shares.
        CHECK(seen.recalled_nodes == 2 * 11);
    }
}

TEST_CASE("One launch scans the state spaces of all users and replaces their states",
          "[ggml][families]") {
    constexpr subject users = {"Mamba2 of four users", mamba2_of_users};
    weight_store w(1, GGML_TYPE_Q4_K);
    mode how;
    how.options.verify = how.optimize = true;
    for (const int tokens : {1, 3, 4, 8, 32}) {
        CAPTURE(tokens);
        const outcome seen = run_and_judge(w, users, tokens, how);
        CHECK(seen.scans == 2);  // one in each layer
        // CONT, ADD, SSM_SCAN, CPY, MUL, ADD, CONT and GLU of both.
        CHECK(seen.scanned_nodes == 2 * 8);
    }
    CHECK(run_and_judge(w, users, 36, how).scans == 0);  // nine tokens of each
}

TEST_CASE("With few tokens, the launch of a shared expert adds its result to the experts' sum",
          "[ggml][families]") {
    constexpr subject with_shared_expert[] = {{"with a gate", experts_and_gated_one},
                                              {"without a gate", experts_of_groups}};
    for (const subject& s : with_shared_expert) DYNAMIC_SECTION(s.name) {
            weight_store w(1, GGML_TYPE_Q4_K);
            mode how;
            how.options.verify = true;
            how.dear_launches = how.optimize = true;
            CHECK(run_and_judge(w, s, 1, how).two_sums == 2);  // one in each layer
            CHECK(run_and_judge(w, s, 4, how).two_sums == 2);
            CHECK(run_and_judge(w, s, 16, how).two_sums == 0);
        }
}

TEST_CASE("Every value of a family's graph is ggml's wherever it is cut", "[ggml][families]") {
    each_subject(1, [](weight_store& w, const subject& s) {
        for (const int tokens : {1, 4}) {
            const bool even = std::strlen(s.name) % 2 == 0;
            if (!is_long() && tokens == (even ? 4 : 1)) continue;
            const int size = network(w, *s.draw, tokens).size();
            const int somewhere = 1 + static_cast<int>(37 * std::strlen(s.name)) % (size - 1);
            for (int cut = is_long() ? 1 : somewhere; cut < size; cut += is_long() ? 1 : size) {
                CAPTURE(tokens, cut);
                mode how;
                how.options.verify = true;
                how.cut = cut;
                how.dear_launches = cut % 2 == 0;
                how.tells_uses = cut % 3 != 0;
                CHECK(run_and_judge(w, s, tokens, how).launches > 0);
            }
        }
    });
}

}  // namespace
