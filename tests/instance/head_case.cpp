#include "head_case.hpp"

#include "compare.hpp"
#include "values.hpp"

#include "catena/chain/reference.hpp"
#include "catena/format/codec.hpp"
#include "catena/pick/config.hpp"
#include "catena/pick/name.hpp"

#include "catena_test/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <span>

namespace catena_test {

using namespace catena;

namespace {

std::vector<float> x_of(const head_case& c, std::size_t which) {
    const head_value& v = c.values[which];
    if (!v.x.empty()) return v.x;
    std::vector<float> x = random_values(which + 1, std::int64_t{v.k} * v.heads * c.tokens);
    for (std::size_t i = 0; c.alike && i < x.size(); ++i)
        x[i] = (i / 4 + i / 32) % 2 == 0 ? 1.0f : -1.0f;
    if (c.nan) x[x.size() / 2] = std::numeric_limits<float>::quiet_NaN();
    return x;
}

std::vector<float> factors_of(const head_case& c) {
    std::vector<float> out = random_values(21, c.rope.dims / 2);
    for (float& f : out) f = 2 + f / 4;
    return out;
}

std::vector<std::int64_t> rows_of(const head_case& c) {
    if (!c.rows.empty()) return c.rows;
    std::vector<std::int64_t> out;
    for (int t = 0; t < c.tokens; ++t) out.push_back(c.cache_rows - 1 - t);
    return out;
}

/// Heads with gaps between them.
bytes with_gaps(const head_value& v, const std::vector<float>& values) {
    const std::size_t k = size(v.k), heads = values.size() / k;
    std::vector<float> out(heads * (k + size(v.gap)));
    for (std::size_t h = 0; h < heads; ++h)
        std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(h * k), k,
                    out.begin() + static_cast<std::ptrdiff_t>(h * (k + size(v.gap))));
    return to_bytes(out);
}

std::int64_t cache_row_bytes(const head_value& v) {
    return row_bytes(v.cache, std::int64_t{v.k} * v.heads);
}
/// Rows of a cache lie apart, as those of a view of one may.
constexpr std::int64_t cache_gap = 16;
std::int64_t cache_stride(const head_value& v) { return cache_row_bytes(v) + cache_gap; }

/// Two values that have the same rows, one behind the other; or one alone.
struct row_of_values {
    const head_value *front, *behind = nullptr;

    std::int64_t elements() const {
        return front->k + (behind != nullptr ? behind->k : front->gap);
    }
    std::int64_t bytes_of_cache() const {
        return cache_row_bytes(*front) + (behind != nullptr ? cache_row_bytes(*behind) : 0);
    }
};
row_of_values row_with(const head_case& c, std::size_t which) {
    if (c.values[which].behind) return {&c.values[which - 1], &c.values[which]};
    const bool two = which + 1 < c.values.size() && c.values[which + 1].behind;
    return {&c.values[which], two ? &c.values[which + 1] : nullptr};
}

/// What lies in rows of several values, or with gaps.
std::vector<float> without_gaps(const head_case& c, std::size_t which, const bytes& raw) {
    const head_value& v = c.values[which];
    const std::vector<float> all = from_bytes<float>(raw);
    const std::size_t step = size(row_with(c, which).elements());
    std::vector<float> out;
    for (std::size_t at = v.behind ? step - size(v.k) : 0; at < all.size(); at += step)
        out.insert(out.end(), all.begin() + static_cast<std::ptrdiff_t>(at),
                   all.begin() + static_cast<std::ptrdiff_t>(at + size(v.k)));
    return out;
}

/// What lies in memory for the launch of a case.
class launch_data {
  public:
    launch_data(machine& on, const head_case& c, bool results) : on_(on), c_(c), results_(results) {
        a.tokens = c.tokens;
        a.turn = rotation_of(c.rope);
        const bool turned = std::any_of(c.values.begin(), c.values.end(),
                                        [](const head_value& v) { return v.turned; });
        if (turned) a.positions = put<std::int32_t>("positions", positions_of(c));
        if (turned && c.factors) a.factors = put<float>("factors", factors_of(c));
        for (std::size_t i = 0; i < c.values.size(); ++i) add(i);
    }

