#include "record.hpp"

#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace catena::bench {
namespace {

constexpr const char* format_name = "catena benchmark 1";

std::string hex(std::uint64_t key) {
    char text[17];
    std::snprintf(text, sizeof text, "%016" PRIx64, key);
    return text;
}

nlohmann::json as_json(const measured_on& m) {
    return {{"gpu", m.gpu},
            {"driver", m.driver},
            {"cuda", m.cuda},
            {"date", m.date},
            {"method", m.method},
            {"ggml", m.ggml},
            {"clocks_mhz", {{"sm", m.sm_mhz}, {"memory", m.memory_mhz}}}};
}

nlohmann::json as_json(const measured_case& c) {
    nlohmann::json times = nlohmann::json::object();
    for (const auto& [who, t] : c.times)
        times[who] = {{"median_us", t.median}, {"spread", t.spread}, {"samples", t.samples}};
    nlohmann::json out = {{"kind", c.kind},
                          {"model", c.model},
                          {"case", c.name},
                          {"columns", c.columns},
                          {"copies", c.copies},
                          {"launches", c.launches},
                          {"floor_launches", c.floor_launches},
                          {"bytes", c.bytes},
                          {"instances", c.instances},
                          {"steps_key", hex(c.steps_key)},
                          {"floor",
                           {{"empty_node_us", c.floor.empty_node_us},
                            {"read_bytes_per_us", c.floor.read_bytes_per_us},
                            {"copy_bytes_per_us", c.floor.copy_bytes_per_us}}},
                          {"attainable_us", c.attainable_us()},
                          {"times", times},
                          {"missing", c.missing}};
    if (!c.excluded.empty()) out["excluded"] = c.excluded;
    if (c.predicted_us > 0) out["predicted_us"] = c.predicted_us;
    if (c.nmse >= 0) out["nmse_to_ggml"] = c.nmse;
    if (c.wrong) out["wrong"] = true;
    return out;
}

}  // namespace

record::record(std::string path, const measured_on& where) : path_(std::move(path)) {
    const nlohmann::json now = as_json(where);
    std::ifstream before(path_);
    if (!before) {
        json_ = {{"format", format_name},
                 {"provenance", now},
                 {"missing_peers", nlohmann::json::object()},
                 {"cases", nlohmann::json::array()}};
        if (where.predicted) json_["predicted"] = true;
        return;
    }
    json_ = nlohmann::json::parse(before, nullptr, false);
    if (json_.is_discarded() || json_.value("format", "") != format_name)
        throw std::runtime_error(path_ + " is not a benchmark's record: name another file");
    for (const char* field : {"gpu", "driver", "cuda", "method", "ggml"})
        if (json_["provenance"][field] != now[field])
            throw std::runtime_error(path_ + " was measured with " + field + " " +
                                     json_["provenance"][field].dump() + ", and this is " +
                                     now[field].dump() + ": name another file");
}

bool record::has(const std::string& kind, const std::string& model, const std::string& name,
                 int columns) const {
    for (const auto& c : json_["cases"])
        if (c["kind"] == kind && c["model"] == model && c["case"] == name &&
            c["columns"] == columns)
            return true;
    return false;
}

bool record::has_instance(const std::string& row) const {
    for (const auto& c : json_["cases"])
        if (c["kind"] == "instance" && c["instances"][0] == row) return true;
    return false;
}

int record::wrong() const {
    int count = 0;
    for (const auto& c : json_["cases"]) count += c.value("wrong", false);
    return count;
}

void record::add(const measured_case& c) {
    json_["cases"].push_back(as_json(c));
    write();
}

void record::miss(const std::string& peer, const std::string& remedy) {
    json_["missing_peers"][peer] = remedy;
    write();
}

void record::write() const {
    const std::string fresh = path_ + ".new";
    {
        std::ofstream file(fresh);
        file << json_.dump(1) << '\n';
        if (!file.flush()) throw std::runtime_error("cannot write " + fresh);
    }
    std::filesystem::rename(fresh, path_);
}

std::string header_of_lines() {
    return "       us  spread  of attainable  case (ratios: how many times as long the peer takes)";
}

std::string line_of(const measured_case& c) {
    const auto ours = c.times.find("catena");
    char text[128] = "        -       -              -  ";
    if (ours != c.times.end())
        std::snprintf(text, sizeof text, "%9.2f  %5.1f%%  %12.0f%%  ", ours->second.median,
                      100 * ours->second.spread, 100 * c.attainable_us() / ours->second.median);
    std::string out = text + (c.model.empty() ? "" : c.model + " ") + c.name;
    if (c.columns > 0) out += " columns " + std::to_string(c.columns);
    for (const auto& [who, t] : c.times) {
        if (who == "catena" || who == "catena, host clock" || ours == c.times.end()) continue;
        // A peer that has no events of ours is timed by the host, and so is Catena beside it.
        const auto by_host = c.times.find("catena, host clock");
        const bool host = who.rfind("ggml", 0) == 0 && by_host != c.times.end();
        std::snprintf(text, sizeof text, "  %s %.2fx", who.c_str(),
                      t.median / (host ? by_host->second.median : ours->second.median));
        out += text;
    }
    for (const auto& [who, why] : c.missing) out += "  " + who + ": " + why;
    return out;
}

}  // namespace catena::bench
