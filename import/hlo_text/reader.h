/*
 * The reader's parts: what each reads from the cursor, and what they share. A part a file, with the
 * same name (read_type.c: hlo_read_type); all give 0, or -1 with an error.
 */
#ifndef IMPORT_HLO_TEXT_READER_H
#define IMPORT_HLO_TEXT_READER_H
#include "import/hlo_text/attributes.h"
#include "import/hlo_text/names.h"
#include "import/hlo_text/scan.h"
#include "import/program/frames.h"
#include "import/program/shared.h"

struct hlo_reader {
    struct hlo_scan scan;
    struct hlo_pool pool;
    struct hlo_texts texts;             /* of attributes: many instructions say the same */
    struct hlo_names type_names;        /* an array's type as written -> type */
    struct hlo_type *type;
    size_t type_count, type_capacity;
    struct hlo_module *module;          /* the one that is read */
    struct hlo_frames frames;           /* of its head */
    const struct hlo_place *place;      /* of the last instruction that had one */
    struct hlo_names computations;      /* of the module -> index */
    struct hlo_names instructions[HLO_NESTING_MAX + 1];        /* by depth of computations */
    int computation_depth;
    int64_t *ints;                      /* a list that grows while it is read */
    size_t ints_capacity;
    char *bytes;                        /* of a literal or a string; the same */
    size_t bytes_capacity;
    struct hlo_pair *pair;
    size_t pair_capacity;
    int *operand;                       /* of instructions that are begun, the innermost last */
    size_t operand_count, operand_capacity;
    struct hlo_pair *head;              /* of the module: what is only kept */
    size_t head_count, head_capacity;
    int made_names;
};

/* A text in a message, cut where it is long: "%.*s" */
#define HLO_SHOWN(span) (int)((span).length < 80 ? (span).length : 80), (span).at

/* An instruction that is being read: `f.i`, and what only the reader knows of it. */
struct hlo_reading {
    struct hlo_fields f;
    int callee[2];                      /* computations by role, -1: not said */
    struct hlo_pair *other;             /* grows */
    size_t other_capacity;
    struct hlo_span name;               /* length 0: none, to be made */
    bool has_type;
    bool is_nested;                     /* in the place of an operand: without attributes */
    const char *at;                     /* where it begins */
    unsigned char seen[HLO_ATTRIBUTE_COUNT];    /* attributes that have been read */
};

/* What a computation's head says: `(p: f32[2]) -> f32[]` */
struct hlo_signature {
    struct hlo_type *parameter;         /* grows */
    size_t count, capacity;
    struct hlo_type result;
};
/*
 * A computation from its brace on; `c` has its name, NULL: one is made when the module is read.
 * `said` may be NULL. The index in the module.
 */
int hlo_read_body(struct hlo_reader *r, struct hlo_computation *c,
                  const struct hlo_signature *said, int *index);
/* `{ ... }`, or the name of a computation above; its index */
int hlo_read_callee(struct hlo_reader *r, int *computation);

int hlo_read_type(struct hlo_reader *r, struct hlo_type *t);
bool hlo_read_sees_type(struct hlo_reader *r);
int hlo_read_literal(struct hlo_reader *r, const struct hlo_type *t,
                     const struct hlo_literal **literal);
/* attributes of an instruction: ", name=value" as often as there is one */
int hlo_read_attributes(struct hlo_reader *r, struct hlo_reading *g);
/*
 * `NAME-start`: what has been read, operation NAME, becomes a computation of its own, and `g` an
 * async-start that calls it; its operands have these types.
 */
int hlo_read_async_start(struct hlo_reader *r, struct hlo_reading *g,
                         const struct hlo_computation *c);

/* a broadcast that stretches a dimension becomes a reshape in `c` and one that does not */
void hlo_read_unstretch(struct hlo_reader *r, struct hlo_reading *g, struct hlo_computation *c);

/* NULL where it says nothing; what it refers to is kept already */
struct hlo_detail *hlo_read_keep_detail(struct hlo_reader *r, const struct hlo_detail *d);

/* a value of an attribute, for each kind of attribute_kinds.def; `field`: where it belongs */
#define KIND(ID, id) \
    int hlo_read_kind_##id(struct hlo_reader *r, struct hlo_reading *g, void *field);
#include "import/hlo_text/attribute_kinds.def"

/* "{1,2}" in brackets of any kind */
int hlo_read_ints(struct hlo_reader *r, char open, char close, struct hlo_ints *list);
struct hlo_ints hlo_read_keep_ints(struct hlo_reader *r, const int64_t *item, int count);
int64_t *hlo_read_add_int(struct hlo_reader *r, int *count);    /* a new one of r->ints */
int hlo_read_pairs(struct hlo_reader *r, struct hlo_pairs *pairs);
/* a string without its quotes and escapes, ended by 0; bytes may be NULL */
int hlo_read_string(struct hlo_reader *r, const char **text, size_t *bytes);
/* a value as it stands */
int hlo_read_verbatim(struct hlo_reader *r, const char **text);
const char *hlo_read_keep(struct hlo_reader *r, struct hlo_span span);
#endif
