#include "legend.hpp"

#include "json_text.hpp"

#include <fmt/format.h>

#include <iterator>

namespace catena::tool {
namespace {

constexpr legend_part fields[] = {
    {"computes", "all", "the stages of a row, in order; matvec: 1 to 8 columns; matmul: more"},
    {"formats", "all", "what a row writes, or the weights that a matvec or matmul reads"},
    {"policy", "all", "the numbers and methods below; what is at its default is left out"},
    {"arch", "all", "host, or sm_75 to sm_120"},
};

constexpr legend_part policy[] = {
    {"tN", "all", "threads of a block"},
    {"mN", "all", "blocks of an SM that the launch bounds promise"},
    {"rN", "all", "rows of a block, a warp each; of products: weight rows of a warp at once"},
    {"vN", "row", "values that a thread keeps in registers; v0: it reads the row twice"},
    {"vec", "row", "loads and stores of 16 bytes, so rows are aligned"},
    {"cN", "matvec, matmul", "columns of a launch, of a tile"},
    {"pN", "matvec, matmul", "values of each weight row in a stage"},
    {"plainN", "matvec, matmul", "stages of the weight stream, by loads and stores"},
    {"asyncN", "matvec, matmul", "stages of the weight stream, by cp.async"},
    {"bulkN", "matvec, matmul", "stages of the weight stream, by cp.async.bulk"},
    {"smem", "matvec", "the activation is read from shared memory, else from global memory"},
    {"kN", "matvec, matmul", "slices of K that the warps of the same rows share out"},
    {"xN", "matvec, matmul", "blocks of a cluster that share a band or a tile"},
    {"dp4a", "matvec, matmul", "inner product by dp4a, the default of a matvec"},
    {"mma", "matvec, matmul", "inner product by mma.sync"},
    {"fma", "matvec, matmul", "inner product by fused multiply-adds"},
    {"wgmma", "matmul", "inner product by wgmma"},
    {"deferred", "matvec", "the norm is made in this launch; 1 / rms multiplies the products"},
    {"passing", "matvec", "the norm is made in this launch, on the way to the products"},
    {"routes", "matvec", "each block finds its expert from the logits of the router"},
    {"single", "matvec", "a single wave of blocks: experts of one token, or sums of slots"},
    {"turns", "matvec", "results are heads, which are turned and stored in caches"},
};

nlohmann::ordered_json as_json(std::span<const legend_part> parts) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const legend_part& p : parts)
        all.push_back({{"part", p.part}, {"of", p.of}, {"meaning", p.meaning}});
    return all;
}

}  // namespace

std::span<const legend_part> policy_legend() { return policy; }

std::string legend_text() {
    fmt::memory_buffer out;
    const auto put = std::back_inserter(out);
    fmt::format_to(put, "A name has four fields: computes.formats.policy.arch\n\n");
    for (const legend_part& p : fields) fmt::format_to(put, "  {:<10}{}\n", p.part, p.meaning);
    fmt::format_to(put, "\nParts of the policy\n\n");
    for (const legend_part& p : policy)
        fmt::format_to(put, "  {:<10}{:<16}{}\n", p.part, p.of, p.meaning);
    return fmt::to_string(out);
}

std::string legend_json() {
    return json_text({{"fields", as_json(fields)}, {"policy", as_json(policy)}});
}

}  // namespace catena::tool
