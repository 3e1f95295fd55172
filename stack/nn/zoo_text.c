/* Writes the zoo's models of text. */
#include "stack/nn/zoo_impl.h"

#include "base/units.h"

enum { BERT_WORDS = 30522, BERT_POSITIONS = 512, GPT_WORDS = 50257, GPT_POSITIONS = 1024 };
/* masked positions of a text, as a large BERT is trained: 15 of 100, at most 76 */
enum { MASKED_PERCENT = 15, MASKED_MAX = 76 };

static void set_sizes(struct zoo *z, int64_t width, int layers, int heads)
{
    z->width = width;
    z->layers = layers;
    z->heads = heads;
}

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
    int64_t start[2] = {0, 0}, limit[2] = {z->o->sequence, z->width};
    int table = zoo_weight(z, "positions", ZOO_DIMS(at_least(table_rows, z->o->sequence), z->width));

    table = graph_slice(z->g, table, start, limit, NULL);
    return nn_add(z->g, x, nn_spread(z->g, table, x));
}

static int layers(struct zoo *z, int x, bool is_gpt)
{
    char name[32];

    for (int i = 0; i < z->layers; i++) {
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
    int x, y, wanted;

    set_sizes(z, 768, 12, 12);
    struct shape s = shape_make(z->o->dtype, ZOO_DIMS(z->o->batch, z->o->sequence, z->width));
    x = graph_parameter(z->g, s, "x");
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
    *table = zoo_weight(z, "words", ZOO_DIMS(BERT_WORDS, z->width));
    segments = zoo_weight(z, "segments", ZOO_DIMS(2, z->width));
    x = nn_embedding(z->g, *table, tokens(z, "tokens"));
    x = nn_add(z->g, x, nn_embedding(z->g, segments, tokens(z, "segments")));
    x = zoo_dropout(z, zoo_layer_norm(z, "norm", add_positions(z, x, BERT_POSITIONS)));
    zoo_leave(z);
    return x;
}

/* the first position's, through a dense layer */
static int pool(struct zoo *z, int x)
{
    struct shape s = shape_make(z->o->dtype, ZOO_DIMS(z->o->batch, z->width));
    int64_t start[3] = {0}, limit[3] = {z->o->batch, 1, z->width};

    x = graph_reshape(z->g, graph_slice(z->g, x, start, limit, NULL), s);
    return graph_unary(z->g, HLO_TANH, zoo_dense(z, "pooler", x, z->width));
}

static void finish_bert(struct zoo *z, int x, int words)
{
    int pooled = pool(z, x), follows;

    follows = graph_parameter(z->g, shape_make(DTYPE_S32, ZOO_DIMS(z->o->batch)), "follows");
    int third = nn_cross_entropy(z->g, zoo_dense(z, "sentences", pooled, 2), follows);
    z->loss = nn_add(z->g, words, third);
}

static void show_bert(struct zoo *z, int x)
{
    graph_output(z->g, x, "hidden", -1);
    graph_output(z->g, pool(z, x), "pooled", -1);
}

void zoo_bert_base(struct zoo *z)
{
    int table, x;

    set_sizes(z, 768, 12, 12);
    z->optimizer = ZOO_ADAM;
    x = layers(z, bert_embedding(z, &table), false);
    if (z->o->is_training)
        finish_bert(z, x, word_loss(z, x, table, "labels"));
    else
        show_bert(z, x);
}

/* of what stands at the masked positions of each text */
static int masked_loss(struct zoo *z, int x, int table)
{
    int64_t count = div_up(z->o->sequence * MASKED_PERCENT, 100), rows = z->o->batch;
    struct shape flat = shape_make(z->o->dtype, ZOO_DIMS(rows * z->o->sequence, z->width));
    int at, labels, loss, bias;

    count = count < MASKED_MAX ? count : MASKED_MAX;
    zoo_enter(z, "words");
    at = graph_parameter(z->g, shape_make(DTYPE_S32, ZOO_DIMS(rows, count)), "masked");
    labels = graph_parameter(z->g, shape_make(DTYPE_S32, ZOO_DIMS(rows, count)), "labels");
    x = nn_embedding(z->g, graph_reshape(z->g, x, flat), at);
    x = zoo_layer_norm(z, "norm", nn_gelu(z->g, zoo_dense(z, "dense", x, z->width), true));
    bias = zoo_weight(z, "bias", ZOO_DIMS(BERT_WORDS));
    x = nn_bias(z->g, words_of(z, x, table), bias);
    loss = nn_cross_entropy(z->g, x, labels);
    zoo_leave(z);
    return loss;
}

void zoo_bert_large(struct zoo *z)
{
    int table, x;

    set_sizes(z, 1024, 24, 16);
    z->rounds_scores = true;
    z->optimizer = ZOO_LAMB;
    x = layers(z, bert_embedding(z, &table), false);
    if (z->o->is_training)
        finish_bert(z, x, masked_loss(z, x, table));
    else
        show_bert(z, x);
}

/* ---- GPT-2 ---- */

void zoo_gpt2_small(struct zoo *z)
{
    int table, x;

    set_sizes(z, 768, 12, 12);
    z->optimizer = ZOO_ADAM;
    zoo_enter(z, "embedding");
    table = zoo_weight(z, "words", ZOO_DIMS(GPT_WORDS, z->width));
    x = nn_embedding(z->g, table, tokens(z, "tokens"));
    x = zoo_dropout(z, add_positions(z, x, GPT_POSITIONS));
    zoo_leave(z);
    x = zoo_layer_norm(z, "norm", layers(z, x, true));
    if (z->o->is_training)
        z->loss = word_loss(z, x, table, "labels");
    else
        graph_output(z->g, words_of(z, x, table), "logits", -1);
}
