/*
 * Between the graph and the program: the steps of one launch and what they
 * work on. Private to module*.c.
 *
 * A *value* is an array of the program; several share a *buffer* where a
 * reshape only renames or an output overwrites its parameter. A *step* is a
 * kernel, or where loops and conditionals begin, go another way or end; its
 * number is the time in lifetimes, in which a conditional's branches follow
 * each other.
 */
#ifndef STACK_MODULE_IMPL_H
#define STACK_MODULE_IMPL_H
#include "stack/hlo/kept.h"
#include "stack/module/module.h"

struct module_value {
    struct array array;                 /* first: a value's address is its array's */
    int buffer;
    int fetch;                          /* of a kept program: of module_plan.fetch, from 1; or 0 */
};

enum buffer_role {
    BUFFER_TEMPORARY, BUFFER_PARAMETER, BUFFER_CONSTANT, BUFFER_OUTPUT,
    BUFFER_STATE,                       /* of a loop: written before and in it */
    BUFFER_SUMS                         /* of collectives: all that one works on */
};

struct module_buffer {
    enum buffer_role role;
    int64_t bytes;
    int first, last;                    /* steps between which it holds something; -1: before all */
    int made;                           /* of a result that has its place from the start: when it is
                                           written; before that it is lent */
    bool is_guest;                      /* lies in a result's place that is lent */
    enum array_space space;
    int64_t address;
    int stands_for;                     /* merged into this one; -1: none */
    int64_t offset;                     /* there */
    int64_t payload_bytes;              /* of a buffer of several arrays; 0: of its one */
    bool must_stay;                     /* in HBM */
    bool is_given;                      /* a parameter whose place is not this module's choice */
    bool is_copied;                     /* into VMEM beside kernels */
    bool is_held;                       /* room for such a copy while arrays are placed */
    enum { PLACE_CHOSEN, PLACE_HBM, PLACE_VMEM } kept;  /* where a kept program has it, and */
    int unit;                           /* which unit made it */
    int64_t behind_bytes;               /* of VMEM: kernels read so far behind it, and drop that */
};

enum module_step_kind {
    STEP_KERNEL,
    STEP_LOOP_BEGIN, STEP_LOOP_END,
    STEP_LOOP_EXIT,                     /* out of the loop unless its operand is true */
    STEP_BRANCH, STEP_ELSE, STEP_JOIN   /* to what is behind ELSE unless its operand is true */
};

struct module_step {
    enum module_step_kind kind;
    const struct graph *body;           /* of a kernel */
    bool is_fusion;                     /* which may be taken apart */
    const char *name, *source;
    struct module_value **operand, **result;
    int operand_count, result_count;
    int64_t count;                      /* of a loop; 0: until it is left. BRANCH: 1, if assumed */
    bool is_assumed;                    /* that count, whatever the operand holds */
    int other;                          /* of LOOP_BEGIN and BRANCH the end; of others the begin */
    int64_t times;
    const struct kernel_loop *loop;     /* the innermost around it, or NULL */
    int unit;                           /* of a program that is kept, or 0 */
    bool is_in_hbm;                     /* its kernel does not take arrays in VMEM */
    struct kernel_sums *sums;           /* of a collective, else NULL */
    struct kernel_peers *peers;         /* of a kernel that knows of other devices, else NULL */
    bool fills_bucket;                  /* a copy for the collective that follows */
};

/* An operand's copy in VMEM, fetched for one step. */
struct module_shadow {
    int step, operand;
    int first;                          /* the step before which the copy starts */
    struct module_value *hbm, *vmem;
    int flag;
    bool is_hidden;                     /* until it is read, kernels take longer than it does */
    bool is_again;                      /* read by a later step, too: the copy is there */
};

/* An array of a kept program that its schedule copies to VMEM beside kernels */
struct module_fetch {
    int unit, done;                     /* where the copy starts, where it is waited for */
    bool is_kept;
};

/* places of one space in the order of addresses */
struct module_room {
    struct module_buffer **placed;      /* the user's, with room for all */
    int count;
    int64_t base, end;
};
/* The lowest free place; copies under way keep off what is read behind arrays, and come last. */
bool module_room_place(struct module_room *r, struct module_buffer *b, enum array_space space);
static inline bool module_buffer_lives(const struct module_buffer *b)
{
    return b->stands_for < 0 && b->last >= 0;
}

