// Faults of launches that convolve.
#include "fault_places.hpp"

namespace catena_test {

namespace {

/// A fault of a launch that convolves: f(arguments) says whether the step can have it.
template <class F>
put_fault in_convolution(F f) {
    return [f](plan_faults& p, std::size_t s) {
        return p.is_heads(s) && p.heads(s).convolved.channels > 0 && f(p.heads(s));
    };
}
template <class F>
put_fault in_normed(F f) {
    return in_convolution([f](heads_args& a) {
        for (std::int32_t m = 0; m < a.members; ++m)
            if (a.member[m].normed) return f(a, a.member[m]);
        return false;
    });
}

}  // namespace

std::vector<fault> faults_of_convolutions() {
    using args = heads_args;
    using member = head_member;
    return {
        {"other tokens", in_convolution([](args& a) { return shift(a.convolved.x, 64); })},
        {"tokens at other distances",
         in_convolution([](args& a) { return a.tokens > 1 && (a.convolved.x_nb += 16) > 0; })},
        {"other taps", in_convolution([](args& a) { return shift(a.convolved.taps, 64); })},
        {"a tap less", in_convolution([](args& a) { return --a.convolved.length > 0; })},
        {"a bias that nobody asked for", in_convolution([](args& a) {
             return std::exchange(a.convolved.bias, a.convolved.taps) == nullptr;
         })},
        {"no function", in_convolution([](args& a) {
             return std::exchange(a.convolved.function, gate_function::none) != gate_function::none;
         })},
        {"another function", in_convolution([](args& a) {
             a.convolved.function = gate_function::sigmoid;
             return true;
         })},
        {"another state",
         in_convolution([](args& a) { return shift(a.convolved.state, 1 << 14); })},
        {"a state without its number",
         in_convolution([](args& a) { return drop(a.convolved.state_ids); })},
        {"another number of a state",
         in_convolution([](args& a) { return shift(a.convolved.state_ids, 4); })},
        {"more states than there are", in_convolution([](args& a) {
             return a.convolved.state_ids != nullptr && ++a.convolved.states > 0;
         })},
        {"a sequence more", in_convolution([](args& a) { return ++a.convolved.sequences > 0; })},
        {"a sequence less", in_convolution([](args& a) { return --a.convolved.sequences == 0; })},
        {"a state that is not kept",
         in_convolution([](args& a) { return drop(a.convolved.next_state); })},
        {"a state that is kept elsewhere",
         in_convolution([](args& a) { return shift(a.convolved.next_state, 16); })},
        {"a state that is kept over the tokens", in_convolution([](args& a) {
             a.convolved.next_state = const_cast<float*>(a.convolved.x);
             return true;
         })},
        {"values that are not written",
         in_convolution([](args& a) { return drop(a.convolved.f32); })},
        {"values that are written elsewhere",
         in_convolution([](args& a) { return shift(a.convolved.f32, 64); })},
        {"fewer channels", in_convolution([](args& a) { return --a.convolved.channels > 0; })},
        {"a token less", in_convolution([](args& a) { return --a.tokens > 0; })},
        {"no convolution at all",
         in_convolution([](args& a) { return (a.convolved.channels = 0) == 0; })},
        {"normed heads of other channels",
         in_normed([](args&, member& m) { return (m.first_channel += 4) > 0; })},
        {"channels that are not normed",
         in_normed([](args&, member& m) { return std::exchange(m.normed, false); })},
        {"channels with another eps", in_normed([](args&, member& m) { return (m.eps *= 2) > 0; })},
        {"channels times another number",
         in_normed([](args&, member& m) { return (m.scale *= 2) != 0; })},
        {"channels that are turned", in_normed([](args&, member& m) { return m.turned = true; })},
        {"normed heads that are written elsewhere",
         in_normed([](args&, member& m) { return shift(m.f32, 64); })},
        {"normed heads over the tokens", in_normed([](args& a, member& m) {
             m.f32 = const_cast<float*>(a.convolved.x);
             return true;
         })},
    };
}

}  // namespace catena_test
