// The record of a run: every case with its times, the floor that was measured in its turns, and
// where all of it comes from. A JSON file that a later run goes on with, and that bench/compare,
// bench/plots and the page read.
#pragma once

#include "statistics.hpp"

#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <vector>

namespace catena::bench {

struct measured_on {
    std::string gpu, driver, cuda, date, method;
    std::string ggml;                ///< empty: there was none
    int sm_mhz = 0, memory_mhz = 0;  ///< while the run began
    bool predicted = false;          ///< no GPU took these times
};

/// The machine's own limits, in the turns of one case.
struct floor_of_machine {
    double empty_node_us = 0;
    double read_bytes_per_us = 0;
    double copy_bytes_per_us = 0;  ///< read and written, counted both

    double attainable_us(int launches, double bytes) const {
        return launches * empty_node_us + bytes / read_bytes_per_us;
    }
};

struct measured_case {
    std::string kind;   ///< "instance", "chain", "layer"
    std::string model;  ///< empty for an instance
    std::string name;
    int columns = 0;
    int copies = 0;
    int launches = 0;        ///< of Catena
    int floor_launches = 0;  ///< that the attainable time counts
    double bytes = 0;        ///< that it counts
    std::vector<std::string> instances;
    std::uint64_t steps_key = 0;  ///< of Catena's steps, as engine_median has it
    std::string excluded;         ///< ops of a layer that are in nobody's time
    floor_of_machine floor;
    double predicted_us = 0;  ///< by the cost model; 0: not asked
    double nmse = -1;         ///< against ggml on the same bytes; -1: not compared
    std::map<std::string, tune::summary> times;  ///< microseconds of one copy, by contender
    std::map<std::string, std::string> missing;  ///< contenders that could not run, and why
    bool wrong = false;  ///< Catena failed, or its results are not ggml's: it has no time then

    double attainable_us() const { return floor.attainable_us(floor_launches, bytes); }
};

class record {
  public:
    /// Goes on with the file if it is there. Throws std::runtime_error if it is not a record, or
    /// one of another machine, method or ggml: its numbers could not stand beside new ones.
    record(std::string path, const measured_on& where);

    bool has(const std::string& kind, const std::string& model, const std::string& name,
             int columns) const;

    bool has_instance(const std::string& row) const;  ///< on any shape

    /// Cases that failed, or whose results are not ggml's.
    int wrong() const;

    /// Adds it and writes the file, whole or not at all.
    void add(const measured_case& c);

    /// A peer that is missing in the whole run, and what would bring it.
    void miss(const std::string& peer, const std::string& remedy);

  private:
    std::string path_;
    nlohmann::json json_;

    void write() const;
};

/// The line that a terminal shows: time, share of attainable, ratio to each peer.
std::string line_of(const measured_case& c);
std::string header_of_lines();

}  // namespace catena::bench
