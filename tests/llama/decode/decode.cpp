// libllama, as it is, decodes small models on a device that runs Catena's plans. The answers are
// held against those of the same weights in f32.
#include "conversation.hpp"
#include "device.hpp"

#include "catena_test/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

using namespace catena_test;

constexpr int experts = 8;  // of models.py

std::string path(const std::string& file) { return CATENA_TEST_MODELS "/" + file; }

/// A prompt of 20 tokens, 6 single tokens, 2 batches of 4 sequences.
void talk(conversation& c) {
    c.go_on(20);
    for (int i = 0; i < 6; ++i) c.go_on(1);
    for (int i = 0; i < 2; ++i) c.go_on_in_four();
}

/// What is done to a conversation before it begins.
using change = void (*)(conversation&);
void nothing(conversation&) {}

std::vector<answer> answers(const std::string& file, ggml_backend_dev_t device, const situation& s,
                            change prepare = nothing) {
    conversation c(path(file), device, s);
    prepare(c);
    talk(c);
    return c.answers();
}

/// The error of each row: its squares relative to those of the row. The smallest comes first.
std::vector<double> errors(const std::vector<answer>& rows, const std::vector<answer>& exact) {
    REQUIRE(rows.size() == exact.size());
    std::vector<double> all;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        double error = 0, square = 0;
        for (std::size_t i = 0; i < rows[r].size(); ++i) {
            const double want = exact[r][i], off = rows[r][i] - want;
            error += off * off;
            square += want * want;
        }
        REQUIRE(std::isfinite(error));
        all.push_back(error / square);
    }
    std::sort(all.begin(), all.end());
    return all;
}

/// A token whose experts are nearly equal may get another one from any rounding. So where experts
/// are chosen the middle row is compared; a test with all experts compares the worst.
enum class compared { worst, middle };

/// The row's error is at most three times that of ggml's CPU backend with the same weights.
void is_right(const std::string& family, const situation& s, compared which = compared::worst,
              change prepare = nothing) {
    situation plain = s;
    plain.kv = GGML_TYPE_F16;
    const auto exact = answers(family + ".f32.gguf", nullptr, plain, prepare);
    const auto of_ggml = errors(answers(family + ".gguf", nullptr, s, prepare), exact);
    reset_work();
    const auto ours = errors(answers(family + ".gguf", sm_90_device(), s, prepare), exact);
    const std::size_t row = which == compared::middle ? ours.size() / 2 : ours.size() - 1;
    INFO(family << ": error " << ours[row] << ", of ggml's CPU backend " << of_ggml[row] << "; "
                << work().planned_matmuls << " of " << work().matmuls << " matmuls planned");
    CHECK(ours[row] <= 3 * of_ggml[row]);
    CHECK(work().launches > 0);
    CHECK(work().planned_matmuls == work().matmuls);
    CHECK(work().error.empty());
}

situation all_experts() {
    situation s;
    s.experts_used = experts;
    return s;
}

/// The sums of squares of what matmuls read, by the name of the weight, as llama-imatrix has them.
using importance = std::map<std::string, double>;

bool collect(ggml_tensor* t, bool ask, void* sums) {
    const bool wanted = t->op == GGML_OP_MUL_MAT && std::strncmp(t->src[0]->name, "blk.", 4) == 0;
    if (ask || !wanted) return wanted || !ask;
    std::vector<float> x(ggml_nbytes(t->src[1]) / sizeof(float));
    ggml_backend_tensor_get(t->src[1], x.data(), 0, x.size() * sizeof(float));
    double& sum = (*static_cast<importance*>(sums))[t->src[0]->name];
    for (const float v : x) sum += double(v) * double(v);
    return true;
}

}  // namespace

TEST_CASE("libllama decodes models of each family") {
    is_right(GENERATE(as<std::string>(), "llama", "qwen3", "gemma3", "falcon", "command-r", "phi3",
                      "olmo2", "mamba2", "granitehybrid"),
             {});
}

TEST_CASE("libllama decodes mixtures of experts") {
    const auto family =
        GENERATE(as<std::string>(), "qwen3moe", "gpt-oss", "glm4moe", "deepseek2", "qwen35moe");
    SECTION("some experts") { is_right(family, {}, compared::middle); }
    SECTION("all experts") { is_right(family, all_experts()); }
}

