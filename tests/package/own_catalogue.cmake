# With an install of CATENA_BUILD: the example with a catalogue of its own is built and run, with its device code too
# where NVCC is given; what is wrong with a call of catena_add_instances is said in a sentence.
include(${CMAKE_CURRENT_LIST_DIR}/for_graphs.cmake)
set(example ${EXAMPLES}/own_catalogue)
foreach(limit IN ITEMS "15:CMakeLists.txt" "41:my_kernels.hpp;my_policies.hpp;own_catalogue.cpp")  # without ops
  string(REGEX REPLACE "^([0-9]+):(.*)" "\\1;\\2" files "${limit}")
  list(POP_FRONT files most)
  set(lines)
  foreach(file IN LISTS files)
    file(READ ${example}/${file} text)
    string(REPLACE ";" "," text "${text}")  # or the list would have more entries than the file has lines
    string(REGEX MATCHALL "[^\n]+\n" of_file "${text}")
    list(APPEND lines ${of_file})
  endforeach()
  list(LENGTH lines count)
  if(count GREATER most)
    message(FATAL_ERROR "${files} of the example have ${count} lines together, and ${most} are promised")
  endif()
endforeach()
run(${configure} -S ${EXAMPLES}/own_catalogue -B ${WORK}/build "-DCMAKE_CXX_FLAGS=-O1 $ENV{CXXFLAGS}" ${cuda})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/own_catalogue ${EXAMPLES}/own_catalogue/layer.json)
run(${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/build -j2 --no-tests=error --output-on-failure)
foreach(arch IN ITEMS sm_80 sm_90)
  file(STRINGS ${WORK}/build/my_kernels/instances/${arch}/rows.inc preferred REGEX t64_v8_vec)
  if(arch STREQUAL sm_80 AND preferred OR NOT arch STREQUAL sm_80 AND NOT preferred)
    message(FATAL_ERROR "my_policies.hpp prefers 64 threads on sm_90 and later alone; on ${arch}: ${preferred}")
  endif()
endforeach()

# expect(<sentence>... IN <command>...): what a command prints.
function(expect)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "IN")
  execute_process(COMMAND ${arg_IN} OUTPUT_VARIABLE said ERROR_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
  expect_said(${arg_UNPARSED_ARGUMENTS})
endfunction()

# The command of the engine's set.
file(MAKE_DIRECTORY ${WORK}/tuning)
set(command ${WORK}/build/my_kernels_catena)
set(layer ${EXAMPLES}/own_catalogue/layer.json)
expect("scale_layer_norm_mul_bias_own.f32_q8_1.t64_v8_vec.sm_90: 1 row of 512" IN ${command} explain ${layer})
expect("scale_layer_norm_mul_bias" IN ${command} tune --arch sm_90 --simulate 1 --graphs ${layer}
                                          --out ${WORK}/tuning/sm_90.json --json)
expect("t64_v8_vec" IN ${command} instances --arch sm_90 --rows scale)
if(NVCC)
  expect("rows: [0-9]+ bytes of machine code, [0-9.]+ s of nvcc, and [0-9.]+ s for each file"
         IN ${command} instances --arch sm_90 --rows t64_v8_vec --size --nvcc ${NVCC})
endif()

# The doctor lists the engine's sets beside Catena's, whatever else it finds on this machine.
execute_process(COMMAND ${command} doctor OUTPUT_VARIABLE said)
expect_said("my_kernels::sm_90 +[0-9]+ rows" "\nsm_90 +[0-9]+ rows")

# A full disk stops the generator with a sentence, and what it wrote is whole: here a file may have 1024 bytes.
execute_process(COMMAND sh -c "trap '' XFSZ; ulimit -f 2; exec \"$@\"" sh ${WORK}/build/my_kernels_generate
                        ${WORK}/full sm_90 --graph=${layer} RESULT_VARIABLE code OUTPUT_QUIET ERROR_VARIABLE said)
expect_said("my_kernels_generate: cannot write [^\n]*: check the folder's permissions and the space left")
file(GLOB_RECURSE written ${WORK}/full/*)
foreach(file IN LISTS written)
  file(SIZE ${file} bytes)
  if(bytes GREATER_EQUAL 1024 OR file MATCHES "[.]new$")
    message(FATAL_ERROR "${file} was cut")
  endif()
endforeach()
if(NOT code EQUAL 2 OR NOT written)
  message(FATAL_ERROR "on a full disk my_kernels_generate ends with ${code} and wrote: ${written}")
endif()

# Ops of one's own come with a header. The tests of instances compile what is written here.
run(${configure} -S ${EXAMPLES}/own_ops -B ${WORK}/own_ops)
run(${CMAKE_COMMAND} --build ${WORK}/own_ops --target my_ops_sources)

# A set for a model's graphs has the few rows that they need.
for_graphs(qwen3-8b-q4km.*.json.gz 0)
list(LENGTH rows whole)
if(whole EQUAL 0 OR whole GREATER 30)
  message(FATAL_ERROR "a set for three graphs of one model has ${whole} rows")
endif()

# Within a budget, for which each row is compiled, a set has fewer. Rows that were left out are named.
if(NVCC)
  for_graphs(none 0 SHAPES q4_K,4096,12288,1 q6_K,4096,12288,1 BUDGET 30KB)
  list(LENGTH rows of_shapes)
  if(of_shapes EQUAL 0 OR of_shapes GREATER 2)  # a row that makes its activation, or two
    message(FATAL_ERROR "30 KB for two matmuls should have room for one and its activation: ${rows}")
  endif()
  expect_said("left out matvec[.]q[46]_K[a-z0-9_A-Z.]+, [0-9]+ bytes:" "the rows of sm_90 take [0-9]+ bytes of 30000 bytes")
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
set(with_ops ${header} OPS ${EXAMPLES}/own_catalogue/my_ops.hpp)
refused("my_kernels;CATALOGUE;none.hpp;ARCHS;sm_90" "none.hpp, which CATALOGUE names")
refused("my_kernels;CATALOGUE;${header};ARCHS;sm_70" "No instance set serves sm_70 (the nearest that one serves is 75)")
refused("my_kernels;CATALOGUE;${header}" "give CATALOGUE <header> and ARCHS <arch>...")
refused("My-Kernels;CATALOGUE;${header};ARCHS;sm_90" "the name is a C++ namespace")
refused("my_kernels;CATALOGUE;${header};ARCHS;sm_90;BUDGET;much" "the budget much is none: give a number and B, KB,")
refused("my_kernels;CATALOGUE;${header};ARCHS;sm_90;BUDGET;2MB" "a budget needs GRAPHS or SHAPES")
refused("my_kernels;CATALOGUE;${header};ARCHS;sm_90;SHAPES;q4_K,512" "q4_K,512 is no shape: give the weight's format")
refused("my_kernels;CATALOGUE;${header};ARCHS;sm_90;WISHES" "No instance set serves WISHES")
refused("my_kernels;CATALOGUE;${header};ARCHS;sm_90;POLICIES;none.hpp" "none.hpp, which POLICIES names")
refused("my_kernels;CATALOGUE;${header};ARCHS;sm_90;TUNING;none" "none, which TUNING names")
refused("my_kernels;CATALOGUE;${header};ARCHS;sm_90;GRAPHS;${header}" "is no graph file")

# build_stops(<what is said> <arguments of the call>...): the build ends with a sentence.
function(build_stops said)
  execute_process(COMMAND ${configure} -S ${CMAKE_CURRENT_LIST_DIR}/bad_catalogue -B ${WORK}/bad -DCOMPONENTS=generator
                          "-DARGUMENTS=${ARGN}" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/bad --target my_kernels_sources RESULT_VARIABLE code
                  OUTPUT_VARIABLE error ERROR_VARIABLE error)
  string(FIND "${error}" "${said}" at)
  if(code EQUAL 0 OR at EQUAL -1)
    message(FATAL_ERROR "catena_add_instances(${ARGN}) should stop the build and say: ${said}\nIt said: ${error}")
  endif()
endfunction()

# A chain that makes no sense is named where it is written, and so is a record that is none of the arch.
build_stops("two_norms.hpp:9:" my_kernels CATALOGUE ${CMAKE_CURRENT_LIST_DIR}/bad_catalogue/two_norms.hpp ARCHS sm_90)
build_stops("catena: a norm comes once" my_kernels CATALOGUE ${CMAKE_CURRENT_LIST_DIR}/bad_catalogue/two_norms.hpp
            ARCHS sm_90)
build_stops("sm_90.json is of a simulated" my_kernels CATALOGUE ${with_ops} ARCHS sm_90 TUNING ${WORK}/tuning)

# A policy that no kernel can have stops the build with a sentence that names the row and the rule.
set(policies ${CMAKE_CURRENT_LIST_DIR}/bad_catalogue/policies.hpp)
foreach(fault IN ITEMS "odd:6 values a thread are no multiple of 4" "twice:stands there twice: leave one out"
                       "none:none is left for")
  string(REGEX REPLACE "^([a-z]+):(.*)" "\\1;\\2" fault "${fault}")
  list(POP_FRONT fault which)
  set(ENV{FAULT} ${which})
  build_stops("${fault}" my_kernels CATALOGUE ${with_ops} ARCHS sm_90 POLICIES ${policies})
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
