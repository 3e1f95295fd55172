/*
 * Optimizers of Keras 3: what a step makes of variables and gradients.
 *
 * An optimizer is a rule and its numbers (optimizers.def). Built, it has its slots in the
 * variable set: of variable "dense/kernel" "dense/kernel/m", the step
 * counter "iterations" (s32 scalar), and "learning_rate" (f32 scalar, which the host may set
 * between launches) unless a schedule makes the rate of the iterations, in the graph. Checkpoints
 * and strategies see only these variables.
 *
 * The order of a step is Keras's: gradients are unscaled, averaged over accumulated steps,
 * clipped; variables decay; the rule changes them; their moving averages follow; iterations go up.
 *
 * Rules compute in f32 whatever the gradients are. Nodes come from "Adam/dense/kernel".
 */
#ifndef KERAS_OPTIMIZER_H
#define KERAS_OPTIMIZER_H
#include "keras/optimizer/schedule.h"
#include "keras/trace/trace.h"

enum hyper {
    HYPER_NONE = -1,
#define HYPER(id, name, kind, low, high, meaning) HYPER_##id,
#include "keras/optimizer/optimizers.def"
    HYPER_COUNT
};
enum optimizer_rule {
#define OPTIMIZER(id, name, meaning) RULE_##id,
#include "keras/optimizer/optimizers.def"
    RULE_COUNT
};

#define OPTIMIZER_SLOTS_MAX 3
#define OPTIMIZER_OWN_MAX 4

struct optimizer_variable {
    int variable;                       /* of the set: a trainable one */
    int slot[OPTIMIZER_SLOTS_MAX];      /* of the set, as optimizers.def counts them, or -1 */
    int accumulated, average;           /* sums of gradients, moving average, or -1 */
    bool decays, adapts;                /* not excluded */
    bool uses_adam;                     /* Muon's: no matrix, or excluded */
};

struct optimizer {
    enum optimizer_rule rule;
    double hyper[HYPER_COUNT];          /* those that the rule takes, and the common ones */
    struct lr_schedule schedule;        /* SCHEDULE_NONE: the variable learning_rate */
    double decay;                       /* Keras 2's, which becomes a schedule; 0: none */
    const char *scope;                  /* before names of its scalars: "embedding/users/"; NULL */
    /* parts of names, the caller's: such variables do not decay, have no trust ratio (LARS), and by
     * regular expressions are left to Adam (Muon) */
    const char *const *no_decay, *const *no_adaptation, *const *no_muon;
    int no_decay_count, no_adaptation_count, no_muon_count;
    /* LossScaleOptimizer around it: the loss is scaled by a variable, which halves when a gradient
     * is not finite, when nothing else happens, and doubles behind finite steps */
    bool has_dynamic_scale;
    /* with gradient_accumulation_steps N: optimizer_apply gets the sum over N micro batches of
     * one launch, and counts N iterations; no slots, an update in every launch */
    bool accumulates_in_launch;
    /* filled in by optimizer_build */
    struct variable_set *set;
    struct optimizer_variable *of;
    int count;
    int iterations, learning_rate;      /* variables of the set; -1 with a schedule */
    int product;                        /* Nadam's product of momenta, or -1 */
    const char *taken;                  /* a name that it needs and the set has; NULL: none */
    int dynamic_scale, step_counter;    /* or -1 */
};

/* "Adam" */
const char *optimizer_name(enum optimizer_rule rule);
/* all of them with their defaults, all numbers with their ranges and meanings */
void optimizer_print_list(FILE *to);
const char *optimizer_hyper_name(enum hyper h);
bool optimizer_takes(enum optimizer_rule rule, enum hyper h);
/* -1 with the nearest name; case does not count */
int optimizer_find(const char *name, enum optimizer_rule *rule, struct err *e);

/* of that rule with Keras's defaults, without a schedule or exclusions */
void optimizer_init(struct optimizer *o, enum optimizer_rule rule);
/* -1: the rule has no such number (the nearest is named), or it is out of its range */
int optimizer_set(struct optimizer *o, const char *name, double value, struct err *e);

/*
 * {"class_name": "Adam", "config": {...}, "args": [...]} as model.to_json() or call_parse has it,
 * or the name alone; learning_rate may be a schedule likewise. exclude_from_weight_decay and
 * LARS's exclude_from_layer_adaptation are lists of parts of names. Lists are of `a`.
 */
int optimizer_from_json(struct optimizer *o, const json_t *call, struct arena *a, struct err *e);
/* the same from "AdamW(1e-3, weight_decay=0.004)", "adam", "SGD(CosineDecay(0.1, 1000))" */
int optimizer_parse(struct optimizer *o, const char *text, struct arena *a, struct err *e);

/*
 * Adds slots of trainable[0..count) to `set`, which must outlive `o`; names of slots and
 * "iterations" must be free. -1: they are not (some variables may have been added), more than one
 * kind of clipping, or numbers that do not go together.
 */
int optimizer_build(struct optimizer *o, struct variable_set *set, const int *trainable,
                    int count, struct err *e);
/*
 * Of the i-th variable each replica keeps only its part of the slots along dimension `dim`, and
 * updates that: then optimizer_update_one gets its part of value and gradient. -1: there is no
 * such dimension, it is not divisible, or it is Adafactor, whose means go over rows.
 */
int optimizer_shard(struct optimizer *o, int i, int dim, int replica_count, struct err *e);
/* the dimension; -1: it is whole, or has no slots */
int optimizer_sharded_along(const struct optimizer *o, int i);

/* the loss as gradients should be taken of it: times loss_scale_factor */
int optimizer_scale_loss(struct trace *t, const struct optimizer *o, int loss);

/*
 * One step: variables and slots are read, and assigned anew. gradient[i] is a node, f32 or bf16,
 * of the i-th variable's shape, already summed over the replicas.
 */
void optimizer_apply(struct trace *t, const struct optimizer *o, const int *gradient);

/*
 * The same in pieces, where variables or gradients come in parts. optimizer_begin unscales,
 * averages and clips all gradients in place; each may be whole or this replica's part of rows.
 * optimizer_update_one takes the value (whole or the part likewise), assigns the slots, and gives
 * the new value; norms of parts are summed over the replicas by all-reduce. optimizer_end counts
 * the iteration.
 */
struct optimizer_step {
    struct trace *trace;
    const struct optimizer *optimizer;
    int rate;                           /* f32 scalar */
    int step;                           /* f32 scalar: updates so far, with this one */
    int finite;                         /* likewise: all gradients are; NODE_NONE: not looked at */
    int update;                         /* u32 scalar: all bits if this step updates, else none; */
                                        /* NODE_NONE: all do */
    int own[OPTIMIZER_OWN_MAX];                         /* the rule's own f32 scalars */
};
void optimizer_begin(struct optimizer_step *s, struct trace *t, const struct optimizer *o,
                     int *gradient);
int optimizer_update_one(struct optimizer_step *s, int i, int value, int gradient);
void optimizer_end(struct optimizer_step *s);

#endif
