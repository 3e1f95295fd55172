/*
 * Programs to assembly text; assembling the text gives the same program.
 */
#ifndef ISA_DISASM_H
#define ISA_DISASM_H
#include "isa/isa.h"

#include <stdio.h>

/* one operation, without ";;"; returns the length as snprintf does */
int isa_print_op(const struct isa_program *p, const struct isa_op *op, char *buf, size_t buf_bytes);
void isa_print_program(const struct isa_program *p, FILE *to);
#endif