/* Collectives of equal groups or pairs, which follow each other on all their devices. */
struct communicator {
    const struct graph_node *first;
    int count, flags;                   /* the most flags that one of them takes */
    bool is_in_loop;                    /* one of them */
    int fenced, fence;                  /* numbers of those with fences and of fences; 0: none */
};

struct module_plan {
    struct arena *arena;
    const struct module_settings *settings;
    struct memo *memo;                  /* of all kernels' code */
    struct module_step *step;
    int step_count;
    size_t step_capacity;
    struct module_buffer *buffer;
    int buffer_count;
    size_t buffer_capacity;
    struct module_value **value;        /* all of them */
    int value_count;
    size_t value_capacity;
    struct module_value **parameter, **output, **node;  /* of the main graph */
    int parameter_count;
    struct module_constant *constant;
    int constant_count;
    size_t constant_capacity;
    struct module_shadow *shadow;
    int shadow_count;
    size_t shadow_capacity;
    struct module_fetch *fetch;         /* from 1 on */
    int fetch_count;
    size_t fetch_capacity;
    struct module_room vmem;
    bool tries_orders;                  /* of buffers in HBM: nothing else makes them fit */
    int64_t scoped_bytes;               /* of VMEM, from 0 on, that kernels have for windows */
    struct communicator *communicator;
    int communicator_count;
    size_t communicator_capacity;
    bool flow_has_collectives;          /* some run only if a predicate says so */
    const struct kernel_loop *loop;     /* the innermost around this place, or NULL */
    int fences;                         /* flows around this place whose collectives need them */
    bool is_fence;                      /* what is being added is one */
    const struct kernel_sums **sums;    /* of all collectives, in the order of the graph, */
    struct module_sum *sum;             /* and what is kept of them */
    int sum_count;
    int barrier_step;                   /* megacore: kernels from here on follow one barrier */
    const char **refused;               /* fusions and nodes that are no kernel after all */
    int refused_count;
};

/* the steps of `g`, its loops unfolded into begin and end; values without a place */
int module_plan_steps(struct module_plan *p, const struct graph *g, struct err *e);
void module_plan_fini(struct module_plan *p);

/*
 * module_entry.c: how parameters and results of the main graph lie that only moves read and make;
 * all others are row-major.
 */
/* the transpose or reshape that only names a parameter as it lies, `node` or what that renames;
 * -1: none */
int module_entry_reader(const struct module_settings *s, const struct graph *g, int node);
/* a TPU moves what that transpose reads: it is a copy, not a name */
bool module_entry_moves(const struct graph *g, int reader);
/* a reshape that only leaves out ones lies as what it reshapes */
void module_lay_out_renamed(struct module_plan *p, const struct graph *g, int node);
void module_lay_out_parameter(struct module_plan *p, const struct graph *g, int parameter);
void module_lay_out_result(struct module_plan *p, const struct graph *g, int output);
/* what reads the parameter has instead: itself, or a copy of it as it lies at the entry */
struct module_value *module_copy_parameter(struct module_plan *p, const struct graph *g,
                                           int parameter);
/* the copy that is the output in place of what has been made, or NULL */
struct module_value *module_copy_result(struct module_plan *p, const struct graph *g, int output);
/* a kernel's graph that copies an array of this shape */
void module_copy_body(struct graph *body, const struct shape *shape, struct arena *a);

/* Buffer `at`, of a list of which those before have places, takes a result's that is lent. */
bool module_lend(const struct module_plan *p, struct module_buffer *const *list, int at);
/* the step that makes the result reads `b`, last of all, element by element in the same places */
bool module_plan_is_made_of(const struct module_plan *p, const struct module_buffer *result,
                            const struct module_buffer *b);

/* the number of a new buffer; a value that gets the place of its buffer; a step before step `at` */
int module_plan_add_buffer(struct module_plan *p, enum buffer_role role, int64_t bytes);
void module_plan_keep_value(struct module_plan *p, struct module_value *v);
void module_plan_insert_step(struct module_plan *p, int at, struct module_step s);
void module_plan_remove_step(struct module_plan *p, int at);
/* behind all steps there are */
struct module_step *module_plan_add_step(struct module_plan *p, struct module_step s);
/* a kernel that copies an array, behind all steps there are */
void module_plan_add_copy(struct module_plan *p, struct module_value *from,
                          struct module_value *to);

/* a value in a buffer; -1: in one of its own */
struct module_value *module_plan_new_value(struct module_plan *p, const char *name,
                                           const struct shape *shape, enum buffer_role role,
                                           int buffer);

