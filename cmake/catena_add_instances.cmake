# catena_add_instances(<name> CATALOGUE <header> ARCHS <arch>... [OPS <header>] [POLICIES <header>] [GRAPHS <file>...])
#
# The instance sets of a catalogue of one's own. <header> defines `<name>::catalogue`, a tuple of chain::entry and
# chain::shared_launch (catena/catena.hpp). The header of OPS defines `<name>::ops`, a catena::own_op_list
# (catena/kernel/own_ops.hpp), with which the kernels are compiled. The header of POLICIES defines a function
# <name>::policies, which changes the policies that Catena would compile a computation with:
#   void policies(const catena::arch&, const catena::computation&, std::vector<catena::policy>&);
# With GRAPHS, graph files of the engine's models (docs/graph-format.md), a set has the rows that plans of these need.
# Makes two static libraries:
#   <name>        the tables: #include "<name>/sm_90.hpp", <name>::sm_90(). Kernels are in it where the CUDA language is
#                 enabled, for the archs named;
#   <name>_host   the same with host kernels: #include "<name>/on_host.hpp", <name>::on_host(<name>::sm_90()). It is
#                 there when the package's component `host` is.
# Join them with Catena's own table: catena::joined. Everything is written into the build folder.
set_property(GLOBAL PROPERTY CATENA_ARCHS "${CATENA_ARCHS}")  # for callers in other folders
function(catena_add_instances name)
  get_property(CATENA_ARCHS GLOBAL PROPERTY CATENA_ARCHS)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "CATALOGUE;OPS;POLICIES" "ARCHS;GRAPHS")
  set(call "catena_add_instances(${name})")
  if(NOT name MATCHES "^[a-z][a-z0-9_]*$")
    message(FATAL_ERROR "${call}: the name is a C++ namespace: lower-case letters, digits and _")
  endif()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${call}: what is ${arg_UNPARSED_ARGUMENTS}? Give CATALOGUE <header>, ARCHS <arch>..., "
                        "OPS <header>, POLICIES <header> and GRAPHS <file>...")
  endif()
  if(NOT arg_CATALOGUE OR NOT arg_ARCHS)
    message(FATAL_ERROR "${call}: give CATALOGUE <header> and ARCHS <arch>..., of ${CATENA_ARCHS}")
  endif()
  if(NOT TARGET catena::generator)
    message(FATAL_ERROR "${call} needs the generator: find_package(catena COMPONENTS generator), or with the sources "
                        "CATENA_BUILD_TOOLS=ON")
  endif()
  foreach(header IN ITEMS CATALOGUE OPS POLICIES)
    if(DEFINED arg_${header})
      cmake_path(ABSOLUTE_PATH arg_${header} NORMALIZE)
      if(NOT EXISTS ${arg_${header}})
        message(FATAL_ERROR "${call}: there is no file ${arg_${header}}")
      endif()
    endif()
  endforeach()
  set(graphs)
  foreach(file IN LISTS arg_GRAPHS)
    cmake_path(ABSOLUTE_PATH file NORMALIZE)
    if(NOT EXISTS ${file} OR NOT file MATCHES "[.]json([.]gz)?$")
      message(FATAL_ERROR "${call}: ${file} is no graph file: name one that ends in .json or .json.gz")
    endif()
    list(APPEND graphs ${file})
  endforeach()
  foreach(arch IN LISTS arg_ARCHS)
    if(NOT arch IN_LIST CATENA_ARCHS)
      message(FATAL_ERROR "${call}: no arch is called ${arch}: choose from ${CATENA_ARCHS}")
    endif()
  endforeach()

  set(out ${CMAKE_CURRENT_BINARY_DIR}/${name})
  set(include_policies)
  set(policies nullptr)
  if(DEFINED arg_POLICIES)
    set(include_policies "#include \"${arg_POLICIES}\"")
    set(policies ::${name}::policies)
  endif()
  set(include_ops)
  set(ops)
  if(DEFINED arg_OPS)
    set(include_ops "#include \"${arg_OPS}\"")
    set(ops ", &::${name}::ops::listed, \"${arg_OPS}\"")
  endif()
  file(CONFIGURE OUTPUT ${out}/generate.cpp @ONLY CONTENT
"#include \"@arg_CATALOGUE@\"
@include_ops@
@include_policies@
#include \"generate_set.hpp\"

int main(int argc, char** argv) {
    using namespace catena::generator;
    return generate_set(\"@name@\", catalogue_of(::@name@::catalogue@ops@), @policies@, argc, argv);
}
")
  add_executable(${name}_generate ${out}/generate.cpp)
  target_link_libraries(${name}_generate PRIVATE catena::generator)
  target_compile_features(${name}_generate PRIVATE cxx_std_20)

  set(sets ${out}/instances)
  set(host ${sets}/host/row.cpp ${sets}/host/matvec.cpp ${sets}/host/matmul.cpp ${sets}/host/on_host.cpp)
  foreach(arch IN LISTS arg_ARCHS)
    list(APPEND tables ${sets}/${arch}/table.cpp)
    list(APPEND kernels ${sets}/${arch}/row.cu ${sets}/${arch}/matvec.cu ${sets}/${arch}/matmul.cu)
    list(APPEND rows ${sets}/${arch}/rows.inc ${out}/include/${name}/${arch}.hpp)
  endforeach()
  add_custom_command(
    OUTPUT ${tables} ${kernels} ${host}
    BYPRODUCTS ${rows} ${sets}/chains.inc ${out}/include/${name}/computations.hpp ${out}/include/${name}/on_host.hpp
    COMMAND ${name}_generate ${out} ${arg_ARCHS} ${graphs} DEPENDS ${name}_generate ${graphs} VERBATIM
    COMMENT "Expanding the catalogue of ${name}")
  add_custom_target(${name}_sources DEPENDS ${tables} ${kernels} ${host})

  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  add_library(${name} STATIC ${tables})
  add_dependencies(${name} ${name}_sources)
  set_target_properties(${name} PROPERTIES CATENA_SET_ARCHS "${arg_ARCHS}")
  target_link_libraries(${name} PUBLIC catena::catena)
  target_include_directories(${name} PUBLIC ${out}/include)
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-fconstexpr-steps=100000000>)
  if(CUDA IN_LIST languages)
    find_package(CUDAToolkit REQUIRED)
    target_compile_definitions(${name} PRIVATE CATENA_WITH_CUDA=1)
    target_link_libraries(${name} PUBLIC CUDA::cudart_static)
    foreach(arch IN LISTS arg_ARCHS)  # the code of one arch alone: each in objects of its own
      string(REGEX REPLACE "^sm_(.*)$" "\\1-real" code ${arch})
      string(REPLACE 90-real 90a-real code ${code})  # has wgmma
      add_library(${name}_${arch} OBJECT ${sets}/${arch}/row.cu ${sets}/${arch}/matvec.cu ${sets}/${arch}/matmul.cu)
      add_dependencies(${name}_${arch} ${name}_sources)
      set_target_properties(${name}_${arch} PROPERTIES CUDA_ARCHITECTURES ${code})
      set_property(TARGET ${name}_${arch} PROPERTY CUDA_STANDARD)  # the option below instead
      target_compile_options(${name}_${arch} PRIVATE -std=c++20)  # of which CMake up to 3.25.1 knows nothing
      target_link_libraries(${name}_${arch} PRIVATE catena::catena)
      target_include_directories(${name}_${arch} PRIVATE ${out}/include)
      target_sources(${name} PRIVATE $<TARGET_OBJECTS:${name}_${arch}>)
    endforeach()
  endif()
  if(TARGET catena::exec_host)
    add_library(${name}_host STATIC ${host})
    add_dependencies(${name}_host ${name}_sources)
    target_link_libraries(${name}_host PUBLIC ${name} catena::exec_host)
    target_compile_features(${name}_host PRIVATE cxx_std_20)
  endif()
endfunction()

# catena_add_instance_tests(<name>)
#
# The unit tests of the instances that catena_add_instances(<name> ...) made: a program <name>_tests that runs every
# table row on the host executor, and a test <name>_<arch> for each arch. Call enable_testing() before.
function(catena_add_instance_tests name)
  set(call "catena_add_instance_tests(${name})")
  if(ARGN)
    message(FATAL_ERROR "${call}: what is ${ARGN}? Give the name of catena_add_instances alone")
  endif()
  if(NOT TARGET ${name}_host)
    message(FATAL_ERROR "${call}: there is no library ${name}_host: call catena_add_instances(${name} ...) before, with "
                        "the package's components host and generator")
  endif()
  if(NOT TARGET catena::instance_tests)
    message(FATAL_ERROR "${call} needs the tests: find_package(catena COMPONENTS host generator tests), or with the "
                        "sources CATENA_BUILD_TESTS=ON")
  endif()
  get_target_property(archs ${name} CATENA_SET_ARCHS)
  list(TRANSFORM archs REPLACE "(.+)" "#include \"${name}/\\1.hpp\"\n" OUTPUT_VARIABLE includes)
  list(TRANSFORM archs REPLACE "(.+)" "::${name}::on_host(::${name}::\\1())" OUTPUT_VARIABLE tables)
  string(JOIN "" includes ${includes})
  string(JOIN ", " tables ${tables})
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}/tests.cpp)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
"#include \"instance_tests.hpp\"

#include \"@name@/on_host.hpp\"
@includes@
int main(int argc, char** argv) { return catena::test_instances(argc, argv, {@tables@}); }
")
  add_executable(${name}_tests ${source})
  target_link_libraries(${name}_tests PRIVATE ${name}_host catena::instance_tests)
  foreach(arch IN LISTS archs)
    add_test(NAME ${name}_${arch} COMMAND ${name}_tests -c ${arch})
  endforeach()
endfunction()
