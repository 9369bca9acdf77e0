// Functions of ggml's interfaces that are passed on to what is wrapped.
#pragma once

#include "ggml-backend-impl.h"

namespace catena_plugin {

/// What a device of the plug-in wraps.
ggml_backend_dev_t wrapped_by(ggml_backend_dev_t device);
/// What a backend of the plug-in wraps; any other is returned as it is.
ggml_backend_t wrapped_by(ggml_backend_t backend);

template <auto Function>
struct forwarded;

/// A member of an interface whose first argument is the wrapper.
template <class Interface, class Wrapper, class Result, class... Arguments,
          Result (*Interface::*Function)(Wrapper, Arguments...)>
struct forwarded<Function> {
    static Result call(Wrapper outer, Arguments... arguments) {
        const Wrapper inner = wrapped_by(outer);
        return (inner->iface.*Function)(inner, arguments...);
    }
};

/// Passes these functions on as far as the wrapped interface has them.
template <auto... Functions, class Interface>
void forward(Interface& outer, const Interface& inner) {
    ((outer.*Functions = inner.*Functions == nullptr ? nullptr : forwarded<Functions>::call), ...);
}

}  // namespace catena_plugin
