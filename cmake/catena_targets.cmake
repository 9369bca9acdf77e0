# Names of targets: each begins with catena, so that none is another target of a project that Catena is a part of.

# catena_targets_below(<folder> <result>): the targets of a folder and of those below it.
function(catena_targets_below folder result)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(below IN LISTS folders)
    catena_targets_below(${below} more)
    list(APPEND targets ${more})
  endforeach()
  set(${result} ${targets} PARENT_SCOPE)
endfunction()

# catena_finish_targets(): called when all are there. A program's file has its target's name without the prefix. Where
# Catena is the project that is built, so has a target that builds no program: `instances_host`, `regenerate`.
function(catena_finish_targets)
  catena_targets_below(${PROJECT_SOURCE_DIR} targets)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(file ${target} OUTPUT_NAME)
    string(REGEX REPLACE "^catena_" "" short ${target})
    if(type STREQUAL EXECUTABLE AND NOT file)
      set_target_properties(${target} PROPERTIES OUTPUT_NAME ${short})
    elseif(PROJECT_IS_TOP_LEVEL AND NOT type MATCHES "EXECUTABLE|INTERFACE" AND NOT TARGET ${short})
      add_custom_target(${short} DEPENDS ${target})
    endif()
  endforeach()
endfunction()
