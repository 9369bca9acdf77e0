// Plans for a GPU that is named, where none is at hand.
#include "workplace.hpp"

#include <nlohmann/json.hpp>

#include <string>

using namespace catena_test;
using nlohmann::json;

namespace {

json explained(const workplace& w, const std::string& how,
               const std::string& graph = "small.json") {
    const outcome o = w.run("explain " + graph + " --json " + how);
    INFO(o.err);
    REQUIRE(o.code == 0);
    return json::parse(o.out);
}

}  // namespace

TEST_CASE("explain plans for a named GPU, and says which it was", "[command]") {
    const workplace w;
    const json of_arch = explained(w, ""), h200 = explained(w, "--gpu 'H200 SXM'");
    CHECK(of_arch["gpu"]["name"] == "H100 SXM");
    CHECK(h200["gpu"]["name"] == "H200 SXM");
    CHECK(h200["arch"] == "sm_90");
    CHECK(h200["gpu"]["bytes_per_us"] > of_arch["gpu"]["bytes_per_us"]);
    CHECK(h200["attainable_us"] < of_arch["attainable_us"]);
    CHECK(h200["predicted"]["engine_floor_us"] < of_arch["predicted"]["engine_floor_us"]);
    const std::string large = CATENA_TEST_DATA "/graphs/llama-3.1-8b-q8_0.tg1.json.gz";
    CHECK(explained(w, "--gpu 'H200 SXM'", large)["predicted"]["steps_us"] <
          explained(w, "", large)["predicted"]["steps_us"]);

    CHECK(explained(w, "--gpu gb10")["arch"] == "sm_120");
    CHECK(explained(w, "--gpu gb10")["gpu"]["sms"] == 48);
    CHECK(explained(w, "--gpu orin")["arch"] == "sm_86");

    const json l4 = explained(w, "--gpu l4");
    CHECK(l4["arch"] == "sm_89");
    CHECK(l4["gpu"]["sms"] == 58);
    CHECK(explained(w, "--gpu 'NVIDIA GeForce RTX 5080'")["gpu"]["name"] == "RTX 5080");
    CHECK(explained(w, "--gpu h100-pcie")["gpu"]["sms"] == 114);

    CHECK_THAT(w.run("explain small.json --gpu 'RTX 5080'").out,
               Catch::Contains("arch           sm_120\n") &&
                   Catch::Contains("RTX 5080: 84 SMs, 2617 MHz, reads 960 GB/s\n"));
}

TEST_CASE("an arch without a set of its own is served, or answered with the nearest", "[command]") {
    const workplace w;
    const outcome gb10 = w.run("explain small.json --arch sm_121 --json");
    CHECK(json::parse(gb10.out)["arch"] == "sm_120");
    CHECK(gb10.err == "catena: sm_121 is served by the set sm_120\n");
    CHECK(explained(w, "--arch 90a")["arch"] == "sm_90");
    const outcome none = w.run("explain small.json --arch sm_101");
    CHECK(none.code == 2);
    CHECK_THAT(none.err, Catch::Contains("no instance set serves sm_101: the nearest that one "
                                         "serves is sm_100; there are host sm_75"));
}

TEST_CASE("verify, run, bench and instances take a GPU too", "[command]") {
    const workplace w;
    const outcome proof = w.run("verify small.json --gpu L40S --json");
    CHECK(json::parse(proof.out)["graphs"][0]["gpu"] == "L40S");
    CHECK_THAT(w.run("verify small.json --gpu L40S").out, Catch::Contains("small.json, L40S: pro"));
    CHECK(w.run("run small.json --host --gpu 'H100 PCIe'").code == 0);
    const outcome shape = w.run("bench --matmul q4_K,64,256,1 --host --gpu 'H200 NVL'");
    CHECK_THAT(shape.out, Catch::Contains("H200 NVL"));
    CHECK(json::parse(w.run("instances --gpu 'RTX 4090' --json").out)["arch"] == "sm_89");
}

TEST_CASE("a GPU that is not on the list is answered with the list", "[command]") {
    const workplace w;
    const outcome o = w.run("explain small.json --gpu 'RTX 4091'");
    CHECK(o.code == 2);
    CHECK_THAT(o.err, Catch::Contains("no GPU is called 'RTX 4091': take one of RTX 2080 Ti, ") &&
                          Catch::EndsWith("did you mean 'RTX 4090'?\n"));
    CHECK(w.run("explain small.json --gpu L4 --arch sm_89").code == 2);
    CHECK(w.run("instances --gpus --arch sm_90").code == 2);

    const outcome text = w.run("instances --gpus");
    CHECK_THAT(text.out, Catch::Contains("H200 SXM") && Catch::Contains("whitepaper"));
    const json listed = json::parse(w.run("instances --gpus --json").out);
    for (const json& g : listed["gpus"]) {
        INFO(g["name"]);
        CHECK(g["sms"] > 0);
        if (g["name"] == "GB10") CHECK((g["arch"] == "sm_121" && g["set"] == "sm_120"));
        CHECK(g["source"] != "");
    }
}
