#include "code_cost.hpp"

#include "registers.hpp"
#include "render_cuda.hpp"
#include "render_set.hpp"
#include "text_file.hpp"

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

/// nvcc on a file with the rows of `set`, all of one skeleton.
evidence::compiled_file compiled(const instance_set& set, skeleton kind, device_compiler by,
                                 const std::filesystem::path& scratch) {
    const scratch_folder folder(scratch);
    const rendered_file header = computations_header({set}, by.names);
    const rendered_file source = kernels_cu(set, kind, by.names);
    tool::write_text(folder / header.path, header.content);
    tool::write_text(folder / source.path, source.content);
    by.includes.push_back(folder / "include");
    const std::string path = (folder / source.path).string();
    return evidence::compile(by.nvcc, *set.target, by.includes, path, path);
}

instance_set set_of(const arch& target, const std::vector<row>& rows) {
    return {.target = &target, .rows = rows, .medians = {}, .engine = {}};
}

}  // namespace

evidence::compiled_file compile_alone(const arch& target, const row& r, const device_compiler& by,
                                      const std::filesystem::path& scratch) {
    return compiled(set_of(target, {r}), r.computes.kind(), by, scratch);
}

std::string symbol_alone(const arch& target, const row& r, const naming& names) {
    return evidence::symbol(r, target) + names.symbols;
}

code_costs code_costs_of(const arch& target, const std::vector<row>& rows,
                         const device_compiler& by, const std::filesystem::path& scratch,
                         const compile_progress& progress) {
    code_costs out;
    out.empty_file_seconds =
        compiled(set_of(target, {}), skeleton::row, by, scratch / "none").seconds;
    out.rows.resize(rows.size());
    std::atomic<std::size_t> next{0};
    int done = 0;
    std::exception_ptr failed;
    std::mutex guard;
    const auto work = [&] {
        for (std::size_t i = next++; i < rows.size(); i = next++) try {
                if (const std::lock_guard<std::mutex> lock(guard); progress)
                    progress(done, static_cast<int>(rows.size()), row_name(rows[i], target.name));
                const evidence::compiled_file made =
                    compile_alone(target, rows[i], by, scratch / std::to_string(i));
                out.rows[i] = {made.sass_bytes,
                               std::max(0.0, made.seconds - out.empty_file_seconds)};
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