    heads_args a;

  private:
    machine& on_;
    const head_case& c_;
    const bool results_;  // heads are results of a matvec

    template <class T>
    const T* put(const char* name, const std::vector<T>& values) {
        return static_cast<const T*>(on_.put(name, contents::data, to_bytes(values)));
    }

    /// What heads that lie in memory start from, their norm, and where they are written.
    void add_f32(std::size_t i, head_member& m) {
        const head_value& v = c_.values[i];
        const bytes x = with_gaps(v, x_of(c_, i));
        void* const at = on_.put("x", contents::data, x, size(c_.offset));
        m.x = static_cast<const float*>(at);
        m.x_nb1 = 4 * std::int64_t{v.k + v.gap};
        m.x_nb2 = m.x_nb1 * v.heads;
        m.f32_nb1 = 4 * row_with(c_, i).elements();
        m.f32_nb2 = m.f32_nb1 * v.heads;
        m.normed = v.normed, m.token_norm = v.token_norm, m.eps = 1e-6f;
        if (v.weighted)
            m.weight = static_cast<const float*>(
                on_.put("weight", contents::weights, to_bytes(weight_of(c_, i)), size(c_.offset)));
        if (v.written && v.behind)
            m.f32 = a.member[i - 1].f32 + c_.values[i - 1].k;
        else if (v.written)
            m.f32 = static_cast<float*>(
                v.in_place ? at : on_.blank("f32", size(m.f32_nb2 * c_.tokens), size(c_.offset)));
    }

    void add(std::size_t i) {
        const head_value& v = c_.values[i];
        head_member& m = a.member[a.members++];
        m.k = v.k, m.heads = v.heads;
        m.first_row = a.rows;
        a.rows += v.heads * c_.tokens;
        if (!results_) add_f32(i, m);
        m.turned = v.turned;
        m.scale = v.scale;
        if (v.cache == format::unknown) return;
        m.cache_type = v.cache;
        m.cache_nb = row_with(c_, i).bytes_of_cache() + cache_gap;
        m.cache_rows = c_.cache_rows;
        if (v.behind)
            m.cache =
                static_cast<std::byte*>(a.member[i - 1].cache) + cache_row_bytes(c_.values[i - 1]);
        else if (v.cached.empty())
            m.cache = on_.blank("cache", size(m.cache_nb * c_.cache_rows));
        else
            m.cache = on_.put("cache", contents::data, v.cached);
        m.ids_of_64_bits = v.ids_of_64_bits;
        const std::vector<std::int64_t> rows = rows_of(c_);
        if (v.ids_of_64_bits)
            m.cache_ids = put<std::int64_t>("rows", rows);
        else
            m.cache_ids = put<std::int32_t>("rows", {rows.begin(), rows.end()});
    }
};

/// How far the numbers of a cache may be from the reference.
double limit_of(format cache) {
    switch (cache) {
        case format::f16:
            return 1e-6;
        case format::bf16:
            return 2e-5;
        case format::q8_0:
            return 1e-4;
        case format::q4_0:
            return 2e-2;
        default:
            return 1e-7;
    }
}

bytes row_before(const head_value& v, std::int64_t row) {
    if (v.cached.empty()) return bytes(size(cache_row_bytes(v)), untouched);
    const auto first = v.cached.begin() + row * cache_stride(v);
    return {first, first + cache_row_bytes(v)};
}

void check_cache(const head_case& c, const head_value& v, const bytes& cache,
                 const std::vector<float>& values, const chain::outputs& wanted) {
    const std::int64_t length = std::int64_t{v.k} * v.heads;
    std::map<std::int64_t, std::int64_t> last;  // of a row: the token that stays
    const std::vector<std::int64_t> rows = rows_of(c);
    for (std::size_t t = 0; t < rows.size(); ++t) last[rows[t]] = static_cast<std::int64_t>(t);
    for (std::int64_t r = 0; r < c.cache_rows; ++r) {
        INFO("row " << r << " of the cache");
        const auto first = cache.begin() + r * cache_stride(v);
        const bytes row(first, first + cache_row_bytes(v));
        const bytes gap(first + cache_row_bytes(v), first + cache_stride(v));
        CHECK(std::all_of(gap.begin(), gap.end(), [](std::byte b) { return b == untouched; }));
        const auto token = last.find(r);
        if (token == last.end()) {
            CHECK(row == row_before(v, r));
            continue;
        }
        if (!values.empty() && !c.nan) {
            const std::span of_token(values.data() + token->second * length, size(length));
            CHECK(row == encode_row(v.cache, of_token));
        }
        if (c.check_numbers && !c.nan)
            CHECK(nmse<double>(decode_row<double>(v.cache, row, length), wanted.stored.at(r)) <=
                  limit_of(v.cache));
    }
}

}  // namespace

