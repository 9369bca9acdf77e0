// The record of one launch on symbolic memory: what it reads, what it writes, what it quantizes
// into the workspace, and the first thing that is wrong with it.
#pragma once

#include "catena/kernel/layout.hpp"
#include "catena/pick/row.hpp"
#include "catena/plan/detail/verify/graph.hpp"
#include "catena/plan/detail/verify/limits.hpp"
#include "catena/plan/step.hpp"

#include <cstdint>
#include <vector>

namespace CATENA_NAMESPACE::proof {

/// A quantized activation in the workspace.
struct slot_content {
    std::uint64_t begin = 0, end = 0;  ///< bytes of the workspace
    value what;
    std::uint64_t begun = 0;  ///< hash of what the squares behind it are of; 0: there are none
    format layout = format::unknown;
    std::int64_t k = 0, rows = 0;  ///< elements of a row, and rows, of the quantized value
    std::int32_t stream = 0;
};

/// Something that a step reads or writes in the engine's memory.
struct touched {
    region where;
    const char* name = "";
    bool by_element = false;  ///< each thread reads an element before it writes that of a result
};

struct result_of_step {
    region where;
    value what;
    const char* name = "";
    std::size_t first_read = 0, end_read = 0;  ///< the reads that go with it
};

/// What one launch reads and writes.
class launch_record {
  public:
    launch_record(const memory& there, const std::vector<written>& writes,
                  const std::vector<slot_content>& workspace, std::uint64_t workspace_at)
        : there_(there), writes_(writes), workspace_(workspace), workspace_at_(workspace_at) {}

    std::vector<touched> reads;
    std::vector<result_of_step> results;
    std::vector<touched> early;  ///< what it may read before the kernels before it are done
    std::vector<slot_content> quantized;    ///< what it writes into the workspace
    std::vector<slot_content> activations;  ///< what it reads there
    fault wrong;                            ///< the first

  protected:
    /// Begins with the next launch, on one of the engine's streams. It is replayed only if it is
    /// none that its kernel cannot do.
    void begin(std::int32_t stream, const fault& beyond_its_kernel) {
        stream_ = stream;
        reads.clear(), results.clear(), early.clear(), quantized.clear(), activations.clear();
        wrong = beyond_its_kernel;
    }

    void fail(const char* why, std::uint64_t byte, const char* operand) {
        if (!wrong) wrong = {why, byte, operand};
    }

    static region bytes_at(std::uint64_t at, std::uint64_t bytes) {
        region out(at, 1);
        out.add(static_cast<std::int64_t>(bytes), 1);
        return out;
    }

    void aligned(std::uint64_t address, std::uint64_t to, const char* name) {
        if (address % to != 0) fail("is misaligned", address, name);
    }

    /// f32 rows that a kernel reads or writes `to` bytes at a time.
    region aligned_rows(const void* p, std::uint64_t to, const char* name, std::int64_t k,
                        std::int64_t n1, std::int64_t nb1, std::int64_t n2 = 1,
                        std::int64_t nb2 = 0, std::int64_t n3 = 1, std::int64_t nb3 = 0) {
        aligned(address_of(p), to, name);
        if (n1 > 1) aligned(static_cast<std::uint64_t>(nb1), to, name);
        if (n2 > 1) aligned(static_cast<std::uint64_t>(nb2), to, name);
        if (n3 > 1) aligned(static_cast<std::uint64_t>(nb3), to, name);
        return rows_at(p, k, n1, nb1, n2, nb2, n3, nb3);
    }

    value read_at(const region& r, const char* name, bool by_element = false) {
        reads.push_back({r, name, by_element});
        return read(r);
    }
    value read(const region& r) const { return proof::read(there_, writes_, r); }

