// A launch that attends, read off its arguments, as kernel/attended_head.hpp says what it does with
// them.
#pragma once

#include "catena/plan/detail/verify/attention_values.hpp"
#include "catena/plan/detail/verify/scan_launch.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::proof {

class attention_launch : public scan_launch {
  public:
    using scan_launch::scan_launch;

  protected:
    /// Several blocks read each operand, so no result may lie over one.
    void attend(const row& r, const heads_args& a) {
        const attention_args& by = a.attended;
        const head_member &m = a.member[0], &keys = a.member[1];
        const attended_shape n{m.k, m.heads, keys.heads, a.tokens, by.positions};
        attended_from from;
        from.queries = made_heads(r, a, m);
        from.keys = cached(r, a, keys);
        from.values = cached(r, a, a.member[2]);
        if (by.mask != nullptr) from.mask = mask(by, n).hash;
        if (by.sinks != nullptr) from.sinks = vector(by.sinks, n.heads, 4, "sinks").hash;
        const value v = attended(from, n, by.scale);
        if (m.f32 != nullptr)
            write(
                aligned_rows(m.f32, 16, "the heads", n.k, n.heads, m.f32_nb1, a.tokens, m.f32_nb2),
                v, "the heads", reads.size());
        quantize(by.q8_1, format::q8_1, v, n.k * n.heads, a.tokens);
    }

  private:
    /// What the launch reads of a cache, as if the heads of all tokens were stored there before: a
    /// block that has the position of one keeps it as it is stored.
    value cached(const row& r, const heads_args& a, const head_member& m) {
        const std::int64_t row = std::int64_t{m.k} * m.heads;
        const value heads = made_heads(r, a, m);
        const value all = store_heads(a, m, row, heads, attended_by_lane);
        const region whole = rows_of_cache(m, row, 0, m.cache_rows);
        const region part = rows_of_cache(m, row, a.attended.first_row, a.attended.positions);
        return part.lies_as(whole) ? all : part_of(all, whole, part, part.begin - whole.begin);
    }

    value mask(const attention_args& by, const attended_shape& n) {
        aligned(address_of(by.mask), 2, "the mask");
        if (n.tokens > 1) aligned(static_cast<std::uint64_t>(by.mask_nb), 2, "the mask");
        return read_at(mask_at(by.mask, n, by.mask_nb), "the mask");
    }
};

}  // namespace CATENA_NAMESPACE::proof
