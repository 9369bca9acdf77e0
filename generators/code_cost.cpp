#include "code_cost.hpp"

#include "files.hpp"
#include "nvcc.hpp"
#include "render_cuda.hpp"
#include "render_set.hpp"

#include "catena/pick/name.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

namespace catena::generator {

namespace {

/// A folder that is removed with its content.
class scratch_folder {
  public:
    explicit scratch_folder(std::filesystem::path path) : path_(std::move(path)) {
        std::filesystem::create_directories(path_);
    }
    ~scratch_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    scratch_folder(const scratch_folder&) = delete;
    scratch_folder& operator=(const scratch_folder&) = delete;

    std::filesystem::path operator/(const std::string& below) const { return path_ / below; }

  private:
    std::filesystem::path path_;
};

/// What nvcc makes of a file with the rows of `set`, all of one skeleton.
code_cost cost_of(const instance_set& set, skeleton kind, device_compiler by,
                  const std::filesystem::path& scratch) {
    const scratch_folder folder(scratch);
    const naming names = naming_of("weighed");
    for (const rendered_file& file :
         {computations_header({set}, names), kernels_cu(set, kind, names)})
        write_text(folder / file.path, file.content);
    by.includes.push_back(folder / "include");
    const std::string source = (folder / kernels_cu(set, kind, names).path).string();
    const compiled_file made = compile(by.nvcc, *set.target, by.includes, source, source);
    return {made.sass_bytes, made.seconds};
}

}  // namespace

code_costs code_costs_of(const arch& target, const std::vector<row>& rows,
                         const device_compiler& by, const std::filesystem::path& scratch,
                         const compile_progress& progress) {
    const auto cost = [&](const std::vector<row>& alone, skeleton kind, const std::string& name) {
        return cost_of({.target = &target, .rows = alone, .medians = {}, .engine = {}}, kind, by,
                       scratch / name);
    };
    code_costs out;
    out.empty_file_seconds = cost({}, skeleton::row, "none").seconds;
    out.rows.resize(rows.size());
    std::atomic<std::size_t> next{0};
    int done = 0;
    std::exception_ptr failed;
    std::mutex guard;
    const auto work = [&] {
        for (std::size_t i = next++; i < rows.size(); i = next++) try {
                if (const std::lock_guard<std::mutex> lock(guard); progress)
                    progress(done, static_cast<int>(rows.size()), row_name(rows[i], target.name));
                out.rows[i] = cost({rows[i]}, rows[i].computes.kind, std::to_string(i));
                out.rows[i].seconds = std::max(0.0, out.rows[i].seconds - out.empty_file_seconds);
                const std::lock_guard<std::mutex> lock(guard);
                ++done;
            } catch (...) {
                const std::lock_guard<std::mutex> lock(guard);
                failed = std::current_exception();
                next = rows.size();
            }
    };
    std::vector<std::thread> workers(std::max(1u, std::thread::hardware_concurrency()));
    for (std::thread& w : workers) w = std::thread(work);
    for (std::thread& w : workers) w.join();
    if (failed) std::rethrow_exception(failed);
    return out;
}

}  // namespace catena::generator
