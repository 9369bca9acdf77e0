// The main function of every test, compiled once; only Catch2 2 needs it. A selection of no test at
// all fails, as it does with Catch2 3: an arch without its tests must not look like a tested one.
#define CATCH_CONFIG_RUNNER
#include "catena_test/catch.hpp"

int main(int argc, char** argv) {
    Catch::Session session;
    session.configData().warnings = Catch::WarnAbout::NoTests;
    return session.run(argc, argv);
}
