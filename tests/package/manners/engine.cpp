// An engine's warnings are not about Catena's headers.
#include "catena/error/message.hpp"

bool catena_failed() { return !catena::failure(catena::status_code::no_instances, "%d", 1).ok(); }
