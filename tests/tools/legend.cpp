#include "legend.hpp"

#include "catena_test/catch.hpp"
#include "tables.hpp"

#include "catena/pick/name.hpp"

#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>

using namespace catena;

TEST_CASE("the legend explains each part of each instance's policy", "[legend]") {
    std::set<std::string> known;
    for (const tool::legend_part& p : tool::policy_legend()) known.insert(p.part);
    std::set<std::string> used;
    for (const char* arch : {"host", "sm_75", "sm_90", "sm_120"}) {
        const table t = tool::table_for(arch);
        for (int i = 0; i < t.row_count; ++i) {
            std::istringstream policy(policy_part(t.rows[i].policy));
            for (std::string part; std::getline(policy, part, '_');) {
                const std::size_t end = part.find_last_not_of("0123456789") + 1;
                used.insert(part == "dp4a" || end == part.size() ? part
                                                                 : part.substr(0, end) + "N");
            }
        }
    }
    CHECK(used.size() > 8);
    for (const std::string& part : used) {
        INFO(part);
        CHECK(known.count(part) == 1);
    }
}

TEST_CASE("docs/naming.md has each part of the legend", "[legend]") {
    std::ifstream in(CATENA_SOURCE_DIR "/docs/naming.md");
    const std::string page(std::istreambuf_iterator<char>(in), {});
    REQUIRE(page.size() > 1000);
    for (const tool::legend_part& p : tool::policy_legend()) {
        std::string word = p.part;
        if (word.back() == 'N') word.replace(word.size() - 1, 1, "[0-9]+");
        const bool found = std::regex_search(page, std::regex("`" + word + "`"));
        INFO(p.part);
        CHECK(found);
    }
}
