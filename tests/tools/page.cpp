// The page of explain --html in a browser: it runs without an error and shows every step. The
// browser is CATENA_CHROMIUM, without a display.
#include "catena_test/catch.hpp"
#include "given.hpp"
#include "html.hpp"
#include "page_parts.hpp"
#include "small_graph.hpp"
#include "tables.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

using namespace catena;
using namespace catena::tool;
namespace fs = std::filesystem;

namespace {

/// The document after its scripts have run.
std::string dom_of(const std::string& html) {
    const std::string path = catena_test::scratch("page");
    fs::create_directories(path);
    catena_test::write_file(path + "/page.html", html);
    const std::string line = "'" CATENA_CHROMIUM
                             "' --headless --no-sandbox --disable-gpu --no-first-run "
                             "--virtual-time-budget=20000 --user-data-dir='" +
                             path +
                             "/profile' "
                             "--dump-dom 'file://" +
                             path + "/page.html' >'" + path + "/dom' 2>'" + path + "/log'";
    const int status = std::system(line.c_str());
    std::ifstream file(path + "/dom", std::ios::binary);
    std::string dom{std::istreambuf_iterator<char>(file), {}};
    INFO("the browser's directory is " << path);
    REQUIRE(status == 0);
    fs::remove_all(path);
    return dom;
}

/// An attribute of the document's first element.
std::string root_attribute(const std::string& dom, const std::string& name) {
    const std::string root = dom.substr(0, dom.find("<head"));
    std::smatch m;
    return std::regex_search(root, m, std::regex(name + "=\"([^\"]*)\"")) ? m[1].str() : "";
}

/// The page with a script behind it that does what a reader would: opens every layer, selects every
/// step and the rows of a layer of each kind, searches, changes the theme, and counts what it met.
std::string walked(std::string html) {
    const std::string walk = R"(<script>
addEventListener("load", () => {
    const all = query => [...document.querySelectorAll(query)];
    const root = document.documentElement;
    const press = key => document.dispatchEvent(new KeyboardEvent("keydown", {key}));
    const rows = new Set();
    document.getElementById("views").click();
    for (const layer of all("#map .layer")) {
        layer.click();
        for (const row of all("#graph .row[data-node]")) rows.add(row.dataset.node);
        if (layer.textContent.length < 4 || layer.textContent.endsWith("1"))
            for (const row of all("#graph .row")) if (row.isConnected) row.click();
    }
    let shown = 0;
    for (const step of all("#map [data-step]").filter(s => !s.classList.contains("rest"))) {
        step.click();
        const instance = document.querySelector("#details .instance").textContent;
        shown += instance === step.title.split(": ")[1].split(", ")[0];
    }
    const arrows = ["ArrowDown", "ArrowUp", "ArrowRight", "ArrowLeft"];
    for (const key of [...arrows, "[", "]", "v", "v", "t", "Escape"]) press(key);
    const query = document.getElementById("query");
    query.value = "rms_norm";
    query.dispatchEvent(new Event("input"));
    const found = all("#hits button").length;
    query.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter"}));
    Object.assign(root.dataset, {rows: rows.size, shown, found});
    setTimeout(() => root.dataset.address = location.hash, 1000);
});
</script></body>)";
    const std::size_t end = html.rfind("</body>");
    return html.replace(end, 7, walk);
}

/// The page with a script behind it that holds the width of every step's bar against its time, and
/// counts the kinds of bars and the steps whose bar is more than a pixel off.
std::string scaled(std::string html) {
    const std::string hold = R"(<script>
addEventListener("load", () => {
    const all = query => [...document.querySelectorAll(query)];
    const steps = JSON.parse(document.getElementById("explain").textContent).steps;
    const times = steps.map(s => s.measured ? s.measured.us : s.predicted_us);
    const widths = steps.map(() => 0);
    for (const bar of all("#map [data-step]"))
        widths[bar.dataset.step] += bar.getBoundingClientRect().width;
    const sum = list => list.reduce((a, b) => a + b, 0);
    const scale = sum(widths) / sum(times);
    const off = times.filter((us, i) => Math.abs(widths[i] - us * scale) > 1).length;
    const count = kind => all(`#map .step.${kind}:not(.rest)`).length;
    Object.assign(document.documentElement.dataset, {
        off, measured: count("measured"), predicted: count("predicted"), slower: count("slower")});
});
</script></body>)";
    return html.replace(html.rfind("</body>"), 7, hold);
}

}  // namespace

