/*
 * What a profile tells of a fusion is its arrays, in their layouts, and its
 * FLOPs. The computation inside is not there, so it is rebuilt: arrays that
 * are too small to matter are left out, the others are matched by their sizes.
 *
 * Dimensions are taken as they lie in memory, most major first, so that the
 * rebuilt program has the layouts of the profile.
 */
#include "cli/hardware.h"

#include "stack/array.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ARRAYS_MAX = 64, EXTRA_OPS_MAX = 64 };
static const double small_share = 0.01;         /* of all bytes: too little to matter */
static const double flops_tolerance = 0.12;     /* elementwise work beside a product's */

struct profile_array { struct shape shape; double bytes; };

struct profile_op {
    struct profile_array result[ARRAYS_MAX], operand[ARRAYS_MAX];
    int result_count, operand_count;
    double bytes;
};

/* ----- text */

/* Types that the IR lacks stand for one of their size. */
static const struct { const char *name; enum graph_dtype dtype; } types[] = {
    {"f32", DTYPE_F32}, {"bf16", DTYPE_BF16}, {"s32", DTYPE_S32}, {"pred", DTYPE_PRED},
    {"u32", DTYPE_U32}, {"s8", DTYPE_S8}, {"u8", DTYPE_U8}, {"u16", DTYPE_BF16}};

static bool read_type(const char **at, enum graph_dtype *dtype)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        size_t length = strlen(types[i].name);

        if (strncmp(*at, types[i].name, length) == 0 && (*at)[length] == '[') {
            *at += length + 1;
            *dtype = types[i].dtype;
            return true;
        }
    }
    return false;
}

/* numbers up to `end`, which is passed over; their count, or -1 */
static int read_numbers(const char **at, char end, int64_t *to)
{
    int count = 0;

    while (isdigit((unsigned char)**at) && count < GRAPH_RANK_MAX) {
        char *behind;

        to[count++] = strtoll(*at, &behind, 10);
        *at = behind + (*behind == ',');
    }
    if (end == '}' && **at == ':')
        *at += strcspn(*at, "}");
    if (**at != end)
        return -1;
    ++*at;
    return count;
}

/* "f32[64,128]{1,0:T(8,128)}", dimensions as they lie in memory */
static bool read_array(const char **at, struct profile_array *to)
{
    int64_t dim[GRAPH_RANK_MAX], order[GRAPH_RANK_MAX];
    enum graph_dtype dtype;
    int rank, ordered = 0;

    if (!read_type(at, &dtype) || (rank = read_numbers(at, ']', dim)) < 0)
        return false;
    if (**at == '{') {
        ++*at;
        ordered = read_numbers(at, '}', order);
    }
    if (ordered != 0 && ordered != rank)
        return false;
    to->shape = (struct shape){.dtype = dtype, .rank = rank};
    for (int i = 0; i < rank; i++) {
        if (ordered && (order[i] < 0 || order[i] >= rank))
            return false;
        to->shape.dim[rank - 1 - i] = dim[ordered ? order[i] : rank - 1 - i];
    }
    for (int i = 0; i < rank; i++)
        if (to->shape.dim[i] < 1)
            return false;
    to->bytes = (double)shape_elems(&to->shape) * array_element_bytes(dtype);
    return true;
}

static void skip_comment(const char **at)
{
    while (**at == ' ' || strncmp(*at, "/*", 2) == 0) {
        const char *end = **at == ' ' ? NULL : strstr(*at, "*/");

        *at = end ? end + 2 : *at + 1;
    }
}

/* arrays up to the closing parenthesis, names of operands passed over; -1: something else */
static int read_list(const char **at, struct profile_array *to)
{
    int count = 0;

    for (skip_comment(at); **at && **at != ')'; skip_comment(at)) {
        if (count == ARRAYS_MAX || !read_array(at, &to[count++]))
            return -1;
        *at += strcspn(*at, ",)");
        *at += **at == ',';
    }
    return **at == ')' ? count : -1;
}

