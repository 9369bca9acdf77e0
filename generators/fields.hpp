// Policies, computations and problems as JSON objects: every field by its name, those at their
// defaults left out. Each struct is taken apart whole, so that a new field does not compile until
// it has a name here.
#pragma once

#include "catena/pick/name.hpp"
#include "catena/pick/problem.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace catena::generator {

using json = nlohmann::ordered_json;

template <class Visit>
void each_field(row_policy& p, const Visit& visit) {
    auto& [threads, min_blocks, values, rows, cluster, vector] = p;
    visit("threads", threads), visit("min_blocks", min_blocks), visit("values", values);
    visit("rows", rows), visit("cluster", cluster), visit("vector", vector);
}

template <class Visit>
void each_field(matvec_policy& p, const Visit& visit) {
    auto& [threads, min_blocks, rows, columns, piece, stages, slices, cluster, copy, activation,
           product, placement, routes, turns, single_wave] = p;
    visit("threads", threads), visit("min_blocks", min_blocks), visit("rows", rows);
    visit("columns", columns), visit("piece", piece), visit("stages", stages);
    visit("slices", slices), visit("cluster", cluster), visit("copy", copy);
    visit("activation", activation), visit("product", product), visit("placement", placement);
    visit("routes", routes), visit("turns", turns), visit("single_wave", single_wave);
}

template <class Visit>
void each_field(matmul_policy& p, const Visit& visit) {
    auto& [threads, min_blocks, rows, columns, piece, stages, slices, cluster, copy, product] = p;
    visit("threads", threads), visit("min_blocks", min_blocks), visit("rows", rows);
    visit("columns", columns), visit("piece", piece), visit("stages", stages);
    visit("slices", slices), visit("cluster", cluster), visit("copy", copy);
    visit("product", product);
}

template <class Visit>
void each_field(row_computation& c, const Visit& visit) {
    auto& [stages, emits, own] = c;
    visit("stages", stages), visit("emits", emits), visit("own", own);
}

template <class Visit>
void each_field(product_computation& c, const Visit& visit) {
    auto& [kind, stages, emits, activation, weights, epilogue, own] = c;
    visit("kind", kind), visit("stages", stages), visit("emits", emits);
    visit("activation", activation), visit("weights", weights), visit("epilogue", epilogue);
    visit("own", own);
}

template <class Visit>
void each_field(problem_member& m, const Visit& visit) {
    auto& [type, rows, experts, epilogue, written] = m;
    visit("type", type), visit("rows", rows), visit("experts", experts);
    visit("epilogue", epilogue), visit("written", written);
}

template <class Visit>
void each_field(row_problem& p, const Visit& visit) {
    auto& [needs, sum, k, rows, quant_k, slots, positions, stored, least_k, values, stored_values,
           sequences, alignment] = p;
    visit("needs", needs), visit("sum", sum), visit("k", k), visit("rows", rows);
    visit("quant_k", quant_k), visit("slots", slots), visit("positions", positions);
    visit("stored", stored);
    visit("least_k", least_k), visit("values", values), visit("stored_values", stored_values);
    visit("sequences", sequences), visit("alignment", alignment);
}

/// All but the members.
template <class Visit>
void each_field(product_problem& p, const Visit& visit) {
    auto& [needs, expert, ends_norm, begins_norm, gate_k, k, columns, tokens, alignment, count,
           member] = p;
    visit("needs", needs), visit("expert", expert), visit("k", k), visit("gate_k", gate_k);
    visit("columns", columns);
    visit("tokens", tokens), visit("ends_norm", ends_norm), visit("begins_norm", begins_norm);
    visit("alignment", alignment);
    (void)count, (void)member;
}

namespace fields {

template <class T>
concept structure = std::is_same_v<T, row_policy> || std::is_same_v<T, matvec_policy> ||
    std::is_same_v<T, matmul_policy> || std::is_same_v<T, row_computation> ||
    std::is_same_v<T, product_computation> || std::is_same_v<T, row_problem> ||
    std::is_same_v<T, product_problem> || std::is_same_v<T, problem_member>;

template <class E>
constexpr int count_of() {
    if (std::is_same_v<E, format>) return format_count;
    if (std::is_same_v<E, stage_kind>) return stage_kind_count;
    if (std::is_same_v<E, inner_product>) return static_cast<int>(inner_product::fma) + 1;
    if (std::is_same_v<E, norm_placement>) return static_cast<int>(norm_placement::passing) + 1;
    return std::is_same_v<E, activation_source> || std::is_same_v<E, tile_product> ? 2 : 3;
}

template <class E>
E enumerator(const std::string& text, int count) {
    for (int i = 0; i < count; ++i)
        if (text == name(static_cast<E>(i))) return static_cast<E>(i);
    throw std::runtime_error("'" + text + "' is not the name of anything expected here");
}

/// What a policy's numbers are at most: longer pieces and wider tiles no kernel has, and what is
/// computed from them stays in range.
inline constexpr int most_of_policy = 4096;
template <class T>
inline constexpr std::int64_t most_of = std::is_same_v<T, row_policy> ||
                                                std::is_same_v<T, matvec_policy> ||
                                                std::is_same_v<T, matmul_policy>
                                            ? most_of_policy
                                            : std::numeric_limits<std::int32_t>::max();

/// A whole number from 0 to `most`: as kernels take it, and as nothing that is not one becomes.
inline std::int32_t count(const json& j, std::int64_t most) {
    const bool huge = j.is_number_unsigned() && j.get<std::uint64_t>() > std::uint64_t(most);
    const std::int64_t n = j.is_number_integer() && !huge ? j.get<std::int64_t>() : -1;
    if (n >= 0 && n <= most) return static_cast<std::int32_t>(n);
    throw std::runtime_error("expected a whole number from 0 to " + std::to_string(most) +
                             ", found " + j.dump());
}

/// Was it written besides others when records of tuning runs were made that are still read?
inline bool is_retired_format(const std::string& text) { return text == "q8_1_mmq_d2s6"; }

}  // namespace fields

