/*
 * Software pipelining of a loop whose body is one block (modulo scheduling):
 * a round begins every `ii` bundles (the initiation interval, II), before the
 * rounds before it have ended. docs/backend.md, "Loops that overlap", tells the whole way.
 *
 * modulo_body.c   which operation waits for which, in this round or a later one
 * modulo_place.c  a time for each operation, modulo the II
 * modulo_assign.c registers that take turns over rounds
 * modulo_write.c  prologue, kernel, epilogue
 * modulo.c        the search for the least II
 */
#ifndef STACK_MODULO_H
#define STACK_MODULO_H
#include "stack/backend/backend.h"
#include "stack/backend/depend.h"

/* time[to] >= time[from] + delay - distance * II */
struct modulo_edge { int from, to, delay, distance, next_out, next_in; };

/*
 * Takes something for `busy` cycles of each II: a unit, a port, the head of a
 * FIFO, numbered from 0 as far as the body uses them; -1: nothing.
 */
struct modulo_use { int unit, busy; };

/*
 * A FIFO whose rounds may interleave: pops follow the order in which pushes
 * came to be scheduled. Others keep the order of the source.
 */
struct modulo_fifo { int depth, count, *push, *pop; };

struct modulo_step { int sreg; int32_t step; };

struct modulo_body {
    struct code_block *block;           /* without the steps that offsets make up for */
    const struct chip *chip;
    int counter;                        /* scalar register of the loop's own */
    int64_t count;                      /* rounds */
    int step_count;
    struct modulo_step step[ISA_SREG_COUNT];    /* made up for by offsets */
    int *step_of;                       /* by operation: its base's, or -1 */
    struct modulo_edge *edge;
    size_t edge_count, edge_capacity;
    int *first_out, *first_in;          /* by operation, -1 = none */
    struct modulo_use *use;             /* by operation */
    int unit_count;
    int fifo_count;
    struct modulo_fifo fifo[DEPEND_FIFO_COUNT];
    int *fifo_of, *result_of;           /* of a push or pop of these, else -1 */
    int res_mii;                        /* ResMII: by slots, units and FIFO depths */
};

/* A schedule: operation i of round r stands in bundle r * II + time[i]. */
struct modulo_schedule {
    int ii, stages;                     /* stages: intervals that a round spans */
    int span;                           /* bundles of a round, from the first to the last */
    int *time;
    int unroll;                         /* kernel: so many rounds, registers take turns */
    int *v_register, *m_register;       /* by virtual register * unroll + round % unroll */
    int v_used;                         /* vector registers, beside pinned ones */
    int phase;                          /* turn of round 0 */
};

/* An operation of a section of the code: bundle from the section's first, the step of its base or -1 */
struct modulo_item { struct isa_op op; int bundle, step, region; };

/*
 * What begins and ends a loop, with the offsets of accesses as bases stand at the loop's begin, and
 * behind its kernels, by `done` rounds later.
 */
struct modulo_ends {
    struct modulo_item *pre, *post;
    int pre_count, post_count;
    int pre_bundles, kernel_bundles, post_bundles;
    int64_t done;                       /* 0: there is no kernel, and no such ends */
    int step_count;
    struct modulo_step step[ISA_SREG_COUNT];
};

/* modulo_body.c: false when the loop is not one that can overlap */
bool modulo_body_init(struct modulo_body *l, const struct code_block *b, int step_count,
                      int counter, int64_t count, const struct chip *chip, struct arena *a);
void modulo_body_fini(struct modulo_body *l);

/*
 * modulo_place.c: false when it finds none with this II. Operations with the
 * longest path behind them first; or in the order of the source, in which fewer
 * values live at once; or by path, and whole chains move late that were placed
 * early because nothing held them back, though what they meet comes late; or in
 * source order, each near those before it, so that no more values live than there.
 */
enum modulo_order { MODULO_BY_PATH, MODULO_BY_SOURCE, MODULO_LATE, MODULO_IN_ORDER };
bool modulo_place(const struct modulo_body *l, int ii, enum modulo_order order,
                  struct modulo_schedule *s, struct arena *a);
/* no II below this one, the larger of ResMII and RecMII (by recurrences) */
int modulo_mii(const struct modulo_body *l, struct arena *a);

/*
 * modulo_assign.c: rounds that a kernel has at least, for values that live long
 * and for its branch, 0 when no number has enough registers; registers for
 * s->unroll rounds, false when there are not enough.
 */
int modulo_least_unroll(const struct modulo_body *l, const struct modulo_schedule *s,
                        struct arena *a);
bool modulo_assign(const struct modulo_body *l, struct modulo_schedule *s, struct arena *a);

/* modulo_write.c */
int64_t modulo_bundles(const struct modulo_body *l, const struct modulo_schedule *s);
/* false: no room for the loop's control; `ends` may be NULL */
/* where the epilogue begins; 0: there is no kernel */
int modulo_post_first(const struct modulo_body *l, const struct modulo_schedule *s);
bool modulo_write(const struct modulo_body *l, const struct modulo_schedule *s, struct arena *a,
                  struct isa_program *out, struct modulo_ends *ends);
#endif
