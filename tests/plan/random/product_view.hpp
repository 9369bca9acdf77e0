// What the arguments of a matvec or a matmul say of its columns, tokens and results.
#pragma once

#include "head_launch.hpp"
#include "launch.hpp"
#include "operands.hpp"

#include "catena/kernel/args.hpp"
#include "catena/pick/row.hpp"

#include <type_traits>
#include <vector>

namespace catena_test {

using catena::epilogue_part;
using catena::format;
using catena::matmul_args;
using catena::matvec_args;
using catena::matvec_member;

template <class Args>
class product_view {
  public:
    product_view(const catena::row& r, const Args& a, const catena::launch_config& config,
                 machine& m)
        : row_(r), a_(a), config_(config), machine_(m) {}

  protected:
    static constexpr bool tiled = std::is_same_v<Args, matmul_args>;

    const catena::row& row_;
    const Args& a_;
    const catena::launch_config& config_;
    machine& machine_;

    bool expert() const { return has_experts(a_); }
    /// Do ids pick its matrix? Dense members may stand behind those.
    bool picked(const matvec_member& m) const { return expert() && (tiled || m.experts > 0); }
    bool beside(const matvec_member& m) const { return expert() && !picked(m); }
    int columns(const matvec_member& m) const { return beside(m) ? tokens() : a_.columns; }
    /// Has each matrix or each column its own factor and bias?
    bool by_operand(const matvec_member& m) const { return picked(m) || !tiled; }
    /// Are the results of a token's slots added up? Then a column is a token.
    bool combined() const {
        if constexpr (tiled)
            return false;
        else
            return a_.combined;
    }
    int apart() const { return combined() ? 1 : a_.slots; }  ///< columns of a token
    int slot(int c) const { return expert() ? c % apart() : c; }
    int token(int c) const { return expert() ? c / apart() : 0; }
    int tokens() const { return expert() ? a_.columns / apart() : 1; }

    /// Elements that have a norm together: of a head that is gated, or all.
    int head() const {
        if constexpr (tiled) return a_.k;
        return a_.gate.data != nullptr ? a_.gate.k : a_.k;
    }

    bool early() const {
        if constexpr (tiled)
            return false;
        else
            return a_.weights_early;
    }

    struct target {
        void* to;
        format layout;
    };
    static std::vector<target> quantized(const matvec_member& m) {
        std::vector<target> out;
        for (const target& t : {target{m.q8_1, format::q8_1},
                                {m.q8_1_mmq_d4, format::q8_1_mmq_d4},
                                {m.q8_1_mmq_ds4, format::q8_1_mmq_ds4},
                                {m.bf16_mma, format::bf16_mma},
                                {m.f16_mma, format::f16_mma}})
            if (t.to != nullptr) out.push_back(t);
        return out;
    }

    catena::epilogue_set parts_of(const matvec_member& m) const {
        catena::epilogue_set out;
        if (combined()) out = out | epilogue_part::combine;
        if (m.scale != 1) out = out | epilogue_part::scale;
        if (m.factor != nullptr || m.up_factor != nullptr) out = out | epilogue_part::factor;
        if (m.bias != nullptr || m.up_bias != nullptr) out = out | epilogue_part::bias;
        if (m.up != nullptr) out = out | epilogue_part::glu;
        if (m.up == nullptr && m.function != catena::gate_function::none)
            out = out | epilogue_part::act;
        if (m.residual != nullptr) out = out | epilogue_part::residual;
        if (!quantized(m).empty()) out = out | epilogue_part::quantize;
        if (heads_of(a_, m) != nullptr) out = out | epilogue_part::heads;
        return out;
    }

    void demand(bool fine, const char* what) const {
        if (!fine) machine_.blame(what);
    }

    operand_range flat(const char* name, const void* p, std::int64_t bytes) const {
        return {name, static_cast<const std::byte*>(p), bytes, {1, 1, 1}, {0, 0, 0}};
    }
    operand_range result(const char* name, const matvec_member& m, const void* p, std::int64_t nb1,
                         std::int64_t nb2) const {
        return {name,
                static_cast<const std::byte*>(p),
                std::int64_t{m.rows} * 4,
                {picked(m)   ? apart()
                 : beside(m) ? 1
                             : columns(m),
                 tokens(), 1},
                {nb1, nb2, 0},
                static_cast<int>(&m - a_.member)};
    }
};

}  // namespace catena_test
