// A row step by hand, for engines that have no graph to plan or whose own matmuls read what Catena
// quantizes: norms, gates and sums in any of the formats that the rows write.
#pragma once

#include "catena/error/message.hpp"
#include "catena/kernel/args.hpp"
#include "catena/pick/pick.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

namespace detail {

/// A tensor of row_args that has rows of its own: read or written, `size` bytes an element.
struct row_tensor {
    const char* name;
    const void* data;
    const row_strides* at;
    int size;
};

/// Derives what a launch of a row has to compute from its arguments.
class row_launch_check {
  public:
    row_launch_check(stage_set stages, const row_args& a) : a_(a) {
        p_.needs.stages = stages;
        p_.sum = a.sum != nullptr;
        p_.k = a.k;
        p_.rows = a.rows;
        check_stages(stages);
        check_sizes();
        check_operands(stages);
        check_plain_outputs();
        check_blocks();
        check_scaled_outputs();
        if (p_.needs.emits.empty() && !p_.sum)
            fail("row: nothing is written: give an output an address");
    }

    const status& state() const { return state_; }
    const row_problem& asked() const { return p_; }
    /// The arguments, with quant_k and quant_blocks filled in.
    const row_args& args() const { return a_; }

  private:
    template <class... Args>
    void fail(const char* why, Args... args) {
        if (state_.ok()) state_ = failure(status_code::invalid_argument, why, args...);
    }
    void expect(bool right, const char* why) {
        if (!right) fail("row: %s", why);
    }

    void check_stages(stage_set stages) {
        stage_set passed;
        for (const stage_kind kind : stages) {
            if (!row_stages.has(kind)) fail("row: %s is no stage of a row", name(kind));
            if (!may_follow(passed, kind))
                fail("row: %s may not stand where it does: chain/stage.hpp has the order",
                     name(kind));
            passed = passed | kind;
        }
    }

    void check_sizes() {
        expect(a_.k > 0 && a_.rows > 0, "k and rows must be positive");
        const std::int64_t inner = std::int64_t{a_.n1} * a_.n2;
        expect(a_.n1 > 0 && a_.n2 > 0 && inner > 0 && a_.rows % (inner > 0 ? inner : 1) == 0,
               "rows must be a multiple of n1 * n2");
    }

    /// Address and strides of a tensor: aligned, and no stride of more than one row is forgotten.
    void reach(const row_tensor& t) {
        const auto address = reinterpret_cast<std::uintptr_t>(t.data);
        std::uint64_t bits = address;
        if (t.at != nullptr && state_.ok()) {
            const std::int64_t counts[] = {a_.n1, a_.n2, a_.rows / a_.n1 / a_.n2};
            const std::int64_t strides[] = {t.at->nb1, t.at->nb2, t.at->nb3};
            for (int d = 0; d < 3; ++d) {
                if (counts[d] == 1) continue;
                if (strides[d] < std::int64_t{a_.k} * t.size)
                    fail("row: %s has rows that overlap: its nb%d is %lld, a row has %lld bytes",
                         t.name, d + 1, static_cast<long long>(strides[d]),
                         static_cast<long long>(a_.k) * t.size);
                bits |= static_cast<std::uint64_t>(strides[d]);
            }
        }
        // Four elements at once are what a vector row reads or writes.
        const auto together = static_cast<int>(bits & (~bits + 1) & 0x1f) * (4 / t.size);
        if (bits % static_cast<std::uint64_t>(t.size) != 0)
            fail("row: %s is not aligned to its elements of %d bytes", t.name, t.size);
        if (together != 0 && together < p_.alignment) p_.alignment = together;
    }

    /// `wanted`: a stage reads the operand.
    void check_operand(const row_operand_field& f, bool wanted) {
        const float* data = a_.*f.data;
        if (wanted && data == nullptr && !f.optional)
            fail("row: %s is null, and the stages read it", f.name);
        else if (!wanted && data != nullptr)
            fail("row: %s is given, and no stage reads it", f.name);
        else if (data != nullptr && f.shape != operand_shape::number)
            reach({f.name, data, f.at != nullptr ? &(a_.*f.at) : nullptr, 4});
    }

    void check_operands(stage_set s) {
        const bool experts = s.has(stage_kind::combine);
        const bool alone = s.has(stage_kind::glu) && a_.x == nullptr;
        if (experts) {
            expect(a_.experts.results != nullptr && a_.experts.slots > 0,
                   "combine adds up experts.results of at least one slot");
            p_.slots = a_.experts.slots + (a_.x != nullptr ? 1 : 0);
        }
        if (a_.x == nullptr && !experts && !alone) fail("row: x is null, and the stages read it");
        for (const row_operand_field& f : row_operand_fields)
            check_operand(f, f.read_by.empty() || s.any(f.read_by));
        expect(!a_.one_plus_weight || s.has(stage_kind::mul_weight),
               "one_plus_weight is of a weight: add mul_weight to the stages");
        expect(s.has(stage_kind::scale) || a_.x_scale == 1,
               "x_scale is given, and no stage scales: add scale to the stages");
        p_.needs.own = (gates(s) && is_own(a_.function)) || is_own(a_.own.function);
        expect(s.has(stage_kind::own) == (a_.own.function != gate_function::none),
               "own and the stage of that name go together: give both or none");
        expect(!has_norm(s) || a_.eps >= 0, "eps is negative or no number");
        if (p_.sum) {
            expect(s.any(sum_stages), "sum is given, and the stages make none");
            reach({"sum", a_.sum, &a_.sum_at, 4});
        }
    }

