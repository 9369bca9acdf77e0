// The page of explain --html, without a browser: it holds everything that the JSON says, and loads
// nothing.
#include "html.hpp"

#include "catena_test/catch.hpp"
#include "given.hpp"
#include "page_parts.hpp"
#include "small_graph.hpp"
#include "tables.hpp"

#include <set>
#include <string>

using namespace catena;
using namespace catena::tool;
using catena_test::script_json;
using catena_test::script_text;

namespace {

std::string html_of(const json::graph& g) { return as_html(make_report(g, table_for("sm_90"))); }

}  // namespace

TEST_CASE("a page holds the report's JSON as it is", "[html]") {
    const json::graph g = json::parse(catena_test::small_graph().dump(), "small.json");
    const report r = make_report(g, table_for("sm_90"));
    CHECK(script_json(as_html(r), "explain") == nlohmann::json::parse(as_json(r, false)));
}

TEST_CASE("a page holds every node, step, rejected row and reason of a report", "[html][graphs]") {
    for (const char* name :
         {"qwen3.6-35b-a3b-q4km.tg1", "llama-3.2-3b-q4km.pp512", "gpt-oss-20b-mxfp4.b4"}) {
        INFO(name);
        const json::graph g = given(name);
        const report r = make_report(g, table_for("sm_90"));
        const std::string html = as_html(r);
        const auto page = script_json(html, "page");
        const auto whole = nlohmann::json::parse(as_json(r, true));

        REQUIRE(page["nodes"].size() == g.nodes.size());
        for (std::size_t i = 0; i < g.nodes.size(); ++i) {
            const tensor& t = g.tensors[static_cast<std::size_t>(g.nodes[i])];
            REQUIRE(page["nodes"][i][1] == t.name);
            REQUIRE(page["nodes"][i][0].get<std::string>().rfind(t.op_name, 0) == 0);
        }
        REQUIRE(page["steps"].size() == whole["steps"].size());
        for (std::size_t s = 0; s < page["steps"].size(); ++s) {
            nlohmann::json rejected = nlohmann::json::array();
            for (const auto& row : page["choices"][page["steps"][s]["choice"].get<std::size_t>()])
                rejected.push_back(page["rows"][row[0].get<std::size_t>()].get<std::string>() +
                                   ": " +
                                   page["sentences"][row[2].get<std::size_t>()].get<std::string>());
            REQUIRE(rejected == whole["steps"][s]["rejected"]);
        }
        const auto explained = script_json(html, "explain");
        CHECK(explained["not_fused"] == whole["not_fused"]);
        CHECK(explained["not_fused"].size() == r.done.not_fused.size());
        std::set<int> served, multiplied, made;
        for (const auto& chain : page["chains"]) {
            for (const auto& node : chain["served"]) CHECK(served.insert(node.get<int>()).second);
            if (chain["made_by"] == -1) {  // its readers quantize what they read
                for (const auto& reader : chain["steps"])
                    CHECK(whole["steps"][reader.get<std::size_t>()]["work"].get<std::string>().find(
                              "quantized inside") != std::string::npos);
                continue;
            }
            const auto maker = chain["made_by"].get<std::size_t>();
            REQUIRE(maker < page["steps"].size());
            const auto place = static_cast<int>(&chain - &page["chains"][0]);
            const bool own = whole["steps"][maker]["place"] == place;
            CHECK((own || !page["steps"][maker]["makes"].empty()));
        }
        for (std::size_t s = 0; s < page["steps"].size(); ++s) {
            for (const auto& m : page["steps"][s]["matmuls"])
                CHECK(multiplied.insert(m[0].get<int>()).second);
            for (const auto& chain : page["steps"][s]["makes"]) {
                CHECK(made.insert(chain.get<int>()).second);
                CHECK(page["chains"][chain.get<std::size_t>()]["made_by"] == s);
            }
        }
        CHECK(multiplied == served);
    }
}

TEST_CASE("a page's costs are the report's launches", "[html][graphs]") {
    const json::graph g = given("llama-3.2-3b-q4km.tg1");
    const report r = make_report(g, table_for("sm_90"));
    const auto costs = script_json(as_html(r), "page")["costs"];
    REQUIRE(costs.size() == 4);
    CHECK(costs[0]["launches"] == r.wanted.launches_per_node);
    CHECK(costs[1]["launches"] == r.peer.launches);
    CHECK(costs[2]["launches"] == r.done.launches);
    CHECK(costs[3]["launches"] == r.done.launches_engine_fused);
    CHECK(costs[2]["us"] < costs[0]["us"]);
}

TEST_CASE("a page loads nothing from anywhere", "[html]") {
    const std::string html = html_of(json::parse(catena_test::small_graph().dump(), "small.json"));
    for (const char* word :
         {"https:", " src=", "<link", "@import", "url(", "fetch(", "XMLHttp", "import("}) {
        INFO(word);
        CHECK(html.find(word) == html.npos);
    }
    std::size_t addresses = 0, at = 0;
    while ((at = html.find("http:", at + 1)) != html.npos) ++addresses;
    CHECK(addresses == 1);  // the name of SVG, which nothing loads
}

TEST_CASE("no name of a graph can end the script that holds it", "[html]") {
    auto text = catena_test::small_graph();
    const std::string name = "</script><script>alert('&amp;')</script><!--\\u2028\"";
    text["tensors"][6]["name"] = name;
    text["model"] = name;
    const json::graph g = json::parse(text.dump(), "small.json");
    const std::string html = html_of(g);
    CHECK(script_json(html, "page")["nodes"][3][1] == name);
    CHECK(script_json(html, "explain")["graph"]["model"] == name);
    for (const char* id : {"page", "explain"})
        CHECK(script_text(html, id).find('<') == std::string::npos);
    CHECK(html.find("<script>alert") == html.npos);
}

TEST_CASE("a page is small enough to open at once", "[html][graphs]") {
    CHECK(html_of(given("qwen3.6-35b-a3b-q4km.tg1")).size() < 2'000'000);
}
