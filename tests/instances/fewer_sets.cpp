// A file of the same program whose target links every set but sm_90.
#undef CATENA_HAS_SM_90
#include "catena/instances/all.hpp"

catena::table sm_90_elsewhere() { return catena::instances::table_named("sm_90"); }
