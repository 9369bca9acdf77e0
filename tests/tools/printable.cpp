#include "printable.hpp"

#include "catena_test/catch.hpp"

#include <string>

using catena::tool::printable;

TEST_CASE("text stays as it is, whatever its script", "[printable]") {
    const std::string text =
        "blk.0.attn_q (\u00a0 \u00e9 \u20ac \ud7ff \ue000 \U0001f600 "
        "\U0010ffff) \\x1b";
    CHECK(printable(text) == text);
    CHECK(printable("").empty());
}

TEST_CASE("control characters are spelled byte by byte", "[printable]") {
    CHECK(printable("a\x1b[31mb") == "a\\x1b[31mb");
    CHECK(printable(std::string("\0\t\n\r\x1f\x7f", 6)) == "\\x00\\x09\\x0a\\x0d\\x1f\\x7f");
    CHECK(printable("\xc2\x80\xc2\x9b\xc2\x9f") == "\\xc2\\x80\\xc2\\x9b\\xc2\\x9f");
}

TEST_CASE("what is no UTF-8 is spelled, and what follows it is not", "[printable]") {
    CHECK(printable("\x9b"
                    "a") ==
          "\\x9b"
          "a");
    CHECK(printable("\xc3(") == "\\xc3(");
    CHECK(printable("\xe2\x82") == "\\xe2\\x82");                    // cut off
    CHECK(printable("\xc0\x9b") == "\\xc0\\x9b");                    // too long for ESC
    CHECK(printable("\xe0\x82\x9b") == "\\xe0\\x82\\x9b");           // the same of three bytes
    CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // a surrogate
    CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
}
