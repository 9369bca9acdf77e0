// Medians from a text file, over the compiled ones of a table: what `catena tune --rows` and
// `bench/engine.py` write on one's own GPU changes which rows are picked and what is left to the
// engine, and nothing has to be built anew. One line each,
//   <row name> <problem key, 16 hex digits> <median in us> <relative spread>
//   engine <sum of the problem keys> <median of the engine in us> <of Catena's steps>
// and lines that begin with '#'. What names a row that the table does not have is passed over.
#pragma once

#include "catena/launch/message.hpp"
#include "catena/pick/measured.hpp"
#include "catena/pick/name.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <istream>
#include <locale>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace catena {

/// Keeps what it has read as long as tables made by `over` are used.
class measured_file {
  public:
    /// Reads a file for the rows of `t`. A failure names file and line, and then nothing is kept.
    status read(const char* path, const table& t) {
        clear();
        passed_over_ = 0;
        std::ifstream file(path);
        status read;
        if (file) read = read_lines(file, path, t);
        if (!file.is_open() || file.bad())  // bad: a folder, which opens too
            read = failure(status_code::invalid_argument, "%s cannot be read: %s", path,
                           std::strerror(errno));
        if (!read.ok()) clear();
        std::stable_sort(measured_.begin(), measured_.end(),
                         [](const auto& a, const auto& b) { return a.problem < b.problem; });
        std::stable_sort(engine_.begin(), engine_.end(),
                         [](const auto& a, const auto& b) { return a.steps < b.steps; });
        return read;
    }

    /// The table with these medians in place of its own: rows', the engine's, or both.
    table over(table t) const {
        if (!measured_.empty()) {
            t.measured = measured_.data();
            t.measured_count = static_cast<int>(measured_.size());
        }
        if (!engine_.empty()) {
            t.engine = engine_.data();
            t.engine_count = static_cast<int>(engine_.size());
        }
        return t;
    }

    int size() const { return static_cast<int>(measured_.size() + engine_.size()); }
    int passed_over() const { return passed_over_; }  ///< lines whose row the table does not have

  private:
    std::vector<measurement> measured_;
    std::vector<engine_median> engine_;
    int passed_over_ = 0;

    void clear() {
        measured_.clear();
        engine_.clear();
    }

    status read_lines(std::istream& file, const char* path, const table& t) {
        std::unordered_map<std::string, std::int32_t> by_name;
        for (int i = 0; i < t.row_count; ++i) by_name[row_name(t, i)] = i;
        std::string line, name;
        for (int number = 1; std::getline(file, line); ++number) {
            if (line.empty() || line[0] == '#') continue;
            std::istringstream words(line);
            words.imbue(std::locale::classic());  // not the engine's: its decimals may have a comma
            measurement m;
            if (!(words >> name >> std::hex >> m.problem >> m.median_us >> m.spread) ||
                !(m.median_us > 0) || !(m.spread >= 0))
                return failure(status_code::invalid_argument,
                               "%s:%d: expected '<row name> <problem key> <us> <spread>', or "
                               "'engine <key> <us> <us of the steps>'",
                               path, number);
            if (name == "engine") {
                engine_.push_back({m.problem, m.median_us, m.spread});
                continue;
            }
            const auto row = by_name.find(name);
            if (row == by_name.end()) {
                ++passed_over_;
                continue;
            }
            m.row = row->second;
            measured_.push_back(m);
        }
        return {};
    }
};

}  // namespace catena
