# What every llama_ab is built of: the one for a GPU, and those of the tests, which have another device.
set(llama_ab_sources ab.cpp copy.cpp decoder.cpp logits.cpp speed.cpp steps.cpp synthetic.cpp walk.cpp)
list(TRANSFORM llama_ab_sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
