/*
 * What the parts of the evaluator share: an evaluation, its frames, a call of one operation.
 * Private to import/eval.
 */
#ifndef IMPORT_EVAL_IMPL_H
#define IMPORT_EVAL_IMPL_H
#include "import/eval/eval.h"
#include "import/lanes/lane.h"
#include "import/lanes/value.h"

struct region;
struct fused;

/* Facts of a computation that its evaluation needs, found once. */
struct eval_plan {
    bool is_made;
    int *last_user;                     /* of each instruction; -1: none, count: the result */
    bool *is_needed;                    /* by the result, or for what it does */
    bool *moves;                        /* get-tuple-element may take its part out of the tuple */
    struct region *region;              /* the computation as one of scalars (region.h) */
    bool is_region_tried;
    int times;                          /* that it was evaluated, up to 2 */
    struct tape *tape;                  /* the computation as one; NULL: not yet, or there is none */
    struct value **spare;               /* a frame's values, all NULL, for the next one */
    size_t spare_count;
    struct fused **fused;               /* by their first instruction; NULL: none (fused.h) */
};

struct eval {
    const struct hlo_module *m;
    struct eval_settings s;
    struct eval_report *report;
    struct err *err;
    struct value_pool pool;
    struct tape *tapes;                 /* tape.h */
    struct eval_plan *plan;             /* by computation */
    signed char takes_splats[OPCODE_COUNT];     /* 1: yes, -1: no, 0: not asked yet */
    int device_count, depth;
    int *device;                        /* their numbers, 0, 1, .. */
    uint64_t steps;
    uint64_t *rng_drawn;                /* by device: blocks that rng has drawn */
    uint64_t (*rng_state)[2];           /* by device: of rng-get-and-update-state */
    struct arena scratch;               /* plans and regions */
};

/* One computation being evaluated by some of the devices, in step. */
struct frame {
    struct eval *ev;
    const struct hlo_computation *c;
    const struct eval_plan *plan;
    int device_count;
    const int *device;                  /* their numbers */
    struct value **value;               /* [k * c->count + instruction]; NULL: not there any more */
    struct value **const *argument;     /* [k][parameter]; NULL once taken */
};

/* One instruction on one device. */
struct call {
    struct frame *f;
    struct eval *ev;
    const struct hlo_instruction *i;
    int index, device;
    struct value **operand;             /* the frame's; i->operand_count of them */
    struct value *result;               /* what the handler makes */
    struct value *place;                /* of a tape: the array that the result becomes; or NULL */
    bool is_in_place;                   /* .. which is operand 0's, that ends here */
};

typedef int (*eval_handler)(struct call *c);
/* all devices of a frame at once */
typedef int (*eval_group_handler)(struct frame *f, int index);

/* file, line and name of the instruction, then the message; -1 */
int call_fail(const struct call *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int eval_fail(struct eval *ev, const struct hlo_instruction *i, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* A new array; NULL with the error set where memory's limit is reached. */
struct value *call_array(const struct call *c, enum hlo_element e, int rank, const int64_t *dim);
/* The sizes of a result of type t: its own, or where they are bounded those that operands have. */
void call_dims(const struct call *c, const struct hlo_type *t, int64_t *dim);
/* the result's array, of sizes as above; -1 with the error set */
int call_result(struct call *c);
/* the same in the place of operand k, if that may be overwritten and is as large */
int call_result_over(struct call *c, int k);
/* the result is operand k's data in the result's type */
int call_result_view(struct call *c, int k);
/* the one dimension that the operation names, the last one where it names none */
int call_dimension(const struct call *c, int *along);
/* the result is a tuple; its part number `part` is a new array */
int call_result_tuple(struct call *c);
struct value *call_part(struct call *c, int part);
/* does operand k end here, and nobody else has its data? */
bool call_may_overwrite(const struct call *c, int k);

/* by frame: the value of an operand, moved out where it ends here, else held once more */
struct value *frame_take(struct frame *f, int k, int index, int operand);
static inline struct value **frame_value(struct frame *f, int k, int instruction)
{
    return &f->value[(size_t)k * (size_t)f->c->count + (size_t)instruction];
}

/*
 * Evaluates a computation on some devices. argument[k][parameter] are taken over, whatever comes of
 * it; result[k] is the caller's to drop.
 */
int eval_computation(struct eval *ev, int computation, int device_count, const int *device,
                     struct value **const *argument, struct value **result);
/* the same on one device */
int eval_one(struct eval *ev, int computation, int device, struct value **argument,
             struct value **result);

/* instructions that an evaluation has come by; -1 with the error set where it shall stop at `i` */
int eval_count_steps(struct eval *ev, const struct hlo_instruction *i, int instructions);

void eval_plan_make(struct eval *ev, int computation);

/* what carries an operation out; both NULL: nobody does */
eval_handler eval_handler_of(enum hlo_opcode op);
eval_group_handler eval_group_handler_of(enum hlo_opcode op);

/* leaves of a value from the left into leaf[]; how many */
int value_leaves(struct value *v, struct value **leaf, int room);

/* an array of sizes known beforehand, of elements that there is arithmetic for */
static inline bool eval_is_fixed_array(const struct hlo_type *t)
{
    return !hlo_type_is_tuple(t) && t->element != ELEMENT_TOKEN && !hlo_type_is_dynamic(t) &&
           lane_of(t->element) != LANE_COUNT;
}

static inline int64_t clamp_int(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}
#endif
