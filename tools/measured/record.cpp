#include "launch_record.hpp"

#include "../json/bytes.hpp"
#include "fields.hpp"
#include "nesting.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>

namespace catena::tool {
namespace {

using value = nlohmann::ordered_json;

constexpr const char* format_name = "catena launches 1";

/// An object of the record, and how to speak of it.
struct place {
    const value& object;
    std::string what;  ///< "launch 3 of step 0"

    [[noreturn]] void fail(const char* field, const std::string& sentence) const {
        throw std::runtime_error(
            fmt::format("{}{}field '{}': {}", what, what.empty() ? "" : ": ", field, sentence));
    }

    const value& at(const char* field) const {
        if (!object.is_object()) throw std::runtime_error(what + ": expected an object");
        if (!object.contains(field)) fail(field, "is missing");
        return object[field];
    }
    std::string text(const char* field) const {
        if (!at(field).is_string()) fail(field, "expected a string, found " + at(field).dump());
        return at(field);
    }
    const value& list(const char* field) const {
        if (!at(field).is_array()) fail(field, "expected an array");
        return at(field);
    }
    double time(const char* field) const {
        const value& v = at(field);
        if (!v.is_number() || !std::isfinite(v.get<double>()) || v.get<double>() < 0)
            fail(field, "expected microseconds, found " + v.dump());
        return v;
    }
    int count(const char* field) const {
        constexpr int most = std::numeric_limits<int>::max();
        const value& v = at(field);
        if (!v.is_number_integer() || v < 1 || v > most)
            fail(field, fmt::format("expected a number from 1 to {}, found {}", most, v.dump()));
        return v;
    }
    int index(const char* field, std::size_t size) const {
        const value& v = at(field);
        if (!v.is_number_integer() || v < 0 || v >= size)
            fail(field, fmt::format("expected an index below {}, found {}", size, v.dump()));
        return v;
    }
};

recorded_step step_of(const place& at) {
    const value& j = at.at("problem");
    try {
        const bool product = j.at("needs").contains("kind");
        const computation needs = generator::computation_of_json(j.at("needs"));
        if (product && needs.kind() == skeleton::row)
            throw std::runtime_error("its kind is no kind of matrices");
        return {at.text("instance"), generator::problem_of_json(needs.kind(), j)};
    } catch (const std::exception& e) {
        at.fail("problem", std::string("is none that this version reads: ") + e.what());
    }
}

recorded_launch launch_of(const place& at, const launch_record& in) {
    recorded_launch out;
    out.us = at.time("us");
    if (at.object.contains("gap_us")) out.gap_us = at.time("gap_us");
    if (at.object.contains("step"))
        out.step = at.index("step", in.steps.size());
    else if (at.object.contains("kernel"))
        out.kernel = at.index("kernel", in.kernels.size());
    else
        at.fail("step", "is missing, and so is 'kernel': a launch is of Catena or of the engine");
    return out;
}

recorded_walk walk_of(const place& at, const launch_record& in) {
    recorded_walk out{at.text("model"), at.text("load"), at.count("repeats"), at.time("us"), {}};
    for (const value& one : at.list("launches"))
        out.launches.push_back(
            launch_of({one, fmt::format("launch {} of {}", out.launches.size(), at.what)}, in));
    return out;
}

launch_record record_of(const value& root, const std::string& file) {
    const place top{root, ""};
    if (!root.is_object() || root.value("format", value()) != format_name)
        throw std::runtime_error(fmt::format("'format' should be '{}'", format_name));
    const place from{top.at("provenance"), "provenance"};
    launch_record out;
    out.file = file;
    out.arch = top.text("arch");
    if (root.contains("gpu")) out.gpu = top.text("gpu");
    out.device = from.text("gpu");
    out.driver = from.text("driver");
    out.cuda = from.text("cuda");
    out.date = from.text("date");
    out.commit = from.text("commit");
    for (const value& one : top.list("kernels")) {
        if (!one.is_string()) top.fail("kernels", "expected strings, found " + one.dump());
        out.kernels.push_back(one);
    }
    for (const value& one : top.list("steps"))
        out.steps.push_back(step_of({one, fmt::format("step {}", out.steps.size())}));
    for (const value& one : top.list("walks"))
        out.walks.push_back(walk_of({one, fmt::format("walk {}", out.walks.size())}, out));
    return out;
}

}  // namespace

launch_record parse_launches(const std::string& text, const std::string& file) try {
    return record_of(value::parse(text, bounded_nesting<value>()), file);
} catch (const std::exception& e) {
    throw std::runtime_error(fmt::format(
        "{}: no record of launches: {}; bench/launches.py writes such records", file, e.what()));
}

launch_record read_launches(const std::string& file) {
    return parse_launches(json::bytes_of(file), file);
}

}  // namespace catena::tool