    void check_plain_outputs() {
        each_plain_output(a_, [&](format f, const void* data, const row_strides& at) {
            if (data == nullptr) return;
            p_.needs.emits = p_.needs.emits | f;
            reach({name(f), data, &at, info(f).block_bytes});
        });
    }

    /// ggml's activations, whose rows are quant_k long: by default as long as the norm's.
    void check_blocks() {
        format_set asked;
        for (const layout_field<row_args>& f : layout_fields<row_args>)
            if (a_.*f.to != nullptr) asked = asked | f.type;
        if (asked.empty()) return;
        p_.needs.emits = p_.needs.emits | asked;
        if (a_.quant_k == 0) a_.quant_k = a_.k;
        const std::int64_t longer = a_.quant_k > a_.k ? a_.quant_k : a_.k;
        const std::int64_t shorter = a_.quant_k > a_.k ? a_.k : a_.quant_k;
        expect(shorter > 0 && shorter % 32 == 0 && longer % shorter == 0,
               "quant_k must be a multiple or a divisor of k, both multiples of 32");
        if (!state_.ok()) return;
        expect(std::int64_t{a_.rows} * a_.k % a_.quant_k == 0,
               "the rows do not fill whole activation rows of quant_k");
        if (a_.quant_blocks == 0)
            a_.quant_blocks = static_cast<std::int32_t>(q8_1_row_blocks(a_.quant_k));
        expect(a_.quant_blocks >= a_.quant_k / 32, "quant_blocks is less than quant_k / 32");
        p_.quant_k = a_.quant_k;
    }

    void check_scaled(const scaled_output_field& f) {
        const scaled_output& to = a_.*f.to;
        if (to.data == nullptr) return;
        p_.needs.emits = p_.needs.emits | f.type;
        if (scale_bytes(f.type, a_.k) > 0 && to.scales == nullptr)
            fail("row: %s.scales is null", f.name);
        if (f.scale != nullptr && a_.*f.scale == nullptr)
            fail("row: %s is written with a scale that is given: %s is null", f.name, f.scale_name);
        if (reinterpret_cast<std::uintptr_t>(to.data) % 4 != 0)
            fail("row: %s.data is not aligned to 4 bytes", f.name);
    }

    void check_scaled_outputs() {
        for (const scaled_output_field& f : scaled_output_fields) check_scaled(f);
        expect(a_.int8_sums == nullptr || a_.int8_token.data != nullptr,
               "int8_sums are the sums of int8_token, which is not written");
        expect(reads_f32(a_.scale_type), "scale_type must be f32, f16 or bf16");
    }

    row_args a_;
    row_problem p_;
    status state_;
};

}  // namespace detail

/// Picks and launches row steps of one table. Keep it: it sorts the table's rows once.
class row_launcher {
  public:
    /// What the table points to must outlive it. If its state is bad, every launch returns that.
    explicit row_launcher(const table& t, const preference& want = {}) : index_(t), want_(want) {}

    /// Applies `stages` to the rows of `a`, in their order, and writes every output that has an
    /// address. Operands that the stages read must be there, others null; kernel/args.hpp describes
    /// the arguments, their shapes and units. A quant_k of 0 means k, quant_blocks of 0 the padding
    /// of ggml's rows. `stream` is a cudaStream_t, or the host executor's device. Nothing is
    /// launched when the status is not ok: its sentence names the argument, or the limit of the
    /// nearest row of the table.
    status launch(stage_set stages, const row_args& a, void* stream) const {
        const detail::row_launch_check check(stages, a);
        if (!check.state().ok()) return check.state();
        const table& t = index_.rows();
        if (!t.state.ok()) return t.state;
        if (check.asked().needs.own && t.ops == nullptr)
            return failure(status_code::invalid_argument,
                           "row: the table has no ops of one's own: take one of a set with OPS");
        const picked best = pick(check.asked(), index_, want_);
        if (best.row < 0)
            return failure(status_code::no_instances, "row: no instance of %s does this: %s",
                           t.target == nullptr ? "an empty table" : t.target->name,
                           sentence(best.nearest).c_str());
        if (t.kernels == nullptr || t.kernels[best.row] == nullptr || t.launch == nullptr)
            return failure(status_code::no_kernel,
                           "row: the instance has no code here: link the kernels of %s",
                           t.target->name);
        return t.launch(t.kernels[best.row], best.config, &check.args(), sizeof(row_args), stream);
    }

  private:
    row_index index_;
    preference want_;
};

/// Launches one row step, as row_launcher does, but sorts the table's rows each time.
inline status launch_row(const table& t, stage_set stages, const row_args& a, void* stream) {
    return row_launcher(t).launch(stages, a, stream);
}

}  // namespace CATENA_NAMESPACE
