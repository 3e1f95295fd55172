/*
 * Which dimensions of a product's arrays are rows, columns and contraction of
 * its tiles, which follow these, and which the grid counts. A layout that does
 * not do is refused by name.
 */
#include "stack/kernels/dot/kernel_dot_body.h"

#include <string.h>

#define DIMS_MAX (2 * GRAPH_RANK_MAX)

/* a dimension of the product, and its places in the arrays that have it (else -1) */
struct dim {
    enum dot_side side;
    int64_t count;
    int lhs, rhs, result;
};

struct reader {
    struct dot_problem *p;
    const struct graph_node *dot;
    const struct array *lhs, *rhs, *result;
    struct dim dim[DIMS_MAX];
    int dim_count;
};

static int missing(struct err *e, const struct array *a, const char *what)
{
    char text[128];

    return err_set(e, "layout: %s of %s is %s", array_print(a, text, sizeof(text)), a->name, what);
}

/* ----- all dimensions */

static bool is_among(const int *list, int count, int dim)
{
    for (int i = 0; i < count; i++)
        if (list[i] == dim)
            return true;
    return false;
}

/* where dimension `usual` of [batch, lhs free, rhs free] is in the result */
static int result_place(const struct graph_node *dot, int usual)
{
    for (int i = 0; i < dot->shape.rank && dot->dot.has_order; i++)
        if (dot->dot.order[i] == usual)
            return i;
    return usual;
}

static struct dim *add_dim(struct reader *r, enum dot_side side, const struct array *a, int at)
{
    struct dim *d = &r->dim[r->dim_count++];

    *d = (struct dim){.side = side, .count = a->shape.dim[at], .lhs = -1, .rhs = -1, .result = -1};
    return d;
}

/* dimensions of HLO's left or right operand that are neither batch nor contracted */
static void add_free(struct reader *r, bool is_hlo_rhs, int *usual)
{
    const struct graph_dot *d = &r->dot->dot;
    bool is_rhs = is_hlo_rhs != r->p->is_swapped;
    const struct array *a = is_rhs ? r->rhs : r->lhs;

    for (int i = 0; i < a->shape.rank; i++) {
        struct dim *x;

        if (is_among(is_hlo_rhs ? d->rhs_batch : d->lhs_batch, d->batch_count, i)
            || is_among(is_hlo_rhs ? d->rhs_contract : d->lhs_contract, d->contract_count, i))
            continue;
        x = add_dim(r, is_rhs ? SIDE_N : SIDE_M, a, i);
        *(is_rhs ? &x->rhs : &x->lhs) = i;
        x->result = result_place(r->dot, (*usual)++);
    }
}

static void add_pair(struct reader *r, enum dot_side side, int hlo_lhs, int hlo_rhs, int result)
{
    struct dim *x = add_dim(r, side, r->lhs, r->p->is_swapped ? hlo_rhs : hlo_lhs);

    x->lhs = r->p->is_swapped ? hlo_rhs : hlo_lhs;
    x->rhs = r->p->is_swapped ? hlo_lhs : hlo_rhs;
    x->result = result;
}

static void list_dims(struct reader *r)
{
    const struct graph_dot *d = &r->dot->dot;
    int usual = d->batch_count;

    for (int i = 0; i < d->batch_count; i++)
        add_pair(r, SIDE_BATCH, d->lhs_batch[i], d->rhs_batch[i], result_place(r->dot, i));
    add_free(r, false, &usual);
    add_free(r, true, &usual);
    for (int i = 0; i < d->contract_count; i++)
        add_pair(r, SIDE_K, d->lhs_contract[i], d->rhs_contract[i], -1);
}

/* ----- the tiled ones */

static const struct dim *lhs_dim(const struct reader *r, int at)
{
    for (int i = 0; i < r->dim_count; i++)
        if (r->dim[i].lhs == at)
            return &r->dim[i];
    return NULL;
}

static const struct dim *rhs_dim(const struct reader *r, int at)
{
    for (int i = 0; i < r->dim_count; i++)
        if (r->dim[i].rhs == at)
            return &r->dim[i];
    return NULL;
}

