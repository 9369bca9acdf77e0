#include "stages.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace catena::ab {
namespace {

using row = std::vector<float>;

constexpr int sequences = 4;

/// What rounding does to values of deviation 1 in a layer. To 8 bits, 32 values with a scale, it
/// is 0.005 each time. A layer rounds four activations, and so do both sides: the root of eight.
constexpr float rounding = 0.014f;

/// The ways in which the same tokens are decoded. Kernels for many columns differ from those for
/// one or four.
struct answers {
    std::vector<row> prompt, single, four;
};

const struct {
    const char* name;
    std::vector<row> answers::*rows;
} ways[] = {{"prompt", &answers::prompt}, {"single", &answers::single}, {"four", &answers::four}};

row copied(const decoder& d, int i) {
    const float* from = d.logits(i);
    return {from, from + d.vocabulary()};
}

answers answers_of(llama_model* model, const std::vector<llama_token>& tokens, context_options o) {
    answers out;
    o.tokens = static_cast<int>(tokens.size());
    o.sequences = 1;
    {
        decoder d(model, o);
        d.prompt(tokens, answered::all);
        for (int i = 0; i < o.tokens; ++i) out.prompt.push_back(copied(d, i));
        d.clear();
        for (const llama_token t : tokens) {
            d.step({t});
            out.single.push_back(copied(d, 0));
        }
    }
    o.sequences = sequences;
    decoder d(model, o);
    for (std::size_t at = 0; at + sequences <= tokens.size(); at += sequences) {
        d.step({tokens.begin() + static_cast<std::ptrdiff_t>(at),
                tokens.begin() + static_cast<std::ptrdiff_t>(at + sequences)});
        for (int i = 0; i < sequences; ++i) out.four.push_back(copied(d, i));
    }
    return out;
}

/// The logarithms of the probabilities.
std::vector<double> log_softmax(const row& logits) {
    const double most = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const float v : logits) sum += std::exp(v - most);
    std::vector<double> out;
    for (const float v : logits) out.push_back(v - most - std::log(sum));
    return out;
}

/// Two rows of logits beside each other.
struct difference {
    double nmse = 0;        ///< squares of the differences, relative to the squares
    double divergence = 0;  ///< of Kullback and Leibler, in nats
    bool same_top = false;  ///< the same token is the likeliest
};

difference between(const row& want, const row& found) {
    difference out;
    double error = 0, square = 0;
    const auto log_p = log_softmax(want), log_q = log_softmax(found);
    for (std::size_t i = 0; i < want.size(); ++i) {
        const double off = double(found[i]) - double(want[i]);
        error += off * off;
        square += double(want[i]) * double(want[i]);
        out.divergence += std::exp(log_p[i]) * (log_p[i] - log_q[i]);
    }
    out.nmse = error / square;
    out.same_top = std::max_element(want.begin(), want.end()) - want.begin() ==
                   std::max_element(found.begin(), found.end()) - found.begin();
    return out;
}

/// What the rows of a way say together. A row that is not finite makes its NMSE no number, which is
/// `null` in JSON.
nlohmann::json compared(const std::vector<row>& want, const std::vector<row>& found) {
    std::vector<double> nmse;
    double divergence = 0, same = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
        const difference d = between(want[i], found[i]);
        nmse.push_back(std::isfinite(d.nmse) ? d.nmse : std::numeric_limits<double>::infinity());
        divergence += d.divergence;
        same += d.same_top;
    }
    std::sort(nmse.begin(), nmse.end());
    const auto rows = static_cast<double>(want.size());
    return {{"rows", want.size()},
            {"median_nmse", nmse[nmse.size() / 2]},
            {"worst_nmse", nmse.back()},
            {"mean_divergence", divergence / rows},
            {"same_top", same / rows}};
}

/// The perplexity of the tokens, each by the logits of the token before.
double perplexity(const std::vector<row>& rows, const std::vector<llama_token>& tokens) {
    double sum = 0;
    for (std::size_t i = 0; i + 1 < rows.size(); ++i)
        sum -= log_softmax(rows[i])[static_cast<std::size_t>(tokens[i + 1])];
    return std::exp(sum / static_cast<double>(rows.size() - 1));
}

}  // namespace

nlohmann::json logits(llama_model* model, int count) {
    random_tokens random(model, 7);
    std::vector<llama_token> tokens;
    for (int i = 0; i < count; ++i) tokens.push_back(random.next());
    const answers off = answers_of(model, tokens, {});
    const answers yardstick = answers_of(model, tokens, {.noise = rounding});
    const answers on = answers_of(model, tokens, {.who = side::on});

    nlohmann::json out;
    for (const auto& way : ways)
        out["ways"][way.name] = {{"on", compared(off.*way.rows, on.*way.rows)},
                                 {"yardstick", compared(off.*way.rows, yardstick.*way.rows)}};
    out["perplexity"] = {{"off", perplexity(off.prompt, tokens)},
                         {"on", perplexity(on.prompt, tokens)}};
    out["catena"] = decoder::catena_said();
    return out;
}

}  // namespace catena::ab
