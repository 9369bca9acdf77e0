# What catena_sets_for makes of CMAKE_CUDA_ARCHITECTURES. PROJECT_SOURCE_DIR is Catena's folder.
include(${PROJECT_SOURCE_DIR}/cmake/catena_archs.cmake)

function(expect architectures sets)
  catena_sets_for("${architectures}" found)
  if(NOT found STREQUAL sets)
    message(SEND_ERROR "for ${architectures} there should be the sets ${sets}, not ${found}")
  endif()
endfunction()
expect("" sm_90)
expect(native sm_90)
expect(all "${CATENA_ARCHS}")
expect(90 sm_90)
expect("90a-real;120f" "sm_90;sm_120")
expect("50-virtual;61-virtual;75-virtual;80-virtual;86-real;89-real" "sm_75;sm_80;sm_86;sm_89")
expect("87;86" sm_86)    # a GPU of 8.7 loads code for 8.6
expect("103;100" sm_100)
expect(70 "")
expect("110;90" sm_90)   # code for 10.0 does not run on 11.0

execute_process(COMMAND ${CMAKE_COMMAND} -DPROJECT_SOURCE_DIR=${PROJECT_SOURCE_DIR}
                        -P ${CMAKE_CURRENT_LIST_DIR}/old_nvcc.cmake
                RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
string(REGEX REPLACE "[ \n]+" " " said "${said}")
if(code EQUAL 0 OR NOT said MATCHES "sm_75 is known.* makes no code for sm_120: take a CUDA toolkit that does")
  message(SEND_ERROR "an nvcc that does not know sm_120 should be refused, not: ${said}")
endif()
