/* Declares the three functions of a layer's kind; private to layer*.c and model*.c. */
#ifndef KERAS_LAYER_IMPL_H
#define KERAS_LAYER_IMPL_H
#include "keras/layers/layer.h"
#include "keras/trace/trace.h"

struct layer_build {
    struct layer *layer;
    struct variable_set *set;
    struct arena *arena;
};

struct layer_call {
    struct trace *t;
    const struct layer *layer;
    enum graph_dtype dtype;             /* of computation */
    enum graph_precision precision;     /* of products */
    const int *input;                   /* nodes, floating ones of type `dtype` */
    int input_count;
    int seed;                           /* of random bits: s32 scalar, or NODE_NONE */
    int64_t *stream;                    /* of random bits: the next free number */
    const int *mask;                    /* by input: f32 [batch, steps], 1 where a step counts, else 0; */
                                        /* or NODE_NONE */
    int logits;                         /* out: what a last softmax or sigmoid is of */
    int made_mask;                      /* out: of a layer that makes one */
    int more[LAYER_OUTPUTS_MAX];        /* out: its outputs from the second on, from more[1] on */
};

struct layer_functions {
    int (*shape)(const struct layer *l, const struct shape *in, int count, struct shape *out,
                 struct err *e);
    void (*build)(struct layer_build *b);       /* NULL: it has no variables */
    int (*call)(struct layer_call *c);          /* the output's node */
};
const struct layer_functions *layer_functions(enum layer_kind kind);

#define LAYER_FUNCTIONS(functions) extern const struct layer_functions layer_##functions;
LAYER_FUNCTIONS(input)
LAYER_FUNCTIONS(dense)
LAYER_FUNCTIONS(conv)
LAYER_FUNCTIONS(pool)
LAYER_FUNCTIONS(global_pool)
LAYER_FUNCTIONS(adaptive_pool)
LAYER_FUNCTIONS(batch_norm)
LAYER_FUNCTIONS(layer_norm)
LAYER_FUNCTIONS(embedding)
LAYER_FUNCTIONS(position)
LAYER_FUNCTIONS(attention)
LAYER_FUNCTIONS(scored_attention)
LAYER_FUNCTIONS(einsum)
LAYER_FUNCTIONS(dot)
LAYER_FUNCTIONS(noise)
LAYER_FUNCTIONS(masked)
LAYER_FUNCTIONS(conv_lstm)
LAYER_FUNCTIONS(center_crop)
LAYER_FUNCTIONS(random_crop)
LAYER_FUNCTIONS(flip)
LAYER_FUNCTIONS(warp)
LAYER_FUNCTIONS(tone)
LAYER_FUNCTIONS(encoding)
LAYER_FUNCTIONS(slice)
LAYER_FUNCTIONS(dropout)
LAYER_FUNCTIONS(reshape)
LAYER_FUNCTIONS(permute)
LAYER_FUNCTIONS(pad)
LAYER_FUNCTIONS(rescaling)
LAYER_FUNCTIONS(function)
LAYER_FUNCTIONS(separable)
LAYER_FUNCTIONS(conv_transpose)
LAYER_FUNCTIONS(group_norm)
LAYER_FUNCTIONS(rms_norm)
LAYER_FUNCTIONS(unit_norm)
LAYER_FUNCTIONS(feature_norm)
LAYER_FUNCTIONS(spatial_dropout)
LAYER_FUNCTIONS(identity)
LAYER_FUNCTIONS(crop)
LAYER_FUNCTIONS(resize)
LAYER_FUNCTIONS(repeat)
LAYER_FUNCTIONS(prelu)
LAYER_FUNCTIONS(layer_scale)
LAYER_FUNCTIONS(recurrent)
LAYER_FUNCTIONS(merge)
LAYER_FUNCTIONS(concatenate)
LAYER_FUNCTIONS(operation)
#undef LAYER_FUNCTIONS

/* layer "name": ... ; -1 */
int layer_fail(const struct layer *l, struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* -1 unless the input has so many dimensions, `wanted` saying what they are */
int layer_expect_rank(const struct layer *l, const struct shape *in, int rank,
                      const char *wanted, struct err *e);
/* -1 unless config.axis, which counts the batch, is the last one */
int layer_expect_last_axis(const struct layer *l, const struct shape *in, struct err *e);
/* "[28, 28, 1]" */
char *layer_shape_text(const struct shape *s, char *buf, size_t buf_bytes);

/* `in` spreads over `all` as NumPy's arrays do, aligned at the end; -1: it does not */
int layer_widen(struct shape *all, const struct shape *in);
/* a node with the batch in front, repeated to the shape of samples that it spreads over */
int layer_spread(struct graph *g, int x, const struct shape *sample);

/* -1 unless there is no number, one, or one for each feature */
int layer_check_reals(const struct layer *l, const char *field, const struct layer_reals *given,
                      int64_t features, struct err *e);
/* an f32 vector of the input's features: of these numbers, or of the one */
int layer_literal(struct layer_call *c, const struct layer_reals *given);

#define SIZES(...) (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
                   (int64_t[]){__VA_ARGS__}

/* f32; its place in layer->variable. NULL: no regulariser */
int layer_add_weight(struct layer_build *b, const char *name, int rank, const int64_t *dim,
                     const struct initializer *i, const struct regularizer *r);
/* each replica's own, read as the mean of all */
int layer_add_mean(struct layer_build *b, const char *name, int rank, const int64_t *dim,
                   const struct initializer *i);

/* nodes made from now on are "layer/what" */
void layer_source(struct layer_call *c, const char *what);
/* variable number `place` as a node: f32, or in the type of computation */
int layer_read(struct layer_call *c, int place);
int layer_read_cast(struct layer_call *c, int place);
/* x + variable `place` along the last dimensions */
int layer_bias(struct layer_call *c, int x, int place);
/* config.activation of x */
int layer_activate(struct layer_call *c, int x);
/* config.rate of it dropped, in training */
int layer_drop(struct layer_call *c, int x);
int layer_drop_rate(struct layer_call *c, int x, double rate);
/* x times a factor, 0 or 1 / (1 - rate), for each place of the dimensions in `own`; other
 * dimensions share it */
int layer_drop_shared(struct layer_call *c, int x, uint32_t own);
/* scores that no query sees: finite, so that no NaN comes of them; fits bf16 */
#define LAYER_MASKED -2.3819763e38
/* scores [.., query, key] as the layer's own parameters mask them: causally, within a window */
int layer_mask_scores(struct layer_call *c, int scores);
/* and as a mask [batch, positions] along this dimension of them; NODE_NONE: there is none */
int layer_mask_along(struct graph *g, int scores, int mask, int dim);
/* in training, of a layer that heeds it; and not frozen */
bool layer_trains(const struct layer_call *c);
bool layer_learns(const struct layer_call *c);
/* of a recurrent layer, of both directions */
int layer_state_count(const struct layer *l);
/* uniform numbers in (low, high]: f32 of this shape, of training alone */
int layer_uniform(struct layer_call *c, struct shape s, double low, double high);
/* it draws random bits in training */
bool layer_is_random(const struct layer *l);
/* it takes whole numbers, which the policy's type would not hold */
bool layer_takes_whole(enum layer_kind kind);
/* x where the mask, along its first dimensions, is 1, else y or, if that is NODE_NONE, zeros */
int layer_where(struct graph *g, int mask, int x, int y);
/* after the call: the mask of its output, which has one */
int layer_mask_of(struct layer_call *c, int output);
#endif