struct tiled { const struct dim *free, *contract; };

static int find_tiled(const struct array *a, const struct dim *row, const struct dim *lane,
                      bool *rows_contract, struct tiled *t, struct err *e)
{
    *rows_contract = row->side == SIDE_K;
    if ((row->side == SIDE_K) == (lane->side == SIDE_K) || row->side == SIDE_BATCH
        || lane->side == SIDE_BATCH)
        return missing(e, a, "not tiled by one contracted and one other dimension");
    *t = *rows_contract ? (struct tiled){lane, row} : (struct tiled){row, lane};
    return 0;
}

static void read_matrix(struct dot_matrix *m, const struct array *a)
{
    *m = (struct dot_matrix){.array = a, .row_tiles = a->tiles_down,
                             .lane_tiles = a->tiles_across};
}

static int read_tiled(struct reader *r, struct err *e)
{
    struct dot_problem *p = r->p;
    struct tiled lhs = {NULL, NULL}, rhs = lhs;
    bool rhs_rows = false;

    if (r->lhs->is_linear || r->rhs->is_linear)
        return missing(e, r->lhs->is_linear ? r->lhs : r->rhs,
                       "linear: a product takes matrices");
    if (find_tiled(r->lhs, lhs_dim(r, r->lhs->row_dim), lhs_dim(r, r->lhs->lane_dim),
                   &p->is_lhs_transposed, &lhs, e)
        || find_tiled(r->rhs, rhs_dim(r, r->rhs->row_dim), rhs_dim(r, r->rhs->lane_dim),
                      &rhs_rows, &rhs, e))
        return -1;
    p->is_rhs_transposed = !rhs_rows;
    read_matrix(&p->lhs, r->lhs);
    read_matrix(&p->rhs, r->rhs);
    if (lhs.contract != rhs.contract)
        return missing(e, r->rhs, "contracted in its tiles along another dimension than its "
                       "other operand");
    if (lhs.free->result != r->result->row_dim || rhs.free->result != r->result->lane_dim)
        return missing(e, r->result, "not tiled as its operands are");
    p->m = lhs.free->count;
    p->n = rhs.free->count;
    p->k = lhs.contract->count;
    return 0;
}

/* ----- those outside of tiles */

/* of lhs, rhs, and of the arrays of the epilogue, in tiles; 0: the array does not have it */
struct outer { enum dot_side side; int64_t count, lhs, rhs, extra[DOT_ARRAYS_MAX]; };

struct outers {
    struct dot_problem *p;
    struct outer outer[DIMS_MAX];
    int count;
};

static int64_t stride_of(const struct array *a, int dim)
{
    return dim < 0 ? 0 : array_outer_stride(a, dim);
}

static bool is_tiled(const struct array *a, int dim)
{
    return dim >= 0 && (dim == a->row_dim || dim == a->lane_dim);
}

static int list_outers(const struct reader *r, struct outers *list, struct err *e)
{
    for (int i = 0; i < r->dim_count; i++) {
        const struct dim *d = &r->dim[i];
        struct outer *o = &list->outer[list->count];

        if (d->count == 1 || is_tiled(r->lhs, d->lhs) || is_tiled(r->rhs, d->rhs))
            continue;
        if (is_tiled(r->result, d->result))
            return missing(e, r->result, "not tiled as its operands are");
        *o = (struct outer){.side = d->side, .count = d->count, .lhs = stride_of(r->lhs, d->lhs),
                            .rhs = stride_of(r->rhs, d->rhs)};
        for (int x = 0; x < r->p->extra_count; x++)
            if (r->p->extra[x].kind == EXTRA_MATRIX)
                o->extra[x] = stride_of(r->p->extra[x].matrix.array, d->result);
        list->count++;
    }
    return 0;
}

static void drop_outer(struct outers *list, int i)
{
    memmove(&list->outer[i], &list->outer[i + 1],
            (size_t)(--list->count - i) * sizeof(list->outer[0]));
}

