/*
 * What holds of every program, whatever made it; for the fuzz targets, which
 * report by aborting.
 */
#ifndef TESTS_ROUND_TRIP_H
#define TESTS_ROUND_TRIP_H
#include "isa/isa.h"

#include <stddef.h>

/* Bundles and operations; the notes of the bundles too; lines, symbols and all notes too. */
enum sameness { SAME_CODE, SAME_NOTES, SAME_ALL };

/* Where the two differ, or NULL. */
const char *program_difference(const struct isa_program *a, const struct isa_program *b,
                               enum sameness sameness);

/*
 * Printed, it assembles to the same program, which prints the same. Notes of
 * an object file may be such as no text can have.
 */
void check_printing(const struct isa_program *p, enum sameness sameness);

/* isa_check() of every built-in chip ends with a verdict. */
void check_on_all_chips(const struct isa_program *p);

/* A file that holds the bytes, until the next call: its path. "" where none can be made. */
const char *fuzz_file(const void *bytes, size_t size);

/* Says on stderr what is wrong and aborts. */
_Noreturn void fuzz_fail(const char *what, const char *detail);
#endif
