/* Loads programs from files, for the commands that take one. */
#ifndef CLI_PROGRAM_H
#define CLI_PROGRAM_H
#include "base/arena.h"
#include "isa/isa.h"

/*
 * Reads assembly text or an object file, told apart by the object's magic.
 * Prints what is wrong and returns the exit status, 0 when all is well.
 */
int cli_load_program(const char *path, struct arena *a, struct isa_program *out);
#endif
