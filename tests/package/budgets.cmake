# With an install of CATENA_BUILD: a set for a graph has fewer rows within a budget, for which each row is compiled. Rows
# that were left out are named, and what they would have gained.
include(${CMAKE_CURRENT_LIST_DIR}/for_graphs.cmake)

set(graph qwen3-8b-q4km.tg1.json.gz)
for_graphs(${graph} 0)
list(LENGTH rows whole)
for_graphs(${graph} 0 BUDGET 50KB)
list(LENGTH rows some)
if(some EQUAL 0 OR NOT some LESS whole)
  message(FATAL_ERROR "a budget left ${some} of ${whole} rows")
endif()
expect_said("left out [a-z0-9_A-Z.]+, [0-9]+ bytes: ${graph} [0-9.]+ us \\([0-9.]+ %\\) faster with it"
            "the rows of sm_90 take [0-9]+ bytes of 50000 bytes")
for_graphs(${graph} 2 BUDGET 1s)
expect_said("no row fits a budget of 1.00 s: [a-z0-9_A-Z.]+, the smallest that the graphs need, takes [0-9.]+ s: give")
