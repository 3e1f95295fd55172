/* Declares what the parts of optimizer.h share; private to optimizer*.c. */
#ifndef KERAS_OPTIMIZER_IMPL_H
#define KERAS_OPTIMIZER_IMPL_H
#include "keras/optimizer/optimizer.h"

/*
 * What a slot has of its variable's shape: all, all but the last dimension, all but the last but
 * one; the last two only where it has at least two, VECTOR is all where it has fewer, and ADAM all
 * of what Muon leaves to Adam.
 */
enum slot_part { PART_ALL, PART_ROWS, PART_COLUMNS, PART_VECTOR, PART_ADAM };

struct slot_kind {
    enum optimizer_rule rule;
    const char *name;
    enum slot_part part;
    enum hyper initial, needs;
};

/* one variable's update */
struct optimizer_update {
    struct optimizer_step *s;
    struct graph *g;
    const struct optimizer *o;
    const struct optimizer_variable *of;
    int value, gradient;                /* f32, whole or a part of the rows */
    int before;                         /* the value before it has decayed */
    bool is_part;
};

struct rule {
    void (*begin)(struct optimizer_step *s);    /* makes s->own; NULL: none */
    int (*update)(struct optimizer_update *u);  /* the new value */
    bool decays_itself;                         /* weight_decay is in the equation */
    bool needs_whole;                           /* slots cannot be in parts */
};
extern const struct rule optimizer_rules[RULE_COUNT];

/* the k-th slot: its value now, and its next one, which it keeps where the step does not update */
int optimizer_update_slot(const struct optimizer_update *u, int k);
int optimizer_update_set_slot(const struct optimizer_update *u, int k, int node);
/* the k-th scalar of s->own in the shape of the variable */
int optimizer_update_own(const struct optimizer_update *u, int k);
int optimizer_update_rate(const struct optimizer_update *u);

/* of the whole variable, scalars */
int optimizer_update_norm(const struct optimizer_update *u, int x);
int optimizer_update_root_mean_square(const struct optimizer_update *u, int x);

/* `a` where the step updates, else `b` */
int optimizer_step_choose(const struct optimizer_step *s, int a, int b);
/* `a` in the first update, else `b` */
int optimizer_step_first(const struct optimizer_step *s, int a, int b);
/* sum of squares, over all replicas if `is_part`; scalar */
int optimizer_step_square_sum(const struct optimizer_step *s, int x, bool is_part);
/* 1 - beta^step */
int optimizer_step_correction(const struct optimizer_step *s, double beta);

/* of Adam and its kin: the slots of the means of gradients and squares, which it moves on */
enum { OPTIMIZER_M, OPTIMIZER_V };
void optimizer_update_moments(struct optimizer_update *u, int moment[2]);

/* optimizer_norms.c */
void optimizer_begin_lamb(struct optimizer_step *s);
int optimizer_update_lamb(struct optimizer_update *u);
int optimizer_update_lars(struct optimizer_update *u);
void optimizer_begin_adafactor(struct optimizer_step *s);
int optimizer_update_adafactor(struct optimizer_update *u);
void optimizer_begin_adam(struct optimizer_step *s);
int optimizer_update_adam(struct optimizer_update *u);
void optimizer_begin_muon(struct optimizer_step *s);
int optimizer_update_muon(struct optimizer_update *u);

static inline int optimizer_subtract(struct graph *g, int a, int b)
{
    return graph_binary(g, HLO_SUBTRACT, a, b);
}
static inline int optimizer_square(struct graph *g, int a)
{
    return graph_binary(g, HLO_MULTIPLY, a, a);
}
static inline int optimizer_divide(struct graph *g, int a, int b)
{
    return graph_binary(g, HLO_DIVIDE, a, b);
}
#endif
