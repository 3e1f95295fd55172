/*
 * One instruction on its way to being replaced: what an expansion reads and where it writes.
 *
 * An expansion returns the index of the instruction that stands for the old one in the new
 * computation, EXPAND_KEEP where it leaves it as it is, or EXPAND_FAILED with a message.
 */
#ifndef EXPAND_SITE_H
#define EXPAND_SITE_H
#include "import/expand/arith.h"

enum { EXPAND_KEEP = -1, EXPAND_FAILED = -2 };

struct expand_site {
    struct hlo_builder *b;
    const struct hlo_instruction *from; /* of the old module */
    const int *operand;                 /* its operands' indices in the new computation */
    const struct hlo_module *old;
    struct err *err;
    const void *user;                   /* of the pass */
};
typedef int expand_function(struct expand_site *s);

/* expansions of expand.def */
#define EXPAND_OPCODE(opcode, function) expand_function function;
#define EXPAND_TARGET(target, function) expand_function function;
#include "import/expand/expand.def"

/* what the instruction's operand was before */
const struct hlo_type *expand_operand_type(const struct expand_site *s, int operand);
/* EXPAND_FAILED, with file, line and name of the instruction before the message */
int expand_refuse(struct expand_site *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* a float in f32, and back in the element that the instruction has */
int expand_to_f32(struct expand_site *s, int operand);
int expand_from_f32(struct expand_site *s, int x);
#endif
