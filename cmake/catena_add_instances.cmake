# catena_add_instances(<name> CATALOGUE <header> ARCHS <arch>... [OPS <header>] [POLICIES <header>] [TUNING <folder>]
#                      [GRAPHS <file>...] [SHAPES <shape>...] [BUDGET <cost>])
#
# The instance sets of a catalogue of one's own. <header> defines `<name>::catalogue`, a tuple of chain::entry and
# chain::shared_launch (catena/catena.hpp). The header of OPS defines `<name>::ops`, a catena::own_op_list
# (catena/kernel/own_ops.hpp), with which the kernels are compiled. The header of POLICIES defines a function
# <name>::policies, which changes the policies that Catena would compile a computation with:
#   void policies(const catena::arch&, const catena::computation&, catena::generator::policy_list&);
# The folder of TUNING has records of `catena tune`, one for each arch that was tuned, such as sm_90.json: policies that
# were measured take the place of the others.
# With GRAPHS, graph files of the engine's models (docs/graph-format.md), a set has the rows that plans of these need, and
# with SHAPES, such as q4_K,4096,14336,1 (weight format, rows, columns and batch), those that one matmul of each needs.
# BUDGET is what a set may cost at most: machine code, such as 400KB or 2MB, or processor time of nvcc, such as 30s or 2min.
# Rows that the graphs would miss least for what they cost are left out, and the build says what each of them would have
# gained. It needs the CUDA language.
# Makes two static libraries:
#   <name>        the tables: #include "<name>/sm_90.hpp", <name>::sm_90(). Kernels are in it where the CUDA language is
#                 enabled, for the archs named;
#   <name>_host   the same with host kernels: #include "<name>/on_host.hpp", <name>::on_host(<name>::sm_90()). It is
#                 there when the package's component `host` is.
# With the package's component `tool` there is a program, too:
#   <name>_catena  the command `catena`, whose tables have these rows before Catena's own.
# An arch is a set, such as sm_90, or a GPU that one serves: sm_87 makes the set sm_86, whose kernels are compiled for 8.7.
# Join them with Catena's own table: catena::joined. Everything is written into the build folder.
include(${CMAKE_CURRENT_LIST_DIR}/catena_options.cmake)
function(catena_add_instances name)
  get_property(CATENA_ARCHS GLOBAL PROPERTY CATENA_ARCHS)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "CATALOGUE;OPS;POLICIES;TUNING;BUDGET" "ARCHS;GRAPHS;SHAPES")
  set(call "catena_add_instances(${name})")
  if(NOT name MATCHES "^[a-z][a-z0-9_]*$")
    message(FATAL_ERROR "${call}: the name is a C++ namespace: lower-case letters, digits and _")
  endif()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${call}: what is ${arg_UNPARSED_ARGUMENTS}? Give CATALOGUE <header>, ARCHS <arch>..., "
                        "OPS <header>, POLICIES <header>, TUNING <folder>, GRAPHS <file>..., SHAPES <shape>... and BUDGET <cost>")
  endif()
  if(NOT arg_CATALOGUE OR NOT arg_ARCHS)
    message(FATAL_ERROR "${call}: give CATALOGUE <header> and ARCHS <arch>..., of ${CATENA_ARCHS}")
  endif()
  if(NOT TARGET catena::generator)
    message(FATAL_ERROR "${call} needs the generator: find_package(catena COMPONENTS generator), or with the sources "
                        "CATENA_BUILD_TOOLS=ON")
  endif()
  foreach(argument IN ITEMS CATALOGUE OPS POLICIES TUNING)
    if(DEFINED arg_${argument})
      cmake_path(ABSOLUTE_PATH arg_${argument} NORMALIZE)
      if(NOT EXISTS ${arg_${argument}})
        message(FATAL_ERROR "${call}: there is no ${arg_${argument}}, which ${argument} names")
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
  foreach(shape IN LISTS arg_SHAPES)
    if(NOT shape MATCHES "^[A-Za-z0-9_]+,[0-9]+,[0-9]+,[0-9]+$")
      message(FATAL_ERROR "${call}: ${shape} is no shape: give the weight's format, rows and columns, and the batch, such "
                          "as q4_K,4096,14336,1")
    endif()
  endforeach()
  list(TRANSFORM graphs PREPEND --graph= OUTPUT_VARIABLE options)
  list(TRANSFORM arg_SHAPES PREPEND --shape= OUTPUT_VARIABLE shapes)
  list(APPEND options ${shapes})
  set(records)
  if(DEFINED arg_TUNING)
    file(GLOB records CONFIGURE_DEPENDS ${arg_TUNING}/*.json)
    list(APPEND options --tuning=${arg_TUNING})
  endif()
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(DEFINED arg_BUDGET)
    if(arg_BUDGET MATCHES "^[1-9][0-9]*(B|KB|MB|KiB|MiB)$")
      set(budget --bytes=${arg_BUDGET})
    elseif(arg_BUDGET MATCHES "^[1-9][0-9]*(s|min)$")
      set(budget --seconds=${arg_BUDGET})
    else()
      message(FATAL_ERROR "${call}: the budget ${arg_BUDGET} is none: give a number and B, KB, MB, KiB or MiB, or s or min")
    endif()
    if((NOT graphs AND NOT shapes) OR NOT CUDA IN_LIST languages)
      message(FATAL_ERROR "${call}: a budget needs GRAPHS or SHAPES, which say what a row is worth, and the CUDA language, "
                          "whose compiler says what it costs: enable_language(CUDA)")
    endif()
    list(APPEND options ${budget} --nvcc=${CMAKE_CUDA_COMPILER}
         -I$<JOIN:$<TARGET_PROPERTY:catena::catena,INTERFACE_INCLUDE_DIRECTORIES>,$<SEMICOLON>-I>)
  endif()
  catena_serve("${arg_ARCHS}" serve)
  if(serve_NONE)
    catena_nearest("${serve_NONE}" sentence)
    message(FATAL_ERROR "${call}: ${sentence}")
  endif()
  set(arg_ARCHS ${serve_SETS})
  if(CUDA IN_LIST languages)
    foreach(arch IN LISTS arg_ARCHS)
      catena_require_nvcc(${call} "${CMAKE_CUDA_COMPILER}" ${serve_CODE_${arch}})
    endforeach()
  endif()

  set(out ${CMAKE_CURRENT_BINARY_DIR}/${name})
  set(include_policies)
  set(policies nullptr)
  if(DEFINED arg_POLICIES)
    set(include_policies "#include \"${arg_POLICIES}\"")
    set(policies "[](const auto& target, const auto& computes, policy_list& all) {
        ::${name}::policies(target, computes, all);
    }")
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
    COMMAND ${name}_generate ${out} ${arg_ARCHS} ${options} DEPENDS ${name}_generate ${graphs} ${records}
    COMMAND_EXPAND_LISTS VERBATIM
    COMMENT "Expanding the catalogue of ${name}")
  add_custom_target(${name}_sources DEPENDS ${tables} ${kernels} ${host})

  add_library(${name} STATIC ${tables})
  add_dependencies(${name} ${name}_sources)
  set_target_properties(${name} PROPERTIES CATENA_SET_ARCHS "${arg_ARCHS}")
  target_link_libraries(${name} PUBLIC catena::catena)
  target_include_directories(${name} PUBLIC ${out}/include)
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${catena_long_constants}>)
  if(CUDA IN_LIST languages)
    find_package(CUDAToolkit REQUIRED)
    target_compile_definitions(${name} PRIVATE CATENA_WITH_CUDA=1 INTERFACE CATENA_HAS_KERNELS=1)
    target_link_libraries(${name} PUBLIC CUDA::cudart_static)
    foreach(arch IN LISTS arg_ARCHS)  # the code of one arch alone: each in objects of its own
      add_library(${name}_${arch} OBJECT ${sets}/${arch}/row.cu ${sets}/${arch}/matvec.cu ${sets}/${arch}/matmul.cu)
      add_dependencies(${name}_${arch} ${name}_sources)
      set_target_properties(${name}_${arch} PROPERTIES CUDA_ARCHITECTURES "${serve_CODE_${arch}}")
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
  if(TARGET ${name}_host AND TARGET catena::tool)
    catena_add_own_command(${name} ${out}/command.cpp "${arg_OPS}")
  endif()
endfunction()

# The headers of a set, and a list of what <element> makes of each arch, such as "::my_kernels::@arch@()".
function(catena_set_tables name element)
  get_target_property(archs ${name} CATENA_SET_ARCHS)
  set(includes "#include \"${name}/on_host.hpp\"\n")
  set(tables)
  foreach(arch IN LISTS archs)
    string(APPEND includes "#include \"${name}/${arch}.hpp\"\n")
    string(REPLACE @arch@ ${arch} table "${element}")
    list(APPEND tables "${table}")
  endforeach()
  string(JOIN ", " tables ${tables})
  set(includes "${includes}" PARENT_SCOPE)
  set(tables "${tables}" PARENT_SCOPE)
endfunction()

function(catena_add_own_command name source ops)
  catena_set_tables(${name} ::${name}::@arch@\(\))
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
"#include \"command_line.hpp\"
@includes@
int main(int argc, char** argv) {
    using namespace ::@name@;
    return catena::tool::run_command(
        argc, argv, {{@tables@}, {host_families, host_families + host_family_count}, CATENA_HEADERS \"/..\",
                     \"@name@\", \"@ops@\"});
}
")
  add_executable(${name}_catena ${source})
  target_link_libraries(${name}_catena PRIVATE ${name}_host catena::tool)
  target_compile_definitions(${name}_catena PRIVATE
    CATENA_HEADERS="$<TARGET_PROPERTY:catena::catena,INTERFACE_INCLUDE_DIRECTORIES>")
endfunction()

# catena_add_instance_tests(<name>)
#
# The unit tests of the instances that catena_add_instances(<name> ...) made: a program <name>_tests that runs every
# table row on the host executor, and a test <name>_<arch> for each arch. Where the CUDA language is enabled, it also
# interprets the PTX that nvcc makes of every row, in a test <name>_<arch>_ptx. Call enable_testing() before.
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
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${name})
  set(compiled)
  if(CUDA IN_LIST languages)
    foreach(arch IN LISTS archs)
      string(REPLACE sm_90 sm_90a target ${arch})  # has wgmma
      foreach(skeleton IN ITEMS row matvec matmul)
        set(source ${out}/instances/${arch}/${skeleton}.cu)
        set(ptx ${out}/ptx/${arch}/${skeleton}.ptx)
        add_custom_command(OUTPUT ${ptx} DEPENDS ${source} ${name}_sources DEPFILE ${ptx}.d VERBATIM COMMAND_EXPAND_LISTS
          COMMAND ${CMAKE_COMMAND} -E make_directory ${out}/ptx/${arch}
          COMMAND ${CMAKE_CUDA_COMPILER} -std=c++20 -O3 -DNDEBUG -arch=${target} -I${out}/include
                  -I$<JOIN:$<TARGET_PROPERTY:catena::catena,INTERFACE_INCLUDE_DIRECTORIES>,$<SEMICOLON>-I>
                  -MD -MF ${ptx}.d -MT ${ptx} -ptx -o ${ptx} ${source})
        list(APPEND compiled ${ptx})
      endforeach()
    endforeach()
  endif()
  set(element "{::${name}::on_host(::${name}::@arch@()), {}}")
  if(compiled)
    set(folder ${out}/ptx/@arch@)
    set(element "{::${name}::on_host(::${name}::@arch@()), {\"${folder}/row.ptx\", \"${folder}/matvec.ptx\", \"${folder}/matmul.ptx\"}}")
  endif()
  catena_set_tables(${name} "${element}")
  file(CONFIGURE OUTPUT ${out}/tests.cpp @ONLY CONTENT
"#include \"instance_tests.hpp\"

@includes@
int main(int argc, char** argv) { return catena::test_instances(argc, argv, {@tables@}); }
")
  add_executable(${name}_tests ${out}/tests.cpp ${compiled})
  target_link_libraries(${name}_tests PRIVATE ${name}_host catena::instance_tests)
  foreach(arch IN LISTS archs)
    add_test(NAME ${name}_${arch} COMMAND ${name}_tests [host] -c ${arch})
    if(compiled)
      add_test(NAME ${name}_${arch}_ptx COMMAND ${name}_tests [ptx] -c ${arch})
    endif()
  endforeach()
endfunction()
