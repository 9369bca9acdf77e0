// One file of a set through nvcc: what it took, and what came out.
#pragma once

#include "catena/arch/arch.hpp"

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace catena::evidence {

struct compiled_file {
    std::string said;    ///< with ptxas -v
    double seconds = 0;  ///< processor time, of nvcc and all that it calls
    std::string cubin;
    std::int64_t sass_bytes = 0;  ///< machine code of all kernels and functions
};

/// nvcc was interrupted from the keyboard.
struct interrupted : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The source of a family of the set of `target`, which the build wrote. Throws where it did not.
std::string kernel_source(const arch& target, const std::string& family);

/// Compiles a source of kernels for `target` to a cubin; headers are those in the folders
/// `includes`, scratch files lie beside `scratch` and are removed. Throws with nvcc's words when it
/// refuses, `interrupted` when it could not say.
compiled_file compile(const std::string& nvcc, const arch& target,
                      const std::vector<std::filesystem::path>& includes, const std::string& source,
                      const std::string& scratch);

/// A cubin with a family of the set of `target`, and maybe others: what a build with tests keeps of
/// what it compiles, which takes no time; or, if that is older than a source or not there,
/// compiled.
compiled_file kept_or_compiled(const std::string& nvcc, const arch& target,
                               const std::vector<std::filesystem::path>& includes,
                               const std::string& family, const std::string& scratch);

}  // namespace catena::evidence
