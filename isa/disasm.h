/* Prints programs as assembly text; assembling the text gives the same program. */
#ifndef ISA_DISASM_H
#define ISA_DISASM_H
#include "isa/isa.h"

#include <stdio.h>

/* one operation, without ";;"; returns the length as snprintf does */
int isa_print_op(const struct isa_program *p, const struct isa_op *op, char *buf, size_t buf_bytes);
void isa_print_program(const struct isa_program *p, FILE *to);

/*
 * The same, with comments of the caller's: he is called before the lines that
 * belong to a bundle (note, labels, the bundle), and with is_at_line before the
 * bundle itself, on its line.
 */
typedef void isa_before_bundle(void *context, uint32_t bundle, bool is_at_line, FILE *to);
void isa_print_program_with(const struct isa_program *p, isa_before_bundle *before, void *context,
                            FILE *to);
#endif
