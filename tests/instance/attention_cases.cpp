// The cases of rows that attend: heads of several lengths, groups of queries that clusters share,
// one to eight tokens, positions of one block and of clusters, masks, sinks, and rows of caches
// that no position or several tokens have.
#include "attention_case.hpp"
#include "sweep.hpp"

#include "catena/kernel/attention_layout.hpp"

namespace catena_test {

using namespace catena;

namespace {

/// Lengths of heads that fill a policy's lanes, and that do not.
std::vector<attention_case> of_lengths(int most) {
    std::vector<attention_case> all;
    for (const int k : {8, 64, 72, 3 * most / 4, most})
        all.push_back({.what = "heads of " + std::to_string(k),
                       .k = k,
                       .group = 3,
                       .tokens = 2,
                       .positions = 31,
                       .normed = true,
                       .weighted = true,
                       .turned = true,
                       .masked = true});
    return all;
}

std::vector<attention_case> of_sizes(int k, int most_blocks) {
    std::vector<attention_case> all;
    for (const int positions : {1, 31, 64, 100, 256, 768})
        for (const int cluster : {1, 2, 4, 8}) {
            if (cluster > 1 && positions <= 64 * cluster / 2) continue;  // as with fewer blocks
            if (cluster > 1 && cluster > most_blocks) continue;
            all.push_back({.what = std::to_string(positions) + " positions, clusters of " +
                                   std::to_string(cluster) + " at most",
                           .k = k,
                           .key_heads = positions > 256 ? 1 : 2,
                           .group = positions == 100 ? 4 : 1,
                           .positions = positions,
                           .cluster = cluster,
                           .masked = cluster != 1,
                           .sinks = cluster == 4});
        }
    return all;
}

/// Queries of a head of keys that one cluster has, and that clusters share, the last with fewer.
std::vector<attention_case> of_queries(int k) {
    std::vector<attention_case> all;
    for (const int sms : {2, 132})
        for (const int group : {1, 3, 4, 8})
            for (const int tokens : {1, 2, 4, 8}) {
                if (sms == 2 && group * tokens <= queries_abreast) continue;  // as with more
                all.push_back({.what = std::to_string(tokens) + " tokens, " +
                                       std::to_string(group) + " queries of a head of keys, " +
                                       std::to_string(sms) + " SMs",
                               .k = k,
                               .group = group,
                               .tokens = tokens,
                               .positions = tokens == 2 ? 100 : 64,
                               .sms = sms,
                               .turned = true,
                               .masked = tokens > 1,
                               .differs = true});
            }
    return all;
}

/// Masks, sinks, and numbers that are none.
std::vector<attention_case> of_scores(int k) {
    std::vector<attention_case> all;
    for (const int positions : {40, 200}) {
        const attention_case base{.what = "",
                                  .k = k,
                                  .group = 3,
                                  .tokens = 2,
                                  .positions = positions,
                                  .rows_behind = 3,
                                  .masked = true};
        const auto add = [&](const char* what, auto&& change) {
            attention_case c = base;
            c.what = what + (", " + std::to_string(positions)) + " positions";
            change(c);
            all.push_back(std::move(c));
        };
        add("neither mask nor sinks", [](auto& c) { c.masked = false; });
        add("sinks alone", [](auto& c) { c.masked = false, c.sinks = true; });
        add("hidden positions hold NaN", [](auto& c) { c.hidden = hidden_positions::third; });
        add("hidden positions and sinks",
            [](auto& c) { c.hidden = hidden_positions::third, c.sinks = true; });
        add("tokens see other positions", [](auto& c) {
            c.tokens = 4, c.hidden = hidden_positions::third, c.differs = true;
            c.nan_key = 1, c.nan_value = 4;
        });
        add("a token sees nothing", [](auto& c) { c.hidden = hidden_positions::all; });
        add("no token sees anything, all is NaN",
            [](auto& c) { c.tokens = 1, c.hidden = hidden_positions::all; });
        add("a token sees a sink alone",
            [](auto& c) { c.hidden = hidden_positions::all, c.sinks = true; });
        add("a NaN in a key", [](auto& c) { c.nan_key = 5; });
        add("a NaN in a value", [](auto& c) { c.nan_value = 5; });
        add("a NaN in a value that hardly counts",
            [](auto& c) { c.nan_value = 5, c.hardly = true; });
        add("scores far apart", [](auto& c) { c.large_keys = true; });
    }
    return all;
}

/// Which rows of the caches tokens have, and where heads lie.
std::vector<attention_case> of_places(int k) {
    std::vector<attention_case> all;
    for (const bool of_64_bits : {false, true}) {
        const attention_case base{.what = "",
                                  .k = k,
                                  .group = 2,
                                  .tokens = 2,
                                  .positions = of_64_bits ? 150 : 50,
                                  .first_row = 7,
                                  .rows_behind = 5,
                                  .masked = true,
                                  .ids_of_64_bits = of_64_bits};
        const auto add = [&](const char* what, auto&& change) {
            attention_case c = base;
            c.what = what;
            change(c);
            all.push_back(std::move(c));
        };
        add("positions in the midst of the caches", [](auto&) {});
        add("rows that are no positions", [](auto& c) {
            c.tokens = 3, c.rows = {2, c.first_row + c.positions, c.first_row + 30};
        });
        add("rows outside of the caches", [&](auto& c) {
            const std::int64_t far = of_64_bits ? (std::int64_t{1} << 32) + 8 : 1 << 30;
            c.tokens = 4, c.rows = {-1, c.first_row + c.positions + c.rows_behind, 8, far};
        });
        add("tokens with the same row: the last stays", [](auto& c) {
            c.tokens = 4, c.rows = {20, 9, 20, 9};
        });
        add("rows of every block", [](auto& c) {
            c.tokens = 4, c.rows = {c.first_row, c.first_row + c.positions - 1, 40, 32};
        });
        add("rows at both sides of the end of a block's share, of 38 positions", [](auto& c) {
            c.rows = {c.first_row + 37, c.first_row + 38};
        });
    }
    const attention_case base{.what = "",
                              .k = k,
                              .group = 3,
                              .tokens = 3,
                              .positions = 70,
                              .normed = true,
                              .weighted = true,
                              .turned = true,
                              .gap = 8};
    const auto add = [&](const char* what, auto&& change) {
        attention_case c = base;
        c.what = what;
        change(c);
        all.push_back(std::move(c));
    };
    add("gaps between heads", [](auto&) {});
    add("the results of a head together", [](auto& c) { c.by_head = true; });
    add("results as q8_1 alone", [](auto& c) { c.f32 = false; });
    add("rows of q8_1 without padding", [](auto& c) { c.k = 64, c.group = 4, c.f32 = false; });
    add("a norm without a weight, a scale",
        [](auto& c) { c.weighted = false, c.query_scale = 0.125f; });
    return all;
}

}  // namespace

std::vector<attention_case> attention_cases(const row_policy& how) {
    const int most = head_values(how);
    std::vector<attention_case> all;
    for (const auto& some : {of_lengths(most), of_sizes(most, how.cluster), of_queries(most),
                             of_scores(most / 2), of_places(most / 2)})
        all.insert(all.end(), some.begin(), some.end());
    return all;
}

}  // namespace catena_test
