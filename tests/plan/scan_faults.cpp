// Faults of launches that scan.
#include "fault_places.hpp"

namespace catena_test {

namespace {

/// A fault of a launch that scans: f(arguments) says whether the step can have it.
template <class F>
put_fault in_heads_scanned(F f) {
    return [f](plan_faults& p, std::size_t s) {
        return p.is_heads(s) && p.heads(s).scanned.size > 0 && f(p.heads(s));
    };
}
template <class F>
put_fault in_scan(F f) {
    return in_heads_scanned([f](heads_args& a) { return f(a.scanned); });
}
template <class F>
put_fault in_scanned(F f) {
    return in_heads_scanned([f](heads_args& a) { return f(a.member[0]); });
}

/// Lets an operand be another one.
template <class T, class U>
bool replace(T*& p, U* by) {
    return std::exchange(p, const_cast<T*>(by)) != by;
}

/// Gives a launch an operand that it has not.
bool add(const float*& p, const float* by) { return std::exchange(p, by) == nullptr; }

/// Lets tokens lie at other distances, if there are several.
put_fault apart(std::int64_t scan_args::*nb) {
    return in_heads_scanned(
        [nb](heads_args& a) { return a.tokens > 1 && (a.scanned.*nb += 16) > 0; });
}

std::int64_t state_bytes(const heads_args& a) {
    return std::int64_t{4} * a.scanned.size * a.member[0].k * a.member[0].heads;
}

std::vector<fault> faults_of_operands() {
    using args = heads_args;
    using scan = scan_args;
    return {
        {"other values to scan", in_scan([](scan& s) { return shift(s.x, 64); })},
        {"gates for values to scan",
         in_scan([](scan& s) { return s.z != nullptr && replace(s.x, s.z); })},
        {"values to scan at other distances", apart(&scan::x_nb)},
        {"another dt", in_scan([](scan& s) { return shift(s.dt, 4); })},
        {"a bias for dt",
         in_scan([](scan& s) { return s.dt_bias != nullptr && replace(s.dt, s.dt_bias); })},
        {"dt at other distances", apart(&scan::dt_nb)},
        {"dt without its bias", in_scan([](scan& s) { return drop(s.dt_bias); })},
        {"dt with another bias", in_scan([](scan& s) { return shift(s.dt_bias, 4); })},
        {"dt with a bias that nobody asked for",
         in_scan([](scan& s) { return add(s.dt_bias, s.a); })},
        {"decays of other heads", in_scan([](scan& s) { return shift(s.a, 4); })},
        {"a bias for decays",
         in_scan([](scan& s) { return s.dt_bias != nullptr && replace(s.a, s.dt_bias); })},
        {"shares of x for decays",
         in_scan([](scan& s) { return s.d != nullptr && replace(s.a, s.d); })},
        {"b for c", in_scan([](scan& s) { return replace(s.c, s.b); })},
        {"c for b", in_scan([](scan& s) { return replace(s.b, s.c); })},
        {"another b", in_scan([](scan& s) { return shift(s.b, 64); })},
        {"another c", in_scan([](scan& s) { return shift(s.c, 64); })},
        {"b at other distances", apart(&scan::b_nb)},
        {"c at other distances", apart(&scan::c_nb)},
        {"no share of x", in_scan([](scan& s) { return drop(s.d); })},
        {"another share of x", in_scan([](scan& s) { return shift(s.d, 4); })},
        {"a share of x that nobody asked for", in_scan([](scan& s) { return add(s.d, s.a); })},
        {"scanned values without their gate", in_scan([](scan& s) { return drop(s.z); })},
        {"scanned values with another gate", in_scan([](scan& s) { return shift(s.z, 64); })},
        {"scanned values with a gate that nobody asked for", in_scan([](scan& s) {
             s.z_nb = s.x_nb;
             return add(s.z, s.x);
         })},
        {"gates of scanned values at other distances", in_heads_scanned([](args& a) {
             return a.tokens > 1 && a.scanned.z != nullptr && (a.scanned.z_nb += 16) > 0;
         })},
    };
}

std::vector<fault> faults_of_states() {
    using args = heads_args;
    using scan = scan_args;
    return {
        {"a state behind those of the sequences",
         in_scan([](scan& s) { return shift(s.state, 16); })},
        {"scanned states from the second on",
         in_heads_scanned([](args& a) { return shift(a.scanned.state, state_bytes(a)); })},
        {"scanned states without their numbers",
         in_scan([](scan& s) { return drop(s.state_ids); })},
        {"other numbers of scanned states", in_scan([](scan& s) { return shift(s.state_ids, 4); })},
        {"a scanned state more", in_scan([](scan& s) { return ++s.states > 0; })},
        {"a scanned state less", in_scan([](scan& s) { return --s.states > 0; })},
        {"no scanned states", in_scan([](scan& s) { return (s.states = 0) == 0; })},
        {"scanned states that are not kept", in_scan([](scan& s) { return drop(s.next_state); })},
        {"scanned states that are kept elsewhere",
         in_scan([](scan& s) { return shift(s.next_state, 16); })},
        {"scanned states that are kept a state behind their place",
         in_heads_scanned([](args& a) { return shift(a.scanned.next_state, state_bytes(a)); })},
        {"scanned states that are kept over x",
         in_scan([](scan& s) { return replace(s.next_state, s.x); })},
        {"scanned states that are kept over the values",
         in_heads_scanned([](args& a) { return replace(a.scanned.next_state, a.member[0].f32); })},
    };
}

std::vector<fault> faults_of_sizes() {
    using args = heads_args;
    using scan = scan_args;
    return {
        {"a state of half as many numbers", in_scan([](scan& s) { return (s.size /= 2) > 0; })},
        {"a state of more numbers than a warp holds",
         in_scan([](scan& s) { return (s.size = 1 << 12) > 0; })},
        {"nothing that scans", in_scan([](scan& s) { return (s.size = 0) == 0; })},
        {"a group for each head", in_heads_scanned([](args& a) {
             return std::exchange(a.scanned.groups, a.member[0].heads) != a.member[0].heads;
         })},
        {"a group less", in_scan([](scan& s) { return --s.groups > 0; })},
        {"no groups", in_scan([](scan& s) { return (s.groups = 0) == 0; })},
        {"a sequence to scan more", in_scan([](scan& s) { return ++s.sequences > 0; })},
        {"a sequence to scan less", in_scan([](scan& s) { return --s.sequences > 0; })},
        {"one sequence of all tokens", in_heads_scanned([](args& a) {
             const std::int32_t n = std::exchange(a.scanned.sequences, 1);
             return (a.rows /= n) > 0 && n > 1;
         })},
        {"no sequences", in_scan([](scan& s) { return (s.sequences = 0) == 0; })},
        {"a token less to scan", in_heads_scanned([](args& a) { return --a.tokens > 0; })},
        {"a token of each sequence less",
         in_heads_scanned([](args& a) { return (a.tokens -= a.scanned.sequences) > 0; })},
        {"scanned heads of half their size", in_heads_scanned([](args& a) {
             return a.member[0].k % 16 == 0 && (a.rows /= 2, a.member[0].k /= 2) > 0;
         })},
        {"scanned heads that are fewer", in_heads_scanned([](args& a) {
             return a.member[0].heads % 2 == 0 && (a.rows /= 2, a.member[0].heads /= 2) > 0;
         })},
        {"half the rows of scanned heads",
         in_heads_scanned([](args& a) { return (a.rows /= 2) > 0; })},
        {"two values that are scanned", in_heads_scanned([](args& a) {
             a.member[a.members++] = a.member[0];
             a.member[1].first_row = a.rows;
             return (a.rows *= 2) > 0;
         })},
    };
}

std::vector<fault> faults_of_scanned() {
    using args = heads_args;
    using member = head_member;
    return {
        {"scanned values that are not written", in_scanned([](member& m) { return drop(m.f32); })},
        {"scanned values that are written elsewhere",
         in_scanned([](member& m) { return shift(m.f32, 64); })},
        {"scanned values that are written over x",
         in_heads_scanned([](args& a) { return replace(a.member[0].f32, a.scanned.x); })},
        {"scanned values that are written at other distances",
         in_scanned([](member& m) { return (m.f32_nb1 += 16) > 0; })},
        {"scanned values of tokens that are written at other distances",
         in_heads_scanned([](args& a) { return a.tokens > 1 && (a.member[0].f32_nb2 += 16) > 0; })},
        {"scanned values times another number",
         in_scanned([](member& m) { return (m.scale *= 2) != 0; })},
        {"scanned values that are normed", in_scanned([](member& m) { return m.normed = true; })},
        {"scanned values that are turned", in_scanned([](member& m) { return m.turned = true; })},
    };
}

}  // namespace

std::vector<fault> faults_of_scans() {
    std::vector<fault> out;
    for (auto* list : {faults_of_operands, faults_of_states, faults_of_sizes, faults_of_scanned})
        for (fault& f : list()) out.push_back(std::move(f));
    return out;
}

}  // namespace catena_test