static bool follows(const struct dot_matrix *m, int64_t stride, int64_t rows)
{
    return stride == m->row_tiles * m->array->tiles_across
           && rows % m->array->tile_rows == 0;
}

/* rows that go on without a gap in the left operand and in all arrays of the epilogue */
static bool is_more_rows(const struct dot_problem *p, const struct outer *o)
{
    bool fits = o->side == SIDE_M && !p->is_lhs_transposed && follows(&p->lhs, o->lhs, p->m);

    for (int x = 0; x < p->extra_count; x++)
        if (p->extra[x].kind == EXTRA_MATRIX)
            fits = fits && follows(&p->extra[x].matrix, o->extra[x], p->m);
    return fits;
}

/* a contraction that goes on along the rows of both operands */
static bool is_deeper(const struct dot_problem *p, const struct outer *o)
{
    return o->side == SIDE_K && p->is_lhs_transposed && !p->is_rhs_transposed
           && follows(&p->lhs, o->lhs, p->k) && follows(&p->rhs, o->rhs, p->k);
}

static void add_rows(struct dot_problem *p, int64_t count)
{
    p->m *= count;
    p->lhs.row_tiles *= count;
    for (int x = 0; x < p->extra_count; x++)
        p->extra[x].matrix.row_tiles *= count;
}

static void add_depth(struct dot_problem *p, int64_t count)
{
    p->k *= count;
    p->lhs.row_tiles *= count;
    p->rhs.row_tiles *= count;
}

static bool join_tiles(struct outers *list)
{
    for (int i = list->count - 1; i >= 0; i--) {
        const struct outer *o = &list->outer[i];

        if (!is_more_rows(list->p, o) && !is_deeper(list->p, o))
            continue;
        (o->side == SIDE_M ? add_rows : add_depth)(list->p, o->count);
        drop_outer(list, i);
        return true;
    }
    return false;
}

static bool nests(const struct dot_problem *p, const struct outer *a, const struct outer *b)
{
    bool fits = a->side == b->side && a->lhs == b->lhs * b->count && a->rhs == b->rhs * b->count;

    for (int i = 0; i < p->extra_count; i++)
        fits = fits && a->extra[i] == b->extra[i] * b->count;
    return fits;
}

/* two that are as good as one */
static bool join_outers(struct outers *list)
{
    for (int i = 0; i < list->count; i++)
        for (int k = 0; k < list->count; k++)
            if (i != k && nests(list->p, &list->outer[i], &list->outer[k])) {
                list->outer[k].count *= list->outer[i].count;
                drop_outer(list, i);
                return true;
            }
    return false;
}

static int keep_outers(const struct outers *list, const struct array *result, struct err *e)
{
    struct dot_problem *p = list->p;

    if (list->count > DOT_OUTER_MAX)
        return missing(e, result, "of a product in too many dimensions outside its tiles");
    p->outer_count = list->count;
    for (int i = 0; i < list->count; i++) {
        const struct outer *o = &list->outer[i];

        p->outer[i] = (struct dot_outer){o->side, o->count};
        p->lhs.outer[i] = o->lhs;
        p->rhs.outer[i] = o->rhs;
        for (int x = 0; x < p->extra_count; x++)
            p->extra[x].matrix.outer[i] = o->extra[x];
    }
    return 0;
}

static int read_outers(const struct reader *r, bool is_apart, struct err *e)
{
    struct outers list = {.p = r->p};

    if (list_outers(r, &list, e))
        return -1;
    while (join_tiles(&list) || (!is_apart && join_outers(&list)))
        continue;
    return keep_outers(&list, r->result, e);
}

/* ----- the epilogue's arrays */

static bool is_per_column(const struct graph *body, int node, const struct array *result)
{
    const struct graph_node *n = &body->node[node];

    return n->op == HLO_BROADCAST && dot_body_vector(body, n) != NODE_NONE
           && n->dims[0] == result->lane_dim;
}

