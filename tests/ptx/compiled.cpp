// What nvcc makes of the instances, on the interpreter of PTX: against the reference, and where the
// bits are not the device's the same bytes as the host executor. A ctest per arch, of sm_90 per
// skeleton. Of the cases each row has a twelfth; with CATENA_EVERY_ROW all.
#include "compiled_rows.hpp"
#include "kernels.hpp"
#include "ptx_machine.hpp"
#include "sweep.hpp"
#include "tables.hpp"

#include "catena_test/catch.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

using namespace catena;
using namespace catena_test;

namespace {

void run_arch(const std::string& arch, const std::string& family = "") {
    const table host = instances::on_host(instances::table_named(arch.c_str()));
    CHECK(run_compiled(host, made_for(arch, family), CATENA_EVERY_ROW ? 1 : 12) > 0);
}

/// Keeps what is found first, and runs nothing after it.
class finding_machine : public ptx_machine {
  public:
    finding_machine(std::string& found, std::uint64_t seed)
        : ptx_machine(seed, most_shared_bytes()), found_(found) {}

    std::string launch(const void* kernel, const launch_config& config, const void* args,
                       std::size_t args_bytes) override {
        if (found_.empty()) found_ = ptx_machine::launch(kernel, config, args, args_bytes);
        return "";
    }

  private:
    std::string& found_;
};

/// What the cases of a matvec find.
std::string found_in(const table& host, int row, const ptx::program& code) {
    const catena::row& r = host.rows[row];
    std::string found;
    std::uint64_t seed = 0;
    const instance on{r.computes,
                      r.policy,
                      &code,
                      [&found, &seed] { return std::make_unique<finding_machine>(found, seed++); },
                      host.target->dependent_launch,
                      most_shared_bytes()};
    for (const matvec_case& c : matvec_cases(r.computes.product(), r.policy.matvec()))
        if (found.empty()) run(on, c);
    return found;
}

}  // namespace

TEST_CASE("nvcc's PTX of sm_90's rows gives what is wanted", "[sm_90_row]") {
    run_arch("sm_90", "row_");
}
TEST_CASE("nvcc's PTX of sm_90's matvecs gives what is wanted", "[sm_90_matvec]") {
    run_arch("sm_90", "matvec_");
}
TEST_CASE("nvcc's PTX of a matvec that lacks a barrier or fence is seen to race",
          "[sm_90_matvec]") {
    const table host = instances::on_host(instances::table_named("sm_90"));
    const auto of_q4_K = [](const ptx::function& f) {
        return f.entry && f.name.starts_with("catena_matvec_q4_K_t");
    };
    ptx::module whole;
    for (const std::string& file : made_for("sm_90", "matvec_"))
        if (std::ranges::none_of(whole.functions, of_q4_K)) whole = read_ptx(file);
    const auto entry = std::ranges::find_if(whole.functions, of_q4_K);
    REQUIRE(entry != whole.functions.end());
    const int row = row_of_entry(host, entry->name);
    REQUIRE(found_in(host, row, ptx::bind(whole, entry->name)) == "");
    std::map<std::string, int> races;
    const auto at = static_cast<std::size_t>(entry - whole.functions.begin());
    for (std::size_t i = 0; i < entry->body.size(); ++i) {
        const std::string& op = entry->body[i].op;
        if (!op.starts_with("bar.") && !op.starts_with("fence.")) continue;
        ptx::module lacking = whole;
        auto& body = lacking.functions[at].body;
        body.erase(body.begin() + static_cast<std::ptrdiff_t>(i));
        const std::string what = found_in(host, row, ptx::bind(lacking, entry->name));
        races[op] += what.find(" is in between") != std::string::npos ? 1 : 0;
    }
    // Not of every one: some stand beside another.
    CHECK(races["bar.sync"] > 0);
    CHECK(races["bar.warp.sync"] > 0);
    CHECK(races["fence.mbarrier_init.release.cluster"] > 0);
}
TEST_CASE("nvcc's PTX of sm_90's matmuls gives what is wanted", "[sm_90_matmul]") {
    run_arch("sm_90", "matmul_");
}
TEST_CASE("nvcc's PTX of sm_75 gives what is wanted", "[sm_75]") { run_arch("sm_75"); }
TEST_CASE("nvcc's PTX of sm_80 gives what is wanted", "[sm_80]") { run_arch("sm_80"); }
TEST_CASE("nvcc's PTX of sm_86 gives what is wanted", "[sm_86]") { run_arch("sm_86"); }
TEST_CASE("nvcc's PTX of sm_89 gives what is wanted", "[sm_89]") { run_arch("sm_89"); }
TEST_CASE("nvcc's PTX of sm_100 gives what is wanted", "[sm_100]") { run_arch("sm_100"); }
TEST_CASE("nvcc's PTX of sm_120 gives what is wanted", "[sm_120]") { run_arch("sm_120"); }
