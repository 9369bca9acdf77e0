// Clusters on a device at hand, which may have no room for them.
#include "catena/error/message.hpp"
#include "catena/pick/pick.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/invented.hpp"
#include "catena_test/problems.hpp"

#include <vector>

using namespace catena;
using namespace catena_test;

namespace {

/// What the invented device was asked, and how large a cluster it holds.
struct {
    std::vector<launch_config> asked;
    const void* kernel = nullptr;
    int device = -1;
    unsigned room = 8;
} device;

status prepare(const void* kernel, const launch_config& config, int number) noexcept {
    device.asked.push_back(config);
    device.kernel = kernel;
    device.device = number;
    return config.cluster <= device.room ? status{}
                                         : failure(status_code::no_clusters, "it does not fit");
}

/// Two rows that share bands among the blocks of a cluster, on 16 SMs; two bands of one matrix.
struct clusters {
    arch target = toy_arch;
    std::vector<row> rows;
    const void* kernels[2] = {&rows, &target};
    table t;
    product_problem few = matvec_problem(1024, {{.type = format::q4_K, .rows = 64}});

    clusters() {
        target.cluster_blocks = 8;
        target.sms = 16;
        target.cycles_per_us = 5;  // instructions are what counts
        product_computation c = matvec_of(q4);
        c.epilogue = few.needs.epilogue = few.member[0].epilogue =
            epilogue_set::of(epilogue_part::quantize);
        matvec_policy p = {.threads = 128, .rows = 2, .columns = 1, .piece = 1024, .stages = 2};
        rows.push_back(row_of(c, p));
        p.cluster = 8;
        rows.insert(rows.begin(), row_of(c, p));
        t.target = &target;
        t.rows = rows.data();
        t.row_count = 2;
        t.kernels = kernels;
        t.prepare = prepare;
        t.device_number = 3;
        device = {};
    }
    clusters(const clusters&) = delete;
    clusters& operator=(const clusters&) = delete;
};

}  // namespace

TEST_CASE("the device is asked for room for the clusters that are picked", "[clusters]") {
    clusters c;
    const picked p = pick(c.few, c.t);
    CHECK(p.row == 0);
    CHECK(p.config.cluster == 4);
    CHECK_FALSE(p.clusters_refused);
    REQUIRE(device.asked.size() == 1);
    CHECK(device.asked[0].cluster == 4);
    CHECK(device.asked[0].shared_bytes == p.config.shared_bytes);
    CHECK(device.kernel == c.kernels[0]);
    CHECK(device.device == 3);
}

TEST_CASE("where clusters find no room, a row without them is picked", "[clusters]") {
    clusters c;
    device.room = 1;
    const picked p = pick(c.few, c.t);
    CHECK(p.row >= 0);
    CHECK(p.config.cluster == 1);
    CHECK(p.config.blocks == 2);  // a block for each band
    CHECK(p.clusters_refused);
    CHECK(pick(c.few, c.t, {.same_bits = true}).config.cluster == 1);

    const choice all = choose(c.few, c.t);
    CHECK(all.best.row == p.row);
    CHECK(all.best.config.cluster == 1);
    REQUIRE(all.rejected.size() == 1);  // one row is picked, the other is not
    CHECK(all.rejected[0].row == 1 - p.row);
}

TEST_CASE("without a device, or for launches without clusters, nobody is asked", "[clusters]") {
    clusters c;
    product_problem many = c.few;
    many.member[0].rows = 4096;
    CHECK(pick(many, c.t).config.cluster == 1);
    c.t.kernels = nullptr;
    CHECK(pick(c.few, c.t).config.cluster == 4);
    c.t.kernels = c.kernels;
    c.t.prepare = nullptr;
    CHECK(pick(c.few, c.t).config.cluster == 4);
    CHECK(device.asked.empty());
}
