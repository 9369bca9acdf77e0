// A piece of what a group's step computes, as it is sampled: some rows of one member times some
// columns. Its operands are seeded, and what should come out is computed from them in double.
#pragma once

#include "check.hpp"
#include "quantized.hpp"

#include "catena/chain/reference.hpp"

#include <cmath>
#include <map>
#include <span>
#include <utility>

namespace catena::tool {

inline constexpr double same_activation_limit = 1e-6;
inline constexpr double exact_limit = 5e-4;
/// For an activation in fp8: rounding to e4m3 alone is 7e-4.
inline constexpr double fp8_limit = 2e-3;

/// Products with an activation that was quantized. Its errors are small beside what is added up,
/// and of a few results all may be small beside that: n of them have a share f of the power that
/// they should with a probability of about f^(n / 2). The limit allows for one in a million.
inline comparison of_exact(const nmse_sum& sum, double limit) {
    const double room = sum.count() > 0 ? std::pow(10.0, 12 / sum.count()) : 1;
    return {"product, exact activation", sum.value(), limit * room};
}

/// A column of a piece: the activation row that it reads, and which one it is of the result and of
/// tensors of the result's shape.
struct column_place {
    std::int64_t x_row;
    std::int64_t slot, token;  ///< dense: the column, and 0; beside experts 0, and the token
    std::int64_t made_row;     ///< of the result, where it is quantized

    std::int64_t offset(std::int64_t nb1, std::int64_t nb2) const {
        return slot * nb1 + token * nb2;
    }
};

/// The work of one block or cluster, or a part of it.
struct piece_of_product {
    int member;
    int first, end;            ///< rows of the member
    std::int64_t expert = -1;  ///< its matrix; -1: dense
    std::uint32_t block = 0;   ///< or cluster
    std::vector<column_place> columns = {};
    bool summand = false;  ///< one of a token's slots that are added up, before the residual
};

inline std::byte* bytes_at(const void* base, std::int64_t offset) {
    return const_cast<std::byte*>(static_cast<const std::byte*>(base)) + offset;
}

/// Columns of a member's result: a dense one beside experts has one for each token.
template <class Args>
std::int64_t results_of(const Args& a, const matvec_member& m) {
    return has_experts(a) && m.experts == 0 ? a.columns / a.slots : a.columns;
}

/// A chain that takes any matrix: a place may have readers that several chains of the table list.
inline lowered_chain with_format(lowered_chain chain, format type) {
    for (stage& s : chain.stages)
        if (s.kind == stage_kind::mul_mat || s.kind == stage_kind::mul_mat_id)
            s.formats = s.formats | type;
    return chain;
}

/// The operands of one piece.
class piece_data {
  public:
    piece_data(const matvec_member& m, std::int64_t k, const own_ops* ops, piece_of_product where)
        : member(m), at(std::move(where)), k_(k), ops_(ops) {}

    const matvec_member& member;
    piece_of_product at;

    int rows() const { return at.end - at.first; }
    const std::byte* weight() const { return matrix(member.weight); }
    std::byte* dst(const column_place& c) const {
        return bytes_at(member.dst, c.offset(member.dst_nb1, member.dst_nb2) + 4 * at.first);
    }

    /// The results are poison, so that what the launch leaves out is seen; a residual may lie
    /// there.
    void seed(machine& on, std::uint64_t seed, const placement& where) const {
        const auto key = [&](const void* p) { return random_bits(seed, where.key(p)); };
        for (const void* m : {member.weight, member.up})
            if (m != nullptr) seed_matrix(on, matrix(m), key(matrix(m)));
        for (const float* s : {member.weight_scale, member.up_scale})
            if (s != nullptr)
                each_scale([&](int, std::int64_t, std::int64_t index) {
                    auto* const to = const_cast<float*>(s + index);
                    write_values(on, to, seeded(key(to), 1, 1, 0.1f));
                });
        for (const column_place& c : at.columns)
            if (member.dst != nullptr) write_values(on, dst(c), poison(rows()));
        for (const part_operand_field& f : part_operand_fields) {
            const bool number = info(f.part).reads == part_operand::number;
            for (const float* operand : {member.*f.data, of_up(f)})
                for (std::byte* const to : places_of(f, operand))
                    write_values(
                        on, to,
                        number ? seeded(key(to), 1, 1, 0.5f) : seeded(key(to), rows(), 0, 1));
        }
    }

