/* Operations of keras.ops that are sums of products, by letters for dimensions. */
#include <ctype.h>
#include <string.h>

#include "keras/layers/layer_operation.h"

/* of both operands, the batch in front of what is no constant, and of the result */
struct letters {
    char a[GRAPH_RANK_MAX + 1], b[GRAPH_RANK_MAX + 1], out[GRAPH_RANK_MAX + 1];
};

static bool is_constant(const struct layer *l, int i)
{
    return l->c.constant[i].value != NULL;
}

/* `count` letters from `first` on, behind what is there */
static void append(char *to, char first, int count)
{
    size_t at = strlen(to);

    for (int i = 0; i < count; i++)
        to[at++] = (char)(first + i);
    to[at] = '\0';
}

static const char *read_word(const char *text, char *to)
{
    int count = 0;

    for (; isalpha((unsigned char)*text) || *text == ' '; text++)
        if (*text != ' ' && count < GRAPH_RANK_MAX)
            to[count++] = *text;
    to[count] = '\0';
    return text;
}

/* "bij,bkj->bik" */
static bool read_equation(const char *text, struct letters *q)
{
    text = read_word(text, q->a);
    if (*text++ != ',')
        return false;
    text = read_word(text, q->b);
    if (strncmp(text, "->", 2) != 0)
        return false;
    return *read_word(text + 2, q->out) == '\0';
}

/* the last `over` dimensions of a with those of b that begin at `from` */
static void name_product(struct letters *q, int a, int b, int over, int from)
{
    append(q->a, 'a', a);
    append(q->b, 'a', from);            /* these are the same in both */
    append(q->b, (char)('a' + a - over), over);
    append(q->b, 'p', b - from - over);
    append(q->out, 'a', a - over);
    append(q->out, 'p', b - from - over);
}

/* rows and columns of the second operand */
static void exchange_last(char *word)
{
    size_t at = strlen(word);
    char last = word[at - 1];

    word[at - 1] = word[at - 2];
    word[at - 2] = last;
}

/* ranks count the batch */
static bool find_letters(const struct layer *l, int a, int b, struct letters *q)
{
    int over = l->c.operation == OPERATION_TENSORDOT ? (int)l->c.shape[0] : 1;

    memset(q, 0, sizeof(*q));
    if (l->c.operation == OPERATION_EINSUM)
        return l->c.equation && read_equation(l->c.equation, q);
    if (is_constant(l, 0) || over < 1 || over >= a || over > b ||
        a + b - 2 * over > GRAPH_RANK_MAX)
        return false;
    if (is_constant(l, 1)) {
        if (l->c.operation != OPERATION_TENSORDOT && b != 2)
            return false;
        name_product(q, a, b, over, 0);
    } else {
        if (l->c.operation != OPERATION_MATMUL || a != b || a < 3)
            return false;
        name_product(q, a, b, 1, a - 2);
    }
    if (l->c.operation == OPERATION_MATMUL && l->c.transposes)
        exchange_last(q->b);
    return true;
}

/* sizes by letter; false: two differ, or a word has a letter twice or another length */
static bool size_word(const char *word, const int64_t *dim, int rank, int64_t *size)
{
    if ((int)strlen(word) != rank)
        return false;
    for (int i = 0; i < rank; i++) {
        int64_t *known = &size[(unsigned char)word[i] % 128];

        if (strchr(word + i + 1, word[i]) || (*known && *known != dim[i]))
            return false;
        *known = dim[i];
    }
    return true;
}

/* a letter is in the result, or in both operands; the batch, -1, goes first */
static bool is_sound(const struct letters *q, const struct shape *in, const struct layer *l)
{
    int64_t size[128] = {0}, dim[2][GRAPH_RANK_MAX + 1];
    const char *word[] = {q->a, q->b};

    for (int i = 0; i < 2; i++) {
        bool has_batch = !is_constant(l, i);

        dim[i][0] = -1;
        memcpy(dim[i] + has_batch, in[i].dim, (size_t)in[i].rank * sizeof(*in[i].dim));
        if (!size_word(word[i], dim[i], in[i].rank + has_batch, size))
            return false;
    }
    for (const char *c = q->out; *c; c++)
        if (!size[(unsigned char)*c % 128] || strchr(c + 1, *c))
            return false;
    for (int i = 0; i < 2; i++)
        for (const char *c = word[i]; *c; c++)
            if (!strchr(q->out, *c) && !(strchr(q->a, *c) && strchr(q->b, *c)))
                return false;
    return size[(unsigned char)q->out[0] % 128] == -1;
}

static int check_products(const struct layer *l, const struct shape *in, int count,
                          struct err *e)
{
    char a[160], b[160];
    struct letters q;

    (void)count;
    if (find_letters(l, in[0].rank + !is_constant(l, 0), in[1].rank + !is_constant(l, 1), &q) &&
        is_sound(&q, in, l))
        return 0;
    return layer_fail(l, e, "%s of samples %s and %s%s%s is not supported: dimensions must go, and "
                      "the batch comes first", operation_info(l->c.operation)->class,
                      layer_shape_text(&in[0], a, sizeof(a)),
                      layer_shape_text(&in[1], b, sizeof(b)), l->c.equation ? " by " : "",
                      l->c.equation ? l->c.equation : "");
}

/* the product's dimensions: those of both, of a alone, of b alone */
static void list_dims(const struct letters *q, struct graph_dot *dot, char *order)
{
    for (int i = 0; q->a[i]; i++) {
        const char *at = strchr(q->b, q->a[i]);

        if (at && strchr(q->out, *at)) {
            dot->lhs_batch[dot->batch_count] = i;
            dot->rhs_batch[dot->batch_count++] = (int)(at - q->b);
            append(order, *at, 1);
        } else if (at) {
            dot->lhs_contract[dot->contract_count] = i;
            dot->rhs_contract[dot->contract_count++] = (int)(at - q->b);
        }
    }
    for (const char *c = q->a; *c; c++)
        if (!strchr(q->b, *c))
            append(order, *c, 1);
    for (const char *c = q->b; *c; c++)
        if (!strchr(q->a, *c))
            append(order, *c, 1);
}

static int call_products(struct layer_call *c, const int *operand, int count)
{
    struct graph *g = &c->t->graph;
    struct graph_dot dot = {.batch_count = 0};
    int dims[GRAPH_RANK_MAX], x;
    char order[2 * GRAPH_RANK_MAX + 1] = "";
    struct letters q;

    (void)count;
    find_letters(c->layer, g->node[operand[0]].shape.rank, g->node[operand[1]].shape.rank, &q);
    list_dims(&q, &dot, order);
    x = graph_dot_general(g, operand[0], operand[1], &dot, c->dtype, c->precision);
    for (int i = 0; order[i]; i++)
        dims[i] = (int)(strchr(order, q.out[i]) - order);
    return strcmp(order, q.out) == 0 ? x : graph_transpose(g, x, dims);
}

const struct operation_form operation_products = {check_products, call_products};
