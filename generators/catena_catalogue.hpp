// Catena's own catalogue, generators/catalogue.hpp, lowered.
#pragma once

#include "catalogue_of.hpp"

namespace catena::generator {

catalogue catena_catalogue();

}  // namespace catena::generator
