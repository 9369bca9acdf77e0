# The sources of kernels, written into the build folder from the rows of instances/<arch>/rows.inc.

# The rows of an arch: one element each, which CATENA_ROW_PATTERN takes apart.
set(CATENA_ROW_PATTERN "^CATENA_ROW\\(([^,]+), ([^,]+), ([^,]+), ([^,]+), ")
function(catena_rows arch result)
  set(file ${PROJECT_SOURCE_DIR}/instances/${arch}/rows.inc)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(STRINGS ${file} rows REGEX "${CATENA_ROW_PATTERN}")
  if(NOT rows)
    message(FATAL_ERROR "${file} has no rows: restore the file, which is tracked")
  endif()
  set(${result} "${rows}" PARENT_SCOPE)
endfunction()

# The family of a row, which has a source of its own: matvec_q4_K, matmul_q4_K, row_glu.
function(catena_family launch formats result)
  if(launch MATCHES "^mat(vec|mul)$")
    set(${result} ${launch}_${formats} PARENT_SCOPE)
  else()
    set(${result} row_${launch} PARENT_SCOPE)
  endif()
endfunction()

# catena_has_kernels(<family> <result>): does CATENA_WEIGHTS ask for the kernels of a family?
function(catena_has_kernels family result)
  set(${result} ON PARENT_SCOPE)
  if(family MATCHES "^mat(vec|mul)_(.*)$" AND NOT CATENA_WEIGHTS STREQUAL all AND NOT CMAKE_MATCH_2 IN_LIST CATENA_WEIGHTS)
    set(${result} OFF PARENT_SCOPE)
  endif()
endfunction()

# catena_cuda_sources(<arch> <result>): a .cu for each family of the arch that CATENA_WEIGHTS asks for.
function(catena_cuda_sources arch result)
  catena_rows(${arch} rows)
  foreach(row IN LISTS rows)
    string(REGEX MATCH "${CATENA_ROW_PATTERN}" found "${row}")
    catena_family(${CMAKE_MATCH_1} ${CMAKE_MATCH_2} family)
    catena_has_kernels(${family} asked)
    if(NOT asked)
      continue()
    endif()
    list(APPEND families ${family})
    string(REGEX MATCH "${CATENA_ROW_PATTERN}" found "${row}")
    string(APPEND kernels_${family}
           "CATENA_KERNEL(${arch}, ${CMAKE_MATCH_1}, ${CMAKE_MATCH_2}, ${CMAKE_MATCH_3}, ${CMAKE_MATCH_4})\n")
  endforeach()
  list(REMOVE_DUPLICATES families)
  foreach(family IN LISTS families)
    set(source ${PROJECT_BINARY_DIR}/instances/${arch}/${family}.cu)
    file(CONFIGURE OUTPUT ${source} CONTENT
"// ${family} of ${arch}: written from instances/${arch}/rows.inc when the build is configured.
#include \"catena/instances/computations.hpp\"
#include \"catena/instances/device_instance.cuh\"

namespace CATENA_NAMESPACE::instances {
${kernels_${family}}}" @ONLY)
    list(APPEND sources ${source})
  endforeach()
  set(${result} ${sources} PARENT_SCOPE)
endfunction()

# catena_join_families(<arch> <name> <result> <sources of families...>): a file that includes them. What the build keeps
# of it (catena_keep_compiled) has the name of each family, too.
function(catena_join_families arch name result)
  set(kept ${PROJECT_BINARY_DIR}/compiled/${arch})
  file(MAKE_DIRECTORY ${kept})
  set(lines)
  foreach(family IN LISTS ARGN)
    cmake_path(GET family STEM family)
    string(APPEND lines "#include \"${family}.cu\"\n")
    foreach(extension IN ITEMS cu cubin ptx)
      file(CREATE_LINK ${name}.${extension} ${kept}/${family}.${extension} SYMBOLIC)
    endforeach()
  endforeach()
  set(source ${PROJECT_BINARY_DIR}/instances/${arch}/${name}.cu)
  file(CONFIGURE OUTPUT ${source} CONTENT
       "// Families of ${arch} that are compiled together: written when the build is configured.\n${lines}" @ONLY)
  set(${result} ${source} PARENT_SCOPE)
endfunction()

# catena_files_of_families(<arch> <result> <sources of families...>): what is compiled of an arch: each, or where
# CATENA_FAMILIES_IN_A_FILE is more than 1, so many of one skeleton at once.
function(catena_files_of_families arch result)
  set(files)
  if(CATENA_FAMILIES_IN_A_FILE EQUAL 1)
    set(files ${ARGN})
  else()
    foreach(skeleton IN ITEMS row matvec matmul)
      set(sources ${ARGN})
      list(FILTER sources INCLUDE REGEX "/${skeleton}_[^/]*$")
      set(part 0)
      while(sources)
        list(SUBLIST sources 0 ${CATENA_FAMILIES_IN_A_FILE} joined)
        list(REMOVE_ITEM sources ${joined})
        catena_join_families(${arch} ${skeleton}_together_${part} file ${joined})
        list(APPEND files ${file})
        math(EXPR part "${part} + 1")
      endwhile()
    endforeach()
  endif()
  set(${result} ${files} PARENT_SCOPE)
endfunction()

# catena_keep_compiled(<target> <arch>): the PTX of what nvcc compiles, its machine code and what ptxas says stay in the
# build folder, for tests.
function(catena_keep_compiled target arch)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Xptxas=-v>)
  set(launcher sh ${PROJECT_SOURCE_DIR}/cmake/keep_compiled.sh ${PROJECT_BINARY_DIR}/compiled/${arch}
               ${CMAKE_CUDA_COMPILER_LAUNCHER})
  set_target_properties(${target} PROPERTIES CUDA_COMPILER_LAUNCHER "${launcher}")
