/*
 * Parts of writing: each makes one of the messages (hlo.proto) of what a program has. Messages and
 * their lists live in an arena of the writer, until they are packed.
 */
#ifndef IMPORT_HLO_PROTO_WRITE_H
#define IMPORT_HLO_PROTO_WRITE_H
#include "import/hlo_proto/hlo.pb-c.h"
#include "import/program/program.h"

struct proto_writer {
    const struct hlo_module *module;
    struct arena *arena;
    const char *file;
    struct err *err;
    int *order;                         /* computations, callees before callers */
    int64_t *number;                    /* of a computation, by index: its place in that order + 1 */
    int64_t *first;                     /* by computation: the number before its instructions' */
};

/* a message of a kind, as its INIT says: PROTO_NEW(w, WindowDimension, WINDOW_DIMENSION) */
#define PROTO_NEW(w, Kind, KIND) \
    ((HloWire__##Kind *)arena_copy((w)->arena, &(HloWire__##Kind)HLO_WIRE__##KIND##__INIT, 1, \
                                   sizeof(HloWire__##Kind)))
/* a list of so many pointers to messages */
#define PROTO_LIST(w, Kind, count) \
    ((HloWire__##Kind **)arena_array((w)->arena, (size_t)(count), sizeof(HloWire__##Kind *)))
/* a repeated number of a message from a list */
#define PROTO_PUT(w, message, field, list) \
    ((message)->n_##field = (size_t)(list).count, (message)->field = proto_copy_ints(w, list))

int64_t *proto_copy_ints(struct proto_writer *w, struct hlo_ints list);
char *proto_copy_text(struct proto_writer *w, const char *text);        /* NULL: "" */
ProtobufCBinaryData proto_bytes(const char *text);              /* NULL: none; not copied */
/* what a quoted text stands for; one without quotes is itself */
ProtobufCBinaryData proto_unquoted(struct proto_writer *w, const char *text);
HloWire__Pairs *proto_write_pairs(struct proto_writer *w, const struct hlo_pairs *pairs);

HloWire__Shape *proto_write_type(struct proto_writer *w, const struct hlo_type *t);
/* the same of a constant, which must say how its elements stand: row-major if nothing is said */
HloWire__Shape *proto_write_laid_out(struct proto_writer *w, const struct hlo_type *t);
/*
 * A literal with the layout of `as`, its instruction's type. NULL with an error: its elements were
 * left out of the file that it comes from.
 */
HloWire__Literal *proto_write_literal(struct proto_writer *w, const struct hlo_literal *l,
                                      const struct hlo_type *as);
HloWire__Sharding *proto_write_shardings(struct proto_writer *w, int count,
                                         const struct hlo_sharding *s);
void proto_write_groups(struct proto_writer *w, const struct hlo_groups *g,
                        HloWire__Instruction *to);
/* hlo_instruction.other, as far as messages have fields for it; types of layouts are not read */
void proto_write_other(struct proto_writer *w, const struct hlo_pairs *other,
                       HloWire__Instruction *to);
/* all but name, numbers and what is above; -1 with an error */
int proto_write_attributes(struct proto_writer *w, const struct hlo_computation *c,
                           const struct hlo_instruction *i, HloWire__Instruction *to);
HloWire__StackFrames *proto_write_frames(struct proto_writer *w, const char *tables);
#endif