std::vector<float> weight_of(const head_case& c, std::size_t which) {
    const head_value& v = c.values[which];
    std::vector<float> out = random_values(which + 11, v.token_norm ? v.k * v.heads : v.k);
    for (float& w : out) w = 1 + w / 8;
    return out;
}

std::vector<std::int32_t> positions_of(const head_case& c) {
    if (!c.positions.empty()) return c.positions;
    std::vector<std::int32_t> out;
    for (int i = 0; i < c.tokens * c.rope.positions(); ++i) out.push_back(3 + 7 * i);
    return out;
}

chain::outputs reference_of(const head_case& c, std::size_t which) {
    const head_value& v = c.values[which];
    chain::inputs in;
    in.k = v.k, in.rows = std::int64_t{v.heads} * c.tokens, in.heads = v.heads;
    in.eps = double{1e-6f};
    const auto x = x_of(c, which), w = weight_of(c, which);
    in.x.assign(x.begin(), x.end());
    in[operand::weight].assign(w.begin(), w.end());
    in.head_scale = double{v.scale};
    if (v.turned) turn_reference(c, in);
    if (v.cache != format::unknown) in.cache_rows = rows_of(c);
    lowered_chain chain;
    const auto add = [&chain](stage s) { chain.stages[chain.count++] = s; };
    if (v.normed) add({.kind = stage_kind::rms_norm});
    if (v.weighted) add({.kind = stage_kind::mul_weight, .reads = operand::weight});
    if (v.token_norm) {  // of rows that become heads only behind it
        chain::inputs tokens = in;
        tokens.k = in.k * in.heads, tokens.rows = c.tokens, tokens.heads = 1;
        add({.kind = stage_kind::emit, .formats = format_set::of(format::f32)});
        in.x = chain::reference(chain, tokens).value;
        chain = lowered_chain();
    }
    add({.kind = stage_kind::rope});
    add({.kind = stage_kind::store, .formats = cache_formats});
    add({.kind = stage_kind::emit, .formats = format_set::of(format::f32)});
    return chain::reference(chain, in);
}

head_outputs run(const instance& on, const head_case& c) {
    const auto machine = on.make_machine();
    const launch_data data(*machine, c, false);
    const heads_args& a = data.a;
    const int rows = rows_of_block(on.policy.row());
    const launch_config config{
        .blocks = static_cast<std::uint32_t>((a.rows + rows - 1) / rows),
        .threads = static_cast<std::uint32_t>(on.policy.threads()),
        .shared_bytes = static_cast<std::uint32_t>(shared_bytes(on.computes, on.policy, 0, 1)),
        .dependent = on.dependent};
    REQUIRE(machine->launch(on.kernel, config, &a, sizeof a) == "");
    head_outputs out(c.values.size());
    const std::vector<bytes> caches = read_caches(*machine, c, a);
    for (std::size_t i = 0; i < c.values.size(); ++i) {
        const head_member& m = a.member[i];
        const bool behind = c.values[i].behind;
        if (m.f32 != nullptr)
            out[i].f32 =
                machine->read(a.member[behind ? i - 1 : i].f32, size(m.f32_nb2 * c.tokens));
        out[i].cache = caches[i];
    }
    return out;
}

