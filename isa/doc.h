/* Writes the instruction set as a document, from the table (docs/isa.md). */
#ifndef ISA_DOC_H
#define ISA_DOC_H
#include <stdio.h>

void isa_print_markdown(FILE *to);
#endif
