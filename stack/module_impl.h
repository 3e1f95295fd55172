/*
 * Between the graph and the program: the steps of one launch and what they
 * work on. Private to module*.c.
 *
 * A *value* is an array of the program; several share a *buffer* where a
 * reshape only renames or an output overwrites its parameter. A *step* is a
 * kernel, or the begin or end of a loop; its number is the time in lifetimes.
 */
#ifndef STACK_MODULE_IMPL_H
#define STACK_MODULE_IMPL_H
#include "stack/module.h"

struct value {
    struct array array;                 /* first: a value's address is its array's */
    int buffer;
};

enum buffer_role {
    BUFFER_TEMPORARY, BUFFER_PARAMETER, BUFFER_CONSTANT, BUFFER_OUTPUT,
    BUFFER_STATE                        /* of a loop: written before and in it */
};

struct buffer {
    enum buffer_role role;
    int64_t bytes;
    int first, last;                    /* steps between which it holds something; -1: before all */
    enum array_space space;
    int64_t address;
    int stands_for;                     /* merged into this one; -1: none */
    bool must_stay;                     /* in HBM */
};

enum step_kind { STEP_KERNEL, STEP_LOOP_BEGIN, STEP_LOOP_END };

struct step {
    enum step_kind kind;
    const struct graph *body;           /* of a kernel */
    const char *name, *source;
    struct value **operand, **result;
    int operand_count, result_count;
    int64_t count;                      /* of a loop */
    int other;                          /* the loop's other end */
    int64_t times;
};

struct plan {
    struct arena *arena;
    const struct module_settings *settings;
    struct step *step;
    int step_count;
    size_t step_capacity;
    struct buffer *buffer;
    int buffer_count;
    size_t buffer_capacity;
    struct value **value;               /* all of them */
    int value_count;
    size_t value_capacity;
    struct value **parameter, **output, **node;         /* of the main graph */
    struct module_constant *constant;
    int constant_count;
    size_t constant_capacity;
};

/* the steps of `g`, its loops unfolded into begin and end; values without a place */
int plan_steps(struct plan *p, const struct graph *g, struct err *e);
void plan_fini(struct plan *p);

/* a kernel that copies an array, behind all steps there are */
void plan_add_copy(struct plan *p, struct value *from, struct value *to);

/* the buffer that holds it, after merging */
struct buffer *plan_buffer(const struct plan *p, const struct value *v);

/* lifetimes from the steps */
void plan_lifetimes(struct plan *p);
/* outputs take their parameters' places, or are copied there at the end */
void plan_alias_outputs(struct plan *p, const struct graph *g);
/* addresses: sets array.space and array.address */
int plan_memory(struct plan *p, struct module *m, struct err *e);
/* bytes of VMEM, from 0 on, that kernels have for windows; what is behind holds arrays */
int64_t plan_scoped_bytes(const struct module_settings *s);
/* bytes of HBM that this core has */
int64_t plan_hbm_bytes(const struct module_settings *s);

/* segments for all steps, and the items to link */
int module_make_kernels(struct module *m, struct plan *p, struct arena *a, struct err *e);
int module_link(struct module *m, const struct module_settings *s, struct arena *a,
                struct err *e);
#endif
