// A catalogue as the generator takes it: plain chains, and the weight formats that one launch
// holds.
#pragma once

#include "catena/catena.hpp"
#include "catena/match/own_ops.hpp"

#include <boost/hana/for_each.hpp>

#include <string>
#include <vector>

namespace catena::generator {

struct catalogue {
    std::vector<lowered_chain> chains;
    std::vector<format_set> launches;  ///< each format of the chains' matrices alone, then mixed
    const own_ops* ops = nullptr;      ///< of the engine's own; null: there are none
    std::string ops_header;            ///< that defines them
};

/// The catalogue that a tuple of chain::entry and chain::shared_launch describes, with ops of one's
/// own if there are some.
template <class Entries>
catalogue catalogue_of(const Entries& entries, const own_ops* ops = nullptr,
                       const std::string& ops_header = {}) {
    catalogue out;
    out.ops = ops;
    out.ops_header = ops_header;
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
