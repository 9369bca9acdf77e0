// Faults of launches that recall.
#include "fault_places.hpp"

namespace catena_test {

namespace {

/// A fault of a launch that recalls: f(arguments) says whether the step can have it.
template <class F>
put_fault in_heads_recalled(F f) {
    return [f](plan_faults& p, std::size_t s) {
        return p.is_heads(s) && p.heads(s).recalled.key_heads > 0 && f(p.heads(s));
    };
}
template <class F>
put_fault in_rule(F f) {
    return in_heads_recalled([f](heads_args& a) { return f(a.recalled); });
}
template <class F>
put_fault in_recalled(F f) {
    return in_heads_recalled([f](heads_args& a) { return f(a.member[0]); });
}

/// Lets an operand be another one.
template <class T>
bool replace(T*& p, T* by) {
    return std::exchange(p, by) != by;
}

}  // namespace

std::vector<fault> faults_of_delta_rules() {
    return {
        {"queries for keys", in_rule([](delta_args& d) { return replace(d.keys, d.queries); })},
        {"keys for queries", in_rule([](delta_args& d) { return replace(d.queries, d.keys); })},
        {"other queries", in_rule([](delta_args& d) { return shift(d.queries, 64); })},
        {"other keys", in_rule([](delta_args& d) { return shift(d.keys, 64); })},
        {"other values to recall", in_rule([](delta_args& d) { return shift(d.values, 64); })},
        {"queries at other distances",
         in_rule([](delta_args& d) { return (d.queries_nb1 += 16) > 0; })},
        {"keys at other distances", in_rule([](delta_args& d) { return (d.keys_nb1 += 16) > 0; })},
        {"values to recall at other distances",
         in_rule([](delta_args& d) { return (d.values_nb1 += 16) > 0; })},
        {"queries of tokens at other distances", in_heads_recalled([](heads_args& a) {
             return a.tokens > 1 && (a.recalled.queries_nb2 += 16) > 0;
         })},
        {"keys of tokens at other distances", in_heads_recalled([](heads_args& a) {
             return a.tokens > 1 && (a.recalled.keys_nb2 += 16) > 0;
         })},
        {"values of tokens at other distances", in_heads_recalled([](heads_args& a) {
             return a.tokens > 1 && (a.recalled.values_nb2 += 16) > 0;
         })},
        {"shares of errors for a decay",
         in_rule([](delta_args& d) { return replace(d.decay.first, d.beta.first); })},
        {"a decay for shares of errors",
         in_rule([](delta_args& d) { return replace(d.beta.first, d.decay.first); })},
        {"another decay", in_rule([](delta_args& d) { return shift(d.decay.first, 4); })},
        {"a decay by other factors",
         in_rule([](delta_args& d) { return shift(d.decay_factor, 4); })},
        {"a decay without its factors",
         in_rule([](delta_args& d) { return drop(d.decay_factor); })},
        {"a decay of each value, or of none", in_rule([](delta_args& d) {
             d.by_value = !d.by_value;
             return true;
         })},
        {"decays of tokens at other distances", in_heads_recalled([](heads_args& a) {
             return a.tokens > 1 && !a.recalled.by_value && (a.recalled.decay.nb2 += 4) > 0;
         })},
        {"shares of tokens at other distances", in_heads_recalled([](heads_args& a) {
             return a.tokens > 1 && (a.recalled.beta.nb2 += 4) > 0;
         })},
        {"shares of one head abreast", in_heads_recalled([](heads_args& a) {
             return std::exchange(a.recalled.beta.abreast, 1) > 1;
         })},
        {"no shares abreast", in_rule([](delta_args& d) { return (d.beta.abreast = 0) == 0; })},
        {"shares that are logits, or logits that are none", in_rule([](delta_args& d) {
             d.logit = !d.logit;
             return true;
         })},
        {"keys of other heads", in_heads_recalled([](heads_args& a) {
             a.recalled.neighbors = !a.recalled.neighbors;
             return a.recalled.key_heads > 1 && a.recalled.key_heads < a.member[0].heads;
         })},
        {"a head of keys less", in_rule([](delta_args& d) { return --d.key_heads > 0; })},
        {"a head of keys for each head", in_heads_recalled([](heads_args& a) {
             return std::exchange(a.recalled.key_heads, a.member[0].heads) != a.member[0].heads;
         })},
        {"nothing that recalls", in_rule([](delta_args& d) { return (d.key_heads = 0) == 0; })},
        {"a state behind that of the sequence",
         in_rule([](delta_args& d) { return shift(d.state, 16); })},
        {"states from the second on", in_heads_recalled([](heads_args& a) {
             const head_member& m = a.member[0];
             return shift(a.recalled.state, std::int64_t{4} * m.heads * m.k * m.k);
         })},
        {"a state to recall from without its number",
         in_rule([](delta_args& d) { return drop(d.state_ids); })},
        {"another number of a state to recall from",
         in_rule([](delta_args& d) { return shift(d.state_ids, 4); })},
        {"a state more", in_rule([](delta_args& d) { return ++d.states > 0; })},
        {"no state", in_rule([](delta_args& d) { return (d.states = 0) == 0; })},
        {"a recalled state that is not kept",
         in_rule([](delta_args& d) { return drop(d.next_state); })},
        {"a recalled state that is kept elsewhere",
         in_rule([](delta_args& d) { return shift(d.next_state, 16); })},
        {"a recalled state that is kept over the values", in_rule([](delta_args& d) {
             return replace(d.next_state, const_cast<float*>(d.values));
         })},
        {"a recalled state that is kept over what is recalled",
         in_heads_recalled(
             [](heads_args& a) { return replace(a.recalled.next_state, a.member[0].f32); })},
        {"recalled values that are not written",
         in_recalled([](head_member& m) { return drop(m.f32); })},
        {"recalled values that are written elsewhere",
         in_recalled([](head_member& m) { return shift(m.f32, 64); })},
        {"recalled values that are written over the values", in_heads_recalled([](heads_args& a) {
             return replace(a.member[0].f32, const_cast<float*>(a.recalled.values));
         })},
        {"recalled values that are written at other distances",
         in_recalled([](head_member& m) { return (m.f32_nb1 += 16) > 0; })},
        {"recalled values times another number",
         in_recalled([](head_member& m) { return (m.scale *= 2) != 0; })},
        {"recalled values that are normed",
         in_recalled([](head_member& m) { return m.normed = true; })},
        {"recalled values that are turned",
         in_recalled([](head_member& m) { return m.turned = true; })},
        {"recalled heads of half their size", in_heads_recalled([](heads_args& a) {
             return a.member[0].k % 16 == 0 && (a.rows /= 2, a.member[0].k /= 2) > 0;
         })},
        {"recalled heads that are fewer", in_heads_recalled([](heads_args& a) {
             return a.member[0].heads % 2 == 0 && (a.rows /= 2, a.member[0].heads /= 2) > 0;
         })},
        {"half the rows of recalled heads",
         in_heads_recalled([](heads_args& a) { return (a.rows /= 2) > 0; })},
        {"a sequence more to recall for", in_rule([](delta_args& d) { return ++d.sequences > 0; })},
        {"a token less to recall for",
         in_heads_recalled([](heads_args& a) { return --a.tokens > 0; })},
    };
}

std::vector<fault> faults_of_moved_operands() {
    return {
        {"tokens of one sequence", in_heads_recalled([](heads_args& a) {
             const std::int32_t sequences = std::exchange(a.recalled.sequences, 1);
             return (a.rows /= sequences, sequences) > 1;
         })},
        {"decays of heads at other distances", in_heads_recalled([](heads_args& a) {
             head_numbers& n = a.recalled.decay;
             return n.abreast < a.member[0].heads && (n.nb1 += 4) > 0;
         })},
        {"shares of heads at other distances", in_heads_recalled([](heads_args& a) {
             head_numbers& n = a.recalled.beta;
             return n.abreast < a.member[0].heads && (n.nb1 += 4) > 0;
         })},
        {"a decay without its bias", in_rule([](delta_args& d) { return drop(d.decay_bias); })},
        {"a decay with another bias",
         in_rule([](delta_args& d) { return shift(d.decay_bias, 4); })},
    };
}

}  // namespace catena_test
