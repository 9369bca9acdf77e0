#include "score.hpp"

#include "ggml-backend-impl.h"

#include <dlfcn.h>

static int score_here() {
    Dl_info self{};
    dladdr(reinterpret_cast<const void*>(&score_here), &self);
    const std::filesystem::path file = self.dli_fname == nullptr ? "" : self.dli_fname;
    return catena_drop_in::score({CATENA_GGML_VERSION, CATENA_GGML_COMMIT}, file.parent_path());
}

GGML_BACKEND_DL_SCORE_IMPL(score_here)
