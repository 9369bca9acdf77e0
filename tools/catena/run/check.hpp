// Runs a step on seeded data and compares what it wrote with the reference in double.
#pragma once

#include "machine.hpp"
#include "placement.hpp"

#include "catena/chain/evaluation.hpp"
#include "catena/runtime.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace catena::tool {

/// One output against one reference. NMSE = sum (found - expected)^2 / sum expected^2.
struct comparison {
    std::string of;  ///< "f32", "q8_1", "product, same activation", ...
    double nmse = 0, limit = 0;
    bool ok() const { return nmse <= limit; }  // false for NaN
};

/// What a step is found to be. A step that reads what a faulty one should have made says nothing of
/// its own kernel: what is wrong with it may follow from that.
enum class verdict : std::uint8_t { agrees, failed, follows, not_run };

struct step_result {
    std::vector<comparison> comparisons;
    double computed = 0, rows = 0;  ///< rows of output that were computed here, and that there are
    std::string fault;  ///< why the launch failed or was not made; empty: it ran to its end
    bool launched = true;
    bool lacks_kernel =
        false;         ///< this build has none for the step, or for the one that it follows
    int follows = -1;  ///< the earlier step, at fault or not run, that this one depends on

    bool ok() const {
        for (const comparison& c : comparisons)
            if (!c.ok()) return false;
        return fault.empty();
    }
    verdict outcome() const {
        return ok()           ? verdict::agrees
               : lacks_kernel ? verdict::not_run
               : follows >= 0 ? verdict::follows
                              : verdict::failed;
    }
};

struct check_options {
    std::uint64_t seed = 1;
    int random_rows = 64;  ///< of each matrix, besides its first, last and tail band
};

class made_activation;
class piece_data;
struct piece_of_product;
struct sampled_band;

class checker {
  public:
    checker(const plan& p, const placement& where, machine& on, const check_options& asked);

    /// Steps must come in launch order: a group reads what its row step wrote.
    step_result run(int step);

  private:
    /// A step that cannot be launched, with the reason; launched: it can.
    step_result before_launch(int step) const;
    step_result run_row(int step, const row_args& a);
    /// Gives a row step its operands; what a reference of it reads of these.
    void seed_row(const row_args& a, std::uint64_t key);
    chain::inputs read_row(const row_args& a) const;
    step_result run_heads(int step, const heads_args& a);
    step_result run_convolution(int step, const heads_args& a);
    step_result run_recalled(int step, const heads_args& a);
    step_result run_scanned(int step, const heads_args& a);
    step_result run_attended(int step, const heads_args& a);
    /// Gives all values of a step their heads, weights, turn and rows of caches. What a reference
    /// of each value reads of these.
    std::vector<chain::inputs> seed_heads(int step, const heads_args& a);
    /// Gives a constant the numbers of its key, whichever step reads it.
    void seed_constant(const float* to, std::int64_t count, float mean, float spread) const;
    template <class Compare>
    step_result launch_and_compare(int step, const heads_args& a, const Compare& compare);
    step_result run_routes(int step, const route_args& a);
    /// Gives a routing its logits; holds what a launch of it wrote against the reference.
    chain::inputs seed_routing(const route_args& a, std::uint64_t key);
    void compare_routing(const route_args& a, const chain::inputs& in, step_result& result);
    rope_numbers turn_of(const catena::step& s) const;
    /// What is written of the value that a row step makes, or a matvec besides its products.
    void compare_value(const row_args& a, const std::vector<double>& value, step_result& result);
    step_result run_matvec(int step, const matvec_args& a);
    /// A matvec that turns heads. Whole heads are seeded, around the rows of the blocks that run.
    step_result run_turned(int step, const matvec_args& a);
    /// Gives heads where their tokens stand, their rows of caches and the divisors of angles. What
    /// a reference of turned heads reads of these.
    chain::inputs seed_turn(int step, const head_group& a);
    /// Seeds what a matvec makes its activation of, and the weight of a norm.
    void seed_inputs(int step, const matvec_args& a, std::int64_t rows);
    /// What a matvec multiplies, before it quantizes that. Empty: another step has quantized it.
    std::vector<double> multiplied_by(int step, const matvec_args& a, std::int64_t rows) const;
    /// The activation as a matvec reads it, and as its maker would have it without quantizing.
    struct read_activations {
        std::vector<double> read, exact;
    };
    read_activations activations_of(int step, const matvec_args& a,
                                    const std::vector<double>& multiplied) const;
    step_result run_matmul(int step, const matmul_args& a);
    /// The parts of a matvec or of a matmul that are looked at, with seeded operands. `ids`: the
    /// expert of each column.
    std::vector<sampled_band> seed_bands(const matvec_args& a, const std::vector<std::int32_t>& ids,
                                         std::uint64_t key);
    std::vector<piece_data> seed_pieces(const matmul_args& a,
                                        std::vector<piece_of_product> sampled);
    /// Compares the products of a matvec. What its members quantized.
    std::map<int, made_activation> compare_bands(const lowered_chain& chain, const matvec_args& a,
                                                 const std::vector<sampled_band>& bands,
                                                 const std::vector<double>& read,
                                                 const std::vector<double>& exact,
                                                 step_result& result);
    void compare_norm(const matvec_args& a, const std::vector<double>& norm, step_result& result);
    /// The earlier step that makes the activation which a step reads. -1: it reads what the engine,
    /// or all of an epilogue, would have made, or makes its activation itself.
    int maker_of(int step) const;
    template <class Args>
    void seed_activation(const Args& a, std::int64_t rows, std::uint64_t key);
    template <class Args>
    std::vector<double> read_f32(const Args& a, std::int64_t rows) const;
    std::vector<double> read_activation(const matvec_args& a, std::int64_t rows) const;
    std::vector<double> read_activation(const matmul_args& a, format layout) const;
    std::vector<double> read_fp8(const scaled_output& at, std::int64_t rows, std::int64_t k) const;
    /// What members of a step quantized: compared, and the activations of the next steps.
    void keep(int step, std::uint64_t key, std::map<int, made_activation>& made, step_result& to);
    std::string launch(int step, const std::vector<std::uint32_t>& blocks);

    const plan& plan_;
    const placement& where_;
    machine& on_;
    check_options asked_;
    void* workspace_ = nullptr;
    std::map<int, std::vector<double>>
        activations_;  ///< per chain of the plan: its value, not quantized; of a norm that was
                       ///< begun what is to be divided by the rms
    std::map<int, std::vector<double>>
        squares_;                       ///< per chain: squares of a norm that was begun, or none
    std::map<int, step_result> wrong_;  ///< steps that do not agree
};

}  // namespace catena::tool
