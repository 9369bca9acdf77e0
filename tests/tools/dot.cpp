// Graphviz text: its syntax by a small reader of the language, and what it holds.
#include "dot.hpp"

#include "catena_test/catch.hpp"
#include "given.hpp"
#include "layers.hpp"
#include "small_graph.hpp"
#include "tables.hpp"

#include <cctype>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

using namespace catena;
using namespace catena::tool;

namespace {

/// Tokens: names, strings with their quotes, "->", and single characters. Fails on an open string.
std::vector<std::string> tokens_of(std::string_view text) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < text.size();) {
        std::size_t end = i + 1;
        const auto c = static_cast<unsigned char>(text[i]);
        if (std::isspace(c)) {
            i = end;
            continue;
        }
        if (c == '"') {
            while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
            REQUIRE(end < text.size());
            ++end;
        } else if (std::isalnum(c) || c == '_') {
            while (end < text.size() &&
                   (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
                ++end;
        } else if (text.substr(i, 2) == "->") {
            end = i + 2;
        }
        out.emplace_back(text.substr(i, end - i));
        i = end;
    }
    return out;
}

struct drawn {
    std::set<std::string> nodes, subgraphs;
    std::map<std::pair<std::string, std::string>, std::string> edges;  ///< and their labels
};

/// A recursive descent over what the language allows here: subgraphs, attributes, nodes, edges.
struct dot_reader {
    const std::vector<std::string>& tokens;
    drawn& out;
    std::size_t at = 0;

    const std::string& peek() const {
        REQUIRE(at < tokens.size());
        return tokens[at];
    }
    std::string take() { return peek(), tokens[at++]; }
    void expect(const std::string& token) { REQUIRE(take() == token); }
    std::string name() {
        const std::string t = take();
        REQUIRE((std::isalnum(static_cast<unsigned char>(t[0])) || t[0] == '_' || t[0] == '"'));
        return t;
    }

    std::string attributes() {
        std::string label;
        expect("[");
        while (peek() != "]") {
            const std::string what = name();
            expect("=");
            const std::string is = name();
            if (what == "label") label = is;
            if (peek() == ",") take();
        }
        expect("]");
        return label;
    }

    void statements() {
        while (peek() != "}") {
            if (peek() == ";") {
                take();
            } else if (peek() == "subgraph") {
                take();
                CHECK(out.subgraphs.insert(name()).second);
                expect("{");
                statements();
                expect("}");
            } else {
                statement(name());
            }
        }
    }

    void statement(const std::string& first) {
        if (peek() == "=") {
            take();
            name();
        } else if (peek() == "->") {
            take();
            const std::string to = name();
            out.edges[{first, to}] = attributes();
        } else {
            attributes();
            if (first != "node" && first != "edge") CHECK(out.nodes.insert(first).second);
        }
        expect(";");
    }
};

drawn read_dot(const std::string& text) {
    drawn out;
    const std::vector<std::string> tokens = tokens_of(text);
    dot_reader r{tokens, out};
    r.expect("digraph");
    r.name();
    r.expect("{");
    r.statements();
    r.expect("}");
    CHECK(r.at == tokens.size());
    return out;
}

drawn drawn_of(const json::graph& g) {
    return read_dot(as_dot(make_report(g, table_for("sm_90"))));
}

}  // namespace

TEST_CASE("a small graph is drawn with its steps and what its edges carry", "[dot]") {
    const drawn d = drawn_of(json::parse(catena_test::small_graph().dump(), "small.json"));
    CHECK(d.nodes == std::set<std::string>{"n0", "n1", "n3", "n5"});
    CHECK(d.subgraphs == std::set<std::string>{"cluster_layer_0", "cluster_layer_0_step_0",
                                               "cluster_layer_0_step_1"});
    CHECK(d.edges.at({"n0", "n1"}) == "\"f32\"");
    CHECK(d.edges.at({"n1", "n3"}) == "\"q8_1\"");  // through the RESHAPE
    CHECK(d.edges.at({"n3", "n5"}) == "\"f32\"");
    CHECK(d.edges.size() == 3);
}

TEST_CASE("real graphs are valid: every edge ends at a node, every distinct layer has its steps",
          "[dot][graphs]") {
    for (const char* name :
         {"qwen3.6-35b-a3b-q4km.tg1", "gpt-oss-20b-mxfp4.b4", "gemma-3-4b-q4km.pp512"}) {
        INFO(name);
        const json::graph g = given(name);
        const report r = make_report(g, table_for("sm_90"));
        const drawn d = read_dot(as_dot(r));
        for (const auto& [ends, label] : d.edges) {
            CHECK(d.nodes.count(ends.first));
            CHECK(d.nodes.count(ends.second));
            CHECK(label.size() > 2);
        }
        std::set<std::pair<int, int>> seen;
        for (const layer& l : find_layers(g.view(), r.plan, r.done.not_fused)) {
            const std::string cluster = "cluster_layer_" + std::to_string(l.first);
            const bool first = seen.insert({l.kind, l.variant}).second;
            CHECK(d.subgraphs.count(cluster) == first);
            for (std::size_t s = 0; first && s < r.plan.steps.size(); ++s)
                if (l.first <= r.plan.steps[s].launch_at && r.plan.steps[s].launch_at < l.last)
                    CHECK(d.subgraphs.count(cluster + "_step_" + std::to_string(s)));
        }
    }
}

TEST_CASE("an edge carries q8_1 out of a launch that gates and quantizes its results",
          "[dot][graphs]") {
    const drawn d =
        drawn_of(json::read(CATENA_TEST_DATA "/graphs/qwen3.6-35b-a3b-q4km.tg1.json.gz"));
    CHECK(d.edges.at({"n77", "n78"}) == "\"q8_1\"");  // GLU to the experts' last matrix
    CHECK(d.edges.at({"n62", "n75"}) == "\"q8_1\"");
    CHECK(d.edges.at({"n62", "n63"}) == "\"f32\"");  // the router's logits
    CHECK(d.edges.at({"n75", "n77"}) == "\"f32\"");  // inside the launch
}

TEST_CASE("names with quotes, backslashes and line ends stay inside their strings", "[dot]") {
    auto text = catena_test::small_graph();
    text["model"] = "a \"quoted\" \\ model\n]; }";
    text["tensors"][6]["name"] = "\\\"];\n}";
    CHECK(drawn_of(json::parse(text.dump(), "small.json")).nodes.size() == 4);
}
