# An engine that has Catena as a part of it: names do not clash, its install has nothing of Catena unless asked, its own
# targets are exported, its warnings are about its own files, and its way to compile several files as one works.
function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endfunction()
set(configure ${CMAKE_COMMAND} -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_PREFIX_PATH=${PREFIX} -DCMAKE_CXX_FLAGS=-O0)

file(REMOVE_RECURSE ${WORK})
run(${configure} -S ${CMAKE_CURRENT_LIST_DIR}/manners -B ${WORK}/engine -DCATENA_SOURCE=${CATENA_SOURCE})
file(READ ${WORK}/engine/eng_targets.cmake exported)
if(NOT exported MATCHES "INTERFACE_LINK_LIBRARIES \"catena::catena;catena::planner;catena::instances_sm_90\"")
  message(FATAL_ERROR "the engine's exported target should link Catena's by their names:\n${exported}")
endif()
file(GLOB_RECURSE scripts ${WORK}/engine/catena/*cmake_install.cmake)
foreach(script IN LISTS scripts)
  file(STRINGS ${script} lines REGEX "file\\(INSTALL.*TYPE (FILE|DIRECTORY)")
  list(FILTER lines EXCLUDE REGEX "TYPE FILE FILES .*_targets(-[a-z]*)?[.]cmake\"")
  if(lines)
    message(FATAL_ERROR "nobody asked for an install of Catena, but ${script} has: ${lines}")
  endif()
endforeach()

# The engine's library alone; what it links is not built for this.
run(${CMAKE_COMMAND} --build ${WORK}/engine --target CMakeFiles/eng.dir/engine.cpp.o)
file(WRITE ${WORK}/engine/libeng.a "")
run(${CMAKE_COMMAND} --install ${WORK}/engine --prefix ${WORK}/prefix)
file(GLOB_RECURSE installed RELATIVE ${WORK}/prefix ${WORK}/prefix/*)
list(FILTER installed EXCLUDE REGEX "^lib/(libeng[.]a|cmake/eng/eng_targets(-[a-z]*)?[.]cmake)$")
if(installed)
  message(FATAL_ERROR "an engine's install brings files of Catena: ${installed}")
endif()
run(${CMAKE_COMMAND} ${WORK}/engine -DCATENA_INSTALL=ON)
file(STRINGS ${WORK}/engine/catena/cmake_install.cmake headers REGEX "file\\(INSTALL.*/include/catena\"")
if(NOT headers)
  message(FATAL_ERROR "with CATENA_INSTALL=ON an engine should install Catena's headers")
endif()

# Several files as one: two families of host kernels, read and checked.
run(${configure} -S ${CATENA_SOURCE} -B ${WORK}/unity -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=2
    -DCATENA_CUDA=OFF -DCATENA_WEIGHTS=q8_0 -DCATENA_BUILD_TOOLS=OFF -DCATENA_BUILD_TESTS=OFF -DCATENA_BUILD_BENCH=OFF
    -DCATENA_BUILD_EXAMPLES=OFF -DCMAKE_CXX_FLAGS_RELEASE=-fsyntax-only)
run(${CMAKE_COMMAND} --build ${WORK}/unity --target
    instances/CMakeFiles/catena_instances_host.dir/Unity/unity_1_cxx.cxx.o)
