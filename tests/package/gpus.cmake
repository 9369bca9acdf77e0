# By compute capability from 7.5 to 12.1: the set that serves a GPU and the options of nvcc in the build's files, which
# must make code that the GPU loads.
cmake_minimum_required(VERSION 3.24)
set(table   # compute capability : set : machine code; no set: refused
    70:: 72:: 75:sm_75:sm_75,compute_75 80:sm_80:sm_80 86:sm_86:sm_86 87:sm_86:sm_87 88:sm_86:sm_88 89:sm_89:sm_89
    90:sm_90:sm_90a 100:sm_100:sm_100 101:: 103:sm_100:sm_100 110:sm_100:sm_110 120:sm_120:sm_120 121:sm_120:sm_120)
set(tegra 72 87 88 110)  # and 8.8, of which no list says what it is: machine code of their own number alone

# codes_of(<text> <result>): what --generate-code names, such as sm_86;compute_86.
function(codes_of text result)
  string(REGEX MATCHALL "--generate-code=arch=compute_[0-9a-z]+,code=\\[[^]]*\\]" options "${text}")
  list(TRANSFORM options REPLACE "^.*\\[(.*)\\]$" "\\1")
  string(REPLACE "," ";" options "${options}")
  list(REMOVE_DUPLICATES options)
  set(${result} "${options}" PARENT_SCOPE)
endfunction()

function(loads gpu code result)
  set(${result} OFF PARENT_SCOPE)
  if(code MATCHES "^compute_([0-9]+)$" AND CMAKE_MATCH_1 LESS_EQUAL gpu)
    set(${result} ON PARENT_SCOPE)
  elseif(code MATCHES "^sm_([0-9]+)a$" AND CMAKE_MATCH_1 EQUAL gpu)
    set(${result} ON PARENT_SCOPE)
  elseif(code MATCHES "^sm_([0-9]+)([0-9])$")
    set(number ${CMAKE_MATCH_1}${CMAKE_MATCH_2})
    math(EXPR major "${gpu} / 10")
    if(number EQUAL gpu OR (major EQUAL CMAKE_MATCH_1 AND number LESS gpu AND NOT gpu IN_LIST tegra
                            AND NOT number IN_LIST tegra))
      set(${result} ON PARENT_SCOPE)
    endif()
  endif()
endfunction()

list(TRANSFORM table REPLACE ":.*" "" OUTPUT_VARIABLE each)
file(REMOVE_RECURSE ${WORK})
set(asked 80-virtual 87 90-virtual 103 110 121a)
execute_process(COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/gpus -B ${WORK} -G Ninja
                        -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_CUDA_COMPILER=${NVCC} -DCATENA_SOURCE=${CATENA_SOURCE}
                        -DCATENA_WEIGHTS=q8_0 "-DEACH=${each}" "-DCMAKE_CUDA_ARCHITECTURES=${asked}"
                OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
file(READ ${WORK}/build.ninja build)
string(REPLACE ";" " " build "${build}")
string(REGEX REPLACE "\nbuild " ";" build "${build}")

foreach(row IN LISTS table)
  string(REPLACE ":" ";" row "${row}")
  list(GET row 0 gpu)
  list(GET row 1 set)
  list(GET row 2 code)
  string(REPLACE "," ";" code "${code}")
  if(NOT said MATCHES "-- ${gpu} is served by '${set}'")
    message(SEND_ERROR "${gpu} should be served by '${set}'")
  endif()
  set(edges ${build})
  list(FILTER edges INCLUDE REGEX "^CMakeFiles/gpu_${gpu}[.]dir/empty")
  codes_of("${edges}" found)
  list(SORT found)
  list(SORT code)
  if(NOT found STREQUAL code)
    message(SEND_ERROR "for ${gpu} nvcc should make ${code}, and makes ${found}")
  endif()
  set(any OFF)
  foreach(one IN LISTS found)
    loads(${gpu} ${one} does)
    if(does)
      set(any ON)
    endif()
  endforeach()
  if(set AND NOT any)
    message(SEND_ERROR "${gpu} loads nothing of ${found}")
  endif()
endforeach()

# The sets themselves.
foreach(expected IN ITEMS sm_80:compute_80,sm_80 sm_86:sm_87 sm_90:sm_90a sm_100:sm_100,sm_110 sm_120:sm_120 sm_89:)
  string(REPLACE ":" ";" expected "${expected}")
  list(GET expected 0 set)
  list(GET expected 1 codes)
  string(REPLACE "," ";" codes "${codes}")
  set(edges ${build})
  list(FILTER edges INCLUDE REGEX "^catena/instances/CMakeFiles/catena_instances_${set}[.]dir/.*[.]cu[.]o:")
  codes_of("${edges}" found)
  list(SORT found)
  if(NOT found STREQUAL codes)
    message(SEND_ERROR "for ${asked} the kernels of ${set} should be compiled to ${codes}, and are to ${found}")
  endif()
endforeach()

# A machine without a GPU has no native one, and a list of sets is one of GPUs.
foreach(wrong IN ITEMS "CMAKE_CUDA_ARCHITECTURES=native:neither CUDA nor nvidia-smi finds one. Name the GPUs"
                       "CATENA_CUDA_ARCHS=sm_91:No instance set serves sm_91 .the nearest that one serves is 90")
  string(REGEX REPLACE "^([^:]*):(.*)$" "\\1;\\2" wrong "${wrong}")
  list(GET wrong 0 option)
  list(GET wrong 1 sentence)
  set(ENV{PATH} /nowhere:$ENV{PATH})
  execute_process(COMMAND ${CMAKE_COMMAND} ${WORK} -D${option} -DCATENA_NVIDIA_SMI=CATENA_NVIDIA_SMI-NOTFOUND
                          -DCMAKE_CUDA_ARCHITECTURES_NATIVE= RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
  string(REGEX REPLACE "[ \n;]+" " " said "${said}")
  if(code EQUAL 0 OR NOT said MATCHES "${sentence}")
    message(SEND_ERROR "${option} should be refused with: ${sentence}; not: ${said}")
  endif()
endforeach()
