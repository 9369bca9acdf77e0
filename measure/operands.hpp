// The operands of a launch for a problem, dealt from memory that somebody else owns: the kernel's
// arguments, what has to lie where, and where results appear. Nothing here touches a device.
#pragma once

#include "catena/kernel/args.hpp"
#include "catena/pick/problem.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace catena::bench {

/// Hands out pieces of a range, inputs from its first half and outputs from its second, and starts
/// again at the front of a half when it is full. The range is aligned to 256 bytes.
class dealer {
  public:
    dealer(std::byte* data, std::size_t bytes) : data_(data), half_(bytes / 2) {}

    std::byte* input(std::int64_t bytes) { return piece(input_, 0, bytes); }
    std::byte* output(std::int64_t bytes) { return piece(output_, half_, bytes); }

    /// Has it handed out a half's front twice? Then pieces overlap, and one that is larger than a
    /// half is none.
    bool started_again() const { return again_; }

  private:
    std::byte* piece(std::size_t& next, std::size_t from, std::int64_t bytes);

    std::byte* data_;
    std::size_t half_;
    std::size_t input_ = 0, output_ = 0;
    bool again_ = false;
};

/// A piece of memory, and what lies there.
struct stretch {
    std::byte* at = nullptr;
    std::int64_t bytes = 0;
    format type = format::f32;  ///< f32 values, blocks of a format, or i32 ids
    std::int32_t id_limit = 0;  ///< of ids
    std::int32_t id_run = 0;    ///< of ids: those of a token, which differ; 0: all of them do
};

struct operands {
    skeleton kind = skeleton::row;
    row_args row;        ///< problems of the row skeleton
    heads_args heads;    ///< of heads
    route_args route;    ///< of a routing
    matvec_args matvec;  ///< of the matvec
    matmul_args matmul;  ///< of the matmul
    std::vector<stretch> inputs, outputs;

    /// What a launch takes.
    const void* args() const {
        return heads.members > 0          ? static_cast<const void*>(&heads)
               : route.tokens > 0         ? static_cast<const void*>(&route)
               : kind == skeleton::row    ? static_cast<const void*>(&row)
               : kind == skeleton::matvec ? static_cast<const void*>(&matvec)
                                          : &matmul;
    }
    std::size_t args_bytes() const {
        return heads.members > 0          ? sizeof heads
               : route.tokens > 0         ? sizeof route
               : kind == skeleton::row    ? sizeof row
               : kind == skeleton::matvec ? sizeof matvec
                                          : sizeof matmul;
    }
};

/// Operands of a problem, contiguous and aligned, every part on that it needs. `band` as the
/// pick says.
operands operands_of(const problem& p, std::int32_t band, dealer& deal);

}  // namespace catena::bench
