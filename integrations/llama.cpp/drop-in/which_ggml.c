/* Says which ggml the binaries of llama.cpp have. */
#include <stdio.h>

const char* ggml_version(void);
const char* ggml_commit(void);

int main(void) { return printf("%s %s\n", ggml_version(), ggml_commit()) < 0; }
