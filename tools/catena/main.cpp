// catena: explains plans for graph files, proves them, runs their steps against the reference,
// lists instances and what they cover, verifies and times one shape, tunes them, says what of it
// runs on a machine, and finds the chains with which an engine fails.
#include "command_line.hpp"

int main(int argc, char** argv) { return catena::tool::run_command(argc, argv); }
