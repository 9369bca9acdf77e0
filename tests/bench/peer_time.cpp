// The model of ggml-cuda's time against decode rates that others published.
#include "peer_time.hpp"

#include "catena/engine/json.hpp"
#include "catena_test/catch.hpp"

#include <string>

using namespace catena;

namespace {

/// llama.cpp on one H100 SXM, Q4_K_M or mxfp4, one request over HTTP (June 2026).
struct published {
    const char* graph;
    double tokens_per_s;
    /// The share of the published time that the model explains, and with a
    /// cold stream's share of the bandwidth.
    double of_it, cold;
};
constexpr published rates[] = {{"gpt-oss-20b-mxfp4.tg1", 286, 0.65, 0.82},
                               {"qwen3.6-35b-a3b-q4km.tg1", 194, 0.85, 0.95}};

}  // namespace

TEST_CASE("The model explains a share of published decode times", "[peer_time]") {
    const arch& a = *arch_named("sm_90");
    for (const published& rate : rates) {
        INFO(rate.graph);
        const json::graph g =
            json::read(std::string(CATENA_TEST_DATA "/graphs/") + rate.graph + ".json.gz");
        const double us = bench::peer_us(a, g.view()), measured = 1e6 / rate.tokens_per_s;
        CHECK(us / measured == Approx(rate.of_it).margin(0.005));
        arch cold = a;
        cold.bytes_per_us *= detail::cold_stream_share;
        CHECK(bench::peer_us(cold, g.view()) / measured == Approx(rate.cold).margin(0.005));
        const int launches = tool::count_peer(g.view()).launches;
        CHECK(us > tool::traffic{launches, tool::one_by_one(g.view()).bytes}.attainable_us(a));
    }
}

TEST_CASE("A launch of the peer waits for the one before it", "[peer_time]") {
    arch a = *arch_named("sm_90");
    a.node_us = 2, a.bytes_per_us = 1000;
    CHECK(bench::peer_us(a, 10, 5000) == Approx(10 * (2 + 1.0) + 5));
}
