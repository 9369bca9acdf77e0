// A model that libllama has loaded, and contexts of it that decode with Catena or without.
#pragma once

#include <llama.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace catena::ab {

using model_handle = std::unique_ptr<llama_model, decltype(&llama_model_free)>;

/// The model of a GGUF file, all of it on the measured device; throws what libllama said.
model_handle load(const std::string& file);

/// Who computes: the engine alone, or Catena what it can.
enum class side { off, on };

/// Catena writes the times of its steps to its log.
enum class timed_steps { no, yes };

struct context_options {
    side who = side::off;
    int tokens = 0;     ///< of each sequence, at most
    int sequences = 1;  ///< that are decoded at once
    float noise = 0;    ///< the deviation of what is added to the values in each layer
    timed_steps times = timed_steps::no;
    std::string rows = {};  ///< a file of medians that decide which rows Catena launches
};

/// Random tokens of a vocabulary, the same for the same seed.
class random_tokens {
  public:
    random_tokens(const llama_model* model, std::uint32_t seed);
    llama_token next();

  private:
    std::uint32_t state_, count_;
};

/// Which tokens of a batch are answered by logits.
enum class answered { last, all };

/// What backends that begin now read of their environment.
void set_catena(side who, const char* log_level, const std::string& rows = {});

/// A context. Its memory is of flash attention, and each sequence has its own.
class decoder {
  public:
    decoder(llama_model* model, const context_options& o);

    /// Forgets all sequences.
    void clear();
    /// Decodes `tokens` of the first sequence at once.
    void prompt(const std::vector<llama_token>& tokens, answered which);
    /// Decodes the next token of every sequence at once.
    void step(const std::vector<llama_token>& one_each);
    /// Waits for the device.
    void wait();
    /// The logits of the batch's token `i`.
    const float* logits(int i) const;
    int vocabulary() const;

    /// The lines that Catena logged since the last call, in any context.
    static std::vector<std::string> catena_said();

  private:
    std::unique_ptr<llama_context, decltype(&llama_free)> context_;
    int sequences_;
    llama_pos position_ = 0;

    void decode(const std::vector<llama_token>& tokens, int sequences, answered which);
};

}  // namespace catena::ab