/*
 * A collective of these values: operands that it needs in a bucket are copied there.
 * module_plan_fill_buckets then lets the kernels before write into their places where they can.
 */
int module_plan_add_collective(struct module_plan *p, struct module_step s, const struct graph *g,
                               int node, struct err *e);
/* behind the collective that `n` is, where it may follow itself */
int module_plan_add_fence(struct module_plan *p, const struct graph_node *n, struct err *e);
void module_plan_fill_buckets(struct module_plan *p);
/* a message to or from another program; its values are all there */
int module_plan_add_message(struct module_plan *p, struct module_step s, const struct graph_node *n,
                            struct err *e);
bool module_plan_has_lone_collective(const struct graph *body);
/* a step behind all there are is in a loop or conditional */
bool module_plan_is_in_flow(const struct module_plan *p);
/* to collectives, when the order of steps is known; -1: there are too few */
int module_plan_set_flags(struct module_plan *p, struct err *e);
/* a value that the host puts into HBM; elements of 4 bytes, which must live as long as the plan */
struct module_value *module_plan_add_literal(struct module_plan *p, const char *name,
                                             const struct shape *shape, const void *literal);
/* parts of sums between other kernels: the order of steps changes (stack/module/module_overlap.c) */
void module_plan_overlap(struct module_plan *p);
/* a sum that stands before this step ends behind it */
bool module_plan_is_beside_sum(const struct module_plan *p, int step);
/* SMEM, the last of it, that collectives have */
int64_t module_plan_collective_smem(const struct module_settings *s);
/* gradients that are summed together, about */
int64_t module_plan_bucket_bytes(const struct module_settings *s);
/* whether that is a most, and kernels run beside sums */
bool module_plan_may_choose_buckets(const struct module_settings *s);
/* of an all-reduce of so many bytes of f32 over all replicas; NULL: it is never spread */
const struct kernel_spread_times *module_plan_sum_times(const struct module_settings *s,
                                                        int64_t bytes, struct arena *a);
/* flags of collectives, the last ones of the core: two sets by turns for each communicator */
int module_plan_collective_flags(const struct module_plan *p);
/* Kernels that reach other devices by themselves (stack/module/module_peers.c): what the step needs
 * to know of them, and the flags at which all devices meet before such a kernel */
void module_plan_add_peers(struct module_plan *p, struct module_step *s,
                           const struct mosaic_kernel *k);
int module_plan_peer_flags(const struct module_plan *p);

/* the buffer that holds it, after merging, and its offset there */
struct module_buffer *module_plan_buffer(const struct module_plan *p, const struct module_value *v);
int64_t module_plan_offset(const struct module_plan *p, const struct module_value *v);

/* whether a loop's new value may be made in the place of the state `old`; the loop begins there */
bool module_plan_may_advance(const struct module_plan *p, const struct module_value *v,
                             const struct module_value *old, int begin);
/* module_reuse.c: the operand that a kernel changes in its place where it may; -1: none */
int module_changed_operand(const struct graph_node *n);
/* the step is such a kernel, and of its operands that one alone lies in the buffer */
bool module_plan_is_changed(const struct module_plan *p, const struct module_step *s,
                            const struct module_buffer *b);
/* as much as the step reads of operand k: a slice and not what it is cut from */
const struct module_value *module_plan_read(const struct module_plan *p, const struct module_step *s,
                                            int k);
/* lifetimes from the steps */
void module_plan_lifetimes(struct module_plan *p);
/* outputs take their parameters' places, or are copied there at the end */
void module_plan_alias_outputs(struct module_plan *p, const struct graph *g);
/* addresses: sets array.space and array.address; 0, or the bytes of HBM that it would take */
int64_t module_plan_memory(struct module_plan *p, struct module *m);
/* -1: it does not fit; what is alive at the fullest moment, by layer */
int module_plan_refuse(const struct module_plan *p, int64_t need, struct err *e);
/* the step at which most is alive in HBM, and how much (may be NULL) */
int module_plan_fullest_step(const struct module_plan *p, int64_t *most);
/*
 * One value that is in HBM at the fullest moment is computed again by a second step before
 * it is next read. False: there is none whose operands are still there.
 */
bool module_plan_rematerialise(struct module_plan *p);
/*
 * An output may lie where `v` does, in HBM: it is not what a loop works on, or that would not fit
 * VMEM, where the loop takes less time, so that a copy behind it is worth it.
 */