template <class T>
json to_json_value(T value) {
    if constexpr (std::is_same_v<T, format_set> || std::is_same_v<T, stage_set> ||
                  std::is_same_v<T, epilogue_set>) {
        json list = json::array();
        for (const auto one : value) list.push_back(name(one));
        return list;
    } else if constexpr (std::is_enum_v<T>) {
        return name(value);
    } else if constexpr (fields::structure<T>) {
        json out = json::object();
        T defaults;
        if constexpr (std::is_same_v<T, product_computation>)
            defaults.kind = skeleton::row;  // so that every product tells its own
        each_field(value, [&](const char* key, auto& field) {
            each_field(defaults, [&](const char* other, auto& usual) {
                if constexpr (std::is_same_v<decltype(field), decltype(usual)>)
                    if (std::string(key) == other && !(field == usual))
                        out[key] = to_json_value(field);
            });
        });
        if constexpr (std::is_same_v<T, product_problem>)
            for (int i = 0; i < value.member_count; ++i)
                out["members"].push_back(to_json_value(value.member[i]));
        return out;
    } else {
        return value;
    }
}

/// The reverse. Throws std::runtime_error on a field that there is not, or a value of another kind.
template <class T>
T from_json_value(const json& j) {
    if constexpr (std::is_same_v<T, format_set>) {
        format_set out;
        for (const json& one : j)
            if (!fields::is_retired_format(one))
                out = out | fields::enumerator<format>(one, format_count);
        return out;
    } else if constexpr (std::is_same_v<T, stage_set>) {
        stage_set out;
        for (const json& one : j) out = out | fields::enumerator<stage_kind>(one, stage_kind_count);
        return out;
    } else if constexpr (std::is_same_v<T, epilogue_set>) {
        epilogue_set out;
        for (const json& one : j)
            out = out | fields::enumerator<epilogue_part>(one, epilogue_part_count);
        return out;
    } else if constexpr (std::is_enum_v<T>) {
        return fields::enumerator<T>(j, fields::count_of<T>());
    } else if constexpr (fields::structure<T>) {
        T out;
        std::size_t taken = 0;
        each_field(out, [&](const char* key, auto& field) {
            if (!j.contains(key)) return;
            using own = std::remove_reference_t<decltype(field)>;
            try {
                if constexpr (std::is_integral_v<own> && !std::is_same_v<own, bool>)
                    field = fields::count(j[key], fields::most_of<T>);
                else
                    field = from_json_value<own>(j[key]);
            } catch (const std::exception& e) {
                throw std::runtime_error("field '" + std::string(key) + "': " + e.what());
            }
            ++taken;
        });
        if constexpr (std::is_same_v<T, product_problem>)
            if (j.contains("members")) {
                ++taken;
                if (j["members"].size() > max_members)
                    throw std::runtime_error("a problem has more members than a launch");
                for (const json& m : j["members"])
                    out.member[out.member_count++] = from_json_value<problem_member>(m);
            }
        if (taken != j.size())
            throw std::runtime_error("there are fields that are not known: " + j.dump());
        return out;
    } else {
        return j.get<T>();
    }
}

inline json policy_json(const policy& p) {
    return p.visit([](const auto& own) { return to_json_value(own); });
}

inline json computation_json(const computation& c) {
    return c.visit([](const auto& own) { return to_json_value(own); });
}

/// The reverse. Throws as from_json_value does, also on a field that the skeleton does not have.
inline computation computation_of_json(const json& j) {
    return j.contains("kind") ? computation(from_json_value<product_computation>(j))
                              : computation(from_json_value<row_computation>(j));
}

inline json problem_json(const problem& p) {
    return p.visit([](const auto& own) { return to_json_value(own); });
}

/// The reverse. Throw as from_json_value does, also on a field that the skeleton does not have.
inline problem problem_of_json(skeleton kind, const json& j) {
    return kind == skeleton::row ? problem(from_json_value<row_problem>(j))
                                 : problem(from_json_value<product_problem>(j));
}
inline policy policy_of_json(skeleton kind, const json& j) {
    return kind == skeleton::row      ? policy(from_json_value<row_policy>(j))
           : kind == skeleton::matvec ? policy(from_json_value<matvec_policy>(j))
                                      : policy(from_json_value<matmul_policy>(j));
}

}  // namespace catena::generator
