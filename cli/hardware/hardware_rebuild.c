/*
 * What a profile tells of a fusion is its arrays, in their layouts, and its
 * FLOPs. The computation inside is not there, so it is rebuilt: arrays that
 * are too small to matter are left out, the others are matched by their sizes.
 *
 * Dimensions are taken as they lie in memory, most major first, so that the
 * rebuilt program has the layouts of the profile.
 */
#include "cli/hardware/hardware_rebuild.h"

#include "stack/hlo/array.h"
#include "stack/hlo/rewrite.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXTRA_OPS_MAX = 64, PRODUCT_RANK_MAX = 5 };
static const double small_share = 0.01;         /* of all bytes: too little to matter */
/* elementwise work beside a product's: this share of it, or so many operations per element */
static const double flops_tolerance = 0.12, beside_max = 32;
static const double overwritten_share = 0.5;    /* of both bytes: the rest is not touched */

/* ----- text */

/* Types that the IR lacks stand for one of their size. */
static const struct { const char *name; enum graph_dtype dtype; } types[] = {
    {"f32", DTYPE_F32}, {"bf16", DTYPE_BF16}, {"s32", DTYPE_S32}, {"pred", DTYPE_PRED},
    {"u32", DTYPE_U32}, {"s8", DTYPE_S8}, {"u8", DTYPE_U8}, {"u16", DTYPE_BF16}};
static const char packed[] = "u16[";            /* the bits of 16 masks: dropout's */

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

/* dimensions of size 1 say nothing here; false: one of size 0 */
bool profile_drop_ones(struct profile_array *x)
{
    int kept = 0;

    x->shape = x->whole;
    for (int i = 0; i < x->whole.rank; i++) {
        if (x->whole.dim[i] < 1)
            return false;
        if (x->whole.dim[i] == 1)
            continue;
        for (int k = 0; k < x->whole.rank; k++)
            if (x->at[k] == i)
                x->text_dim[kept] = k;
        x->shape.dim[kept++] = x->whole.dim[i];
    }
    x->shape.rank = kept;
    return true;
}

/* "f32[64,128]{1,0:T(8,128)}", dimensions as they lie in memory */
static bool read_array(const char **at, struct profile_array *to)
{
    int64_t dim[GRAPH_RANK_MAX], order[GRAPH_RANK_MAX];
    enum graph_dtype dtype;
    int rank, ordered = 0;

    to->is_mask = strncmp(*at, packed, sizeof(packed) - 1) == 0 || strncmp(*at, "pred[", 5) == 0;
    to->is_packed = strncmp(*at, packed, sizeof(packed) - 1) == 0;
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
        int which = ordered ? (int)order[i] : rank - 1 - i;

        if (which < 0 || which >= rank)
            return false;
        to->shape.dim[rank - 1 - i] = dim[which];
        to->at[which] = rank - 1 - i;
    }
    to->whole = to->shape;
    to->has_batch_in_lanes = rank > 1 && to->at[0] == rank - 1;
    if (!profile_drop_ones(to))
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
        if (count == PROFILE_ARRAYS_MAX || !read_array(at, &to[count++]))
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

/* the same dimensions in any order: layouts of one shape, which a compiler chooses freely */
static bool same_sizes(const struct shape *a, const struct shape *b)
{
    bool used[GRAPH_RANK_MAX] = {false};

    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++) {
        int at = 0;

        while (at < b->rank && (used[at] || b->dim[at] != a->dim[i]))
            at++;
        if (at == b->rank)
            return false;
        used[at] = true;
    }
    return true;
}


static bool is_small(const struct rebuild *r, const struct profile_array *x)
{
    return x->bytes < small_share * r->op.bytes;
}

