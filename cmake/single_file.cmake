# cmake -DINCLUDE=<folder> -DOUT=<file> -P single_file.cmake: what an engine needs, in one file: the headers of Catena
# below INCLUDE, each where it is included first.
cmake_minimum_required(VERSION 3.24)
set(text [[
// Catena's runtime in one file: what an engine needs to plan and launch, made from its headers. Link the library of an
// instance set beside it, and include no other header of Catena.
//     #include "catena_runtime.hpp"    wherever the engine plans or launches
// One source of the engine defines CATENA_DEFINE_PLANNER in front of that line and compiles the planner. Where that
// library has kernels, the sources that call instances::for_device define CATENA_HAS_KERNELS and, of each set that is
// linked, a macro such as CATENA_HAS_SM_90.
#pragma once
#include "catena/runtime.hpp"
#include "catena/pick/join.hpp"
#include "catena/plan/explain.hpp"
#include "catena/plan/log.hpp"
#include "catena/plan/verify.hpp"
#include "catena/instances/sm_75.hpp"
#include "catena/instances/sm_80.hpp"
#include "catena/instances/sm_86.hpp"
#include "catena/instances/sm_89.hpp"
#include "catena/instances/sm_90.hpp"
#include "catena/instances/sm_100.hpp"
#include "catena/instances/sm_120.hpp"
#include "catena/instances/for_device.hpp"
#if defined(CATENA_DEFINE_PLANNER)
#include "catena/planning.hpp"
#endif
]])
set(known catena/instances/host.hpp)  # the host executor's, which is C++20
while(text MATCHES "#include \"(catena/[^\"]+)\"[^\n]*\n")
  set(line "${CMAKE_MATCH_0}")
  set(header ${CMAKE_MATCH_1})
  set(content "")
  if(NOT header IN_LIST known)
    list(APPEND known ${header})
    file(READ ${INCLUDE}/${header} content)
    string(REPLACE "#pragma once\n" "" content "${content}")
  endif()
  string(FIND "${text}" "${line}" at)
  string(LENGTH "${line}" length)
  string(SUBSTRING "${text}" 0 ${at} before)
  math(EXPR at "${at} + ${length}")
  string(SUBSTRING "${text}" ${at} -1 behind)
  string(APPEND done "${before}")
  set(text "${content}${behind}")
endwhile()
file(WRITE ${OUT} "${done}${text}")
