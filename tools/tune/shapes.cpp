#include "shapes.hpp"

#include "catena_catalogue.hpp"
#include "expand.hpp"
#include "nearest.hpp"
#include "policies.hpp"

#include "catena/engine/json.hpp"
#include "catena/pick/constraints.hpp"
#include "catena/plan/step.hpp"
#include "catena/runtime.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <iterator>
#include <map>
#include <stdexcept>
#include <tuple>

namespace catena::tune {

namespace {

bool listed(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

/// "norm_input" of "norm_input.fp8"; either name will do.
std::string chain_of(const lowered_chain& c) {
    const std::string entry = c.name;
    return entry.substr(0, entry.find('.'));
}
bool chain_wanted(const lowered_chain& c, const selection& wanted) {
    return listed(wanted.chains, c.name) || listed(wanted.chains, chain_of(c));
}

/// Is every weight format of the problem asked for?
bool formats_wanted(const problem& p, const selection& wanted) {
    if (wanted.formats.empty()) return true;
    if (p.kind() == skeleton::row) return false;
    for (const format f : p.product().needs.weights)
        if (!listed(wanted.formats, name(f))) return false;
    return true;
}

/// Columns, of experts tokens, at which matmuls are tuned, whatever the prompt of their graph is:
/// one for each class (pick/measured.hpp), but for that between the last two.
constexpr std::int64_t prompt_columns[] = {16, 32, 64, 128, 512};

/// How many tokens a plan computes at once: most matrices meet them all.
std::int64_t tokens_of(const plan& planned) {
    std::int64_t tokens = 1;
    for (const step& s : planned.steps())
        if (s.what.kind() != skeleton::row) tokens = std::max(tokens, tokens_of(s.what.product()));
    return tokens;
}

std::vector<problem> as_tuned(const problem& p) {
    if (p.kind() != skeleton::matmul)
        return {p.visit([](const auto& own) { return problem(raced(own)); })};
    std::vector<problem> all;
    for (const std::int64_t columns : prompt_columns) {
        product_problem one = p.product();
        one.columns = slots_of(one) * columns;
        if (one.expert) one.tokens = columns;
        all.push_back(one);
    }
    return all;
}

int bit_width(std::int64_t rows) {
    return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows)));
}

/// Are two problems of one computation measured once for both? Their rows may differ by a factor of
/// two.
bool same_class(const row_problem& a, const row_problem& b) {
    return a.k == b.k && bit_width(a.rows) == bit_width(b.rows);
}
bool same_class(const product_problem& a, const product_problem& b) {
    return a.k == b.k && a.expert == b.expert && a.columns == b.columns &&
           a.needs.epilogue == b.needs.epilogue && bit_width(rows_of(a)) == bit_width(rows_of(b));
}
bool same_class(const shape& a, const shape& b) {
    if (a.computes != b.computes) return false;
    return a.what.kind() == skeleton::row ? same_class(a.what.row(), b.what.row())
                                          : same_class(a.what.product(), b.what.product());
}

/// Does a launch of matrices do what a launch of its own may do before them?
bool does_more(const problem& p) {
    if (p.kind() == skeleton::row) return false;
    return makes_norm(p) || quantizes_inside(p) || routes(p.product());
}

/// Gathers the distinct problems of plans.
class gathered {
  public:
    gathered(const table& t, const selection& wanted) : t_(t), wanted_(wanted) {}

    std::vector<shape> distinct;

    /// Steps of a plan that do more than what a launch of their own may do, or those that do not.
    void take(const plan& planned, bool more) {
        for (const step& s : planned.steps()) {
            if (does_more(s.what) != more || !chosen(planned, s)) continue;
            for (const problem& p : as_tuned(s.what))
                add(planned.rows().rows[s.row].computes, p, tokens_of(planned));
        }
    }

    /// Steps that another plan has not: makers whose readers quantize, the same behind a norm, and
    /// these readers.
    void take_others(const plan& planned, const plan& than, const table& apart) {
        for (const step& s : planned.steps()) {
            const auto same = [&s](const step& o) { return o.what == s.what; };
            if (!does_more(s.what) || !chosen(planned, s) ||
                std::any_of(than.steps().begin(), than.steps().end(), same))
                continue;
            add(planned.rows().rows[s.row].computes, as_tuned(s.what).front(), tokens_of(planned));
            if (!makes_norm(s.what)) continue;
            product_problem behind = s.what.product();
            behind.needs.stages = {};
            const picked by = pick(behind, apart);
            if (by.row >= 0)
                add(apart.rows[by.row].computes, as_tuned(behind).front(), tokens_of(planned));
        }
    }

  private:
    const table& t_;
    const selection& wanted_;

    bool chosen(const plan& planned, const step& s) const {
        const planned_chain& chain = planned.chains()[static_cast<std::size_t>(s.chain)];
        return (wanted_.chains.empty() ||
                (chain.chain >= 0 && chain_wanted(t_.chains[chain.chain], wanted_))) &&
               formats_wanted(s.what, wanted_);
    }

    void add(const computation& computes, const problem& p, std::int64_t tokens) {
        auto at = std::find_if(distinct.begin(), distinct.end(),
                               [&p](const shape& k) { return k.what == p; });
        if (at == distinct.end()) at = distinct.insert(distinct.end(), {computes, p});
        ++at->places;
        const bool row = p.kind() == skeleton::row;
        at->work += static_cast<double>(bytes_of(p)) /
                    static_cast<double>(row ? tokens : tokens_of(p.product()));
    }
};