/* a mask chooses between the value and nothing, other operands are added */
static void add_operand(struct rebuild *r, int node, bool is_mask)
{
    if (is_mask && r->value != NODE_NONE) {
        int chosen = graph_compare(r->g, COMPARE_NE, node, graph_splat(r->g, node, 0));

        r->value = graph_select(r->g, chosen, r->value, graph_splat(r->g, r->value, 0));
        r->op_count++;
    } else if (r->value == NODE_NONE) {
        r->value = node;
    } else {
        r->value = graph_binary(r->g, HLO_ADD, r->value, node);
        r->op_count++;
    }
}

static int numbered_parameter(struct rebuild *r, const struct profile_array *x, const char *name)
{
    struct shape lies = profile_image_lies(r, &x->shape);
    int node = graph_parameter(r->g, lies, arena_printf(r->g->arena, "%s.%d", name,
                                                        r->g->parameter_count));

    return profile_image_read(r, node, &x->shape);
}

/* a parameter like `x`, as f32 over the root's shape; NODE_NONE if it does not fit */
static int spread_parameter(struct rebuild *r, const struct profile_array *x, const char *name)
{
    struct profile_array as_root = *x;
    int dims[GRAPH_RANK_MAX], node;

    if (same_sizes(&x->shape, &r->root)) {
        as_root.shape = r->root;
        as_root.shape.dtype = x->shape.dtype;
    } else if (!fits(&x->shape, &r->root, dims)) {
        return NODE_NONE;
    }
    node = graph_convert(r->g, numbered_parameter(r, &as_root, name), DTYPE_F32);
    return shape_same_dims(&as_root.shape, &r->root) ? node
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
    uint32_t mask = same_sizes(&x->shape, &r->root) ? 0 : (1u << r->root.rank) - 1;

    if (mask && !fits(&x->shape, &r->root, dims))
        return is_small(r, x);
    for (int i = 0; mask && i < x->shape.rank; i++)
        mask &= ~(1u << dims[i]);
    if (number)                         /* results differ, or one would do for both */
        node = graph_binary(r->g, HLO_MULTIPLY, node, graph_splat(r->g, node, 0.5 + number));
    if (mask)
        node = graph_reduce(r->g, REDUCE_ADD, node, mask);
    if (x->shape.dtype == DTYPE_PRED)
        node = graph_compare(r->g, COMPARE_GT, node, graph_splat(r->g, node, 0));
    else
        node = graph_convert(r->g, node, x->shape.dtype);
    graph_output(r->g, profile_image_write(r, node), "y", -1);
    return true;
}

/*
 * The operand that a result overwrites in part, where the profile counts far fewer bytes than the
 * two have; NULL: there is none
 */
static const struct profile_array *overwritten(const struct rebuild *r)
{
    const struct profile_array *to = &r->op.result[0];

    for (int i = 0; i < r->op.operand_count && r->op.result_count == 1; i++)
        if (shape_equal(&r->op.operand[i].whole, &to->whole) &&
            r->touched < overwritten_share * (r->op.operand[i].bytes + to->bytes))
            return &r->op.operand[i];
    return NULL;
}

/* an update in place: what it touches of the array is read and written, outer dimensions cut first */
static const char *rebuild_update(struct rebuild *r, const struct profile_array *base)
{
    struct profile_array part = *base;
    double element = array_element_bytes(part.shape.dtype), least = r->touched / 2;
    int node;

    for (int i = 0; i < part.shape.rank; i++) {
        double inner = element * (double)shape_elems(&part.shape) / (double)part.shape.dim[i];
        double kept = ceil(least / inner);

        if (kept < (double)part.shape.dim[i])
            part.shape.dim[i] = kept < 1 ? 1 : (int64_t)kept;
    }
    node = numbered_parameter(r, &part, "x");
    graph_output(r->g, graph_binary(r->g, HLO_ADD, node, graph_splat(r->g, node, 1)), "y", -1);
    return NULL;
}

