// The report of a plan as text: to_string(plan.explain()), or std::cout << plan.explain(). Repeated
// steps and reasons are one line each, with their count. runtime.hpp does not include this header,
// since it reads iostream.
#pragma once

#include "catena/pick/name.hpp"
#include "catena/plan/explain.hpp"

#include <cstdio>
#include <map>
#include <ostream>
#include <string>
#include <vector>

namespace CATENA_NAMESPACE {

/// Lines that differ by node numbers alone once, with how often and where first, in the order of
/// their first appearance.
class folded_lines {
  public:
    /// A line about a node.
    void add(const std::string& line, std::int32_t node) {
        const auto [at, is_new] = index_.emplace(without_node_numbers(line), lines_.size());
        if (is_new) lines_.push_back({line, 0, node});
        folded& f = lines_[at->second];
        if (++f.count == 2) f.text = at->first;
    }
    /// "    36 x  RMS_NORM: a node between them reads it  (first at node 7)", or "  none".
    std::string text() const {
        if (lines_.empty()) return "  none\n";
        std::string out;
        for (const folded& f : lines_) {
            char count[16];
            std::snprintf(count, sizeof(count), "  %4d x  ", f.count);
            out += count + f.text + "  (first at node " + std::to_string(f.first) + ")\n";
        }
        return out;
    }

  private:
    struct folded {
        std::string text;  // with its numbers while it stands alone
        int count;
        std::int32_t first;
    };
    std::map<std::string, std::size_t> index_;
    std::vector<folded> lines_;

    /// "node 38 between them" as "a node between them".
    static std::string without_node_numbers(const std::string& line) {
        static const std::string word = "node ";
        std::string out;
        for (std::size_t i = 0; i < line.size();) {
            const std::size_t end = line.find_first_not_of("0123456789", i + word.size());
            const bool begins = i == 0 || line[i - 1] == ' ';
            if (begins && line.compare(i, word.size(), word) == 0 && end != i + word.size()) {
                out += "a node";
                i = end < line.size() ? end : line.size();
            } else {
                out += line[i++];
            }
        }
        return out;
    }
};

namespace detail {

inline std::string counted(std::int64_t n, const char* one, const char* several) {
    return std::to_string(n) + (n == 1 ? one : several);
}

}  // namespace detail

/// What a row step has to do: "1 row of 2048".
inline std::string work(const row_problem& p) {
    if (routes(p.needs.stages))
        return detail::counted(p.rows, " token to ", " tokens to ") + std::to_string(p.slots) +
               " of " + std::to_string(p.k) + " experts";
    const std::string of_sequences =
        p.sequences == 1 ? "" : ", of " + std::to_string(p.sequences) + " sequences";
    const std::int64_t of_state = quotient(p.rows, p.sequences) * values_of_warp;
    if (recalls(p.needs.stages))
        return detail::counted(quotient(of_state, p.k), " head of ", " heads of ") +
               std::to_string(p.k) + " recalled for " +
               detail::counted(p.slots, " token", " tokens") + of_sequences;
    if (scans(p.needs.stages))
        return detail::counted(of_state, " value", " values") + " with a state of " +
               std::to_string(p.k) + " each, for " + detail::counted(p.slots, " token", " tokens") +
               of_sequences;
    const std::string rows = detail::counted(p.rows, " row of ", " rows of ") +
                             (p.values == 0 ? "" : std::to_string(p.least_k) + " to ") +
                             std::to_string(p.k);
    if (convolves(p.needs.stages))
        return rows + ", each value of " + std::to_string(p.slots) + " taps" + of_sequences;
    if (attends(p.needs.stages))
        return detail::counted(p.rows, " query", " queries") + " of " + std::to_string(p.k) +
               ", of " + detail::counted(key_heads_of(p), " head", " heads") + " of keys, for " +
               detail::counted(p.positions, " position", " positions");
    if (has_heads(p.needs.stages)) return rows + (p.slots == 0 ? "" : ", normed by tokens");
    return rows + (p.slots == 0 ? "" : ", each the sum of " + std::to_string(p.slots) + " results");
}
/// What a product has to do: "2048 q4_K + 512 q6_K rows of 2048, 1 column".
inline std::string work(const product_problem& p) {
    std::map<std::string, int> members;
    for (int i = 0; i < p.member_count; ++i) {
        const bool gated = p.member[i].epilogue.has(epilogue_part::glu);
        ++members[std::to_string(p.member[i].rows) + (gated ? " gated " : " ") +
                  name(p.member[i].type)];
    }
    std::string out;
    for (const auto& [text, n] : members)
        out += (out.empty() ? "" : " + ") + (n == 1 ? "" : std::to_string(n) + " x ") + text;
    return out + " rows of " + std::to_string(p.k) + ", " +
           (p.expert ? std::to_string(p.columns) + " expert columns"
                     : detail::counted(p.columns, " column", " columns")) +
           (gates_inside(p)             ? ", gated inside"
            : quantizes_inside(p.needs) ? ", quantized inside"
                                        : "") +
           (p.ends_norm ? ", their norm ended" : "") +
           (p.begins_norm ? ", the next norm begun" : "") + (routes(p) ? ", chosen inside" : "") +
           (has_heads(p.needs.epilogue) ? ", heads turned" : "");
}
/// What a launch has to do.
inline std::string work(const problem& p) {
    return p.visit([](const auto& own) { return work(own); });
}

/// The steps of a plan, a line for each instance with the same work.
inline std::string steps_text(const explanation& e) {
    folded_lines out;
    for (const explained_step& s : e.steps) out.add(s.instance + ": " + work(s.what), s.launch_at);
    return out.text();
}

/// Which launch makes each norm, and why it is not its readers'.
inline std::string norms_text(const explanation& e) {
    folded_lines out;
    for (const explained_chain& c : e.chains)
        if (has_norm(c.stages))
            out.add(
                c.begun
                    ? std::string("begun by that of their input, ended by that of their readers")
                : c.norm_apart.empty() ? std::string("that of their readers, ") + name(c.placement)
                                       : "their own: " + c.norm_apart,
                c.node);
    return out.text();
}

/// All of a report, several lines. Bytes are those of the steps' operands; times are in
/// microseconds, predicted by the cost model.
inline std::string to_string(const explanation& e) {
    if (!e.state.ok()) return std::string("all is left to the engine: ") + e.state.message + "\n";
    double predicted_us = 0;
    for (const explained_step& s : e.steps) predicted_us += s.predicted_us;
    char times[96];
    std::snprintf(times, sizeof(times), "%.1f MB, predicted to take %.1f us, attainable in %.1f us",
                  static_cast<double>(e.bytes) / 1e6, predicted_us, e.attainable_us);
    folded_lines left;
    for (const left_node& l : e.not_fused) left.add(l.sentence, l.node);
    return "arch        " + (e.arch.empty() ? "none" : e.arch + " (" + e.gpu + ")") +
           "\nnodes       " + std::to_string(e.nodes) + "\nlaunches    " +
           std::to_string(e.launches) + " of Catena, " + std::to_string(e.engine_launches) +
           " of the engine\nsteps move  " + times + "\nworkspace   " +
           std::to_string(e.workspace_bytes) + " bytes\n\nsteps\n" + steps_text(e) +
           "\nnorms, by the launch that makes them\n" + norms_text(e) +
           "\nnot fused, or not as far\n" + left.text();
}

inline std::ostream& operator<<(std::ostream& to, const explanation& e) {
    return to << to_string(e);
}

}  // namespace CATENA_NAMESPACE
