// libllama, as it is, decodes small models on a device that runs Catena's plans. The answers are
// held against those of the same weights in f32.
#include "answers.hpp"
#include "device.hpp"
#include "routes.hpp"

#include "catena/instances/sm_90.hpp"
#include "catena_test/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

using namespace catena_test;

constexpr int experts = 8;  // of models.py

/// What is compared with ggml's CPU backend.
struct trial {
    std::string family;
    situation s;
    change prepare = nothing;
    devices on = {sm_90_device()};
    bool same_experts = false;  ///< each token gets the experts that it has with f32 weights
};

/// The worst row's error is at most three times that of ggml's CPU backend with the same weights.
void is_right(const trial& t) {
    routes chosen;
    situation on_cpu = t.s;
    if (t.same_experts) on_cpu.look = routes::look, on_cpu.looker = &chosen;
    situation plain = on_cpu;
    plain.kv = GGML_TYPE_F16;
    const auto exact = answers(t.family + ".f32.gguf", {}, plain, t.prepare);
    chosen.force();
    const double of_ggml = worst_error(answers(t.family + ".gguf", {}, on_cpu, t.prepare), exact);
    chosen.force();
    const watched_nodes watched(t.same_experts ? routes::look : nullptr, &chosen);
    reset_work();
    const double ours = worst_error(answers(t.family + ".gguf", t.on, t.s, t.prepare), exact);
    INFO(t.family << ": error " << ours << ", of ggml's CPU backend " << of_ggml << "; "
                  << work().planned_matmuls << " of " << work().matmuls << " matmuls planned");
    CHECK(ours <= 3 * of_ggml);
    for (std::size_t i = 0; i < t.on.size(); ++i) CHECK(work().launches.at(i) > 0);
    CHECK(work().planned_matmuls == work().matmuls);
    CHECK(work().error.empty());
    CHECK(warnings().empty());
    CHECK((chosen.forced() > 0) == t.same_experts);
}

situation all_experts() {
    situation s;
    s.experts_used = experts;
    return s;
}

std::string names_of_chains() {
    std::string out;
    const catena::table t = catena::instances::sm_90();
    for (int i = 0; i < t.chain_count; ++i)
        out += (out.empty() ? "" : ",") + std::string(t.chains[i].name);
    return out;
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
    is_right({GENERATE(as<std::string>(), "llama", "qwen3", "gemma3", "falcon", "command-r", "phi3",
                       "olmo2", "mamba2", "granitehybrid"),
              {}});
}

constexpr const char* mixtures[] = {"qwen3moe", "gpt-oss", "glm4moe", "deepseek2", "qwen35moe"};

TEST_CASE("libllama decodes mixtures of experts") {
    trial t{GENERATE(from_range(std::begin(mixtures), std::end(mixtures))), {}};
    t.same_experts = true;
    is_right(t);
}

TEST_CASE("libllama decodes mixtures of which each token gets all experts", "[.long]") {
    is_right({GENERATE(from_range(std::begin(mixtures), std::end(mixtures))), all_experts()});
}

TEST_CASE("What no chain takes has the bits of ggml") {
    const auto family = GENERATE(as<std::string>(), "llama", "qwen3moe");
    const auto of_ggml = answers(family + ".gguf", {}, {});
    setenv("CATENA_CHAINS_OFF", names_of_chains().c_str(), 1);
    reset_work();
    CHECK(answers(family + ".gguf", {sm_90_device()}, {}) == of_ggml);
    CHECK(work().walks > 0);
    CHECK(work().launches.at(0) == 0);
    unsetenv("CATENA_CHAINS_OFF");
}

TEST_CASE("libllama decodes with flash attention and with a quantized cache") {
    situation s = all_experts();
    s.flash_attention = true;
    const auto [family, kv] = GENERATE(table<std::string, ggml_type>({{"llama", GGML_TYPE_F16},
                                                                      {"qwen3moe", GGML_TYPE_Q8_0},
                                                                      {"gemma3", GGML_TYPE_Q8_0},
                                                                      {"gpt-oss", GGML_TYPE_F16}}));
    s.kv = kv;
    is_right({family, s});
}