heads_args put_heads(machine& on, const head_case& c) { return launch_data(on, c, false).a; }

head_group put_results(machine& on, const head_case& c) { return launch_data(on, c, true).a; }

/// The rows of each value's cache with the gaps behind them, as if it had one of its own.
std::vector<bytes> read_caches(machine& on, const head_case& c, const head_group& a) {
    std::vector<bytes> out(c.values.size());
    for (std::size_t i = 0; i < c.values.size(); ++i) {
        const head_member& m = a.member[i];
        const head_value& v = c.values[i];
        if (m.cache == nullptr) continue;
        const bytes all =
            on.read(a.member[v.behind ? i - 1 : i].cache, size(m.cache_nb * c.cache_rows));
        for (auto row = all.begin(); row != all.end(); row += m.cache_nb) {
            const auto own = row + (v.behind ? cache_row_bytes(c.values[i - 1]) : 0);
            out[i].insert(out[i].end(), own, own + cache_row_bytes(v));
            out[i].insert(out[i].end(), row + m.cache_nb - cache_gap, row + m.cache_nb);
        }
    }
    return out;
}

bytes cache_with(const head_value& v, const std::vector<float>& numbers) {
    const std::size_t length = size(std::int64_t{v.k} * v.heads);
    bytes out;
    for (std::size_t at = 0; at < numbers.size(); at += length) {
        const bytes row = encode_row(v.cache, std::span(numbers.data() + at, length));
        out.insert(out.end(), row.begin(), row.end());
        out.resize(out.size() + size(cache_gap), untouched);
    }
    return out;
}

std::vector<float> numbers_in(const head_value& v, const bytes& cache) {
    std::vector<float> out;
    for (auto row = cache.begin(); row != cache.end(); row += cache_stride(v)) {
        const auto numbers = decode_row<float>(v.cache, bytes(row, row + cache_row_bytes(v)),
                                               std::int64_t{v.k} * v.heads);
        out.insert(out.end(), numbers.begin(), numbers.end());
    }
    return out;
}

void check_cache(const head_case& c, std::size_t which, const bytes& cache) {
    check_cache(c, c.values[which], cache, {}, reference_of(c, which));
}

std::vector<float> check_stored(const head_case& c, std::size_t which, const bytes& cache,
                                const std::vector<float>& values) {
    const head_value& v = c.values[which];
    head_case only_bits = c;
    only_bits.check_numbers = false;
    check_cache(only_bits, v, cache, values, {});
    const std::int64_t row = rows_of(c).front(), length = std::int64_t{v.k} * v.heads;
    if (row < 0 || row >= c.cache_rows) return {};
    const auto first = cache.begin() + row * cache_stride(v);
    return decode_row<float>(v.cache, bytes(first, first + cache_row_bytes(v)), length);
}

void turn_reference(const head_case& c, chain::inputs& in) {
    const std::vector<float> factors = factors_of(c);
    in.rope = c.rope, in.positions = positions_of(c);
    if (c.factors) in.factors.assign(factors.begin(), factors.end());
}

void check(const instance&, const head_case& c, const head_outputs& outputs) {
    for (std::size_t i = 0; i < c.values.size(); ++i) {
        const head_value& v = c.values[i];
        INFO("value " << i << " of " << v.heads << " heads of " << v.k << " in " << name(v.cache));
        const chain::outputs wanted = reference_of(c, i);
        const std::vector<float> values = without_gaps(c, i, outputs[i].f32);
        if (v.written && c.nan)
            CHECK(std::any_of(values.begin(), values.end(), [](float f) { return std::isnan(f); }));
        if (v.written && c.check_numbers && !c.nan)
            CHECK(nmse<float>(values, wanted.value) <= 1e-10);
        if (v.cache != format::unknown) check_cache(c, v, outputs[i].cache, values, wanted);
    }
}

}  // namespace catena_test
