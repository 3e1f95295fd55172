/* The tables of attributes and of their words. */
#include "import/stablehlo/fields.h"

#include <stddef.h>
#include <string.h>

/* both in one, so that a field has one name */
struct home {
    struct hlo_instruction i;
    struct hlo_detail d;
};
#define OFFSET(field) \
    (offsetof(struct home, field) < offsetof(struct home, d) \
         ? offsetof(struct home, field) : offsetof(struct home, field) - offsetof(struct home, d))

#define NEEDED FIELD_NEEDED
static const struct field fields[] = {
#define ATTR(op, field, name, kind, absent) \
    { OPCODE_##op, OFFSET(field), offsetof(struct home, field) >= offsetof(struct home, d), name, \
      FIELD_##kind, absent },
#include "import/stablehlo/attributes.def"
};
static const struct field_word words[] = {
#define ENUM(kind, name, word, value) { FIELD_##kind, name, word, value },
#include "import/stablehlo/enums.def"
};
enum {
    FIELD_COUNT = sizeof(fields) / sizeof(fields[0]),
    WORD_COUNT = sizeof(words) / sizeof(words[0])
};

const struct field *field_rows(enum hlo_opcode op, int *count)
{
    int first = 0, end;

    while (first < FIELD_COUNT && fields[first].op != op)
        first++;
    for (end = first; end < FIELD_COUNT && fields[end].op == op; end++) {
    }
    *count = end - first;
    return &fields[first < FIELD_COUNT ? first : 0];
}

const struct field_word *field_word_find(enum field_kind kind, const char *word)
{
    for (int i = 0; i < WORD_COUNT; i++) {
        if (words[i].kind == kind && !strcmp(words[i].word, word))
            return &words[i];
    }
    return NULL;
}

const struct field_word *field_word_of(enum field_kind kind, int value)
{
    for (int i = 0; i < WORD_COUNT; i++) {
        if (words[i].kind == kind && words[i].value == value)
            return &words[i];
    }
    return NULL;
}

bool field_is_enum(enum field_kind kind)
{
    return kind >= FIELD_DIRECTION;
}
