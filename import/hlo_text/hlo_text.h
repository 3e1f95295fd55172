/*
 * HLO text: read into programs (import/program/program.h), and printed from them.
 *
 * The reader takes what the printers of the last years have written, before and after optimization,
 * and what people write by hand: with and without `%`, operands with and without types, types left
 * out where the operands say them, computations and instructions nested in each other. Attributes
 * that no program needs are kept as they stand. Elided constants, `{...}`, are read: their literals
 * have no data, and who needs the values says so.
 *
 * What has been read is not yet checked against the rules of the operations: hlo_verify does that.
 */
#ifndef IMPORT_HLO_TEXT_HLO_TEXT_H
#define IMPORT_HLO_TEXT_HLO_TEXT_H
#include "import/program/program.h"

#include <stdbool.h>
#include <stdio.h>

/*
 * The modules of a text, joined by `next`, in the arena; NULL and an error where it is none.
 * file_name is for messages and is copied.
 *
 * A text that ends in the middle is read as far as it goes: the last module has the computations
 * that are whole, its entry is -1 unless that is one of them, and the error says where the text ends
 * (e->msg is empty after any other success). NULL if no computation is whole. Free the modules'
 * lists with hlo_text_fini, before the arena.
 */
struct hlo_module *hlo_text_read(const char *text, size_t bytes, const char *file_name,
                                 struct arena *a, struct err *e);
void hlo_text_fini(struct hlo_module *first);

/*
 * A module as text, without those that follow it. What is printed can be read again, and gives the
 * same program and the same text, but for what the options leave out. Constants of many equal
 * elements are printed as a scalar and a broadcast of it. Zero options are the text that says most.
 * Computations that call each other in a circle are not printed.
 */
struct hlo_text_options {
    bool is_short;                      /* no `%`, no types in the heads of computations */
    bool no_metadata;                   /* nor the tables that it points into */
    bool no_large_constants;            /* `{...}` for more than ten elements */
};
void hlo_text_print(const struct hlo_module *m, FILE *to, const struct hlo_text_options *o);
#endif