    value vector(const float* p, std::int64_t k, std::uint64_t alignment, const char* name,
                 bool by_element = false) {
        return read_at(aligned_rows(p, alignment, name, k, 1, 0), name, by_element);
    }
    /// What is read before the kernels before the launch are done.
    value constant(const float* p, std::int64_t count, std::uint64_t to, const char* name) {
        early.push_back({rows_at(p, count, 1, 0), name, false});
        return vector(p, count, to, name);
    }
    value number(const float* p, std::int64_t elements, const char* name) {
        return of_all(vector(p, 1, 4, name), elements);
    }

    /// A result, with which all reads go from `first_read` on that were made so far.
    void write(const region& r, const value& v, const char* name, std::size_t first_read) {
        results.push_back({r, v, name, first_read, reads.size()});
    }

    /// `begun`: hash of what the norm is of, if it is one that is begun.
    void quantize(const void* to, format layout, const value& v, std::int64_t k, std::int64_t rows,
                  std::uint64_t begun = 0) {
        if (to == nullptr) return;
        aligned(address_of(to), 16, "a quantized result");
        const std::int64_t of_row =
            begun != 0 ? begun_row_bytes(k) : activation_row_bytes(layout, k);
        slot_content c;
        c.begin = address_of(to) - workspace_at_;
        c.end = c.begin + static_cast<std::uint64_t>(rows * of_row);
        c.what = v;
        c.begun = begun;
        c.layout = layout;
        c.k = k;
        c.rows = rows;
        c.stream = stream_;
        quantized.push_back(c);
    }

    /// Are squares where those of rows of k lie that are quantized at an address?
    void check_squares(const float* squares, const void* rows_at, std::int64_t k,
                       std::int64_t rows) {
        const auto behind = static_cast<std::uint64_t>(rows * q8_1_row_bytes(k));
        if (address_of(squares) != address_of(rows_at) + behind)
            fail("do not lie behind their norm", address_of(squares), "squares");
    }

    /// The activation at an address of the workspace, as rows of k. `squares`: of a norm that the
    /// launch ends, which needs eps; null: it is none.
    value activation(const void* x, format layout, std::int64_t k, std::int64_t rows,
                     const float* squares = nullptr, float eps = 0) {
        const char* const name = "the activation";
        aligned(address_of(x), 16, name);
        const std::uint64_t at = address_of(x) - workspace_at_;
        for (const slot_content& c : workspace_) {
            if (c.begin != at) continue;
            // Row after row: rows that need no padding lie as one long row does.
            const bool in_rows = layout == format::q8_1 || layout == format::fp8_group;
            const auto whole = [layout](std::int64_t n) {
                return stored_elements(layout, n) == n && n % info(layout).block_elements == 0;
            };
            const bool cut = c.k == k || (in_rows && whole(c.k) && whole(k));
            if (c.layout != layout || !cut || c.rows * c.k != rows * k)
                fail("lies in the workspace otherwise than it is read", at, name);
            activations.push_back(c);
            if ((c.begun != 0) != (squares != nullptr) || (c.begun != 0 && c.k != k))
                fail("is a norm that is begun and not ended, or ended and not begun", at, name);
            if (squares == nullptr) return c.what;
            check_squares(squares, x, k, rows);
            return times(c.what, over_rms(c.begun, eps, k));
        }
        fail("is not, or no longer, in the workspace", at, name);
        return {};
    }

    /// What both skeletons write into the workspace, each in its own pointer.
    template <class Args>
    void store_quantized(format_set writes, const Args& a, const value& v, std::int64_t values,
                         std::int64_t k) {
        for (const layout_field<Args>& f : layout_fields<Args>) {
            const void* const to = a.*f.to;
            if (to == nullptr) continue;
            if (!writes.has(f.type)) fail("is not written by its row", 0, name(f.type));
            if (k > 0) quantize(to, f.type, v, k, quotient(values, k));
        }
    }

  private:
    const memory& there_;
    const std::vector<written>& writes_;
    const std::vector<slot_content>& workspace_;
    const std::uint64_t workspace_at_;
    std::int32_t stream_ = 0;
};

}  // namespace CATENA_NAMESPACE::proof
