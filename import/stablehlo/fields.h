/* The tables of attributes and of their words, attributes.def and enums.def, for both directions. */
#ifndef IMPORT_STABLEHLO_FIELDS_H
#define IMPORT_STABLEHLO_FIELDS_H
#include "import/program/program.h"

enum field_kind {
    FIELD_INTS, FIELD_ONE, FIELD_INT, FIELD_INT32, FIELD_BITS, FIELD_BOOL, FIELD_REAL,
    FIELD_DIRECTION, FIELD_COMPARISON, FIELD_SOLVE, FIELD_FFT, FIELD_DISTRIBUTION, FIELD_ALGORITHM,
    FIELD_PRECISION
};

#define FIELD_NEEDED INT64_MIN          /* no value stands for a missing attribute */

struct field {
    enum hlo_opcode op;
    size_t offset;                      /* in struct hlo_instruction, or in its detail */
    bool is_detail;
    const char *name;
    enum field_kind kind;
    int64_t absent;
};

struct field_word {
    enum field_kind kind;
    const char *name, *word;
    int value;
};

/* fields of an operation: the first, and how many stand behind each other */
const struct field *field_rows(enum hlo_opcode op, int *count);
/* NULL: the enumeration has no such word or value */
const struct field_word *field_word_find(enum field_kind kind, const char *word);
const struct field_word *field_word_of(enum field_kind kind, int value);
bool field_is_enum(enum field_kind kind);
#endif