static const char *rebuild_loop(struct rebuild *r, double flops)
{
    const struct profile_array *largest = &r->op.result[0], *base = overwritten(r);

    if (base)
        return rebuild_update(r, base);
    for (int i = 0; i < r->op.operand_count; i++)
        if (shape_elems(&r->op.operand[i].shape) > shape_elems(&largest->shape))
            largest = &r->op.operand[i];
    for (int i = 1; i < r->op.result_count; i++)
        if (shape_elems(&r->op.result[i].shape) > shape_elems(&largest->shape))
            largest = &r->op.result[i];
    r->root = largest->shape;
    r->root.dtype = DTYPE_F32;
    if (!(flops > 0))
        return "no FLOPs: it moves data in a way that shapes do not tell";
    for (int i = 0; i < r->op.operand_count; i++) {
        int node = spread_parameter(r, &r->op.operand[i], "x");

        if (node != NODE_NONE)
            add_operand(r, node, r->op.operand[i].is_mask);
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

struct product {
    int lhs, rhs, result;
    struct graph_dot dot;
    double error, elems, bytes;         /* of its operands */
    int order;
};

/* operands that the computation behind product or convolution has read already */
typedef bool taken[PROFILE_ARRAYS_MAX];

static double product_flops(const struct shape *a, const struct shape *b, const struct graph_dot *d)
{
    double flops = 2.0 * (double)shape_elems(a) * (double)shape_elems(b);

    for (int i = 0; i < d->batch_count; i++)
        flops /= (double)a->dim[d->lhs_batch[i]];
    for (int i = 0; i < d->contract_count; i++)
        flops /= (double)a->dim[d->lhs_contract[i]];
    return flops;
}

/* whether the dimensions of the product are those of `c`, in any order */
static bool makes(const struct shape *a, const struct shape *b, const struct graph_dot *d,
                  const struct shape *c)
{
    bool gone_a[GRAPH_RANK_MAX] = {false}, gone_b[GRAPH_RANK_MAX] = {false};
    struct shape made = {.rank = 0};

    for (int i = 0; i < d->contract_count; i++)
        gone_a[d->lhs_contract[i]] = gone_b[d->rhs_contract[i]] = true;
    for (int i = 0; i < d->batch_count; i++)
        gone_b[d->rhs_batch[i]] = true;
    for (int i = 0; i < a->rank; i++)
        if (!gone_a[i])
            made.dim[made.rank++] = a->dim[i];
    for (int i = 0; i < b->rank && made.rank < GRAPH_RANK_MAX; i++)
        if (!gone_b[i])
            made.dim[made.rank++] = b->dim[i];
    return same_sizes(&made, c);
}

/*
 * How well pairs of dimensions keep their order: neighbours in one operand are likely to be
 * neighbours in the other, and where sizes alone leave a choice among several, it is the outer
 * ones that are summed over: batches rather than heads.
 */
static int order_of_pairs(const struct graph_dot *d)
{
    int score = 0;

    for (int i = 0; i < d->contract_count && d->contract_count > 1; i++) {
        score -= d->lhs_contract[i] + d->rhs_contract[i];
        for (int k = 0; k < d->contract_count; k++)
            if (d->lhs_contract[k] == d->lhs_contract[i] + 1 &&
                d->rhs_contract[k] == d->rhs_contract[i] + 1)
                score += GRAPH_RANK_MAX * GRAPH_RANK_MAX;
    }
    return score;
}

/* One way to take the dimensions of `lhs` after another: free, batch, or contracted. */
struct search {
    const struct shape *a, *b, *c;
    const int *a_text, *b_text;         /* which dimensions of the text theirs are */
    double flops;
    bool used[GRAPH_RANK_MAX];          /* dimensions of b */
    struct product p, *best;
};

/*
 * Of two products of equal FLOPs that of larger operands; of narrower ones, for f32 is what is
 * added to a product of bf16; of the same ones by their order.
 */
static bool is_likelier(const struct search *s)
{
    const struct product *p = &s->p, *best = s->best;

    if (p->elems < best->elems || p->elems > best->elems)
        return p->elems > best->elems;
    if (p->bytes < best->bytes || p->bytes > best->bytes)
        return p->bytes < best->bytes;
    return p->lhs == best->lhs && p->rhs == best->rhs &&
           p->dot.batch_count == best->dot.batch_count && p->order > best->order;
}

static void consider(struct search *s)
{
    double product = product_flops(s->a, s->b, &s->p.dot);
    double beside = (s->flops - product) / (double)shape_elems(s->c);

    s->p.error = fabs(product / s->flops - 1);
    s->p.order = order_of_pairs(&s->p.dot);
    for (int i = 0; i < s->p.dot.batch_count; i++)      /* batches stand in one place of the text */
        if (s->a_text[s->p.dot.lhs_batch[i]] == s->b_text[s->p.dot.rhs_batch[i]])
            s->p.order += GRAPH_RANK_MAX * GRAPH_RANK_MAX * GRAPH_RANK_MAX;
    if (s->p.dot.contract_count && makes(s->a, s->b, &s->p.dot, s->c) &&
        (s->p.error < flops_tolerance || (beside > 0 && beside < beside_max)) &&
        (s->p.error < s->best->error || (s->p.error <= s->best->error && is_likelier(s))))
        *s->best = s->p;
}

static void pair(struct search *s, int dim)
{
    struct graph_dot *d = &s->p.dot;

    if (dim == s->a->rank) {
        consider(s);
        return;
    }
    pair(s, dim + 1);
    for (int i = 0; i < s->b->rank; i++) {
        if (s->used[i] || s->b->dim[i] != s->a->dim[dim])
            continue;
        s->used[i] = true;
        d->lhs_contract[d->contract_count] = dim;
        d->rhs_contract[d->contract_count++] = i;
        pair(s, dim + 1);
        d->contract_count--;
        d->lhs_batch[d->batch_count] = dim;
        d->rhs_batch[d->batch_count++] = i;
        pair(s, dim + 1);
        d->batch_count--;
        s->used[i] = false;
    }
}

static double bytes_of(const struct shape *s)
{
    return (double)(shape_elems(s) * array_element_bytes(s->dtype));
}

/* The only matrix of numbers may be multiplied by itself, as features that interact are. */
static bool may_multiply(const struct rebuild *r, int a, int b)
{
    int numbers = 0;

    for (int i = 0; i < r->op.operand_count; i++)
        numbers += r->op.operand[i].shape.dtype != DTYPE_PRED && r->op.operand[i].shape.rank > 1;
    return a != b || (numbers == 1 && r->op.operand[a].shape.dtype != DTYPE_PRED);
}

static struct product find_product(const struct rebuild *r, double flops)
{
    struct product best = {.error = 1};

    for (int c = 0; c < r->op.result_count; c++)
        for (int a = 0; a < r->op.operand_count; a++)
            for (int b = 0; b < r->op.operand_count; b++) {
                struct search s = {.a = &r->op.operand[a].shape, .b = &r->op.operand[b].shape,
                                   .c = &r->op.result[c].shape, .flops = flops, .best = &best,
                                   .a_text = r->op.operand[a].text_dim,
                                   .b_text = r->op.operand[b].text_dim,
                                   .p = {.lhs = a, .rhs = b, .result = c}};

                s.p.elems = (double)(shape_elems(s.a) + shape_elems(s.b));
                s.p.bytes = bytes_of(s.a) + bytes_of(s.b);
                if (may_multiply(r, a, b) && s.a->rank > 1 && s.b->rank > 1 && s.a->rank <= PRODUCT_RANK_MAX &&
                    s.b->rank <= PRODUCT_RANK_MAX)
                    pair(&s, 0);
            }
    return best;
}

/* Of two operands that look alike: what stands behind the second in the text is for that. */
static bool is_for_other(const struct rebuild *r, int i, int operand, int other)
{
    const struct shape *s = &r->op.operand[i].shape;

    return same_sizes(&r->op.operand[operand].shape, s) && same_sizes(&r->op.operand[other].shape, s) &&
           other < i && (operand > i || other > operand);
}

/*
 * Each operand of the product in bf16, and beside it what is like it and not like the result: it
 * is multiplied in, as masks and factors of gradients are.
 */
static int factor(struct rebuild *r, int lhs, int rhs, int result, int operand, bool *is_taken)
{
    const struct profile_array *x = &r->op.operand[operand];
    struct rebuild side = {.g = r->g, .op = r->op, .root = x->shape, .value = NODE_NONE,
                           .images = r->images};

    is_taken[operand] = true;
    side.root.dtype = DTYPE_F32;
    for (int i = 0; i < r->op.operand_count; i++) {
        const struct profile_array *y = &r->op.operand[i];
        int dims[GRAPH_RANK_MAX], node;

        if (is_taken[i] || is_small(r, y) || i == lhs || i == rhs ||
            is_for_other(r, i, operand, operand == lhs ? rhs : lhs) ||
            same_sizes(&y->shape, &r->op.result[result].shape) ||
            !(same_sizes(&y->shape, &side.root) || fits(&y->shape, &side.root, dims)))
            continue;
        node = spread_parameter(&side, y, "mask");
        is_taken[i] = true;
        side.value = side.value == NODE_NONE
                         ? node : graph_binary(r->g, HLO_MULTIPLY, side.value, node);
    }
    if (side.value == NODE_NONE)
        return graph_convert(r->g, numbered_parameter(r, x, "factor"), DTYPE_BF16);
    return graph_convert(r->g, graph_binary(r->g, HLO_MULTIPLY, side.value,
                                            spread_parameter(&side, x, "factor")), DTYPE_BF16);
}

struct turn { const struct shape *made, *wanted; int dims[GRAPH_RANK_MAX], best_score, score; };

/*
 * dims[i] is the dimension of `made` that dimension i of `wanted` is; of several ways the one that
 * leaves most neighbours together
 */
static void find_turn(struct turn *t, int at, int *dims, bool *used)
{
    if (at == t->wanted->rank) {
        if (t->score > t->best_score) {
            t->best_score = t->score;
            memcpy(t->dims, dims, sizeof(t->dims));
        }
        return;
    }
    for (int i = 0; i < t->made->rank; i++) {
        int near = at > 0 && dims[at - 1] == i - 1;

        if (used[i] || t->made->dim[i] != t->wanted->dim[at])
            continue;
        used[i] = true;
        dims[at] = i;
        t->score += near;
        find_turn(t, at + 1, dims, used);
        t->score -= near;
        used[i] = false;
    }
}

/* the product's result as it lies in memory */
static int turned(struct graph *g, int dot, const struct shape *wanted)
{
    struct shape made = g->node[dot].shape;
    struct turn t = {.made = &made, .wanted = wanted, .best_score = -1};
    int dims[GRAPH_RANK_MAX] = {0};
    bool used[GRAPH_RANK_MAX] = {false}, is_same = true;

    find_turn(&t, 0, dims, used);
    for (int i = 0; i < made.rank; i++)
        is_same = is_same && t.dims[i] == i;
    return is_same ? dot : graph_transpose(g, dot, t.dims);
}

/* what is left: operands that are added to the value, which is like result `main`, and results */
static const char *finish(struct rebuild *r, int main, const bool *is_taken)
{
    r->root = r->g->node[r->value].shape;
    for (int i = 0; i < r->op.operand_count; i++) {
        int node;

        if (is_taken[i] || is_small(r, &r->op.operand[i]))
            continue;
        node = spread_parameter(r, &r->op.operand[i], "x");
        if (node == NODE_NONE)
            return "a third large operand that is like neither operands nor result";
        add_operand(r, node, r->op.operand[i].is_mask);
    }
    /* packed masks are drawn beside the product, from nothing that its text has */
    for (int i = 0; i < r->op.result_count; i++)
        if ((i == main || !(is_small(r, &r->op.result[i]) || r->op.result[i].is_packed)) && !add_result(r, &r->op.result[i], i))
            return "a second large result that is not like the product";
    return NULL;
}

static const char *rebuild_product(struct rebuild *r, double flops)
{
    struct product p = find_product(r, flops);
    taken is_taken = {false};
    int a, b;

    if (p.error >= 1)
        return "no two operands make a result with these FLOPs";
    a = factor(r, p.lhs, p.rhs, p.result, p.lhs, is_taken);
    b = p.lhs == p.rhs ? a : factor(r, p.lhs, p.rhs, p.result, p.rhs, is_taken);
    r->value = graph_dot_general(r->g, a, b, &p.dot, DTYPE_F32, PRECISION_DEFAULT);
    r->value = turned(r->g, r->value, &r->op.result[p.result].shape);
    return finish(r, p.result, is_taken);
}

/* an array of the profile with its dimensions of size 1, or without them */
static int in_shape(struct graph *g, int node, struct shape shape)
{
    shape.dtype = g->node[node].shape.dtype;
    return shape_same_dims(&g->node[node].shape, &shape) ? node : graph_reshape(g, node, shape);
}

static const char *rebuild_convolution(struct rebuild *r, double flops)
{
    struct profile_conv c;
    taken is_taken = {false};
    int a, b;

    if (!profile_find_convolution(&r->op, flops, &c))
        return "no two operands make a result with these FLOPs";
    profile_lay_images(r, &c);
    profile_find_convolution(&r->op, flops, &c);        /* its labels, in the new order */
    a = factor(r, c.lhs, c.rhs, c.result, c.lhs, is_taken);
    b = factor(r, c.lhs, c.rhs, c.result, c.rhs, is_taken);
    a = in_shape(r->g, a, r->op.operand[c.lhs].whole);
    b = in_shape(r->g, b, r->op.operand[c.rhs].whole);
    r->value = graph_convolution(r->g, a, b, c.window, &c.labels, DTYPE_F32, PRECISION_DEFAULT);
    r->value = in_shape(r->g, r->value, r->op.result[c.result].shape);
    return finish(r, c.result, is_taken);
}

static const char *rebuild(struct rebuild *r, const char *category, double flops)
{
    struct profile_conv c;

    if (strncmp(category, "convolution", 11) != 0)
        return strcmp(category, "loop fusion") == 0 ||
               strcmp(category, "non-fusion elementwise") == 0
                   ? rebuild_loop(r, flops) : profile_rebuild_move(r, category);
    if (profile_find_convolution(&r->op, flops, &c))
        return rebuild_convolution(r, flops);   /* of one pixel, too: as a network has it */
    return rebuild_product(r, flops);
}

struct graph *hardware_rebuild(const char *hlo, const char *category, double flops, double bytes,
                               struct arena *a, const char **why_not)
{
    struct rebuild r = {.value = NODE_NONE, .hlo = hlo,
                        .touched = bytes > 0 ? bytes : INFINITY};

    *why_not = "not a loop fusion or a product";
    if (strncmp(category, "convolution", 11) != 0 && strcmp(category, "loop fusion") != 0 &&
        strcmp(category, "non-fusion elementwise") != 0 && !profile_is_move(category))
        return NULL;
    *why_not = "the text of the operation is cut or has types that are not known here";
    if (!read_op(hlo, &r.op))
        return NULL;
    r.g = arena_alloc(a, sizeof(*r.g));
    graph_init(r.g, a, "profiled");
    *why_not = rebuild(&r, category, flops);
    graph_freeze(r.g);
    return *why_not ? NULL : r.g;
}