TEST_CASE("a page loads without an error, and its map holds every step", "[page]") {
    for (const char* name : {"qwen3.6-35b-a3b-q4km.tg1", "gemma-3-4b-q4km.pp512"}) {
        INFO(name);
        const json::graph g = given(name);
        const report r = make_report(g, table_for("sm_90"));
        std::string dom = dom_of(as_html(r));
        CHECK(root_attribute(dom, "data-error") == "");
        CHECK(root_attribute(dom, "data-ready") == "yes");
        dom = dom.substr(0, dom.find("id=\"graph\""));  // the map
        std::multiset<int> steps;
        const std::regex step("class=\"[^\"]*hue[0-9]\"[^>]* data-step=\"([0-9]+)\"");
        for (std::sregex_iterator i(dom.begin(), dom.end(), step), end; i != end; ++i)
            steps.insert(std::stoi((*i)[1]));
        REQUIRE(steps.size() == r.plan.steps.size());
        for (std::size_t s = 0; s < r.plan.steps.size(); ++s)
            CHECK(steps.count(static_cast<int>(s)) == 1);  // without what goes on in a next line
    }
}

TEST_CASE("every layer opens, every step shows its instance, every node has a row", "[page]") {
    const json::graph g = json::read(CATENA_TEST_DATA "/graphs/qwen3.6-35b-a3b-q4km.tg1.json.gz");
    const report r = make_report(g, table_for("sm_90"));
    const std::string dom = dom_of(walked(as_html(r)));
    CHECK(root_attribute(dom, "data-error") == "");
    CHECK(root_attribute(dom, "data-rows") == std::to_string(g.nodes.size()));
    CHECK(root_attribute(dom, "data-shown") == std::to_string(r.plan.steps.size()));
    CHECK(root_attribute(dom, "data-found") == "60");
    CHECK(root_attribute(dom, "data-address").rfind("#node-", 0) == 0);
}

TEST_CASE("bars are to scale in time, and a measured one looks unlike a predicted one", "[page]") {
    const launch_record record =
        read_launches(CATENA_TEST_RECORDS "/launches.h100.2026-11-26.json.gz");
    const json::graph g = json::read(CATENA_TEST_DATA "/graphs/qwen3-8b-q4km.tg1.json.gz");
    for (const bool with : {true, false}) {
        CAPTURE(with);
        // In the file's order some steps are in the record, and others are not.
        const report r = make_report(g, table_for("sm_90"), with ? &record : nullptr);
        const std::string dom = dom_of(scaled(as_html(r)));
        const int measured = with ? r.measured->same.steps + r.measured->other.steps : 0;
        const int all = static_cast<int>(r.plan.steps.size());
        CHECK(root_attribute(dom, "data-error") == "");
        CHECK(root_attribute(dom, "data-off") == "0");
        CHECK(root_attribute(dom, "data-measured") == std::to_string(measured));
        CHECK(root_attribute(dom, "data-predicted") == std::to_string(all - measured));
        CHECK((measured < all && (measured > 0) == with));
        int slower = 0;
        for (std::size_t i = 0; with && i < r.plan.steps.size(); ++i)
            slower += r.measured->slower(r.plan, i);
        CHECK(root_attribute(dom, "data-slower") == std::to_string(slower));
    }
}

TEST_CASE("a graph without layers, with hostile names, is shown too", "[page]") {
    auto text = catena_test::small_graph();
    for (auto& t : text["tensors"])
        t["name"] = "</script><img src=x onerror=\"document.title='bad'\">";
    text["model"] = "<b>&amp;</b>";
    const json::graph g = json::parse(text.dump(), "small.json");
    const std::string dom = dom_of(walked(as_html(make_report(g, table_for("sm_90")))));
    CHECK(root_attribute(dom, "data-error") == "");
    CHECK(root_attribute(dom, "data-shown") == "2");
    CHECK(dom.find("<img") == std::string::npos);
    CHECK(dom.find("<title>&lt;b&gt;&amp;amp;&lt;/b&gt;, b2</title>") != std::string::npos);
}

TEST_CASE("an error in a page's script is seen", "[page]") {
    const json::graph g = json::parse(catena_test::small_graph().dump(), "small.json");
    std::string html = as_html(make_report(g, table_for("sm_90")));
    const std::size_t at = html.find("drawMap();");
    html.insert(at, "nothing.there();");
    const std::string dom = dom_of(html);
    CHECK(root_attribute(dom, "data-error").find("nothing") != std::string::npos);
    CHECK(root_attribute(dom, "data-ready") == "");
}
