# With an install of CATENA_BUILD: the example with a catalogue of its own is built and run, with its device code too
# where NVCC is given; what is wrong with a call of catena_add_instances is said in a sentence.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${CATENA_BUILD} --prefix ${WORK}/prefix)
set(configure ${CMAKE_COMMAND} -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_PREFIX_PATH=${WORK}/prefix)
if(NVCC)
  set(cuda -DCMAKE_CUDA_COMPILER=${NVCC} -DCMAKE_CUDA_ARCHITECTURES=90
           -DCMAKE_PROJECT_INCLUDE=${CMAKE_CURRENT_LIST_DIR}/enable_cuda.cmake)
endif()
run(${configure} -S ${EXAMPLES}/own_catalogue -B ${WORK}/build -DCMAKE_CXX_FLAGS=-O1 ${cuda})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/own_catalogue)
run(${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/build -j2 --no-tests=error --output-on-failure)
file(STRINGS ${WORK}/build/my_kernels/instances/sm_90/rows.inc own REGEX t384_v8_vec)
file(STRINGS ${WORK}/build/my_kernels/instances/sm_80/rows.inc none REGEX t384_v8_vec)
if(NOT own OR none)
  message(FATAL_ERROR "my_policies.hpp gives a row of sm_90 384 threads, and none of sm_80: ${own} ${none}")
endif()

# Ops of one's own come with a header.
run(${configure} -S ${EXAMPLES}/own_ops -B ${WORK}/own_ops)
run(${CMAKE_COMMAND} --build ${WORK}/own_ops --target own_ops)
run(${WORK}/own_ops/own_ops)

# A set for a model's graphs has the few rows that they need, and is compiled.
file(GLOB graphs ${GRAPHS}/qwen3-8b-q4km.*.json.gz)
execute_process(COMMAND ${configure} -S ${CMAKE_CURRENT_LIST_DIR}/for_graphs -B ${WORK}/graphs ${cuda}
                        "-DGRAPHS=${graphs}" COMMAND_ERROR_IS_FATAL ANY)
run(${CMAKE_COMMAND} --build ${WORK}/graphs --target qwen3)
file(STRINGS ${WORK}/graphs/qwen3/instances/sm_90/rows.inc rows REGEX "^CATENA_ROW")
list(LENGTH rows count)
if(count EQUAL 0 OR count GREATER 30)
  message(FATAL_ERROR "a set for three graphs of one model has ${count} rows")
endif()

# refused(<arguments of the call> <what is said> [components])
function(refused arguments said)
  set(components generator ${ARGN})
  execute_process(COMMAND ${configure} -S ${CMAKE_CURRENT_LIST_DIR}/bad_catalogue -B ${WORK}/bad
                          "-DARGUMENTS=${arguments}" "-DCOMPONENTS=${components}"
                  RESULT_VARIABLE code OUTPUT_QUIET ERROR_VARIABLE error)
  string(REGEX REPLACE "[ \n]+" " " error "${error}")
  string(FIND "${error}" "${said}" at)
  if(code EQUAL 0 OR at EQUAL -1)
    message(FATAL_ERROR "catena_add_instances(${arguments}) should say: ${said}\nIt said: ${error}")
  endif()
endfunction()
set(header ${EXAMPLES}/own_catalogue/my_kernels.hpp)
refused("my_kernels;CATALOGUE;none.hpp;ARCHS;sm_90" "there is no file")
refused("my_kernels;CATALOGUE;${header};ARCHS;sm_70" "no arch is called sm_70: choose from sm_75;sm_80;")
refused("my_kernels;CATALOGUE;${header}" "give CATALOGUE <header> and ARCHS <arch>...")
refused("My-Kernels;CATALOGUE;${header};ARCHS;sm_90" "the name is a C++ namespace")
refused("my_kernels;CATALOGUE;${header};ARCHS;sm_90;BUDGET" "no arch is called BUDGET")
refused("my_kernels;CATALOGUE;${header};ARCHS;sm_90;POLICIES;none.hpp" "there is no file")
refused("my_kernels;CATALOGUE;${header};ARCHS;sm_90;GRAPHS;${header}" "is no graph file")

# A policy that no kernel can have stops the build with a sentence that names the row and the rule.
set(policies ${CMAKE_CURRENT_LIST_DIR}/bad_catalogue/policies.hpp)
execute_process(COMMAND ${configure} -S ${CMAKE_CURRENT_LIST_DIR}/bad_catalogue -B ${WORK}/bad -DCOMPONENTS=generator
                        "-DARGUMENTS=my_kernels;CATALOGUE;${header};ARCHS;sm_90;POLICIES;${policies}"
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
foreach(fault IN ITEMS "odd:6 values a thread are no multiple of 4" "twice:stands there twice: leave one out"
                       "none:none is left for")
  string(REGEX REPLACE "^([a-z]+):(.*)" "\\1;\\2" fault "${fault}")
  list(POP_FRONT fault which)
  set(ENV{FAULT} ${which})
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/bad --target my_kernels_sources RESULT_VARIABLE code
                  OUTPUT_VARIABLE said ERROR_VARIABLE said)
  string(FIND "${said}" "${fault}" at)
  if(code EQUAL 0 OR at EQUAL -1)
    message(FATAL_ERROR "policies with the fault ${which} should stop the build and say: ${fault}\nIt said: ${said}")
  endif()
endforeach()

# So does an op of one's own that lacks a part, and a chain with such an op where no header of ops is named.
function(stops said)
  execute_process(COMMAND ${configure} -S ${CMAKE_CURRENT_LIST_DIR}/bad_catalogue -B ${WORK}/bad_ops
                          -DCOMPONENTS=generator "-DARGUMENTS=${ARGN}" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/bad_ops --target my_ops_sources RESULT_VARIABLE code
                  OUTPUT_VARIABLE out ERROR_VARIABLE out)
  string(FIND "${out}" "${said}" at)
  string(REGEX MATCHALL " error: " errors "${out}")
  list(LENGTH errors count)
  if(code EQUAL 0 OR at EQUAL -1 OR count GREATER 1)
    message(FATAL_ERROR "catena_add_instances(${ARGN}) should stop the build and say no more than: ${said}\n"
                        "It said: ${out}")
  endif()
endfunction()
set(catalogue ${EXAMPLES}/own_ops/my_kernels.hpp)
stops("the chain 'bounded_norm_input' has an op of one's own: name its header" my_ops CATALOGUE ${catalogue} ARCHS sm_90)
stops("catena: an op of one's own has a kernel: add CATENA_FN static real compute" my_ops CATALOGUE ${catalogue}
      ARCHS sm_90 OPS ${CMAKE_CURRENT_LIST_DIR}/bad_catalogue/ops.hpp)