    /// Reads the operands of the epilogue, once all are seeded and before the launch: a result may
    /// take the residual's place.
    void keep_operands(machine& on) {
        for (const part_operand_field& f : part_operand_fields) {
            const bool number = info(f.part).reads == part_operand::number;
            const auto keep = [&](const float* operand, std::vector<double>& to) {
                for (const std::byte* from : places_of(f, operand))
                    append(to, read_values(on, from, number ? 1 : rows()));
            };
            keep(member.*f.data, kept_[f.part].values);
            keep(of_up(f), kept_[f.part].of_up);
        }
    }

    const std::vector<double>& residual() const { return kept_[epilogue_part::residual].values; }

    /// What should come out, [rows, columns], for an activation in double.
    std::vector<double> reference(machine& on, const lowered_chain& chain,
                                  const std::vector<double>& x) const {
        chain::matrix w = kept_;
        if (at.summand) w[epilogue_part::residual] = {};
        w.type = member.type;
        w.rows = rows();
        w.experts = at.expert < 0 ? 0 : 1;
        w.values = read_matrix(on, member.weight, member.weight_scale);
        w.numbers = numbers_of(member);
        if (member.up != nullptr) w.up = read_matrix(on, member.up, member.up_scale);
        w.gated_by = meaning_of(ops_, {member.function, {member.alpha, member.limit}});
        w.own = meaning_of(ops_, member.own);
        chain::inputs in;
        in.k = k_;
        in.rows = std::ssize(at.columns);
        in.matrices.push_back(std::move(w));
        if (at.expert >= 0) in.ids.assign(at.columns.size(), 0);
        std::vector<double> read;
        for (const column_place& c : at.columns)
            read.insert(read.end(), x.begin() + c.x_row * k_, x.begin() + (c.x_row + 1) * k_);
        return chain::reference_from_activation(with_format(chain, member.type), in, read)
            .products[0];
    }

  private:
    std::int64_t k_;
    const own_ops* ops_;
    chain::matrix kept_;  ///< the operands of its epilogue

    std::int64_t expert() const { return at.expert < 0 ? 0 : at.expert; }

    static void append(std::vector<double>& to, const std::vector<float>& values) {
        to.insert(to.end(), values.begin(), values.end());
    }
    std::byte* matrix(const void* base) const {
        return bytes_at(base, expert() * member.expert_bytes + at.first * member.row_bytes);
    }
    const float* of_up(const part_operand_field& f) const {
        return f.of_up == nullptr ? nullptr : member.*f.of_up;
    }
    /// Where the piece reads an operand of a part: one place, or one for each column.
    std::vector<std::byte*> places_of(const part_operand_field& f, const float* operand) const {
        if (operand == nullptr) return {};
        const part_operand kind = info(f.part).reads;
        const bool result = kind == part_operand::result;
        const std::int64_t step = kind == part_operand::number ? 4 * member.factor_step
                                                               : member.*f.nb1,
                           first = kind == part_operand::number ? 0 : 4 * at.first;
        if (!result && (at.expert >= 0 || step == 0))
            return {bytes_at(operand, expert() * step + first)};
        std::vector<std::byte*> places;
        for (const column_place& c : at.columns)
            places.push_back(bytes_at(
                operand, first + (result ? c.offset(step, member.*f.nb2) : c.made_row * step)));
        return places;
    }

