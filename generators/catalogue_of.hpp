// A catalogue as the generator takes it: plain chains, and the weight formats that one launch
// holds.
#pragma once

#include "catena/catena.hpp"

#include <boost/hana/for_each.hpp>

#include <vector>

namespace catena::generator {

struct catalogue {
    std::vector<lowered_chain> chains;
    std::vector<format_set> launches;  ///< each format of the chains' matrices alone, then mixed
};

/// Of a tuple of chain::entry and chain::shared_launch.
template <class Entries>
catalogue catalogue_of(const Entries& entries) {
    catalogue out;
    std::vector<format_set> mixed;
    boost::hana::for_each(entries, [&](const auto& each) {
        if constexpr (requires { each.together; })
            mixed.push_back(each.together);
        else
            out.chains.push_back(chain::lower(each));
    });
    format_set weights;
    for (const lowered_chain& c : out.chains) weights = weights | chain::weights_of(c);
    for (const format f : weights) out.launches.push_back(format_set::of(f));
    out.launches.insert(out.launches.end(), mixed.begin(), mixed.end());
    return out;
}

}  // namespace catena::generator
