// GPUs by name: their figures in place of their arch's, and launches that fill them evenly.
#include "catena/arch/gpu.hpp"
#include "catena/pick/pick.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/invented.hpp"
#include "catena_test/problems.hpp"

#include <set>
#include <string>
#include <vector>

using namespace catena;
using namespace catena_test;

namespace {

const gpu_figures& gpu(const std::string& name) {
    for (const gpu_figures& g : gpu_registry)
        if (g.name == name) return g;
    FAIL("no GPU is called " << name);
    return gpu_registry[0];
}

arch with(const gpu_figures& g) { return with_figures(*arch_named(g.arch), g); }

/// How much longer a launch takes than if its blocks were spread evenly: the SM with the most of
/// them, against their mean.
double unevenness(std::uint32_t blocks, int sms) {
    const int most = (static_cast<int>(blocks) + sms - 1) / sms;
    return static_cast<double>(most) * sms / blocks;
}

}  // namespace

TEST_CASE("every GPU has figures, a name of its own and an arch", "[gpus]") {
    std::set<std::string> names;
    for (const gpu_figures& g : gpu_registry) {
        INFO(g.name);
        CHECK(names.insert(g.name).second);
        const arch* a = arch_named(g.arch);
        REQUIRE(a != nullptr);
        CHECK(g.sms > 0);
        CHECK(g.l2_mib >= 3);
        CHECK(g.peak_bytes_per_us >= 200e3);
        CHECK(g.cycles_per_us >= 1000);
        CHECK(std::string(g.source) != "");
        CHECK(std::string(with(g).gpu) == g.name);
        CHECK(with(g).max_threads_per_sm ==
              with_limits(*a, g.compute_capability).max_threads_per_sm);
    }
}

TEST_CASE("the GPU that an arch's rates are of is itself", "[gpus]") {
    for (const arch& a : arch_registry) {
        if (a.compute_capability == 0) continue;
        INFO(a.name);
        const gpu_figures& g = gpu(a.gpu);
        CHECK(std::string(g.arch) == a.name);
        CHECK(with(g).sms == a.sms);
        CHECK(with(g).cycles_per_us == a.cycles_per_us);
        CHECK(with(g).bytes_per_us == Approx(a.bytes_per_us));
        CHECK(a.bytes_per_us <= g.peak_bytes_per_us);
    }
}

TEST_CASE("reads reach the share of the peak that is assumed of the arch's GPU", "[gpus]") {
    CHECK(with(gpu("H200 SXM")).bytes_per_us == Approx(4800e3 * 3000 / 3350));
    CHECK(with(gpu("L40S")).bytes_per_us == Approx(864e3));
    arch unlisted = toy_arch;
    CHECK(with_figures(unlisted, gpu("L4")).bytes_per_us == Approx(300e3));
}

TEST_CASE("what is not known of a GPU stays its arch's, and a long name is cut", "[gpus]") {
    const std::string name(100, 'x');
    const arch a = with_figures(toy_arch, {.name = name.c_str(),
                                           .arch = "toy",
                                           .sms = 0,
                                           .l2_mib = 0,
                                           .peak_bytes_per_us = 0,
                                           .cycles_per_us = 0});
    CHECK(a.sms == toy_arch.sms);
    CHECK(a.bytes_per_us == toy_arch.bytes_per_us);
    CHECK(a.cycles_per_us == toy_arch.cycles_per_us);
    CHECK(std::string(a.gpu) == name.substr(0, sizeof(a.gpu) - 1));
}

TEST_CASE("a matvec's blocks fill the SMs of any GPU evenly, in one wave", "[gpus]") {
    const std::vector<row> rows = {
        row_of(matvec_of(q4),
               matvec_policy{.threads = 64, .rows = 1, .columns = 1, .piece = 1024, .stages = 2})};
    int second_waves = 0;
    for (const char* name : {"H100 PCIe", "L4", "L40S", "RTX 5080", "RTX 4070"})
        for (const int n : {4096, 6144, 14336, 28672}) {
            INFO(name << ", " << n << " rows");
            const product_problem p = matvec_problem(4096, {{.type = format::q4_K, .rows = n}});
            const arch here = with(gpu(name));
            const auto wave =
                static_cast<std::uint32_t>(here.sms * blocks_per_sm(rows[0], p, here));
            table t;
            t.target = arch_named(here.name);
            t.rows = rows.data();
            t.row_count = 1;
            if (pick(p, t).config.blocks > wave) ++second_waves;
            t.device = here;
            const std::uint32_t blocks = pick(p, t).config.blocks;
            CHECK(blocks <= wave);
            CHECK(unevenness(blocks, here.sms) < 1.2);
        }
    CHECK(second_waves > 5);  // where the launch is made for the arch's own GPU
}

TEST_CASE("instructions take the time of the device's clock", "[gpus]") {
    const row r =
        row_of(matvec_of(q4),
               matvec_policy{.threads = 256, .rows = 4, .columns = 4, .piece = 1024, .stages = 4});
    const product_problem p = matvec_problem(4096, {{.type = format::q4_K, .rows = 14336}}, 4);
    arch slow = *arch_named("sm_90"), fast = slow;
    slow.cycles_per_us = 500, fast.cycles_per_us = 4000;
    const auto us = [&](const arch& a) {
        return predicted_us(r, p, a, shape_with_bands(r, p, a, 4, 32));
    };
    CHECK(us(slow) > 1.5 * us(fast));
    fast.bytes_per_us = slow.bytes_per_us = 1e9;  // memory does not count
    CHECK(us(slow) > 3 * us(fast));               // latencies are those of any clock
}
