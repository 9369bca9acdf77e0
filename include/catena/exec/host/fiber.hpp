// Fibers: the threads of a block, run one at a time on one core. A switch is one jump of
// Boost.Context.
#pragma once

#include "catena/exec/host/fiber_sanitizers.hpp"

#include <boost/context/detail/fcontext.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>

#include <cstddef>
#include <vector>

namespace CATENA_NAMESPACE::exec {

/// Something that can be left and resumed: a thread of the block, or the loop that started it.
struct fiber {
    boost::context::detail::fcontext_t context = nullptr;
    void* owner = nullptr;
    sanitized_fiber sanitized;

    /// Leaves this fiber, which is running, and goes on with `to`. Returns when somebody goes on
    /// with this.
    void leave_for(fiber& to) {
        sanitized.leaves_for(to.sanitized);
        // Whoever resumes a fiber hands over itself, to have its own context kept.
        const auto arrived = boost::context::detail::jump_fcontext(to.context, this);
        sanitized.is_back();
        static_cast<fiber*>(arrived.data)->context = arrived.fctx;
    }

    /// First thing on a new fiber: keeps the context of the one that left for it, and returns that.
    static fiber& entered_from(boost::context::detail::transfer_t arrived) {
        auto* left = static_cast<fiber*>(arrived.data);
        sanitized_fiber::starts_from(left->sanitized);
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
        for (one_stack& stack : stacks_) {
            stack.sanitized.end();
            allocator_.deallocate(stack.memory);
        }
    }

    void reserve(std::size_t count) {
        while (stacks_.size() < count) stacks_.push_back({allocator_.allocate(), {}});
    }

    /// Lets `f` start on stack `i`. `run` must not return.
    void start(fiber& f, std::size_t i, entry run) {
        boost::context::stack_context& memory = stacks_[i].memory;
        auto* const end = static_cast<std::byte*>(memory.sp);
        stacks_[i].sanitized.restart(end - memory.size, memory.size);
        f.sanitized = stacks_[i].sanitized.fiber;
        // Stacks lie a power of two and a page apart. Without a shift of their own their hot ends
        // would all compete for the same lines of the first-level cache.
        const std::size_t shift = i % 32 * 384;
        f.context = boost::context::detail::make_fcontext(end - shift, memory.size - shift, run);
    }

  private:
    struct one_stack {
        boost::context::stack_context memory;
        sanitized_stack sanitized;
    };

    fiber_stacks() = default;

    boost::context::protected_fixedsize_stack allocator_{stack_bytes};
    std::vector<one_stack> stacks_;
};

}  // namespace CATENA_NAMESPACE::exec