TEST_CASE("libllama decodes with a part of the model on the CPU") {
    situation s = all_experts();
    SECTION("a layer") {
        s.layers = 1;
        is_right({"llama", s});
    }
    SECTION("the experts") {
        s.experts_on_cpu = true;
        is_right({"qwen3moe", s});
    }
}

TEST_CASE("libllama decodes on two devices") {
    const devices two = {sm_90_device(0), sm_90_device(1)};
    SECTION("each has some layers") {
        is_right({GENERATE(as<std::string>(), "llama", "qwen3moe"), all_experts(), nothing, two});
    }
    SECTION("each has a part of each matrix") {
        situation s;
        s.by_tensor = s.flash_attention = true;
        is_right({"llama.eight_heads", s, nothing, two});
    }
}

TEST_CASE("The device computes long prompts with weights that lie on the CPU") {
    situation s = all_experts();
    s.experts_on_cpu = true;
    const auto long_prompt = [&s](const std::string& file, const devices& on) {
        conversation c(path(file), on, s);
        c.go_on(40);
        c.go_on(1);
        return c.answers();
    };
    const auto exact = long_prompt("qwen3moe.f32.gguf", {});
    const double of_ggml = worst_error(long_prompt("qwen3moe.gguf", {}), exact);
    CHECK(worst_error(long_prompt("qwen3moe.gguf", {sm_90_device()}), exact) <= 3 * of_ggml);
}

TEST_CASE("libllama gives embeddings") {
    situation s;
    s.embeddings = true;
    is_right({"llama", s});
}

TEST_CASE("A first decode with all experts warms a model up") {
    trial t{"qwen3moe", {}};
    t.prepare = [](conversation& c) { c.warm_up(); };
    t.same_experts = true;
    is_right(t);
}

TEST_CASE("Two contexts of a model take turns") {
    conversation one(path("llama.gguf"), {sm_90_device()}, {});
    conversation other(one.model(), {});
    for (const int tokens : {20, 1, 1, 3, 1}) {
        one.go_on(tokens);
        other.go_on(tokens);
    }
    CHECK(one.answers() == other.answers());
}

TEST_CASE("Plans are made once for graphs that libllama uses again") {
    reset_work();
    conversation c(path("llama.gguf"), {sm_90_device()}, {});
    for (int i = 0; i < 10; ++i) c.go_on(1);
    CHECK(llama_perf_context(c.context()).n_reused > 0);
    CHECK(work().plans < work().walks);
}

TEST_CASE("A control vector moves the answers") {
    const change vector = [](conversation& c) {
        const int size = llama_model_n_embd(c.model().get());
        std::vector<float> by;
        for (int i = 0; i < size; ++i) by.push_back(0.5f * std::sin(0.37f * float(i)));
        REQUIRE(llama_set_adapter_cvec(c.context(), by.data(), by.size(), size, 1, 1) == 0);
    };
    is_right({"llama", {}, vector});
    CHECK(answers("llama.gguf", {sm_90_device()}, {}, vector) !=
          answers("llama.gguf", {sm_90_device()}, {}));
}

TEST_CASE("A LoRA adapter changes the weights") {
    const change adapter = [](conversation& c) {
        llama_adapter_lora* lora =  // the model frees it
            llama_adapter_lora_init(c.model().get(), path("llama.lora.gguf").c_str());
        float scale = 0.7f;
        REQUIRE(lora != nullptr);
        REQUIRE(llama_set_adapters_lora(c.context(), &lora, 1, &scale) == 0);
    };
    is_right({"llama", {}, adapter});
    CHECK(answers("llama.gguf", {sm_90_device()}, {}, adapter) !=
          answers("llama.gguf", {sm_90_device()}, {}));
}

TEST_CASE("A callback that looks at nodes finds what ggml computes") {
    const auto family = GENERATE(as<std::string>(), "llama", "gemma3");
    const auto seen = [](const std::string& file, const devices& on) {
        importance sums;
        situation s;
        s.look = collect;
        s.looker = &sums;
        answers(file, on, s);
        return sums;
    };
    importance exact = seen(family + ".f32.gguf", {});
    importance of_ggml = seen(family + ".gguf", {});
    importance ours = seen(family + ".gguf", {sm_90_device()});
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
