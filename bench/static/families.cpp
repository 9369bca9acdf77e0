#include "families.hpp"

#include "catena_catalogue.hpp"
#include "expand.hpp"
#include "tuning.hpp"

#include <atomic>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <unistd.h>

namespace catena::bench {

namespace {

using namespace catena::evidence;
using namespace catena::generator;

std::vector<compiled_family> families_of(const arch& target, const std::set<std::string>& only) {
    std::vector<compiled_family> out;
    const tunings measured = read_tunings(CATENA_SOURCE_DIR);
    for (const instance_set& set : expand(computations_of(catena_catalogue()), {}, measured)) {
        if (set.target != &target) continue;
        for (family_rows& f : families(set.rows))
            if (only.empty() || only.count(f.name) != 0) out.push_back({std::move(f), {}});
    }
    if (!only.empty() && out.size() != only.size())
        throw std::runtime_error(
            std::string(target.name) + " does not have all of these families: name them as " +
            "the comments in instances/" + target.name + "/rows.inc, such as matvec_q4_K");
    return out;
}

}  // namespace

compiled_file compile_family(const std::string& nvcc, const arch& target, const std::string& family,
                             const std::string& scratch) {
    return compile(nvcc, target, {CATENA_SOURCE_DIR "/include"}, kernel_source(target, family),
                   scratch);
}

compiled_file kept_family(const std::string& nvcc, const arch& target, const std::string& family,
                          const std::string& scratch) {
    return kept_or_compiled(nvcc, target, {CATENA_SOURCE_DIR "/include"}, family, scratch);
}

std::vector<compiled_family> make_families(make_family make, const family_options& asked) {
    const arch& target = asked.target();
    std::vector<compiled_family> files = families_of(target, asked.only);
    std::atomic<std::size_t> next{0};
    std::size_t done = 0;
    std::exception_ptr failed;
    std::mutex guard;
    const auto work = [&](int worker) {
        const std::string scratch =
            (std::filesystem::temp_directory_path() /
             ("catena_" + std::to_string(getpid()) + "_" + std::to_string(worker)))
                .string();
        for (std::size_t i = next++; i < files.size(); i = next++) {
            const std::string& family = files[i].family.name;
            try {
                files[i].result = make(asked.nvcc, target, family, scratch);
            } catch (...) {
                const std::lock_guard<std::mutex> lock(guard);
                if (!failed) failed = std::current_exception();
                next = files.size();
                return;
            }
            const std::lock_guard<std::mutex> lock(guard);
            std::fprintf(stderr, "[%zu/%zu] %s\n", ++done, files.size(), family.c_str());
        }
    };
    std::vector<std::thread> workers;
    for (int w = 0; w < asked.jobs; ++w) workers.emplace_back(work, w);
    for (std::thread& t : workers) t.join();
    if (failed) std::rethrow_exception(failed);
    return files;
}

}  // namespace catena::bench
