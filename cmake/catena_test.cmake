# catena_add_test(<name> [OWN_PLANNER] [OPTIMIZED] [TOGETHER] SOURCES <files...> [LIBS <targets...>] [FIRST <targets...>] [LABELS <labels...>]
#                 [TIMEOUT <s>])
#
# A Catch2 executable test_<name>, run as one ctest called <name>. Sources include
# "catena_test/catch.hpp"; CATENA_SOURCE_DIR and CATENA_TEST_DATA are defined as paths. OWN_PLANNER: the
# caller brings a planner, compiled as sanitizers need it. OPTIMIZED: the test computes much itself; others
# compile in half the time without optimization. TOGETHER: sources are compiled seven in one, in a third of the
# time, so names in them must differ. FIRST: static libraries among LIBS that linkers with GNU's options read before the
# test's own objects. Of an inline function that both have, the first one is kept, so that of a library that is optimized.
# Tests that may take long start first.

# Catch2 3 brings its main as a library; Catch2 2 is one header, whose main is compiled once, here.
find_package(Catch2 3 QUIET)
if(Catch2_FOUND)
  add_library(catena_test_main INTERFACE)
  target_link_libraries(catena_test_main INTERFACE Catch2::Catch2WithMain)
  target_include_directories(catena_test_main INTERFACE ${PROJECT_SOURCE_DIR}/tests/include)
else()
  find_path(CATENA_CATCH2_INCLUDE catch2/catch.hpp)
  if(NOT CATENA_CATCH2_INCLUDE)
    message(FATAL_ERROR "The tests need Catch2: install catch2, or set CATENA_BUILD_TESTS=OFF.")
  endif()
  add_library(catena_test_main STATIC ${PROJECT_SOURCE_DIR}/tests/include/catena_test/main.cpp)
  target_compile_options(catena_test_main PRIVATE -O0)  # compiled once, never hot
  target_include_directories(catena_test_main PUBLIC ${PROJECT_SOURCE_DIR}/tests/include)
  target_include_directories(catena_test_main SYSTEM PUBLIC ${CATENA_CATCH2_INCLUDE})
endif()

# Catch2's header takes 1 s of processor time for each source: here it is compiled once for the tests without
# optimization, and once for the others. A compiler cache, which keeps no source that uses it, does better alone.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  file(CONFIGURE OUTPUT catch.cpp CONTENT "")
  foreach(level IN ITEMS O0 O1)
    add_library(catena_catch_${level} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/catch.cpp)
    target_link_libraries(catena_catch_${level} PRIVATE catena_test_main)
    target_compile_options(catena_catch_${level} PRIVATE -${level})
    target_precompile_headers(catena_catch_${level} PRIVATE <catena_test/catch.hpp>)
  endforeach()
endif()

function(catena_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OWN_PLANNER;OPTIMIZED;TOGETHER" "TIMEOUT" "SOURCES;LIBS;FIRST;LABELS")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  add_executable(catena_test_${name} ${arg_SOURCES})
  target_link_libraries(catena_test_${name} PRIVATE catena_test_main catena ${arg_LIBS})
  if(NOT arg_OWN_PLANNER)
    target_link_libraries(catena_test_${name} PRIVATE catena_planner)
  endif()
  if(NOT MSVC AND NOT APPLE)
    foreach(library IN LISTS arg_FIRST)
      target_link_options(catena_test_${name} PRIVATE
        "SHELL:-Wl,--whole-archive \"$<TARGET_FILE:${library}>\" -Wl,--no-whole-archive")
    endforeach()
  endif()
  set(level O0)
  if(arg_OPTIMIZED)
    set(level O1)
  endif()
  target_compile_options(catena_test_${name} PRIVATE -${level})
  if(TARGET catena_catch_${level} AND NOT arg_OWN_PLANNER)  # with sanitizers it is another header
    target_precompile_headers(catena_test_${name} REUSE_FROM catena_catch_${level})
  endif()
  if(arg_TOGETHER)
    set_target_properties(catena_test_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 7)
  endif()
  target_compile_definitions(catena_test_${name} PRIVATE
    CATENA_SOURCE_DIR="${PROJECT_SOURCE_DIR}" CATENA_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
  add_test(NAME ${name} COMMAND catena_test_${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} COST ${arg_TIMEOUT} LABELS "${arg_LABELS}")
endfunction()

# catena_watch_threads(<target>): ThreadSanitizer watches an OWN_PLANNER test, if the compiler has it and the build has
# no sanitizer that it does not go with. Where gcov counts, -pthread keeps the threads' counts whole. The tests share a
# planner, which is compiled once, and without optimization in two thirds of the time.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_FLAGS -fsanitize=thread)
check_cxx_source_compiles("int main() {}" CATENA_THREAD_SANITIZER)
unset(CMAKE_REQUIRED_FLAGS)
find_package(Threads REQUIRED)
add_library(catena_watched_planner OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/planner.cpp)
target_link_libraries(catena_watched_planner PRIVATE catena)
target_compile_options(catena_watched_planner PRIVATE -O0)
function(catena_watch_threads target)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:catena_watched_planner>)
  foreach(watched IN ITEMS ${target} catena_watched_planner)
    target_compile_options(${watched} PRIVATE -pthread $<$<BOOL:${CATENA_THREAD_SANITIZER}>:-fsanitize=thread>)
  endforeach()
  if(CATENA_THREAD_SANITIZER)
    target_link_options(${target} PRIVATE -fsanitize=thread)
  endif()
endfunction()
