// A record of launches for the steps of a report, to be read as it is or broken in one place.
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <vector>

namespace catena_test {

/// One walk over the steps that `explain --json` told, with a kernel of the engine, of 1.5 us,
/// before each of them and behind the last. The step k takes as many us as `us` says.
inline nlohmann::json record_of(const nlohmann::json& report, const std::vector<double>& us) {
    nlohmann::json record = {{"format", "catena launches 1"},
                             {"arch", report["arch"]},
                             {"provenance",
                              {{"gpu", "a GPU"},
                               {"driver", "1"},
                               {"cuda", "2"},
                               {"date", "2026-01-02"},
                               {"commit", "abc"}}},
                             {"kernels", {"engine_kernel"}}};
    nlohmann::json walk = {{"model", "m"}, {"load", "one"}, {"repeats", 9}, {"us", 100}};
    for (std::size_t k = 0; k < us.size(); ++k) {
        const nlohmann::json& step = report["steps"][k];
        record["steps"].push_back({{"instance", step["instance"]}, {"problem", step["problem"]}});
        walk["launches"].push_back({{"us", 1.5}, {"kernel", 0}});
        walk["launches"].push_back({{"us", us[k]}, {"gap_us", 0.25}, {"step", k}});
    }
    walk["launches"].push_back({{"us", 1.5}, {"kernel", 0}});
    record["walks"] = {walk};
    return record;
}

}  // namespace catena_test
