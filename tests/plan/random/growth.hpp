// How a random graph grows: pieces of transformers, with everything that makes them hard.
#pragma once

#include "graph.hpp"

#include <utility>

namespace catena_test {

class growth {
  public:
    growth(random_graph& to, graph_builder& g);

    /// Adds pieces until the graph is large enough, then flags, and another legal order.
    void run();

    /// Per tensor: somebody reads it outside.
    std::vector<bool> read_outside() const;

  private:
    random_graph& to_;
    graph_builder& g_;
    std::int64_t k_, columns_;
    std::vector<format> palette_;
    int scaling_;             // how fp8 weights of the graph are scaled, mostly
    std::vector<id> hidden_;  // values [k, columns] of the main path
    std::vector<id> strays_;  // values of any shape
    std::vector<id> outside_;

    int below(int n) { return to_.below(n); }
    bool one_in(int n) { return to_.one_in(n); }
    template <class T>
    T any(const std::vector<T>& of) {
        return of[static_cast<std::size_t>(below(static_cast<int>(of.size())))];
    }
    template <class T>
    T any(std::initializer_list<T> of) {
        return of.begin()[below(static_cast<int>(of.size()))];
    }
    /// One of the last values, mostly the very last.
    id recent();
    std::int64_t ne(id t, int d) { return g_[t].ne[d]; }
    std::int64_t rows_of(id t) { return catena::elements(g_[t]) / ne(t, 0); }
    catena::sub_op gating();

    // growth.cpp: values and matmuls
    id leaf(format type, shape ne, bool around_one = false);
    id times_factors(id y, id ids, std::int64_t experts);
    id whole_leaf(format type, shape ne, bool around_one);
    format any_format(std::int64_t k);
    id weight(std::int64_t k, std::int64_t rows, std::int64_t matrices = 1);
    id weight_of(format type, shape ne);
    id scales(id w);
    id product(id w, id x, id ids = catena::no_tensor);
    id input(format type, shape ne, int below = 0);  // integers are below `below`
    id binary(op kind, id a, id b);
    id unary(catena::sub_op f, id x);
    id scale(id x);
    id mix(std::initializer_list<id> of, shape ne);
    id strided(id x, shape ne, std::int64_t nb1, std::int64_t offset);
    float epsilon();
    id normed(id x);
    id maybe_normed(id x);
    id norm_weight(std::int64_t k);
    id named(id x);
    id matmul(id x, std::int64_t rows);
    id after_matmul(id y, id x);
    id activated(id x);
    id low_rank(id x, std::int64_t rows);

    // pieces.cpp: pieces of a model
    void attention();
    void feed_forward();
    void experts();
    id best_of_groups(id choice, std::int64_t groups);
    id first_of(id sorted, std::int64_t count);
    id sorted(id x);
    id weights_of(id chosen);
    std::pair<id, id> routed(id odds, std::int64_t used);
    void gated_value();
    void merged_heads();
    void cache();
    void odd_norm();
    void odd_matmul();
    void odd_value();
    id stored(id value, std::int64_t length);
    id glu(id x, std::int64_t rows);
    id gated(id gate, id up);
    id two_halves(id both, std::int64_t rows);
    id write(id node, id into, id name);
    id permuted(id x);
    id heads_of(id x);
    void keep(id value);

    // attended.cpp: attention of few tokens, with its caches
    struct turn_of_heads {
        id positions, factors;
        int mode, dims;
    };
    struct attended_caches {
        id keys, values;
        std::int64_t k, heads, positions, first_row;
    };
    void attended();
    turn_of_heads some_turn(int mode);
    id turned(id heads, const turn_of_heads& by);
    attended_caches some_caches(std::int64_t k, std::int64_t heads, format type);
    id heads_for_attention(id x, std::int64_t k, std::int64_t heads, const turn_of_heads* by);
    void store_heads(id heads, id cache, id rows);
    id attends_to(id queries, const attended_caches& c, int trap);

    // blocks.cpp: blocks of other models
    void parallel();
    void norm_of_product();
    void latent();
    id joined_heads(id both, std::int64_t rank);
    id by_heads(id x);
    void batches();
    void of_states();
    void linear_attention();
    std::int64_t some_sequences();
    id repeated(id keys, std::int64_t heads);
    id copied_numbers(id from, std::int64_t heads, std::int64_t sequences);
    id decay_of_heads(id numbers);
    id share_of_heads(id from, std::int64_t heads, std::int64_t sequences);
    void recalled_heads();
    void scanned_heads();
    id of_tokens(id all, std::int64_t first, shape ne);
    id normed_head(id y, std::int64_t size, std::int64_t first);
    void multiply(id x);
    id shared_expert(id x);

    // order.cpp
    void flag();
    void reorder();
};

}  // namespace catena_test
