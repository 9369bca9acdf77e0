#include "wrap.hpp"

#include "catena_test/catch.hpp"
#include "nearest.hpp"

#include <string>

using namespace catena::tool;

TEST_CASE("text that fits stays as it is, and so does all text without a width", "[wrap]") {
    const std::string text = "a  b\n\n  indented\nlast without an end";
    CHECK(wrapped(text, 80) == text);
    const std::string line = std::string(60, 'a') + " " + std::string(60, 'b') + "\n";
    CHECK(wrapped(line, 0) == line);
}

TEST_CASE("the rest of a line begins below its second column, or two columns in", "[wrap]") {
    CHECK(wrapped("label  one two three\n", 14) == "label  one two\n       three\n");
    CHECK(wrapped("one two three four\n", 10) == "one two\n  three\n  four\n");
    CHECK(wrapped("  one two three\n", 10) == "  one two\n    three\n");
    CHECK(wrapped(std::string(24, ' ') + "one two\n", 28) ==
          std::string(24, ' ') + "one\n" + std::string(24, ' ') + "two\n");
}

TEST_CASE("a word longer than the width stays whole, and letters count, not bytes", "[wrap]") {
    CHECK(wrapped("abc abcdefghijklmnop b\n", 10) == "abc\n  abcdefghijklmnop\n  b\n");
    CHECK(wrapped("\u00e9\u00e9\u00e9\u00e9 \u00e9\u00e9\u00e9\u00e9\u00e9\n", 10) ==
          "\u00e9\u00e9\u00e9\u00e9 \u00e9\u00e9\u00e9\u00e9\u00e9\n");
}

TEST_CASE("a mistyped word is near to the one that was meant", "[nearest]") {
    const std::vector<std::string> known = {"sm_80", "sm_90", "explain", "instances"};
    CHECK(nearest("sm90", known) == "sm_90");
    CHECK(nearest("sm_09", known) == "sm_90");  // neighbors swapped
    CHECK(nearest("explian", known) == "explain");
    CHECK(nearest("instance", known) == "instances");
    CHECK(nearest("q4_k", {"q4_0", "q4_K"}) == "q4_K");
    CHECK(nearest("sm_42", known).empty());
    CHECK(nearest("", known).empty());
    CHECK(did_you_mean("sm_91", known) == "; did you mean 'sm_90'?");
    CHECK(did_you_mean("frobnicate", known).empty());
}
