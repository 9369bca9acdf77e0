// What the compiler's sanitizers must know of fibers. AddressSanitizer needs the stack that runs,
// ThreadSanitizer the fiber. Without a sanitizer nothing is done.
#pragma once

#include "catena/config.hpp"

#include <cstddef>

#if defined(__has_feature)
#define CATENA_SANITIZES(clang_feature) __has_feature(clang_feature)
#else
#define CATENA_SANITIZES(clang_feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || CATENA_SANITIZES(address_sanitizer)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define CATENA_ADDRESS_SANITIZER 1
#endif
#if defined(__SANITIZE_THREAD__) || CATENA_SANITIZES(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define CATENA_THREAD_SANITIZER 1
#endif
#undef CATENA_SANITIZES

namespace CATENA_NAMESPACE::exec {

/// A fiber, as the sanitizers know it.
struct sanitized_fiber {
    const void* lowest = nullptr;  ///< lowest byte of the fiber's stack
    std::size_t stack_bytes = 0;
    void* saved = nullptr;     ///< data of AddressSanitizer while the fiber waits
    void* known_as = nullptr;  ///< handle of ThreadSanitizer

    /// Just before the jump to `to`.
    void leaves_for(sanitized_fiber& to) {
#if defined(CATENA_ADDRESS_SANITIZER)
        __sanitizer_start_switch_fiber(&saved, to.lowest, to.stack_bytes);
#endif
#if defined(CATENA_THREAD_SANITIZER)
        known_as = __tsan_get_current_fiber();
        __tsan_switch_to_fiber(to.known_as, 0);
#endif
        (void)to;
    }

    /// Just after the jump that brought this fiber back.
    void is_back() {
#if defined(CATENA_ADDRESS_SANITIZER)
        __sanitizer_finish_switch_fiber(saved, nullptr, nullptr);
#endif
    }

    /// First thing on a new fiber. AddressSanitizer then says which stack `left` has.
    static void starts_from(sanitized_fiber& left) {
#if defined(CATENA_ADDRESS_SANITIZER)
        __sanitizer_finish_switch_fiber(nullptr, &left.lowest, &left.stack_bytes);
#endif
        (void)left;
    }
};

/// A stack on which one fiber after another starts; those before need not have returned.
struct sanitized_stack {
    sanitized_fiber fiber;

    /// Forgets the fiber before and what it left on the stack.
    void restart(void* lowest, std::size_t bytes) {
        fiber.lowest = lowest;
        fiber.stack_bytes = bytes;
#if defined(CATENA_ADDRESS_SANITIZER)
        __asan_unpoison_memory_region(lowest, bytes);
#endif
        end();
#if defined(CATENA_THREAD_SANITIZER)
        fiber.known_as = __tsan_create_fiber(0);
#endif
    }

    /// Forgets the last fiber.
    void end() {
#if defined(CATENA_THREAD_SANITIZER)
        if (fiber.known_as != nullptr) __tsan_destroy_fiber(fiber.known_as);
        fiber.known_as = nullptr;
#endif
    }
};

}  // namespace CATENA_NAMESPACE::exec
