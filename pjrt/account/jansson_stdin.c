/* What jansson within the library takes for stdin, which nobody reads JSON from (Makefile). */
#include <stdio.h>

extern FILE *jansson_stdin;
FILE *jansson_stdin;
