/* Writes the zoo's models of text. */
#include "stack/nn/zoo_impl.h"

enum { WIDTH = 768, LAYERS = 12, BERT_WORDS = 30522, BERT_POSITIONS = 512, GPT_WORDS = 50257,
       GPT_POSITIONS = 1024 };

static int tokens(struct zoo *z, const char *name)
{
    return graph_parameter(z->g, shape_make(DTYPE_S32, ZOO_DIMS(z->o->batch, z->o->sequence)),
                           name);
}

static int64_t at_least(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* the first rows of the table of positions, for each text of the batch */
static int add_positions(struct zoo *z, int x, int64_t table_rows)
{
    int64_t start[2] = {0, 0}, limit[2] = {z->o->sequence, WIDTH};
    int table = zoo_weight(z, "positions", ZOO_DIMS(at_least(table_rows, z->o->sequence), WIDTH));

    table = graph_slice(z->g, table, start, limit, NULL);
    return nn_add(z->g, x, nn_spread(z->g, table, x));
}

static int layers(struct zoo *z, int x, bool is_gpt)
{
    char name[32];

    for (int i = 0; i < LAYERS; i++) {
        snprintf(name, sizeof(name), "layer_%d", i + 1);
        x = zoo_transformer(z, name, x, is_gpt);
    }
    return x;
}

/* x by the table of words, the other way round: [batch, positions, words] */
static int words_of(struct zoo *z, int x, int table)
{
    struct graph_dot dot = {.contract_count = 1, .lhs_contract = {2}, .rhs_contract = {1}};

    return graph_dot_general(z->g, x, table, &dot, z->o->dtype, PRECISION_DEFAULT);
}

static int word_loss(struct zoo *z, int x, int table, const char *labels)
{
    int loss;

    zoo_enter(z, "words");
    int third = tokens(z, labels);
    loss = nn_cross_entropy(z->g, words_of(z, x, table), third);
    zoo_leave(z);
    return loss;
}

/* ---- BERT ---- */

void zoo_bert_block(struct zoo *z)
{
    struct shape s = shape_make(z->o->dtype, ZOO_DIMS(z->o->batch, z->o->sequence, WIDTH));
    int x = graph_parameter(z->g, s, "x"), y, wanted;

    y = zoo_transformer(z, "layer", x, false);
    if (!z->o->is_training) {
        graph_output(z->g, y, "y", -1);
        return;
    }
    wanted = graph_parameter(z->g, s, "y_wanted");
    y = graph_convert(z->g, graph_binary(z->g, HLO_SUBTRACT, y, wanted), DTYPE_F32);
    z->loss = nn_mean(z->g, nn_multiply(z->g, y, y), 7);
}

/* words, segments and positions */
static int bert_embedding(struct zoo *z, int *table)
{
    int segments, x;

    zoo_enter(z, "embedding");
    *table = zoo_weight(z, "words", ZOO_DIMS(BERT_WORDS, WIDTH));
    segments = zoo_weight(z, "segments", ZOO_DIMS(2, WIDTH));
    x = nn_embedding(z->g, *table, tokens(z, "tokens"));
    x = nn_add(z->g, x, nn_embedding(z->g, segments, tokens(z, "segments")));
    x = zoo_dropout(z, zoo_layer_norm(z, "norm", add_positions(z, x, BERT_POSITIONS)));
    zoo_leave(z);
    return x;
}

/* the first position's, through a dense layer */
static int pool(struct zoo *z, int x)
{
    struct shape s = shape_make(z->o->dtype, ZOO_DIMS(z->o->batch, WIDTH));
    int64_t start[3] = {0}, limit[3] = {z->o->batch, 1, WIDTH};

    x = graph_reshape(z->g, graph_slice(z->g, x, start, limit, NULL), s);
    return graph_unary(z->g, HLO_TANH, zoo_dense(z, "pooler", x, WIDTH));
}

void zoo_bert_base(struct zoo *z)
{
    int table, x = layers(z, bert_embedding(z, &table), false), pooled = pool(z, x), follows;

    z->optimizer = ZOO_ADAM;
    if (!z->o->is_training) {
        graph_output(z->g, x, "hidden", -1);
        graph_output(z->g, pooled, "pooled", -1);
        return;
    }
    follows = graph_parameter(z->g, shape_make(DTYPE_S32, ZOO_DIMS(z->o->batch)), "follows");
    int third = nn_cross_entropy(z->g, zoo_dense(z, "sentences", pooled, 2), follows);
    z->loss = nn_add(z->g, word_loss(z, x, table, "labels"), third);
}

/* ---- GPT-2 ---- */

void zoo_gpt2_small(struct zoo *z)
{
    int table, x;

    z->optimizer = ZOO_ADAM;
    zoo_enter(z, "embedding");
    table = zoo_weight(z, "words", ZOO_DIMS(GPT_WORDS, WIDTH));
    x = nn_embedding(z->g, table, tokens(z, "tokens"));
    x = zoo_dropout(z, add_positions(z, x, GPT_POSITIONS));
    zoo_leave(z);
    x = zoo_layer_norm(z, "norm", layers(z, x, true));
    if (z->o->is_training)
        z->loss = word_loss(z, x, table, "labels");
    else
        graph_output(z->g, words_of(z, x, table), "logits", -1);
}
