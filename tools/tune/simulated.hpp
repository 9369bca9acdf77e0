// A GPU that does not exist: the cost model, bent by a hidden factor for each policy and problem,
// and noise on each measurement. What a seed gives is the same in every process. It shows whether a
// tuner finds what is there to be found, on its own clock.
#pragma once

#include "device.hpp"

#include <functional>

namespace catena::tune {

struct simulation {
    std::uint64_t seed = 1;
    double bend = 0.25;  ///< a policy's hidden factor is between 1 - bend and 1 + bend
    /// Deviation of a measurement, relative; one in 16 takes half as long again.
    double noise = 0.01;
    double compile_s = 4, check_s = 0.01;  ///< of a candidate
    int launches = 512;                    ///< of a measurement

    /// In place of the bent model: microseconds of a launch.
    std::function<double(const tuned_problem&, const tuned_candidate&)> truth = {};
    /// Why a candidate's result is wrong; empty: it is right.
    std::function<std::string(const policy&)> fault = {};
};

class simulated_device : public timing_device {
  public:
    simulated_device(const arch& target, simulation asked);

    tuned_on who() const override;
    double now() override { return clock_; }
    std::optional<std::vector<prepared>> prepare(const tuned_problem& p, double deadline) override;
    std::optional<double> sample(int candidate, int nth, double deadline) override;

    /// What a launch takes, without noise.
    double true_us(const tuned_problem& p, const tuned_candidate& c) const;

    int measurements() const { return measurements_; }

  private:
    const arch* target_;
    simulation asked_;
    tuned_problem problem_;
    std::vector<std::string> compiled_;  ///< names of rows
    double clock_ = 0;
    int measurements_ = 0;

    bool spend(double seconds, double deadline);
};

}  // namespace catena::tune
