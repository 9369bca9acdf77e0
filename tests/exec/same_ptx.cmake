# cmake -DNVCC= -DARCH= -DINCLUDE= -DSOURCE= -DOUT= -P same_ptx.cmake
# Compiles SOURCE to PTX as it is and with fast-math: the PTX must be the same.
set(common -std=c++20 -I${INCLUDE} -arch=${ARCH} -ptx ${SOURCE})
foreach(flags IN ITEMS "" -use_fast_math)
  execute_process(COMMAND ${NVCC} ${common} ${flags} -o ${OUT}${flags}.ptx RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "nvcc ${flags} fails on ${SOURCE}")
  endif()
endforeach()
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${OUT}.ptx ${OUT}-use_fast_math.ptx
                RESULT_VARIABLE differs)
if(differs)
  message(FATAL_ERROR "-use_fast_math changes the PTX of ${SOURCE}: compare ${OUT}.ptx with "
                      "${OUT}-use_fast_math.ptx; a body computes with float where it should with real")
endif()
file(READ ${OUT}.ptx ptx)
if(NOT ptx MATCHES "fma[.]rn[.]f32" OR NOT ptx MATCHES "div[.]rn[.]f32")
  message(FATAL_ERROR "${OUT}.ptx holds no IEEE arithmetic: the test compares nothing")
endif()
if(ptx MATCHES "[.](ftz|approx)[.]f32")
  message(FATAL_ERROR "${OUT}.ptx flushes or approximates")
endif()
