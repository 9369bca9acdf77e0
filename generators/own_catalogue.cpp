#include "own_catalogue.hpp"

#include "catalogue.hpp"

namespace catena::generator {

catalogue own_catalogue() { return catalogue_of(catena::catalogue::entries); }

}  // namespace catena::generator
