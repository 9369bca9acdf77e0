// Fibers: the threads of a block, run one at a time on one core. A switch is one jump of
// Boost.Context.
#pragma once

#include "catena/config.hpp"

#include <boost/context/detail/fcontext.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>

#include <cstddef>
#include <vector>

namespace CATENA_NAMESPACE::exec {

/// Something that can be left and resumed: a thread of the block, or the loop that started it.
struct fiber {
    boost::context::detail::fcontext_t context = nullptr;
    void* owner = nullptr;

    /// Leaves this fiber, which is running, and goes on with `to`. Returns when somebody goes on
    /// with this.
    void leave_for(fiber& to) {
        // Whoever resumes a fiber hands over itself, to have its own context kept.
        const auto arrived = boost::context::detail::jump_fcontext(to.context, this);
        static_cast<fiber*>(arrived.data)->context = arrived.fctx;
    }

    /// First thing on a new fiber: keeps the context of the one that left for it, and returns that.
    static fiber& entered_from(boost::context::detail::transfer_t arrived) {
        auto* left = static_cast<fiber*>(arrived.data);
        left->context = arrived.fctx;
        return *left;
    }
};

/// Stacks that live as long as their thread of the host, so that neither a launch nor a device
/// after the first allocates any.
class fiber_stacks {
  public:
    static constexpr std::size_t stack_bytes = 128 * 1024;
    using entry = void (*)(boost::context::detail::transfer_t);

    static fiber_stacks& of_this_thread() {
        thread_local fiber_stacks stacks;
        return stacks;
    }

    fiber_stacks(const fiber_stacks&) = delete;
    fiber_stacks& operator=(const fiber_stacks&) = delete;
    ~fiber_stacks() {
        for (auto& stack : stacks_) allocator_.deallocate(stack);
    }

    void reserve(std::size_t count) {
        while (stacks_.size() < count) stacks_.push_back(allocator_.allocate());
    }

    /// The start of a fiber on stack `i`. `run` must not return.
    boost::context::detail::fcontext_t start(std::size_t i, entry run) const {
        // Stacks lie a power of two and a page apart. Without a shift of their own their hot ends
        // would all compete for the same lines of the first-level cache.
        const std::size_t shift = i % 32 * 384;
        auto* top = static_cast<std::byte*>(stacks_[i].sp) - shift;
        return boost::context::detail::make_fcontext(top, stacks_[i].size - shift, run);
    }

  private:
    fiber_stacks() = default;

    boost::context::protected_fixedsize_stack allocator_{stack_bytes};
    std::vector<boost::context::stack_context> stacks_;
};

}  // namespace CATENA_NAMESPACE::exec
