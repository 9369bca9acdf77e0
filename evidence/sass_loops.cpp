#include "sass_loops.hpp"

#include <algorithm>
#include <map>

namespace catena::evidence {

namespace {

/// The flow of control of a function, as indexes of instructions.
struct flow {
    std::vector<std::vector<std::size_t>> before;  ///< from where an instruction is reached
    std::vector<std::size_t> order;                ///< each before those that it alone leads to
    std::vector<std::size_t> place;                ///< in `order`; `nowhere`: never reached
    static constexpr std::size_t nowhere = ~std::size_t{0};
};

flow flow_of(const sass_function& f) {
    const std::size_t n = f.code.size();
    flow out{
        std::vector<std::vector<std::size_t>>(n), {}, std::vector<std::size_t>(n, flow::nowhere)};
    if (n == 0) return out;
    struct open_way {
        std::size_t at;
        int next;
    };
    std::vector<bool> seen(n);
    std::vector<open_way> open{{0, 0}};
    seen[0] = true;
    while (!open.empty()) {
        open_way& top = open.back();
        const sass_ways ways = ways_behind(f, top.at);
        if (top.next == ways.count) {
            out.order.push_back(top.at);
            open.pop_back();
            continue;
        }
        const std::size_t to = ways.to[top.next++];
        out.before[to].push_back(top.at);
        if (!seen[to]) seen[to] = true, open.push_back({to, 0});
    }
    std::reverse(out.order.begin(), out.order.end());
    for (std::size_t i = 0; i < out.order.size(); ++i) out.place[out.order[i]] = i;
    return out;
}

/// For each place in the order, the place of the instruction nearest before it that all ways to it
/// pass (Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm).
std::vector<std::size_t> dominators_of(const flow& f) {
    std::vector<std::size_t> out(f.order.size(), f.nowhere);
    if (out.empty()) return out;
    out[0] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t i = 1; i < f.order.size(); ++i) {
            std::size_t passed = f.nowhere;
            for (const std::size_t from : f.before[f.order[i]]) {
                std::size_t a = f.place[from];
                if (out[a] == f.nowhere) continue;
                while (passed != f.nowhere && a != passed)
                    (a > passed ? a : passed) = out[std::max(a, passed)];
                passed = a;
            }
            if (passed != out[i]) out[i] = passed, changed = true;
        }
    }
    return out;
}

}  // namespace

sass_ways ways_behind(const sass_function& f, std::size_t i) {
    const sass_instruction& at = f.code[i];
    sass_ways out;
    const auto add = [&](std::size_t to) {
        if (to < f.code.size() && !(out.count == 1 && out.to[0] == to)) out.to[out.count++] = to;
    };
    if (!(at.always && (at.branch || at.leaves))) add(i + 1);
    if (at.branch) add(at.target / 16);
    return out;
}

bool sass_loop::holds(std::size_t i) const {
    return std::binary_search(code.begin(), code.end(), i);
}

bool sass_loop::holds(const sass_loop& inner) const {
    return first != inner.first && holds(inner.first);
}

int sass_loop::count(const sass_function& f, sass_kind kind) const {
    return static_cast<int>(std::count_if(code.begin(), code.end(),
                                          [&](std::size_t i) { return f.code[i].kind == kind; }));
}

std::vector<sass_loop> loops_of(const sass_function& f) {
    const flow flows = flow_of(f);
    const std::vector<std::size_t> dominators = dominators_of(flows);
    const auto passes = [&](std::size_t i, std::size_t by) {  // do all ways to i?
        std::size_t place = flows.place[i];
        while (place > flows.place[by]) place = dominators[place];
        return place == flows.place[by];
    };
    std::map<std::size_t, std::vector<std::size_t>> by_first;
    for (const std::size_t i : flows.order)
        for (const std::size_t to : ways_behind(f, i))
            if (to != i && passes(i, to)) by_first[to].push_back(i);
    std::vector<sass_loop> out;
    for (auto& [first, open] : by_first) {
        std::vector<bool> in(f.code.size());
        in[first] = true;
        while (!open.empty()) {
            const std::size_t i = open.back();
            open.pop_back();
            if (in[i]) continue;
            in[i] = true;
            open.insert(open.end(), flows.before[i].begin(), flows.before[i].end());
        }
        sass_loop l{first, {}};
        for (std::size_t i = 0; i < in.size(); ++i)
            if (in[i]) l.code.push_back(i);
        out.push_back(std::move(l));
    }
    return out;
}

std::vector<sass_loop> innermost_loops(const sass_function& f, sass_kind kind) {
    std::vector<sass_loop> all = loops_of(f), out;
    std::erase_if(all, [&](const sass_loop& l) { return l.count(f, kind) == 0; });
    for (const sass_loop& l : all)
        if (std::none_of(all.begin(), all.end(), [&](const sass_loop& o) { return l.holds(o); }))
            out.push_back(l);
    return out;
}

}  // namespace catena::evidence