static bool read_op(const char *text, struct profile_op *op)
{
    const char *at = strstr(text, " = ");

    if (!at)
        return false;
    at += 3;
    if (*at == '(') {
        at++;
        op->result_count = read_list(&at, op->result);
    } else {
        op->result_count = read_array(&at, &op->result[0]) ? 1 : -1;
    }
    at = strchr(at, '(');
    if (op->result_count < 1 || !at)
        return false;
    at++;
    op->operand_count = read_list(&at, op->operand);
    for (int i = 0; i < op->result_count; i++)
        op->bytes += op->result[i].bytes;
    for (int i = 0; i < op->operand_count; i++)
        op->bytes += op->operand[i].bytes;
    return op->operand_count >= 0;
}

/* ----- elementwise */

/* dims[i] of `large` is dimension i of `small`, rising; false if sizes do not fit */
static bool fits(const struct shape *small, const struct shape *large, int *dims)
{
    int at = large->rank - 1;

    for (int i = small->rank - 1; i >= 0; i--, at--) {
        while (at >= 0 && large->dim[at] != small->dim[i])
            at--;
        if (at < 0)
            return false;
        dims[i] = at;
    }
    return true;
}

struct rebuild {
    struct graph *g;
    struct profile_op op;
    struct shape root;                  /* f32 */
    int value;                          /* so far, in f32 */
    int op_count;
};

static bool is_small(const struct rebuild *r, const struct profile_array *x)
{
    return x->bytes < small_share * r->op.bytes;
}

static void add_operand(struct rebuild *r, int node)
{
    if (r->value == NODE_NONE) {
        r->value = node;
    } else {
        r->value = graph_binary(r->g, HLO_ADD, r->value, node);
        r->op_count++;
    }
}

/* a parameter like `x`, as f32 over the root's shape; NODE_NONE if it does not fit */
static int spread_parameter(struct rebuild *r, const struct profile_array *x, const char *name)
{
    int dims[GRAPH_RANK_MAX], node;

    if (!fits(&x->shape, &r->root, dims))
        return NODE_NONE;
    node = graph_convert(r->g, graph_parameter(r->g, x->shape, name), DTYPE_F32);
    return shape_same_dims(&x->shape, &r->root) ? node
                                                : graph_broadcast(r->g, node, r->root, dims);
}

/* multiplications and additions, until there are as many as the FLOPs tell */
static void add_work(struct rebuild *r, double flops)
{
    int extra = (int)lround(flops / (double)shape_elems(&r->root)) - r->op_count;

    for (int i = 0; i < extra && i < EXTRA_OPS_MAX; i++)
        r->value = graph_binary(r->g, i % 2 ? HLO_ADD : HLO_MULTIPLY, r->value,
                                graph_splat(r->g, r->value, 1.5 + i));
}

/* the value as a result like `x`: converted, or summed over the dimensions that `x` lacks */
static bool add_result(struct rebuild *r, const struct profile_array *x, int number)
{
    int dims[GRAPH_RANK_MAX], node = r->value;
    uint32_t mask = (1u << r->root.rank) - 1;

    if (!fits(&x->shape, &r->root, dims))
        return is_small(r, x);
    for (int i = 0; i < x->shape.rank; i++)
        mask &= ~(1u << dims[i]);
    if (number)                         /* results differ, or one would do for both */
        node = graph_binary(r->g, HLO_MULTIPLY, node, graph_splat(r->g, node, 0.5 + number));
    if (mask)
        node = graph_reduce(r->g, REDUCE_ADD, node, mask);
    if (x->shape.dtype == DTYPE_PRED)
        node = graph_compare(r->g, COMPARE_GT, node, graph_splat(r->g, node, 0));
    else
        node = graph_convert(r->g, node, x->shape.dtype);
    graph_output(r->g, node, "y", -1);
    return true;
}

