// The planner, compiled with the engine: in place of the library catena::planner.
#include "catena/planning.hpp"
