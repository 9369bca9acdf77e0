#include "catena_catalogue.hpp"

#include "catalogue.hpp"

namespace catena::generator {

catalogue catena_catalogue() { return catalogue_of(catena::catalogue::entries); }

}  // namespace catena::generator
