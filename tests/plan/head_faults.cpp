// Faults of launches of heads.
#include "fault_places.hpp"

namespace catena_test {

namespace {

/// A fault of one value of a launch of heads: f(arguments, value) says whether the step can have
/// it.
template <class F>
put_fault in_heads(F f) {
    return [f](plan_faults& p, std::size_t s) {
        if (!p.is_heads(s)) return false;
        heads_args& a = p.heads(s);
        for (std::int32_t m = 0; m < a.members; ++m)
            if (f(a, a.member[m])) return true;
        return false;
    };
}

}  // namespace

std::vector<fault> faults_of_heads() {
    using args = heads_args;
    using member = head_member;
    return {
        {"heads of other numbers", in_heads([](args&, member& m) { return shift(m.x, 16 * 4); })},
        {"heads with another weight",
         in_heads([](args&, member& m) { return shift(m.weight, 4096); })},
        {"heads without their weight", in_heads([](args&, member& m) { return drop(m.weight); })},
        {"heads that are not normed",
         in_heads([](args&, member& m) { return std::exchange(m.normed, false); })},
        {"a norm of heads for one of tokens, or the other way", in_heads([](args&, member& m) {
             m.token_norm = !m.token_norm;
             return m.normed && m.heads > 1;
         })},
        {"heads with another eps",
         in_heads([](args&, member& m) { return m.normed && (m.eps *= 2) > 0; })},
        {"heads that are not turned",
         in_heads([](args&, member& m) { return std::exchange(m.turned, false); })},
        {"values that are turned, and should not be", in_heads([](args& a, member& m) {
             return a.turn.dims > 0 && !std::exchange(m.turned, true);
         })},
        {"heads times another number",
         in_heads([](args&, member& m) { return (m.scale *= 2) != 0; })},
        {"another turn",
         in_heads([](args& a, member& m) { return m.turned && (a.turn.log2_ratio *= 1.5f) != 0; })},
        {"pairs of another kind", in_heads([](args& a, member& m) {
             a.turn.pairs = a.turn.pairs == pairing::halves ? pairing::neighbors : pairing::halves;
             return m.turned;
         })},
        {"other positions",
         in_heads([](args& a, member& m) { return m.turned && shift(a.positions, 4); })},
        {"a turn without its divisors",
         in_heads([](args& a, member& m) { return m.turned && drop(a.factors); })},
        {"heads at other distances", in_heads([](args&, member& m) {
             return m.x != nullptr && m.heads > 1 && (m.x_nb1 += 16) > 0;
         })},
        {"a head less", in_heads([](args&, member& m) { return --m.heads > 0; })},
        {"shorter heads", in_heads([](args&, member& m) { return (m.k -= 32) > 0; })},
        {"values that begin at another row",
         in_heads([](args&, member& m) { return m.first_row > 0 && --m.first_row > 0; })},
        {"a value less", in_heads([](args& a, member& m) {
             return &m == a.member && a.members > 1 && --a.members > 0;
         })},
        {"heads that are not written", in_heads([](args&, member& m) { return drop(m.f32); })},
        {"heads that are written elsewhere",
         in_heads([](args&, member& m) { return shift(m.f32, 64); })},
        {"heads that are not stored", in_heads([](args&, member& m) { return drop(m.cache); })},
        {"heads in another cache", in_heads([](args&, member& m) { return shift(m.cache, 256); })},
        {"rows of a cache at other distances",
         in_heads([](args&, member& m) { return m.cache != nullptr && (m.cache_nb += 16) > 0; })},
        {"a cache with a row less",
         in_heads([](args&, member& m) { return m.cache != nullptr && --m.cache_rows > 0; })},
        {"a cache of another format", in_heads([](args&, member& m) {
             return m.cache != nullptr && std::exchange(m.cache_type, format::bf16) != format::bf16;
         })},
        {"other rows of the cache",
         in_heads([](args&, member& m) { return shift(m.cache_ids, 8); })},
        {"numbers of rows of another size", in_heads([](args&, member& m) {
             return m.cache != nullptr && std::exchange(m.ids_of_64_bits, false);
         })},
    };
}

}  // namespace catena_test