TEST_CASE("libllama decodes with flash attention and with a quantized cache") {
    situation s = all_experts();
    s.flash_attention = true;
    s.kv = GENERATE(GGML_TYPE_F16, GGML_TYPE_Q8_0);
    is_right(GENERATE(as<std::string>(), "llama", "qwen3moe", "gemma3", "gpt-oss"), s);
}

TEST_CASE("libllama decodes with a part of the model on the CPU") {
    situation s = all_experts();
    SECTION("a layer") {
        s.layers = 1;
        is_right("llama", s);
    }
    SECTION("the experts") {
        s.experts_on_cpu = true;
        is_right("qwen3moe", s);
    }
}

TEST_CASE("The device computes long prompts with weights that lie on the CPU") {
    situation s = all_experts();
    s.experts_on_cpu = true;
    const auto long_prompt = [&s](const std::string& file, ggml_backend_dev_t device) {
        conversation c(path(file), device, s);
        c.go_on(40);
        c.go_on(1);
        return c.answers();
    };
    const auto exact = long_prompt("qwen3moe.f32.gguf", nullptr);
    const double of_ggml = errors(long_prompt("qwen3moe.gguf", nullptr), exact).back();
    CHECK(errors(long_prompt("qwen3moe.gguf", sm_90_device()), exact).back() <= 3 * of_ggml);
}

TEST_CASE("libllama gives embeddings") {
    situation s;
    s.embeddings = true;
    is_right("llama", s);
}

TEST_CASE("Two contexts of a model take turns") {
    conversation one(path("llama.gguf"), sm_90_device(), {});
    conversation other(path("llama.gguf"), sm_90_device(), {});
    for (const int tokens : {20, 1, 1, 3, 1}) {
        one.go_on(tokens);
        other.go_on(tokens);
    }
    CHECK(one.answers() == other.answers());
}

TEST_CASE("Plans are made once for graphs that libllama uses again") {
    reset_work();
    conversation c(path("llama.gguf"), sm_90_device(), {});
    for (int i = 0; i < 10; ++i) c.go_on(1);
    CHECK(llama_perf_context(c.context()).n_reused > 0);
    CHECK(work().plans < work().walks);
}

TEST_CASE("A control vector moves the answers") {
    const change vector = [](conversation& c) {
        const int size = llama_model_n_embd(c.model());
        std::vector<float> by;
        for (int i = 0; i < size; ++i) by.push_back(0.5f * std::sin(0.37f * float(i)));
        REQUIRE(llama_set_adapter_cvec(c.context(), by.data(), by.size(), size, 1, 1) == 0);
    };
    is_right("llama", {}, compared::worst, vector);
    CHECK(answers("llama.gguf", sm_90_device(), {}, vector) !=
          answers("llama.gguf", sm_90_device(), {}));
}

TEST_CASE("A LoRA adapter changes the weights") {
    const change adapter = [](conversation& c) {
        llama_adapter_lora* lora =  // the model frees it
            llama_adapter_lora_init(c.model(), path("llama.lora.gguf").c_str());
        float scale = 0.7f;
        REQUIRE(lora != nullptr);
        REQUIRE(llama_set_adapters_lora(c.context(), &lora, 1, &scale) == 0);
    };
    is_right("llama", {}, compared::worst, adapter);
    CHECK(answers("llama.gguf", sm_90_device(), {}, adapter) !=
          answers("llama.gguf", sm_90_device(), {}));
}

TEST_CASE("A callback that looks at nodes finds what ggml computes") {
    const auto family = GENERATE(as<std::string>(), "llama", "gemma3");
    const auto seen = [](const std::string& file, ggml_backend_dev_t device) {
        importance sums;
        situation s;
        s.look = collect;
        s.looker = &sums;
        answers(file, device, s);
        return sums;
    };
    importance exact = seen(family + ".f32.gguf", nullptr);
    importance of_ggml = seen(family + ".gguf", nullptr);
    importance ours = seen(family + ".gguf", sm_90_device());
    REQUIRE(exact.size() == 14);
    REQUIRE(ours.size() == exact.size());
    double worst_of_ggml = 0, worst = 0;
    for (const auto& [weight, sum] : exact) {
        worst_of_ggml = std::max(worst_of_ggml, std::abs(of_ggml[weight] / sum - 1));
        worst = std::max(worst, std::abs(ours[weight] / sum - 1));
    }
    CHECK(worst <= 3 * worst_of_ggml);
    CHECK(worst < 0.01);
}
