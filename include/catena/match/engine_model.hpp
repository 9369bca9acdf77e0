// What an engine runs in one launch by itself, as far as plans depend on it. A graph_view names the
// model of its engine; ggml-cuda's is ggml_cuda.hpp.
#pragma once

#include "catena/config.hpp"

#include <cstdint>
#include <string_view>

namespace CATENA_NAMESPACE {

class graph_index;
struct graph_view;
struct head_chain;
struct match;
struct routing;

/// Functions of a graph alone: equal graphs get equal answers. They may run on several threads.
struct engine_model {
    const char* name;

    /// Does the engine run the node at `position`, a SCALE or a UNARY, in one launch with what
    /// stands around it? A chain that took a part of that would leave the rest in several launches.
    bool (*fuses)(const graph_index& g, std::int32_t position);

    /// The engine's launches for a norm and the nodes that its chain takes over. A step takes a
    /// norm that no matmul reads from an engine that needs two or more launches for it.
    int (*launches)(const graph_view& view, const match& m);

    /// The engine's launches for the nodes of heads. A step takes heads from an engine that needs
    /// two or more launches for them.
    int (*head_launches)(const graph_view& view, const head_chain& h);

    /// The engine's launches for the nodes of a routing. A step takes a routing from an engine that
    /// needs two or more launches for it.
    int (*routing_launches)(const graph_index& g, const routing& r);

    /// With this version of the engine, are all earlier launches done when the kernels of the node
    /// at `position` are done?
    bool (*waits)(const graph_view& view, std::int32_t position, std::string_view version);

    /// The time that attention of one token, and of a few, takes at least on an H100, beside its
    /// bytes, in us. A step takes attention if it should need less than that and, where their
    /// matrices do not turn them, a launch of the heads. 0: it is not known, and the step takes it.
    double attention_us = 0, attention_of_few_us = 0;
};

}  // namespace CATENA_NAMESPACE
