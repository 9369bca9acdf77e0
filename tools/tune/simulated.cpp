#include "simulated.hpp"

#include "catena/format/random.hpp"
#include "catena/pick/measured.hpp"
#include "catena/pick/name.hpp"

#include <algorithm>

namespace catena::tune {

namespace {

std::uint64_t key_of(const tuned_problem& p, const policy& how) {
    std::uint64_t h = problem_key(p.what);
    for (const char c : row_name(p.computes, how, ""))
        h = random_bits(h, static_cast<unsigned char>(c));
    return h;
}

}  // namespace

simulated_device::simulated_device(const arch& target, simulation asked)
    : target_(&target), asked_(std::move(asked)) {}

tuned_on simulated_device::who() const {
    return {.gpu = "simulated " + std::string(target_->gpu),
            .driver = "seed " + std::to_string(asked_.seed),
            .cuda = "none",
            .date = "never"};
}

bool simulated_device::spend(double seconds, double deadline) {
    if (clock_ + seconds > deadline) return false;
    clock_ += seconds;
    return true;
}

double simulated_device::true_us(const tuned_problem& p, const tuned_candidate& c) const {
    if (asked_.truth) return asked_.truth(p, c);
    const std::uint64_t bits = random_bits(asked_.seed, key_of(p, c.policy));
    const double share = static_cast<double>(bits >> 11) * 0x1p-53;
    return c.predicted_us * (1 + asked_.bend * (2 * share - 1));
}

std::optional<std::vector<prepared>> simulated_device::prepare(const tuned_problem& p,
                                                               double deadline) {
    std::vector<std::string> fresh;
    double seconds = 0;
    for (const tuned_candidate& c : p.candidates) {
        if (c.is != generator::verdict::open) continue;
        const std::string name = row_name(p.computes, c.policy, target_->name);
        seconds += asked_.check_s;
        if (std::find(compiled_.begin(), compiled_.end(), name) != compiled_.end()) continue;
        seconds += asked_.compile_s;
        fresh.push_back(name);
    }
    if (!spend(seconds, deadline)) return std::nullopt;
    compiled_.insert(compiled_.end(), fresh.begin(), fresh.end());
    problem_ = p;
    std::vector<prepared> out;
    for (const tuned_candidate& c : p.candidates)
        out.push_back({.fault = asked_.fault ? asked_.fault(c.policy) : "", .registers = 0});
    return out;
}

std::optional<double> simulated_device::sample(int candidate, int nth, double deadline) {
    const tuned_candidate& c = problem_.candidates[static_cast<std::size_t>(candidate)];
    const std::uint64_t key = random_bits(asked_.seed + 1, key_of(problem_, c.policy));
    double us =
        true_us(problem_, c) *
        (1 + asked_.noise * static_cast<double>(random_value(key, static_cast<unsigned>(nth))));
    if (random_bits(key + 1, static_cast<unsigned>(nth)) % 16 == 0) us *= 1.5;
    if (!spend(2 * asked_.launches * us * 1e-6, deadline)) return std::nullopt;  // warm, and timed
    ++measurements_;
    return us;
}

}  // namespace catena::tune