static const char *rebuild_loop(struct rebuild *r, double flops)
{
    const struct profile_array *largest = &r->op.result[0];

    for (int i = 0; i < r->op.operand_count; i++)
        if (shape_elems(&r->op.operand[i].shape) > shape_elems(&largest->shape))
            largest = &r->op.operand[i];
    for (int i = 1; i < r->op.result_count; i++)
        if (shape_elems(&r->op.result[i].shape) > shape_elems(&largest->shape))
            largest = &r->op.result[i];
    r->root = largest->shape;
    r->root.dtype = DTYPE_F32;
    if (flops <= 0)
        return "no FLOPs: it moves data in a way that shapes do not tell";
    for (int i = 0; i < r->op.operand_count; i++) {
        int node = spread_parameter(r, &r->op.operand[i], "x");

        if (node != NODE_NONE)
            add_operand(r, node);
        else if (!is_small(r, &r->op.operand[i]))
            return "an operand's dimensions are not among the largest array's";
    }
    if (r->value == NODE_NONE)
        return "no operand of the size of its results";
    add_work(r, flops);
    for (int i = 0; i < r->op.result_count; i++)
        if (!add_result(r, &r->op.result[i], i))
            return "a result's dimensions are not among the largest array's";
    return NULL;
}

/* ----- products */

struct product { int lhs, rhs, result; struct graph_dot dot; double error; };

/* Dimensions of `a` and `b` that pair off: batch ones also lie in `c`. */
static bool pair_dims(const struct shape *a, const struct shape *b, const struct shape *c,
                      struct graph_dot *dot)
{
    bool used_b[GRAPH_RANK_MAX] = {false}, used_c[GRAPH_RANK_MAX] = {false};

    memset(dot, 0, sizeof(*dot));
    for (int i = 0; i < a->rank; i++) {
        int in_b = -1, in_c = -1;

        for (int k = 0; k < b->rank && in_b < 0; k++)
            if (!used_b[k] && b->dim[k] == a->dim[i])
                in_b = k;
        for (int k = 0; k < c->rank && in_c < 0; k++)
            if (!used_c[k] && c->dim[k] == a->dim[i])
                in_c = k;
        if (in_b < 0 && in_c < 0)
            return false;
        if (in_b >= 0 && (in_c < 0 || (c->rank > 2 && i == 0 && in_b == 0 && in_c == 0))) {
            bool is_batch = in_c >= 0;
            int at = is_batch ? dot->batch_count++ : dot->contract_count++;

            (is_batch ? dot->lhs_batch : dot->lhs_contract)[at] = i;
            (is_batch ? dot->rhs_batch : dot->rhs_contract)[at] = in_b;
            used_b[in_b] = true;
        }
        if (in_c >= 0)
            used_c[in_c] = true;
    }
    return dot->contract_count > 0;
}

/* squares: a dimension of `a` is in both others; contract the last instead */
static bool pair_square(const struct shape *a, const struct shape *b, struct graph_dot *dot)
{
    memset(dot, 0, sizeof(*dot));
    if (a->rank < 2 || b->rank < 2 || a->dim[a->rank - 1] != b->dim[0])
        return false;
    dot->contract_count = 1;
    dot->lhs_contract[0] = a->rank - 1;
    return true;
}

static double product_flops(const struct shape *a, const struct shape *b, const struct graph_dot *d)
{
    double flops = 2.0 * (double)shape_elems(a) * (double)shape_elems(b);

    for (int i = 0; i < d->batch_count; i++)
        flops /= (double)a->dim[d->lhs_batch[i]];
    for (int i = 0; i < d->contract_count; i++)
        flops /= (double)a->dim[d->lhs_contract[i]];
    return flops;
}

