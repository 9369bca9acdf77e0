// libllama decodes a small model of the architecture that CATENA_TEST_ARCH names, with Catena's
// plans and without. Each architecture has a process of its own, for libllama ends it where a model
// makes no sense to it.
#include "../decode/answers.hpp"
#include "../decode/device.hpp"
#include "random_model.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using namespace catena_test;

bool reads_all_at_once(const std::string& arch) {
    static constexpr std::array archs = {
        "bert",         "modern-bert",  "nomic-bert", "nomic-bert-moe",  "neo-bert",
        "jina-bert-v2", "jina-bert-v3", "eurobert",   "gemma-embedding", "llama-embed"};
    return std::find(archs.begin(), archs.end(), arch) != archs.end();
}

std::vector<answer> answers_of(const std::string& arch, std::shared_ptr<llama_model> model) {
    situation s;
    s.embeddings = reads_all_at_once(arch);
    conversation c(std::move(model), s);
    c.go_on(20);
    if (s.embeddings) return c.answers();
    for (int i = 0; i < 2; ++i) c.go_on(1);
    c.go_on_in_four();
    return c.answers();
}

}  // namespace

TEST_CASE("An architecture of libllama has answers as exact as without Catena") {
    const char* name = std::getenv("CATENA_TEST_ARCH");
    REQUIRE(name != nullptr);
    const std::string arch = name;
    llama_log_set(log_errors, nullptr);
    model_maker maker{arch};
    const auto exact = answers_of(arch, maker.exact());
    const double of_ggml = worst_error(answers_of(arch, maker.quantized({})), exact);
    reset_work();
    const double ours = worst_error(answers_of(arch, maker.quantized({sm_90_device()})), exact);
    INFO(arch << ": error " << ours << ", of ggml's CPU backend " << of_ggml << "; "
              << work().planned_matmuls << " of " << work().matmuls << " matmuls planned");
    CHECK(of_ggml > 0);
    CHECK(ours <= 3 * of_ggml);
    CHECK(work().planned_matmuls == work().matmuls);
    CHECK(work().launches.at(0) > 0);
    CHECK(work().error.empty());
    CHECK(warnings().empty());
}
