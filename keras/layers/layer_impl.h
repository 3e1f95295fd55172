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
    int logits;                         /* out: what a last softmax or sigmoid is of */
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
LAYER_FUNCTIONS(batch_norm)
LAYER_FUNCTIONS(layer_norm)
LAYER_FUNCTIONS(embedding)
LAYER_FUNCTIONS(position)
LAYER_FUNCTIONS(attention)
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
/* x times a factor, 0 or 1 / (1 - rate), for each place of the dimensions in `own`; other
 * dimensions share it */
int layer_drop_shared(struct layer_call *c, int x, uint32_t own);
/* in training, and not frozen */
bool layer_learns(const struct layer_call *c);
bool layer_has_dropout(const struct layer *l);
#endif
