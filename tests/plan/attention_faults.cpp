// Faults of launches that attend.
#include "fault_places.hpp"

namespace catena_test {

namespace {

/// A fault of a launch that attends: f(arguments) says whether the step can have it.
template <class F>
put_fault in_attention(F f) {
    return [f](plan_faults& p, std::size_t s) {
        return p.is_heads(s) && p.heads(s).attended.positions > 0 && f(p.heads(s));
    };
}
template <class F>
put_fault in_attended(F f) {
    return in_attention([f](heads_args& a) { return f(a.attended); });
}
template <class F>
put_fault in_queries(F f) {
    return in_attention([f](heads_args& a) { return f(a.member[0]); });
}
/// A fault of keys, or of values.
template <class F>
put_fault in_keys(F f) {
    return in_attention([f](heads_args& a) { return f(a.member[1]); });
}
template <class F>
put_fault in_values(F f) {
    return in_attention([f](heads_args& a) { return f(a.member[2]); });
}
/// A fault of the launch of a step that attends.
template <class F>
put_fault in_config(F f) {
    return [f](plan_faults& p, std::size_t s) {
        return p.is_heads(s) && p.heads(s).attended.positions > 0 && f(p.at(s).config);
    };
}

/// Lets an operand be another one.
template <class T, class U>
bool replace(T*& p, U* by) {
    const auto other = reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(by));
    return std::exchange(p, other) != other;
}

std::int64_t row_bytes_of(const head_member& m) { return std::int64_t{2} * m.k * m.heads; }

std::vector<fault> faults_of_operands() {
    using args = heads_args;
    using member = head_member;
    return {
        {"other queries", in_queries([](member& m) { return shift(m.x, 64); })},
        {"keys for queries",
         in_attention([](args& a) { return replace(a.member[0].x, a.member[1].x); })},
        {"values for keys",
         in_attention([](args& a) { return replace(a.member[1].x, a.member[2].x); })},
        {"queries of other heads",
         in_queries([](member& m) { return m.heads > 1 && (m.x_nb1 += 16) > 0; })},
        {"queries of other tokens",
         in_attention([](args& a) { return a.tokens > 1 && (a.member[0].x_nb2 += 16) > 0; })},
        {"queries times another number", in_queries([](member& m) { return (m.scale *= 2) != 0; })},
        {"keys times another number", in_keys([](member& m) { return (m.scale *= 2) != 0; })},
        {"values times another number", in_values([](member& m) { return (m.scale *= 2) != 0; })},
        {"queries that are not normed",
         in_queries([](member& m) { return std::exchange(m.normed, false); })},
        {"queries that are normed by tokens",
         in_queries([](member& m) { return m.normed && !std::exchange(m.token_norm, true); })},
        {"keys with the weight of queries", in_attention([](args& a) {
             return a.member[1].weight != nullptr &&
                    replace(a.member[1].weight, a.member[0].weight);
         })},
        {"keys that are not turned",
         in_keys([](member& m) { return std::exchange(m.turned, false); })},
        {"values that are turned", in_attention([](args& a) {
             return a.member[0].turned && !std::exchange(a.member[2].turned, true);
         })},
        {"queries that stand elsewhere",
         in_attention([](args& a) { return a.member[0].turned && shift(a.positions, 4); })},
        {"queries for values", in_attention([](args& a) {
             std::swap(a.member[0], a.member[2]);
             return true;
         })},
    };
}

std::vector<fault> faults_of_scores() {
    using by = attention_args;
    return {
        {"scores times another number", in_attended([](by& a) { return (a.scale *= 2) != 0; })},
        {"no mask", in_attended([](by& a) { return drop(a.mask); })},
        {"the mask of other positions", in_attended([](by& a) { return shift(a.mask, 2); })},
        {"the mask of another token", in_attended([](by& a) {
             return a.mask != nullptr && a.mask_nb > 0 && shift(a.mask, a.mask_nb);
         })},
        {"a mask at an odd byte", in_attended([](by& a) { return shift(a.mask, 1); })},
        {"one mask for all tokens", in_attention([](heads_args& a) {
             return a.tokens > 1 && a.attended.mask != nullptr &&
                    std::exchange(a.attended.mask_nb, 0) != 0;
         })},
        {"masks at other distances", in_attention([](heads_args& a) {
             return a.tokens > 1 && a.attended.mask != nullptr && (a.attended.mask_nb += 2) > 0;
         })},
        {"a mask that nobody asked for", in_attention([](heads_args& a) {
             a.attended.mask_nb = a.member[1].cache_nb;
             return a.attended.mask == nullptr && replace(a.attended.mask, a.member[1].x);
         })},
        {"no sinks", in_attended([](by& a) { return drop(a.sinks); })},
        {"sinks of other heads", in_attended([](by& a) { return shift(a.sinks, 4); })},
        {"sinks that nobody asked for", in_attention([](heads_args& a) {
             return a.attended.sinks == nullptr && replace(a.attended.sinks, a.member[0].x);
         })},
        {"a position less", in_attended([](by& a) { return --a.positions > 0; })},
        {"a position more", in_attended([](by& a) { return ++a.positions > 0; })},
        {"positions from the next row on", in_attended([](by& a) { return ++a.first_row > 0; })},
        {"positions from the row before on",
         in_attended([](by& a) { return --a.first_row >= -1; })},
        {"no positions", in_attended([](by& a) { return (a.positions = 0) == 0; })},
    };
}

std::vector<fault> faults_of_caches() {
    using args = heads_args;
    using member = head_member;
    return {
        {"keys in the cache of values, and values in that of keys", in_attention([](args& a) {
             std::swap(a.member[1].cache, a.member[2].cache);
             return true;
         })},
        {"keys and values in one cache",
         in_attention([](args& a) { return replace(a.member[2].cache, a.member[1].cache); })},
        {"keys that are not stored", in_keys([](member& m) { return drop(m.cache); })},
        {"values that are not stored", in_values([](member& m) { return drop(m.cache); })},
        {"a cache from 16 bytes further on", in_keys([](member& m) { return shift(m.cache, 16); })},
        {"a cache from its next row on", in_attention([](args& a) {
             --a.attended.first_row, --a.member[1].cache_rows, --a.member[2].cache_rows;
             return shift(a.member[1].cache, a.member[1].cache_nb) &&
                    shift(a.member[2].cache, a.member[2].cache_nb);
         })},
        {"keys at other distances", in_keys([](member& m) { return (m.cache_nb += 16) > 0; })},
        {"values whose rows lie over each other",
         in_values([](member& m) { return (m.cache_nb = row_bytes_of(m) / 2) > 0; })},
        {"a cache of keys that ends before the last position", in_attention([](args& a) {
             return (a.member[1].cache_rows = a.attended.first_row + a.attended.positions - 1) >= 0;
         })},
        {"a cache of values with a row less",
         in_values([](member& m) { return --m.cache_rows > 0; })},
        {"keys of a token in another row",
         in_keys([](member& m) { return shift(m.cache_ids, 8); })},
        {"values in the rows of keys", in_attention([](args& a) {
             return replace(a.member[2].cache_ids, a.member[1].cache_ids);
         })},
        {"numbers of rows of half their size",
         in_values([](member& m) { return std::exchange(m.ids_of_64_bits, false); })},
        {"keys of bf16", in_keys([](member& m) {
             return std::exchange(m.cache_type, format::bf16) != format::bf16;
         })},
        {"values of f32", in_values([](member& m) {
             return std::exchange(m.cache_type, format::f32) != format::f32;
         })},
        {"keys that are written as f32, too",
         in_keys([](member& m) { return m.f32 == nullptr && (m.f32 = const_cast<float*>(m.x)); })},
        {"queries that are stored", in_attention([](args& a) {
             const member& m = a.member[1];
             a.member[0].cache_type = m.cache_type, a.member[0].cache_nb = m.cache_nb;
             a.member[0].cache_rows = m.cache_rows, a.member[0].cache_ids = m.cache_ids;
             return replace(a.member[0].cache, m.cache);
         })},
    };
}

std::vector<fault> faults_of_sizes() {
    using args = heads_args;
    return {
        {"a head of keys less", in_attention([](args& a) { return --a.member[1].heads > 0; })},
        {"a head of values less", in_attention([](args& a) { return --a.member[2].heads > 0; })},
        {"half as many heads of keys and values", in_attention([](args& a) {
             if (a.member[1].heads % 2 != 0) return false;
             const std::int32_t less = a.tokens * (a.member[1].heads /= 2);
             a.member[2].heads /= 2;
             a.member[2].first_row -= less;
             return (a.rows -= 2 * less) > 0;
         })},
        {"half as many heads of queries", in_attention([](args& a) {
             const std::int32_t less = a.tokens * (a.member[0].heads /= 2);
             a.member[1].first_row -= less, a.member[2].first_row -= less;
             return (a.rows -= less) > 0;
         })},
        {"twice as many heads of half their size", in_attention([](args& a) {
             for (head_member& m :
                  {std::ref(a.member[0]), std::ref(a.member[1]), std::ref(a.member[2])})
                 m.k /= 2, m.heads *= 2, m.first_row *= 2, m.x_nb1 /= 2, m.f32_nb1 /= 2;
             return (a.rows *= 2) > 0;
         })},
        {"shorter queries", in_attention([](args& a) { return (a.member[0].k -= 8) > 0; })},
        {"shorter values", in_attention([](args& a) { return (a.member[2].k -= 8) > 0; })},
        {"heads of no whole lanes", in_attention([](args& a) {
             for (int i = 0; i < 3; ++i) a.member[i].k -= 4;
             return true;
         })},
        {"a token less to attend", in_attention([](args& a) {
             a.rows = 0;
             --a.tokens;
             for (int i = 0; i < 3; ++i) {
                 a.member[i].first_row = a.rows;
                 a.rows += a.tokens * a.member[i].heads;
             }
             return true;
         })},
        {"no values", in_attention([](args& a) {
             a.rows = a.member[2].first_row;
             return --a.members == 2;
         })},
        {"another value behind keys and values", in_attention([](args& a) {
             if (a.members == max_head_members) return false;
             head_member& m = a.member[a.members++] = a.member[2];
             m.first_row = a.rows;
             return (a.rows += a.tokens * m.heads) > 0;
         })},
        {"keys that begin at another row",
         in_attention([](args& a) { return --a.member[1].first_row > 0; })},
    };
}

std::vector<fault> faults_of_results() {
    using args = heads_args;
    using member = head_member;
    return {
        {"attention that is not written", in_queries([](member& m) { return drop(m.f32); })},
        {"attention that nobody quantizes",
         [](plan_faults& p, std::size_t s) {
             const bool attends = p.is_heads(s) && p.heads(s).attended.positions > 0;
             planned_chain& made = p.chains()[static_cast<std::size_t>(p.at(s).chain)];
             return attends && !std::exchange(made.layouts, {}).empty();
         }},
        {"attention that is written elsewhere",
         in_queries([](member& m) { return shift(m.f32, 64); })},
        {"attention that is written over queries",
         in_queries([](member& m) { return replace(m.f32, m.x); })},
        {"attention that is written over keys",
         in_attention([](args& a) { return replace(a.member[0].f32, a.member[1].x); })},
        {"attention that is written over a cache",
         in_attention([](args& a) { return replace(a.member[0].f32, a.member[2].cache); })},
        {"attention that is written at other distances",
         in_queries([](member& m) { return m.f32 != nullptr && (m.f32_nb1 += 16) > 0; })},
        {"attention of tokens that is written at other distances", in_attention([](args& a) {
             member& m = a.member[0];
             return a.tokens > 1 && m.f32 != nullptr && (m.f32_nb2 += 16) > 0;
         })},
    };
}

std::vector<fault> faults_of_blocks() {
    using config = launch_config;
    return {
        {"a block more that attends", in_config([](config& c) { return ++c.blocks > 0; })},
        {"a cluster of blocks less",
         in_config([](config& c) { return (c.blocks -= c.cluster, true); })},
        {"clusters of twice the blocks", in_config([](config& c) { return (c.cluster *= 2) > 0; })},
        {"clusters of a quarter of the blocks",
         in_config([](config& c) { return c.cluster > 2 && (c.cluster /= 4) > 0; })},
        {"clusters of more blocks than its kernel shares positions among", in_config([](config& c) {
             c.blocks = c.blocks / c.cluster * 16;
             return (c.cluster = 16) > 0;
         })},
        {"no clusters", in_config([](config& c) { return (c.cluster = 0) == 0; })},
        {"a block that attends with twice the threads",
         in_config([](config& c) { return (c.threads *= 2) > 0; })},
        {"too little shared memory to attend",
         in_config([](config& c) { return (c.shared_bytes -= 16) > 0; })},
    };
}

}  // namespace

std::vector<fault> faults_of_attention() {
    std::vector<fault> out;
    for (auto* list : {faults_of_operands, faults_of_scores, faults_of_caches, faults_of_sizes,
                       faults_of_results, faults_of_blocks})
        for (fault& f : list()) out.push_back(std::move(f));
    return out;
}

}  // namespace catena_test