bool module_plan_may_be_output(const struct module_plan *p, const struct module_value *v);
/* of module_plan_memory: temporaries that stay in VMEM; copies of operands there */
void module_plan_residents(struct module_plan *p, struct module *m);
void module_plan_prefetches(struct module_plan *p, struct module *m);
/* module_cmem.c: temporaries that stay in CMEM, of those that do not stay in VMEM */
void module_plan_cmem(struct module_plan *p, struct module *m);
/* reads of a buffer and its write, for each step that it stays */
double module_plan_gain(const struct module_plan *p, const struct module_buffer *b);
/* module_kept.c: `v` is what an edge of a kept program leaves of `from`, which lies where it does;
 * the value that stands for it */
struct module_value *module_plan_keep_edge(struct module_plan *p, const struct kept_edge *edge,
                                           struct module_value *from, struct module_value *v);
/* copies as the schedule has them, in the place of prefetches */
void module_plan_keep_copies(struct module_plan *p, struct module *m);
/* counts and notes what lies elsewhere than it did, once all is placed */
void module_plan_tell_kept(const struct module_plan *p);
/* an array's copy in VMEM from step `first` to `last`, or NULL; a reader of it, of which the first
 * one waits */
struct module_buffer *module_plan_add_shadow_buffer(struct module_plan *p, struct module *m,
                                                    const struct module_value *v, int first,
                                                    int last);
void module_plan_add_shadow(struct module_plan *p, struct module_shadow s,
                            const struct module_buffer *b);
/* a flag that no other copy has from one step to another; -1: none */
int module_plan_free_flag(const struct module_plan *p, int first, int last);
/* sync flags that prefetches take, from 0 on; kernels have the others */
int module_plan_copy_flags(const struct chip *c);
/* megacore: 1 or 2; the first flag of kernels, behind that of barriers, which is the last below */
int module_cores(const struct module_settings *s);
int module_plan_kernel_flags(const struct module_settings *s);
/* whether a barrier must stand before a step */
bool module_plan_needs_barrier(const struct module_plan *p, int step);
/* bytes of VMEM, from 0 on, that kernels have for windows, unless one takes all of it (plan); what
 * is behind holds arrays */
int64_t module_plan_scoped_bytes(const struct module_settings *s);
/* of VMEM, for arrays that a loop of so many steps works on; 0: they would lie in HBM */
int64_t module_plan_resident_bytes(const struct module_plan *p, int steps);
/* what a step's kernel has of it: with --codegen best a product has all that holds no array then */
int64_t plan_free_bytes(const struct module_plan *p, int step);
/* bytes of HBM that this core has */
int64_t module_plan_hbm_bytes(const struct module_settings *s);

/* steps work on their arrays in VMEM, or on those in HBM again */
void module_plan_use_shadows(struct module_plan *p, bool is_used);
/*
 * Takes the arrays in VMEM into use. Kernels that do not take them are marked
 * and counted: then nothing is in use, and memory is to be planned again.
 */
int module_plan_find_refusals(struct module_plan *p);

/*
 * Segments for all steps, and the items to link. -1 at the end when steps are not made: their
 * names are in p->refused. -1 at once for a collective or message.
 */
int module_make_kernels(struct module *m, struct module_plan *p, struct arena *a, struct err *e);

/* the kernel of a step, beside a sum or not */
/* vmem_bytes: of VMEM, from 0 on, for its windows */
struct kernel_job module_plan_job(const struct module_plan *p, const struct module_step *step,
                                  bool is_beside, int64_t vmem_bytes);

struct pass_context;
/* takes what p->refused names in m->graph apart; -1: the message is of what cannot be */
int module_unfuse(struct module *m, const struct module_plan *p, const struct pass_context *c,
                  struct err *e);
/* a node as a graph of others that kernels make; NULL, with a message: there is no such */
struct graph *module_legalize(const struct module_plan *p, const struct pass_context *c,
                              struct graph *g, int node, struct err *e);
int module_link(struct module *m, const struct module_settings *s, struct arena *a,
                struct err *e);

/* m->core_device: who is where, each on a core of its own */
int module_set_devices(struct module *m, const struct module_settings *s, struct arena *a,
                       struct err *e);
struct collective_table;
/* pages of a table that one core has in its HBM */
int module_page_count(const struct collective_table *t, int core);
#endif
