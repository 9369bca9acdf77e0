// The memory of a random graph: who may touch what, and weights that are encoded once for all
// graphs.
#pragma once

#include "catena/format/format.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace catena_test {

enum class region_kind : std::uint8_t {
    written,   ///< values, caches, the workspace
    constant,  ///< leaves flagged as weights: may be read before everything else
    leaf,      ///< read only, but not promised to be constant
    host       ///< no kernel can follow a pointer into it
};

/// What launches are handed as their stream. It knows every byte they may touch, and keeps the
/// first fault.
class machine {
  public:
    std::string fault;

    void add(const void* first, std::int64_t bytes, region_kind kind);
    void remove(const void* first) { regions_.erase(static_cast<const std::byte*>(first)); }

    /// A launch reads these bytes; `early`: before the kernels in front of it are done.
    void reads(const char* what, const void* at, std::int64_t bytes, bool early = false);
    void writes(const char* what, const void* at, std::int64_t bytes);
    void blame(std::string what) {
        if (fault.empty()) fault = std::move(what);
    }

  private:
    struct region {
        const std::byte* last;
        region_kind kind;
    };
    std::map<const std::byte*, region> regions_;

    const region* find(const void* at, std::int64_t bytes) const;
};

/// Weights of seeded numbers, with what they decode to. Equal arguments give the same weight.
class weight_pool {
  public:
    struct matrix {
        catena::format type = catena::format::f32;
        std::int64_t k = 0;
        std::vector<std::byte> bytes;
        std::vector<float> values;
    };

    /// `rows` rows of k values, of variance 1 / k or, for `around_one`, near 1.
    static const matrix& get(catena::format type, std::int64_t k, std::int64_t rows, int variant,
                             bool around_one = false);

    /// k decoded values at `address`, in the pool or, by way of `scratch`, anywhere.
    static const float* decoded(catena::format type, const void* address, std::int64_t k,
                                std::vector<float>& scratch);
};

/// The bits of a number between -1 and 1 that depends on nothing but its arguments.
float noise(std::uint64_t seed, std::uint64_t index);

}  // namespace catena_test
