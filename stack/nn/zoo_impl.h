/*
 * A model under construction: its graph, its variables and what becomes of
 * them; private to zoo*.c.
 */
#ifndef STACK_ZOO_IMPL_H
#define STACK_ZOO_IMPL_H
#include "stack/nn/nn.h"
#include "stack/nn/zoo.h"

struct zoo_variable {
    int node;                           /* the parameter: all of it, or this replica's part */
    bool is_part;
    int64_t elems;                      /* of all of it */
    int update;                         /* what replaces it; NODE_NONE: the optimizer does */
};

enum zoo_optimizer { ZOO_MOMENTUM, ZOO_ADAM, ZOO_LAMB };

struct zoo {
    struct graph *g;
    const struct zoo_options *o;
    struct zoo_variable *variable;
    int count;
    size_t capacity;
    const char *path[8];                /* names of the parts that are being built */
    int depth;
    int loss;                           /* NODE_NONE where there is none */
    int seed, stream;                   /* of dropout: parameter, and numbers given out */
    enum zoo_optimizer optimizer;
    int64_t width;                      /* of a text's positions, */
    int layers, heads;                  /* and what attends to them */
    bool rounds_scores;                 /* to the model's type */
    int replica_count;
};

/* names and sources inside are "outer/inner/..." */
void zoo_enter(struct zoo *z, const char *part);
void zoo_leave(struct zoo *z);

/* a trainable parameter, f32 */
int zoo_variable(struct zoo *z, const char *name, int rank, const int64_t *dim);
/* the same in the model's type, as products take it */
int zoo_weight(struct zoo *z, const char *name, int rank, const int64_t *dim);
/* a parameter that `update` replaces in training, without gradient */
int zoo_state(struct zoo *z, const char *name, int rank, const int64_t *dim);
void zoo_set_state(struct zoo *z, int node, int update);

#define ZOO_DIMS(...) (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
                      (int64_t[]){__VA_ARGS__}

/* layers with variables of their own, of the last dimension's size */
int zoo_dense(struct zoo *z, const char *name, int x, int64_t width);           /* with bias */
int zoo_conv(struct zoo *z, const char *name, int x, int64_t width, int64_t size,
             int64_t stride, bool has_bias, enum nn_padding padding);
int zoo_batch_norm(struct zoo *z, const char *name, int x);
int zoo_layer_norm(struct zoo *z, const char *name, int x);
int zoo_dropout(struct zoo *z, int x);

/*
 * A new parameter *held that is an f32 variable, or this replica's part of it; returns what the
 * model reads, which is all of it as `s` says.
 */
int zoo_hold(struct zoo *z, const char *path, const struct shape *s, int *held);

/* behind the model: its training step, as zoo.h says; the variables change their order */
int zoo_train(struct zoo *z, struct err *e);

/* one layer of a transformer of z->heads; norms in front (GPT) or behind (BERT) */
int zoo_transformer(struct zoo *z, const char *name, int x, bool is_gpt);

/* each builds the model up to its outputs or loss */
#define ZOO(name, builder, batch, sequence, dtype, meaning) void zoo_##builder(struct zoo *z);
#include "stack/nn/zoo.def"
#endif
