// The main function of every test, compiled once; only Catch2 2 needs it.
#define CATCH_CONFIG_MAIN
#include "catena_test/catch.hpp"
