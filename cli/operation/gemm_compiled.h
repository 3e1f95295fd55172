/*
 * systole gemm M K N: a product as the compiler makes it, timed (docs/gemm.md,
 * "Products as kernels").
 */
#ifndef CLI_GEMM_COMPILED_H
#define CLI_GEMM_COMPILED_H
#include <stdbool.h>

/* three numbers stand behind the command */
bool gemm_is_compiled(int argc, char **argv);

int gemm_compiled(int argc, char **argv);       /* the exit status */
#endif
