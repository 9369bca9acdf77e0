// The interpreter of PTX as a machine of the sweep. What a case does not hand out is out of bounds.
#pragma once

#include "machine.hpp"
#include "warp.hpp"

#include <cstdint>
#include <cstring>
#include <string>

namespace catena_test {

class ptx_machine : public local_machine {
  public:
    ptx_machine(std::uint64_t seed, std::uint32_t most_shared_bytes)
        : seed_(seed), most_shared_bytes_(most_shared_bytes) {}

    void* allocate(const std::string& name, contents kind, const bytes& initial,
                   std::size_t offset) override {
        std::byte* const to = place(initial, offset);
        memory_.add(name, to, initial.size(),
                    kind == contents::weights ? ptx::content::constant
                    : kind == contents::data  ? ptx::content::initialized
                                              : ptx::content::uninitialized);
        return to;
    }

    std::string launch(const void* kernel, const catena::launch_config& config, const void* args,
                       std::size_t args_bytes) override {
        const auto& code = *static_cast<const ptx::program*>(kernel);
        if (config.shared_bytes > most_shared_bytes_)
            return code.name + ": " + std::to_string(config.shared_bytes) +
                   " bytes of shared memory, and a block has at most " +
                   std::to_string(most_shared_bytes_);
        ptx::global_memory memory = memory_;
        for (const auto& g : code.globals) memory.add(g.name, g.at, g.size, ptx::content::constant);
        bytes parameters(args_bytes);
        std::memcpy(parameters.data(), args, args_bytes);
        const ptx::launch one{.code = code,
                              .parameters = std::move(parameters),
                              .blocks = static_cast<int>(config.blocks),
                              .threads = static_cast<int>(config.threads),
                              .shared_bytes = config.shared_bytes,
                              .cluster_blocks = static_cast<int>(config.cluster),
                              .dependent = config.dependent};
        try {
            ptx::run({one}, memory, std::mt19937_64(seed_));
            return "";
        } catch (const ptx::finding& what) {
            return what.what();
        }
    }

  private:
    ptx::global_memory memory_;
    std::uint64_t seed_;
    std::uint32_t most_shared_bytes_;
};

}  // namespace catena_test
