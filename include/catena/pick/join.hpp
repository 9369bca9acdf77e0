// Several tables as one: Catena's sets and an engine's own, planned with together.
#pragma once

#include "catena/error/message.hpp"
#include "catena/pick/row.hpp"

#include <algorithm>
#include <initializer_list>
#include <vector>

namespace CATENA_NAMESPACE {

/// The rows and chains of tables of one arch, in their order. If two rows serve a problem equally
/// well, the earlier one is picked. If several chains find the same places, the first that lists
/// the matrices is reported. The tables' constants must outlive this object, which must outlive
/// what plans with it.
class joined {
  public:
    /// Rows of the first table come first.
    joined(std::initializer_list<table> tables) {
        for (const table& t : tables) append(t);
        std::stable_sort(measured_.begin(), measured_.end());
        std::stable_sort(engine_.begin(), engine_.end());
    }
    joined(const joined&) = delete;
    joined& operator=(const joined&) = delete;

    /// Its state says why there is none: a bad table, or tables of two archs, of two executors, or
    /// with two lists of ops of one's own.
    table rows() const {
        table t = all_;
        if (!t.state.ok()) return t;
        detail::point_to(rows_, t.rows, t.row_count);
        detail::point_to(chains_, t.chains, t.chain_count);
        t.kernels = t.launch == nullptr ? nullptr : kernels_.data();
        detail::point_to(measured_, t.measured, t.measured_count);
        detail::point_to(engine_, t.engine, t.engine_count);
        detail::point_to(verdicts_, t.verdicts, t.verdict_count);
        detail::point_to(preferred_, t.preferred, t.preferred_count);
        return t;
    }

  private:
    void append(const table& t) {
        if (!all_.state.ok()) return;
        if (const status s = match_headers(t.headers); !s.ok()) {
            all_.state = s;
            return;
        }
        if (!t.state.ok() || t.target == nullptr) {
            all_.state = t.state.ok() ? failure(status_code::no_instances,
                                                "a joined table has no rows: name the set to join")
                                      : t.state;
            return;
        }
        if (all_.target == nullptr) {
            all_.target = t.target;
            all_.device = t.device;
            all_.launch = t.launch;
        }
        if (all_.prepare == nullptr && t.prepare != nullptr) {  // it knows the device
            all_.prepare = t.prepare;
            all_.device_number = t.device_number;
            all_.device = t.device;
        }
        if (all_.target != t.target || all_.launch != t.launch) {
            all_.state =
                failure(status_code::invalid_argument,
                        "a table of %s cannot join one of %s: both must be of one arch, and run by "
                        "CUDA, by the host executor, or not at all",
                        t.target->name, all_.target->name);
            return;
        }
        if (all_.ops == nullptr) all_.ops = t.ops;
        const int differ = t.ops == nullptr ? -1 : difference(*all_.ops, *t.ops);
        if (differ >= 0) {
            all_.state = failure(status_code::invalid_argument,
                                 "tables whose ops of one's own differ cannot be joined: at place "
                                 "%d one has %.40s, the other %.40s; give both sets one list of "
                                 "ops, and link it once",
                                 differ, all_.ops->name_of(differ), t.ops->name_of(differ));
            return;
        }
        const auto before = static_cast<std::int32_t>(rows_.size());
        rows_.insert(rows_.end(), t.rows, t.rows + t.row_count);
        chains_.insert(chains_.end(), t.chains, t.chains + t.chain_count);
        for (int i = 0; i < t.row_count; ++i)
            kernels_.push_back(t.kernels == nullptr ? nullptr : t.kernels[i]);
        for (int i = 0; i < t.measured_count; ++i) {
            measured_.push_back(t.measured[i]);
            measured_.back().row += before;
        }
        engine_.insert(engine_.end(), t.engine, t.engine + t.engine_count);
        verdicts_.insert(verdicts_.end(), t.verdicts, t.verdicts + t.verdict_count);
        for (int i = 0; i < t.preferred_count; ++i) {
            preferred_.push_back(t.preferred[i]);
            preferred_.back().row += before;
        }
    }

    table all_;
    std::vector<row> rows_;
    std::vector<lowered_chain> chains_;
    std::vector<const void*> kernels_;
    std::vector<measurement> measured_;
    std::vector<engine_median> engine_;
    std::vector<engine_verdict> verdicts_;
    std::vector<preferred_row> preferred_;
};

}  // namespace CATENA_NAMESPACE