static int add_extra(struct dot_problem *p, const struct array *a, enum dot_extra_kind kind,
                     int node, bool is_result, struct err *e)
{
    struct dot_extra *x = &p->extra[p->extra_count];

    if (p->extra_count == DOT_ARRAYS_MAX)
        return err_set(e, "a kernel with more than %d arrays", DOT_ARRAYS_MAX);
    *x = (struct dot_extra){.kind = kind, .node = node, .is_result = is_result};
    read_matrix(&x->matrix, a);
    p->extra_count++;
    if (kind == EXTRA_MATRIX && a->tile_rows > p->group_rows)
        p->group_rows = a->tile_rows;
    return 0;
}

static bool is_needed(const struct graph *body, int node, int by)
{
    const struct graph_node *n = &body->node[by];

    for (int i = 0; i < n->operand_count; i++)
        if (n->operand[i] == node || is_needed(body, node, n->operand[i]))
            return true;
    return false;
}

static int read_extras(struct reader *r, const struct kernel_job *job, struct err *e)
{
    struct dot_problem *p = r->p;
    const struct array *result = job->result[0];

    for (int i = 0; i < p->body->node_count; i++) {
        const struct graph_node *n = &p->body->node[i];

        if (is_per_column(p->body, i, result)) {
            int vector = dot_body_vector(p->body, n);

            if (add_extra(p, job->operand[p->body->node[vector].parameter_index], EXTRA_COLUMNS,
                          vector, false, e))
                return -1;
        } else if (n->op == HLO_PARAMETER && shape_same_dims(&n->shape, &r->dot->shape)
                   && !is_needed(p->body, i, p->node)) {
            if (add_extra(p, job->operand[n->parameter_index], EXTRA_MATRIX, i, false, e))
                return -1;
        }
    }
    for (int i = 0; i < job->result_count; i++)
        if (add_extra(p, job->result[i], EXTRA_MATRIX, p->body->output[i].node, true, e))
            return -1;
    for (int i = 0; i < p->extra_count; i++) {
        const struct array *a = p->extra[i].matrix.array;

        if (p->extra[i].kind == EXTRA_MATRIX
            && (a->is_linear || a->row_dim != result->row_dim || a->lane_dim != result->lane_dim))
            return missing(e, a, "not tiled as the result is");
    }
    return 0;
}

/* whether the columns of the result are those of HLO's left operand */
static bool is_swapped(const struct graph *body, const struct graph_node *dot, int lane)
{
    int rank = body->node[dot->operand[0]].shape.rank;
    int usual = dot->dot.has_order ? dot->dot.order[lane] : lane;

    return usual < rank - dot->dot.contract_count;
}

int dot_problem_read(struct dot_problem *p, const struct kernel_job *job, bool is_apart,
                     struct err *e)
{
    struct reader r = {.p = p, .result = job->result[0]};

    memset(p, 0, sizeof(*p));
    if (dot_body_check(job->body, job->chip, e))
        return -1;
    p->body = job->body;
    p->node = dot_body_find(job->body);
    r.dot = &job->body->node[p->node];
    if (r.result->is_linear)
        return missing(e, r.result, "linear: a product gives matrices");
    p->is_swapped = is_swapped(job->body, r.dot, r.result->lane_dim);
    p->lhs_parameter = dot_body_parameter(job->body, r.dot->operand[p->is_swapped]);
    p->rhs_parameter = dot_body_parameter(job->body, r.dot->operand[!p->is_swapped]);
    r.lhs = job->operand[p->lhs_parameter];
    r.rhs = job->operand[p->rhs_parameter];
    dot_body_type(r.lhs->shape.dtype, &p->lhs_type);
    dot_body_type(r.rhs->shape.dtype, &p->rhs_type);
    p->precision = p->lhs_type == MATRIX_F32 ? r.dot->precision : PRECISION_DEFAULT;
    p->group_rows = matrix_rows(p->precision == PRECISION_DEFAULT ? p->lhs_type : MATRIX_BF16);
    list_dims(&r);
    if (read_extras(&r, job, e) || read_tiled(&r, e))
        return -1;
    dot_body_epilogue_cost(p->body, p->node, job->chip, &p->epilogue);
    return read_outers(&r, is_apart, e);
}
