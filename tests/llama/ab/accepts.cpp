// accepts GGUF...: whether libllama takes the facts and the tensors of files. It reads no weights;
// so files may be sparse. Prints the bytes of the weights of each.
#include <llama.h>

#include <cstdio>

int main(int argc, char** argv) {
    llama_log_set(
        [](ggml_log_level level, const char* text, void*) {
            if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
        },
        nullptr);
    llama_model_params p = llama_model_default_params();
    p.n_gpu_layers = 0;
    p.no_alloc = true;
    p.load_mode = LLAMA_LOAD_MODE_NONE;
    for (int i = 1; i < argc; ++i) {
        llama_model* model = llama_model_load_from_file(argv[i], p);
        if (model == nullptr) return 1;
        std::printf("%llu\n", static_cast<unsigned long long>(llama_model_size(model)));
        llama_model_free(model);
    }
}
