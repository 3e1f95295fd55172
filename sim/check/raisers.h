/*
 * Which operations of a program change sync flags: from its text alone, for
 * the report of a deadlock.
 */
#ifndef SIM_RAISERS_H
#define SIM_RAISERS_H
#include "base/arena.h"
#include "sim/core/core.h"

/* An operation that changes a flag; a remote copy is two, one for each flag. */
struct raiser {
    uint32_t bundle, op;                /* op: index in the source program */
    const struct isa_operand *flag;     /* NULL: a descriptor's, not known */
    const struct isa_operand *value;    /* added, or stored; NULL: granules */
    const struct isa_operand *target;   /* core; NULL: the own one */
    bool is_store;
};

struct raisers {
    struct raiser *item;
    size_t count, capacity;
};

/* How surely an operation changes a flag: by constants and by what registers hold now, or by a
 * register that may come to hold anything. */
enum raiser_likelihood { RAISE_NEVER, RAISE_PERHAPS, RAISE_SURELY };

/*
 * Of a core's program what it may still execute from bundle `from` on (branches
 * either way), or, with `from` 0, all of it. Released by mem_free(item).
 */
struct raisers raisers_from(const struct core *c, uint32_t from);

/* would `r` of core `c` bring the flag that `waiting` waits for nearer to what it waits for? */
enum raiser_likelihood raiser_helps(const struct core *c, const struct raiser *r,
                                    const struct core *waiting);
#endif