    void seed_matrix(machine& on, std::byte* to, std::uint64_t key) const {
        const std::int64_t row = row_bytes(member.type, k_);
        std::vector<std::byte> all(static_cast<std::size_t>(rows() * row));
        fill_random_blocks(member.type, key, 0, all);
        for (int r = 0; r < rows(); ++r)
            on.write(to + r * member.row_bytes,
                     std::span(all).subspan(static_cast<std::size_t>(r * row),
                                            static_cast<std::size_t>(row)));
    }
    /// Calls visit(row of the piece, first value, index of the scale) for every scale of a row.
    template <class Visit>
    void each_scale(const Visit& visit) const {
        for (int r = 0; r < rows(); ++r)
            for (std::int64_t i = 0; i < k_; i += member.scale_values)
                visit(r, i,
                      scale_index(member, static_cast<int>(expert()), at.first + r,
                                  static_cast<int>(i)));
    }
    std::vector<double> read_matrix(machine& on, const void* base, const float* scales) const {
        std::vector<double> out;
        for (int r = 0; r < rows(); ++r) {
            const auto bytes =
                read_bytes(on, matrix(base) + r * member.row_bytes, row_bytes(member.type, k_));
            const auto row = decode_row<double>(member.type, bytes, k_);
            out.insert(out.end(), row.begin(), row.end());
        }
        if (scales == nullptr) return out;
        each_scale([&](int r, std::int64_t first, std::int64_t index) {
            const auto by = static_cast<double>(read_values(on, scales + index, 1).front());
            const std::int64_t end = std::min(first + member.scale_values, k_);
            for (std::int64_t i = first; i < end; ++i)
                out[static_cast<std::size_t>(r * k_ + i)] *= by;
        });
        return out;
    }
};

/// The products of a step against the reference, whose activation is the one that the step read, or
/// one that nobody rounded.
class compared_products {
  public:
    /// Compares what column `c` of a piece wrote, if its member writes f32.
    void add(machine& on, const piece_data& p, const column_place& c, std::span<const double> same,
             std::span<const double> exact) {
        if (p.member.dst == nullptr) return;
        written_ = true;
        const auto found = read_values(on, p.dst(c), p.rows());
        for (std::size_t r = 0; r < found.size(); ++r) {
            same_.add(static_cast<double>(found[r]), same[r]);
            exact_.add(static_cast<double>(found[r]), exact[r]);
        }
    }

    /// `same_sums`: the reference adds what the kernel adds. `limit`: of an exact activation.
    void report(bool same_sums, double limit, std::vector<comparison>& to) const {
        if (!written_) return;
        if (same_sums)
            to.push_back({"product, same activation", same_.value(), same_activation_limit});
        to.push_back(of_exact(exact_, limit));
    }

  private:
    bool written_ = false;
    nmse_sum same_, exact_;
};

/// The experts that the tokens of a routing are sent to.
std::vector<std::int32_t> experts_of(const chain::inputs& routing);

/// Distinct experts for every token, or the token's own. Returns ids[slots * token + slot], as they
/// lie there then: tokens may share them.
template <class Args>
std::vector<std::int32_t> seed_ids(machine& on, const Args& a, int tokens, std::uint64_t key) {
    const int experts = a.member[0].experts;
    std::vector<std::int32_t> ids(static_cast<std::size_t>(a.slots * tokens));
    if (a.ids == nullptr) {
        for (std::size_t i = 0; i < ids.size(); ++i)
            ids[i] = static_cast<std::int32_t>(i) / a.slots % experts;
        return ids;
    }
    const auto row = [&](int token) {
        return reinterpret_cast<std::byte*>(const_cast<std::int32_t*>(a.ids)) + token * a.ids_nb1;
    };
    for (int token = 0; token < tokens; ++token) {
        std::vector<std::int32_t> deck(static_cast<std::size_t>(experts));
        for (int i = 0; i < experts; ++i) deck[static_cast<std::size_t>(i)] = i;
        for (int slot = 0; slot < a.slots; ++slot) {
            const std::uint64_t bits =
                random_bits(key, static_cast<std::uint64_t>(token * a.slots + slot));
            const auto other =
                static_cast<std::size_t>(slot) +
                static_cast<std::size_t>(bits % static_cast<std::uint64_t>(experts - slot));
            std::swap(deck[static_cast<std::size_t>(slot)], deck[other]);
        }
        deck.resize(static_cast<std::size_t>(a.slots));
        on.write(row(token), std::as_bytes(std::span(deck)));
    }
    const auto slots = static_cast<std::size_t>(a.slots);
    for (int token = 0; token < tokens; ++token)
        on.read(row(token), std::as_writable_bytes(std::span(ids).subspan(
                                static_cast<std::size_t>(token) * slots, slots)));
    return ids;
}

/// What the engine or all of an epilogue would have made, where float weights are multiplied with
/// it.
template <class Args>
void checker::seed_activation(const Args& a, std::int64_t rows, std::uint64_t key) {
    for (std::int64_t r = 0; r < rows; ++r)
        write_values(on_, bytes_at(a.x, r * a.x_bytes),
                     seeded(random_bits(key, static_cast<std::uint64_t>(r)), a.k, 0, 1));
}

template <class Args>
std::vector<double> checker::read_f32(const Args& a, std::int64_t rows) const {
    std::vector<double> out;
    for (std::int64_t r = 0; r < rows; ++r) {
        const auto row = read_values(on_, bytes_at(a.x, r * a.x_bytes), a.k);
        out.insert(out.end(), row.begin(), row.end());
    }
    return out;
}

}  // namespace catena::tool