/// Throws with all of `known` at a name that is neither of them nor `also` one.
void refuse_unknown(const char* what, const std::vector<std::string>& names,
                    const std::vector<std::string>& known,
                    const std::vector<std::string>& also = {}) {
    for (const std::string& name : names) {
        if (listed(known, name) || listed(also, name)) continue;
        std::string all;
        for (const std::string& one : known) all += (all.empty() ? "" : ", ") + one;
        throw std::runtime_error(std::string("no ") + what + " is called '" + name +
                                 "'; there are " + all + tool::did_you_mean(name, known));
    }
}

void check_names(const selection& wanted, const table& t) {
    std::vector<std::string> entries, chains, formats;
    for (int i = 0; i < t.chain_count; ++i) {
        entries.push_back(t.chains[i].name);
        if (const std::string chain = chain_of(t.chains[i]); !listed(chains, chain))
            chains.push_back(chain);
    }
    format_set weights;
    for (int i = 0; i < t.row_count; ++i)
        if (const computation& c = t.rows[i].computes; c.kind() != skeleton::row)
            weights = weights | c.product().weights;
    for (const format f : weights) formats.push_back(name(f));
    refuse_unknown("chain", wanted.chains, chains, entries);
    refuse_unknown("format", wanted.formats, formats);
}

}  // namespace

described_set::described_set(const arch& target, const table& compiled)
    : target_(&target), catalogue_(generator::catena_catalogue()) {
    std::vector<row> all;
    for (const computation& c : generator::computations_of(catalogue_))
        for (const row& r : generator::rows_for(target, c)) all.push_back(r);
    const std::vector<bool> kept = generator::without_repeated_plain(all);
    for (std::size_t i = 0; i < all.size(); ++i)
        if (kept[i]) rows_.push_back(all[i]);
    for (row& r : rows_)
        for (int i = 0; i < compiled.row_count; ++i)
            if (compiled.rows[i].computes == r.computes && compiled.rows[i].policy == r.policy)
                r.code = compiled.rows[i].code;
}

described_set::described_set(const table& t)
    : target_(t.target),
      catalogue_{{t.chains, t.chains + t.chain_count}, {}, t.ops, {}},
      rows_(t.rows, t.rows + t.row_count) {}

table described_set::rows() const {
    table t;
    t.target = target_;
    t.rows = rows_.data();
    t.row_count = static_cast<int>(rows_.size());
    t.chains = catalogue_.chains.data();
    t.chain_count = static_cast<int>(catalogue_.chains.size());
    t.ops = catalogue_.ops;
    return t;
}

std::vector<row> described_set::rows_of(const computation& c) const {
    std::vector<row> out;
    for (const row& r : rows_)
        if (r.computes == c) out.push_back(r);
    return out;
}

std::vector<shape> shapes_of(const std::vector<std::string>& graphs, const described_set& set,
                             const selection& wanted) {
    const table t = set.rows();
    check_names(wanted, t);
    gathered all{t, wanted};
    // What an activation takes apart from its readers, and what inside their launch: a plan has one
    // of them. So has it of results that their maker quantizes, or their readers.
    std::vector<row> without;
    std::copy_if(t.rows, t.rows + t.row_count, std::back_inserter(without), [](const row& r) {
        const bool product = r.computes.kind() != skeleton::row;
        return placement_of(r.policy) == norm_placement::producer &&
               !(product && routes(r.computes.product().stages));
    });
    table apart = t, inside = t;
    for (table* of : {&apart, &inside})  // what the engine does faster may become faster
        of->engine_count = of->verdict_count = 0;
    apart.rows = without.data();
    apart.row_count = static_cast<int>(without.size());
    arch dear = *t.target;
    dear.node_us = 1e6;  // what need not has no launch of its own
    inside.device = dear;
    table by_makers = inside;
    const engine_median nothing;  // where the engine's times are known, makers quantize
    by_makers.engine = &nothing, by_makers.engine_count = 1;
    for (const std::string& file : graphs) {
        const json::graph g = json::read(file);
        const auto planned = [&](const table& rows) {
            plan p = planner{rows}.plan(g.view());
            if (!p.state().ok())
                throw std::runtime_error(file + ": cannot be planned: " + p.state().message);
            return p;
        };
        const plan made = planned(by_makers);
        all.take(planned(apart), false);
        all.take(made, true);
        all.take_others(planned(inside), made, apart);
    }
    std::stable_sort(all.distinct.begin(), all.distinct.end(),
                     [](const shape& a, const shape& b) { return a.places > b.places; });

    std::vector<shape> classes;
    for (const shape& s : all.distinct) {
        auto at = std::find_if(classes.begin(), classes.end(),
                               [&](const shape& c) { return same_class(c, s); });
        if (at == classes.end())
            classes.push_back(s);
        else
            at->places += s.places, at->work += s.work;
    }
    std::stable_sort(classes.begin(), classes.end(), [](const shape& a, const shape& b) {
        const bool prompt = a.what.kind() == skeleton::matmul;
        if (prompt != (b.what.kind() == skeleton::matmul)) return !prompt;
        return a.work > b.work;
    });
    return classes;
}

}  // namespace catena::tune
