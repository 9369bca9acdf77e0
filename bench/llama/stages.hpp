// What is measured of a loaded model. Each stage gives the JSON that scripts/llama-bench records.
#pragma once

#include "decoder.hpp"

#include <nlohmann/json.hpp>

namespace catena::ab {

/// pp512: a prompt of 512 tokens. tg128: 128 single tokens. tg128x4: 128 steps of 4 sequences, a
/// token each. The definitions are those of llama-bench and llama-batched-bench.
struct speed_stage {
    bool prompt = false;
    int tokens = 0;
    int sequences = 1;
};

/// How many times each side is timed, and the bytes that are copied to time the memory.
struct effort {
    int turns = 5;
    std::size_t copy_bytes = 0;
};

/// Tokens a second without Catena and with it, and the copy bandwidth, all in turns.
nlohmann::json speed(llama_model* model, const speed_stage& stage, const effort& e);

/// Tokens a second with Catena, and with Catena where the medians of `rows` decide what it
/// launches, in turns. All else is the same, so the difference is what the rows of that file change
/// in a walk.
nlohmann::json race(llama_model* model, const speed_stage& stage, const std::string& rows,
                    const effort& e);

/// How far the logits with Catena are from those without it. The yardstick is how far those without
/// it move by noise between the layers, as large as the rounding of activations to 8 bits.
/// `tokens` are decoded as a prompt, one by one, and in four sequences.
nlohmann::json logits(llama_model* model, int tokens);

/// GPU times of the slowest ten steps of Catena, where each of `sequences` decodes `tokens` one by
/// one. CUDA graphs must be off in the process.
nlohmann::json steps(llama_model* model, int tokens, int sequences);

/// Decodes `tokens` of each of `sequences` one by one, without Catena and then with it. What is
/// measured comes from a library that the environment has put into the process (timeline.cpp).
nlohmann::json walk(llama_model* model, int tokens, int sequences);

/// Decodes with Catena alone: the phases of the last launch of each matrix, a line for each block.
/// It takes a device whose kernels keep them.
nlohmann::json phases(llama_model* model, int tokens, int sequences);

/// A copy within the measured device's memory. `bytes` are read and as many written.
class device_copy {
  public:
    explicit device_copy(std::size_t bytes);
    ~device_copy();
    device_copy(const device_copy&) = delete;
    device_copy& operator=(const device_copy&) = delete;

    /// Bytes read and written in a microsecond.
    double bytes_per_us();

  private:
    struct parts;
    std::unique_ptr<parts> parts_;
};

}  // namespace catena::ab
