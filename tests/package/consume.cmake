# Configures, builds and runs the consumer: with CATENA_SOURCE inside it, or with an install of CATENA_BUILD.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK})
if(CATENA_SOURCE)
  set(catena -DCATENA_SOURCE=${CATENA_SOURCE} -DCATENA_CUDA=OFF)
else()
  run(${CMAKE_COMMAND} --install ${CATENA_BUILD} --prefix ${WORK}/prefix)
  set(catena -DCMAKE_PREFIX_PATH=${WORK}/prefix "-DCOMPONENTS=${COMPONENTS}")
endif()
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${WORK}/build -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX}
    -DEXAMPLES=${EXAMPLES} ${catena})
set(programs consumer consumer_of_planner)
if(COMPONENTS MATCHES host)
  list(APPEND programs consumer_on_host)
endif()
foreach(program IN LISTS programs)
  run(${CMAKE_COMMAND} --build ${WORK}/build --target ${program})
  run(${WORK}/build/${program})
endforeach()

if(COMPONENTS MATCHES command)
  run(${CMAKE_COMMAND} --build ${WORK}/build --target plan)
endif()

# A program without CMake, by what pkg-config says.
find_program(PKG_CONFIG pkg-config)
if(CATENA_BUILD AND PKG_CONFIG)
  file(GLOB_RECURSE pc ${WORK}/prefix/catena.pc)
  cmake_path(GET pc PARENT_PATH folder)
  set(ENV{PKG_CONFIG_PATH} ${folder})
  execute_process(COMMAND ${PKG_CONFIG} --cflags --libs catena OUTPUT_VARIABLE flags COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "$ENV{CXXFLAGS} ${flags}")
  file(WRITE ${WORK}/empty.cpp [[
#include "catena/pick/row.hpp"
#include "catena/runtime.hpp"
int main() {
    const catena::graph_view nothing{};
    return catena::planner{catena::table{}}.plan(nothing).state().ok() ? 1 : 0;  // a table without rows plans nothing
}
]])
  run(${CXX} -std=c++17 ${WORK}/empty.cpp ${flags} -o ${WORK}/by_pkg_config)
  run(${WORK}/by_pkg_config)
endif()

# The small engine that README shows needs the host executor, which a subproject does not bring.
if(CATENA_BUILD)
  run(${CMAKE_COMMAND} -S ${EXAMPLES}/small_engine -B ${WORK}/small_engine -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX}
      ${catena})
  run(${CMAKE_COMMAND} --build ${WORK}/small_engine)
  execute_process(COMMAND ${WORK}/small_engine/small_engine OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
  file(READ ${EXAMPLES}/../README.md readme)
  string(FIND "${readme}" "$ small_engine\n${said}```" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "README.md does not show what small_engine prints: ${said}")
  endif()
endif()
