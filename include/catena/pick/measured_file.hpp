// Medians from a text file. `catena tune --rows` and `bench/engine.py` write such files on the
// user's own GPU. They change which rows are picked and what is left to the engine, without
// building anything. Where the file names a problem, its medians replace all that the table has of
// that problem; other problems keep the table's. A line has one of these forms:
//   <row name> <problem key, 16 hex digits> <median in us> <relative spread>
//   engine <sum of the problem keys> <median of the engine in us> <of Catena's steps>
//   models <formats, '+' between them> <least> <most> <ratio> <record>
// The last says of matmuls of experts with `least` to `most` columns each that models reach `ratio`
// of the engine's tokens a second with them (engine_verdict). Lines that begin with '#' are
// comments. A line whose row the table does not have is passed over.
#pragma once

#include "catena/error/message.hpp"
#include "catena/pick/measured.hpp"
#include "catena/pick/name.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <istream>
#include <locale>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace CATENA_NAMESPACE {

/// Reads files of medians. Keep it as long as tables made by `over` are used.
class measured_file {
  public:
    measured_file() = default;
    /// Tables point into it, so it is moved and not copied.
    measured_file(measured_file&&) = default;
    measured_file& operator=(measured_file&&) = default;

    /// Reads a file for the rows of `t`. A failure names file, line and field, and then nothing is
    /// kept.
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
        lines_ = static_cast<int>(measured_.size() + engine_.size() + verdicts_.size());
        add_problems_of(t);
        std::stable_sort(engine_.begin(), engine_.end());
        return read;
    }

    /// The table that was read for, with these medians over its own. Verdicts and the engine's
    /// medians take the place of all that it has.
    table over(table t) const {
        if (!measured_.empty()) detail::point_to(measured_, t.measured, t.measured_count);
        if (!engine_.empty()) detail::point_to(engine_, t.engine, t.engine_count);
        if (!verdicts_.empty()) detail::point_to(verdicts_, t.verdicts, t.verdict_count);
        return t;
    }

    /// Lines that were kept.
    int size() const { return lines_; }
    int passed_over() const { return passed_over_; }  ///< lines whose row the table does not have

  private:
    std::vector<measurement> measured_;
    std::vector<engine_median> engine_;
    std::vector<engine_verdict> verdicts_;
    std::deque<std::string> records_;  // that they name
    int lines_ = 0, passed_over_ = 0;

    void clear() {
        lines_ = 0;
        measured_.clear();
        engine_.clear();
        verdicts_.clear();
        records_.clear();
    }

    /// Also the medians of problems that no line names, those of the table; all by problem.
    void add_problems_of(const table& t) {
        if (measured_.empty()) return;
        std::stable_sort(measured_.begin(), measured_.end());
        const std::vector<measurement> named = measured_;
        for (int i = 0; i < t.measured_count; ++i)
            if (!std::binary_search(named.begin(), named.end(), t.measured[i]))
                measured_.push_back(t.measured[i]);
        std::stable_sort(measured_.begin(), measured_.end());
    }

    status read_lines(std::istream& file, const char* path, const table& t) {
        std::unordered_map<std::string, std::int32_t> by_name;
        for (int i = 0; i < t.row_count; ++i) by_name[row_name(t, i)] = i;
        std::string text;
        for (int number = 1; std::getline(file, text); ++number) {
            if (text.empty() || text[0] == '#') continue;
            if (text.rfind("models ", 0) == 0) {
                if (const char* wrong = read_verdict(text); wrong != nullptr)
                    return failure(status_code::invalid_argument, "%s:%d: %s", path, number, wrong);
                continue;
            }
            line read;
            if (const char* wrong = read.parse(text); wrong != nullptr)
                return failure(status_code::invalid_argument, "%s:%d: %s", path, number, wrong);
            if (read.of_engine()) {
                engine_.push_back({read.key, read.us, read.last});
                continue;
            }
            const auto row = by_name.find(read.name);
            if (row == by_name.end()) {
                ++passed_over_;
                continue;
            }
            measured_.push_back({read.key, row->second, read.us, read.last});
        }
        return {};
    }

    /// Keeps a verdict. Null, or the field that is wrong and what was expected there.
    const char* read_verdict(const std::string& text) {
        std::istringstream words(text);
        words.imbue(std::locale::classic());
        std::string form, formats, ratio, record, more;
        engine_verdict v;
        if (!(words >> form >> formats >> v.least >> v.most >> ratio >> record) || words >> more)
            return "expected six words: 'models <formats> <least> <most> <ratio> <record>'";
        std::istringstream each(formats);
        for (std::string word; std::getline(each, word, '+');) {
            const format f = format_named(word.c_str());
            if (f == format::unknown || info(f).role != format_role::weight)
                return "field 'formats': expected formats of weights, '+' between them";
            v.weights = v.weights | f;
        }
        if (v.least < 1 || v.most < v.least)
            return "fields 'least', 'most': expected two numbers from 1 on, the larger one last";
        if (!number(ratio, v.ratio) || !(v.ratio > 0 && v.ratio < 1))
            return "field 'ratio': expected a number between 0 and 1";
        v.record = records_.emplace_back(std::move(record)).c_str();
        verdicts_.push_back(v);
        return nullptr;
    }

    /// A decimal number and nothing else.
    static bool number(const std::string& word, float& out) {
        std::istringstream in(word);
        in.imbue(std::locale::classic());  // the engine's decimals may have a comma
        return in >> out && in.peek() == std::istringstream::traits_type::eof();
    }

    /// The four words of a line.
    struct line {
        std::string name;
        std::uint64_t key = 0;
        float us = 0, last = 0;

        bool of_engine() const { return name == "engine"; }

        /// Null, or the field that is wrong and what was expected there.
        const char* parse(const std::string& text) {
            std::istringstream words(text);
            words.imbue(std::locale::classic());  // not the engine's: its spaces may be others
            std::string key_word, us_word, last_word, more;
            if (!(words >> name >> key_word >> us_word >> last_word) || words >> more)
                return "expected four words: '<row name> <problem key> <us> <spread>', or "
                       "'engine <key> <us> <us of the steps>'";
            if (!hexadecimal(key_word)) return "field 'key': expected 16 hex digits";
            if (!number(us_word, us) || !(us > 0)) return "field 'us': expected a number above 0";
            const bool known = number(last_word, last);
            if (of_engine() && !(known && last > 0))
                return "field 'us of the steps': expected a number above 0";
            return known && last >= 0 ? nullptr : "field 'spread': expected a number from 0 on";
        }

        bool hexadecimal(const std::string& word) {
            constexpr std::size_t digits = 16;
            if (word.size() != digits ||
                word.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
                return false;
            key = std::strtoull(word.c_str(), nullptr, 16);
            return true;
        }
    };
};

}  // namespace CATENA_NAMESPACE