/* whether batch, free dimensions of `a` and of `b` are those of `c`, in this order */
static bool makes(const struct shape *a, const struct shape *b, const struct graph_dot *d,
                  const struct shape *c)
{
    bool in_a[GRAPH_RANK_MAX] = {false}, in_b[GRAPH_RANK_MAX] = {false}, same = true;
    int at = 0;

    for (int i = 0; i < d->contract_count; i++)
        in_a[d->lhs_contract[i]] = in_b[d->rhs_contract[i]] = true;
    for (int i = 0; i < d->batch_count; i++) {
        in_a[d->lhs_batch[i]] = in_b[d->rhs_batch[i]] = true;
        same = same && at < c->rank && c->dim[at++] == a->dim[d->lhs_batch[i]];
    }
    for (int i = 0; i < a->rank; i++)
        if (!in_a[i])
            same = same && at < c->rank && c->dim[at++] == a->dim[i];
    for (int i = 0; i < b->rank; i++)
        if (!in_b[i])
            same = same && at < c->rank && c->dim[at++] == b->dim[i];
    return same && at == c->rank;
}

static void try_product(const struct rebuild *r, int lhs, int rhs, int result, double flops,
                        struct product *best)
{
    const struct shape *a = &r->op.operand[lhs].shape, *b = &r->op.operand[rhs].shape;
    const struct shape *c = &r->op.result[result].shape;

    for (int way = 0; way < 2; way++) {
        struct product p = {.lhs = lhs, .rhs = rhs, .result = result};

        if (!(way ? pair_square(a, b, &p.dot) : pair_dims(a, b, c, &p.dot)))
            continue;
        p.error = fabs(product_flops(a, b, &p.dot) / flops - 1);
        if (makes(a, b, &p.dot, c) && p.error < best->error)
            *best = p;
    }
}

static struct product find_product(const struct rebuild *r, double flops)
{
    struct product best = {.error = flops_tolerance};

    for (int c = 0; c < r->op.result_count; c++)
        for (int a = 0; a < r->op.operand_count; a++)
            for (int b = 0; b < r->op.operand_count; b++)
                if (a != b && r->op.operand[a].shape.rank > 1 && r->op.operand[b].shape.rank > 1)
                    try_product(r, a, b, c, flops, &best);
    return best;
}

static int factor(struct rebuild *r, int operand)
{
    const struct profile_array *x = &r->op.operand[operand];
    int node = graph_parameter(r->g, x->shape, "factor");

    return x->shape.dtype == DTYPE_BF16 ? node : graph_convert(r->g, node, DTYPE_BF16);
}

static const char *rebuild_product(struct rebuild *r, double flops)
{
    struct product p = find_product(r, flops);
    int a, b;

    if (p.error >= flops_tolerance)
        return "no two operands make a result with these FLOPs";
    a = factor(r, p.lhs);
    b = factor(r, p.rhs);
    r->value = graph_dot_general(r->g, a, b, &p.dot, DTYPE_F32, PRECISION_DEFAULT);
    r->root = r->g->node[r->value].shape;
    for (int i = 0; i < r->op.operand_count; i++) {
        int node;

        if (i == p.lhs || i == p.rhs || is_small(r, &r->op.operand[i]))
            continue;
        node = spread_parameter(r, &r->op.operand[i], "x");
        if (node == NODE_NONE)
            return "a third large operand that is not like the result";
        add_operand(r, node);
    }
    for (int i = 0; i < r->op.result_count; i++)
        if (!add_result(r, &r->op.result[i], i))
            return "a second large result that is not like the product";
    return NULL;
}

struct graph *hardware_rebuild(const char *hlo, const char *category, double flops,
                               struct arena *a, const char **why_not)
{
    struct rebuild r = {.value = NODE_NONE};
    bool is_product = strncmp(category, "convolution", 11) == 0;

    *why_not = "not a loop fusion or a product";
    if (!is_product && strcmp(category, "loop fusion") != 0 &&
        strcmp(category, "non-fusion elementwise") != 0)
        return NULL;
    *why_not = "the text of the operation is cut or has types that are not known here";
    if (!read_op(hlo, &r.op))
        return NULL;
    r.g = arena_alloc(a, sizeof(*r.g));
    graph_init(r.g, a, is_product ? "product" : "loop");
    *why_not = is_product ? rebuild_product(&r, flops) : rebuild_loop(&r, flops);
    return *why_not ? NULL : r.g;
}
