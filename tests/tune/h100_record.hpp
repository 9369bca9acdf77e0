// The tuner's record of an H100, as bench/results has it.
#pragma once

#include "tuning.hpp"

#include "catena_test/catch.hpp"

#include <zlib.h>

#include <string>

/// 170 of 536 problems of the given graphs are decided, at 1 and 4 columns.
inline const catena::generator::tuning& h100_record() {
    static const catena::generator::tuning all = [] {
        const std::string file = CATENA_SOURCE_DIR "/bench/results/tuning.sm_90.2026-11-26.json.gz";
        const gzFile in = gzopen(file.c_str(), "rb");
        REQUIRE(in != nullptr);
        std::string text;
        char part[1 << 16];
        for (int n = 0; (n = gzread(in, part, sizeof part)) > 0;)
            text.append(part, static_cast<std::size_t>(n));
        gzclose(in);
        return catena::generator::parse_tuning(text, file);
    }();
    return all;
}
