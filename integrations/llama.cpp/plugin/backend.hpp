// Devices and backends of the plug-in: those of the wrapped library, under their own names.
#pragma once

#include "../catena-backend.hpp"
#include "ggml-backend-impl.h"

namespace catena_plugin {

/// A device that Catena serves. It is the context of a ggml_backend_device.
struct served_device {
    ggml_backend_dev_t wrapped;
    catena::table rows;
    catena::options asked;
};

/// The functions of such a device.
ggml_backend_device_i device_functions(const ggml_backend_device_i& wrapped);

}  // namespace catena_plugin
