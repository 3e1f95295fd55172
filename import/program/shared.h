/*
 * What many instructions of a module have alike, kept once: types, details and literals. A program
 * of a hundred thousand instructions has some hundred types, and most of its instructions have one
 * of some hundred details or none, so an instruction refers to both by a pointer.
 *
 * Equal is what says the same, layouts and texts included, whichever places it lies in.
 */
#ifndef IMPORT_SHARED_H
#define IMPORT_SHARED_H
#include "import/program/program.h"

/* The module's own type or detail that says the same, made of copies the first time. A detail that
 * says nothing is NULL. */
const struct hlo_type *hlo_keep_type(struct hlo_module *m, const struct hlo_type *t);
struct hlo_detail *hlo_keep_detail(struct hlo_module *m, const struct hlo_detail *d);
/* The same of a small literal, or one whose elements lie in the same place; they are not copied. */
const struct hlo_literal *hlo_keep_literal(struct hlo_module *m, const struct hlo_literal *l);

/* both forget what they hold and free their tables; what has been kept stays in the arena */
void hlo_shared_fini(struct hlo_shared *s);
#endif