endfunction()

# catena_host_sources(<result> <every>): host kernels of the rows of all archs, each computation and policy
# once, many to a file, and families.cpp, which lists the files. All of the host and sm_90, of the others the row
# skeleton and one weight format; with <every> all of all. Of either, what CATENA_WEIGHTS asks for.
function(catena_host_sources result every)
  foreach(arch IN ITEMS host LISTS CATENA_ARCHS)
    catena_rows(${arch} rows)
    foreach(row IN LISTS rows)
      string(REGEX MATCH "${CATENA_ROW_PATTERN}" found "${row}")
      set(launch ${CMAKE_MATCH_1})
      set(formats ${CMAKE_MATCH_2})
      set(policy ${CMAKE_MATCH_3})
      set(computation ${CMAKE_MATCH_4})
      if(DEFINED "seen ${computation} ${policy}")
        continue()
      endif()
      catena_family(${launch} ${formats} family)
      catena_has_kernels(${family} asked)
      if(NOT asked OR
         (NOT every AND NOT arch MATCHES "^(host|sm_90)$" AND NOT family MATCHES "^(row_.*|mat(vec|mul)_q4_K)$"))
        continue()
      endif()
      set("seen ${computation} ${policy}" ON)
      string(REGEX MATCH "^[a-z]+" skeleton ${family})  # row, matvec or matmul
      list(APPEND kernels_${skeleton} "    CATENA_HOST_KERNEL(${computation}, ${policy})\n")
    endforeach()
  endforeach()

  # The first kernel of a file takes 5 s of processor time, for the executor and the skeleton; another takes 0.4 s.
  set(in_a_file 24)
  if(CATENA_FAMILIES_IN_A_FILE GREATER 1)  # as nvcc's
    set(in_a_file 72)
  endif()
  foreach(skeleton IN ITEMS row matvec matmul)
    list(LENGTH kernels_${skeleton} count)
    foreach(first RANGE 0 ${count} ${in_a_file})
      if(first EQUAL count)
        break()
      endif()
      list(SUBLIST kernels_${skeleton} ${first} ${in_a_file} kernels)
      list(JOIN kernels "" kernels)
      math(EXPR part "${first} / ${in_a_file}")
      set(source ${PROJECT_BINARY_DIR}/instances/host/${skeleton}_${part}.cpp)
      file(CONFIGURE OUTPUT ${source} CONTENT
"// Host kernels of ${skeleton}s, part ${part}: written from instances/*/rows.inc when the build is configured.
#include \"catena/instances/computations.hpp\"
#include \"catena/instances/host_instance.hpp\"

namespace CATENA_NAMESPACE::instances {
namespace {
constexpr host_instance kernels_of_${skeleton}_${part}[] = {
${kernels}};
}
extern const host_family ${skeleton}_${part};
const host_family ${skeleton}_${part} = {kernels_of_${skeleton}_${part},
    sizeof(kernels_of_${skeleton}_${part}) / sizeof(host_instance)};
}  // namespace CATENA_NAMESPACE::instances
" @ONLY)
      list(APPEND sources ${source})
      string(APPEND declared "extern const host_family ${skeleton}_${part};\n")
      string(APPEND listed "    &${skeleton}_${part},\n")
    endforeach()
  endforeach()
  set(source ${PROJECT_BINARY_DIR}/instances/host/families.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT
"// The files of host kernels: written from instances/*/rows.inc when the build is configured.
#include \"catena/instances/on_host.hpp\"

namespace CATENA_NAMESPACE::instances {
${declared}
const host_family* const host_families[] = {
${listed}};
const int host_family_count = sizeof(host_families) / sizeof(host_families[0]);
}  // namespace CATENA_NAMESPACE::instances
" @ONLY)
  set(${result} ${sources} ${source} PARENT_SCOPE)
endfunction()
