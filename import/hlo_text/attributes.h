/*
 * What attributes.def says, as a table, and the structure that it points into: an instruction with
 * the parts that instructions only refer to, so that each field has one place.
 */
#ifndef IMPORT_HLO_TEXT_ATTRIBUTES_H
#define IMPORT_HLO_TEXT_ATTRIBUTES_H
#include "import/program/program.h"

#include <stdbool.h>
#include <stddef.h>

struct hlo_fields {
    struct hlo_instruction i;
    struct hlo_detail d;
    struct hlo_gather gather;
    struct hlo_dot dot;
    struct hlo_conv conv;
    struct hlo_groups groups;
};

enum hlo_attribute_kind {
#define KIND(ID, id) HLO_KIND_##ID,
#include "import/hlo_text/attribute_kinds.def"
    HLO_KINDS
};

enum {
#define ATTRIBUTE(name, owner, need, kind, field) + 1
    HLO_ATTRIBUTE_COUNT = 0
#include "import/hlo_text/attributes.def"
};

enum hlo_attribute_need { HLO_NEED_REQUIRED, HLO_NEED_USUAL, HLO_NEED_OPTIONAL };

struct hlo_attribute_row {
    const char *name;
    enum hlo_opcode op;                 /* OPCODE_COUNT: by `group` */
    unsigned group;                     /* of enum hlo_attribute; all bits: anybody's */
    enum hlo_attribute_need need;
    enum hlo_attribute_kind kind;
    size_t offset;                      /* in struct hlo_fields */
};
extern const struct hlo_attribute_row hlo_attributes[HLO_ATTRIBUTE_COUNT];

/* the row of an operation's attribute; -1: it has none of that name */
int hlo_attribute_find(enum hlo_opcode op, const char *name, size_t length);
bool hlo_attribute_is_owned(int row, enum hlo_opcode op);       /* and the first of its name */

/* words of enumerations, by value; ended by NULL */
extern const char *const hlo_words_direction[], *const hlo_words_comparison[],
    *const hlo_words_precision[], *const hlo_words_solve[], *const hlo_words_fft[],
    *const hlo_words_random[], *const hlo_words_fusion[];

/* copies of what the instruction refers to; the other way it is done by who has an arena */
void hlo_fields_of(struct hlo_fields *f, const struct hlo_instruction *i);
#endif
