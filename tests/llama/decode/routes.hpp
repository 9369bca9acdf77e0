// The experts that tokens get. Where two experts are nearly equal any rounding may choose the other
// one, and the answer is another one then. So runs that are compared get the same experts.
#pragma once

#include "catena_test/catch.hpp"

#include <ggml-backend.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace catena_test {

/// The order of experts for each token of a run, which later runs can be made to take.
class routes {
  public:
    /// From now on the kept orders are put in place of what a run computes, from the first on.
    void force() {
        forcing_ = true;
        next_.clear();
    }

    /// Experts were chosen so often since `force`.
    int forced() const {
        int count = 0;
        for (const auto& [layer, calls] : next_) count += calls;
        return count;
    }

    /// The callback of a context of libllama whose looker is a `routes`.
    static bool look(ggml_tensor* t, bool ask, void* self) {
        const bool wanted = std::strncmp(t->name, "ffn_moe_argsort", 15) == 0;
        if (!ask && wanted) static_cast<routes*>(self)->see(t);
        return wanted || !ask;
    }

  private:
    using order = std::vector<std::int32_t>;
    std::map<std::string, std::vector<order>> kept_;  // by layer: of each call
    std::map<std::string, int> next_;
    bool forcing_ = false;

    void see(ggml_tensor* t) {
        if (forcing_) {
            const order& o = kept_[t->name].at(static_cast<std::size_t>(next_[t->name]++));
            REQUIRE(o.size() * sizeof o[0] == ggml_nbytes(t));
            ggml_backend_tensor_set(t, o.data(), 0, ggml_nbytes(t));
        } else {
            order o(ggml_nbytes(t) / sizeof(std::int32_t));
            ggml_backend_tensor_get(t, o.data(), 0, ggml_nbytes(t));
            kept_[t->name].push_back(o);
        }
    }
};

}  // namespace catena_test
