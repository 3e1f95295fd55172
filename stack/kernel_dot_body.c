#include "stack/kernel_dot_body.h"

#include <string.h>

#include "base/units.h"
#include "sim/limits.h"
#include "stack/fused.h"

enum role { ROLE_BATCH, ROLE_CONTRACT, ROLE_FREE };

/* ----- the graph */

static int find_dot(const struct graph *body)
{
    int found = NODE_NONE;

    for (int i = 0; i < body->node_count; i++)
        if (body->node[i].op == HLO_DOT)
            found = found == NODE_NONE ? i : -2;
    return found;
}

/* the parameter that an operand is, behind conversions that the unit makes itself; else -1 */
static int operand_parameter(const struct graph *body, int node)
{
    const struct graph_node *n = &body->node[node];

    while (n->op == HLO_CONVERT && (n->shape.dtype == DTYPE_F32 || n->shape.dtype == DTYPE_BF16)) {
        const struct graph_node *from = &body->node[n->operand[0]];

        if (from->shape.dtype != DTYPE_BF16 && from->shape.dtype != DTYPE_F32)
            break;
        n = from;
    }
    return n->op == HLO_PARAMETER ? n->parameter_index : -1;
}

static int matrix_type_of(enum graph_dtype dtype, enum matrix_type *type)
{
    switch (dtype) {
    case DTYPE_F32: *type = MATRIX_F32; return 0;
    case DTYPE_BF16: *type = MATRIX_BF16; return 0;
    case DTYPE_S8: *type = MATRIX_S8; return 0;
    case DTYPE_U8: *type = MATRIX_U8; return 0;
    default: return -1;
    }
}

static enum graph_dtype operand_type(const struct graph *body, int node)
{
    return body->node[body->parameter[operand_parameter(body, node)]].shape.dtype;
}

static int check_operand(const struct graph *body, int node, const struct chip *chip,
                         struct err *e)
{
    int parameter = operand_parameter(body, node);
    enum matrix_type type;

    if (parameter < 0)
        return err_set(e, "an operand of a product must be a parameter, not computed");
    if (matrix_type_of(body->node[body->parameter[parameter]].shape.dtype, &type))
        return err_set(e, "a product takes f32, bf16, s8 and u8");
    if (matrix_is_integer(type)
        && (!chip_matmul_cycles(chip, type) || !chip_push_cycles(chip, type)))
        return err_set(e, "the matrix units of this chip do not take %s",
                       matrix_type_name(type));
    return 0;
}

static bool is_vector_per_column(const struct graph *body, const struct graph_node *n)
{
    const struct graph_node *from = &body->node[n->operand[0]];

    return from->op == HLO_PARAMETER && from->shape.rank == 1
           && (from->shape.dtype == DTYPE_F32 || from->shape.dtype == DTYPE_S32);
}

/* what a round can compute of its results */
static int check_result(const struct graph *body, int dot, int node, struct err *e)
{
    const struct graph_node *n = &body->node[node];

    if (node == dot || (n->op == HLO_CONSTANT && !n->literal)
        || (n->op == HLO_PARAMETER && shape_same_dims(&n->shape, &body->node[dot].shape)))
        return 0;
    if (n->op == HLO_BROADCAST && is_vector_per_column(body, n))
        return 0;
    if (n->op == HLO_BROADCAST && body->node[n->operand[0]].op != HLO_CONSTANT)
        return err_set(e, "%s: with a product go arrays of its shape, vectors of f32 or s32 along "
                       "its columns and constants", n->name);
    if (n->op != HLO_BROADCAST && !fused_is_elementwise(n))
        return err_set(e, "%s (%s) cannot be computed with a product", n->name,
                       graph_op_name(n->op));
    for (int i = 0; i < n->operand_count; i++)
        if (check_result(body, dot, n->operand[i], e))
            return -1;
    return 0;
}

int dot_body_check(const struct graph *body, const struct chip *chip, struct err *e)
{
    int at = find_dot(body);
    const struct graph_node *n;

    if (at < 0)
        return err_set(e, at == NODE_NONE ? "no product" : "more than one product in a kernel");
    n = &body->node[at];
    if (check_operand(body, n->operand[0], chip, e) || check_operand(body, n->operand[1], chip, e))
        return -1;
    if (n->precision != PRECISION_DEFAULT
        && operand_type(body, n->operand[0]) != operand_type(body, n->operand[1]))
        return err_set(e, "at a precision above the default both operands must be of one type");
    for (int i = 0; i < body->output_count; i++)
        if (!shape_same_dims(&body->node[body->output[i].node].shape, &n->shape))
            return err_set(e, "a result of another shape than the product's");
    for (int i = 0; i < body->output_count; i++)
        if (check_result(body, at, body->output[i].node, e))
            return -1;
    return 0;
}

/* ----- dimensions of operands */

static bool is_among(const int *list, int count, int dim)
{
    for (int i = 0; i < count; i++)
        if (list[i] == dim)
            return true;
    return false;
}

static enum role role_of(const struct graph_node *dot, bool is_rhs, int dim)
{
    const struct graph_dot *d = &dot->dot;

    if (is_among(is_rhs ? d->rhs_batch : d->lhs_batch, d->batch_count, dim))
        return ROLE_BATCH;
    if (is_among(is_rhs ? d->rhs_contract : d->lhs_contract, d->contract_count, dim))
        return ROLE_CONTRACT;
    return ROLE_FREE;
}

/* the dimension of the result that operand dimension `dim` becomes; -1: contracted */
static int result_dim(const struct graph *body, const struct graph_node *dot, bool is_rhs, int dim)
{
    const int *batch = is_rhs ? dot->dot.rhs_batch : dot->dot.lhs_batch;
    int rank = body->node[dot->operand[0]].shape.rank, at = dot->dot.batch_count;
    enum role role = role_of(dot, is_rhs, dim);

    if (role == ROLE_CONTRACT)
        return -1;
    for (int i = 0; i < dot->dot.batch_count; i++)
        if (batch[i] == dim)
            return i;
    for (int i = 0; is_rhs && i < rank; i++)
        at += role_of(dot, false, i) == ROLE_FREE;
    for (int i = 0; i < dim; i++)
        at += role_of(dot, is_rhs, i) == ROLE_FREE;
    return at;
}

/*
 * A dimension outside the tiles of some array, with its strides in tiles: of
 * lhs, rhs, and of the arrays of the epilogue.
 */
struct outer { int64_t count, lhs, rhs, extra[DOT_ARRAYS_MAX]; bool is_rows; };

struct reader {
    struct dot_problem *p;
    const struct graph_node *dot;
    const struct array *lhs, *rhs;
    bool lhs_is_hlo_rhs;
    struct outer outer[GRAPH_RANK_MAX];
    int outer_count;
};

static int64_t stride_of(const struct array *a, int dim)
{
    if (dim == a->row_dim || dim == a->lane_dim || a->shape.dim[dim] == 1)
        return 0;
    return array_outer_stride(a, dim);
}

static int missing(struct err *e, const struct array *a, const char *what)
{
    char text[128];

    return err_set(e, "layout: %s of %s is %s", array_print(a, text, sizeof(text)), a->name, what);
}

/* the dimension of an operand that is dimension `dim` of the result; -1: none */
static int operand_dim(const struct reader *r, const struct array *a, bool is_hlo_rhs, int dim)
{
    for (int i = 0; i < a->shape.rank; i++)
        if (result_dim(r->p->body, r->dot, is_hlo_rhs, i) == dim)
            return i;
    return -1;
}

/* what dimension of the result, of the arrays outside tiles, is counted by the grid */
static int list_outer(struct reader *r, int row, int lane, struct err *e)
{
    for (int dim = 0; dim < r->dot->shape.rank; dim++) {
        struct outer *o = &r->outer[r->outer_count];
        int lhs = operand_dim(r, r->lhs, r->lhs_is_hlo_rhs, dim);
        int rhs = operand_dim(r, r->rhs, !r->lhs_is_hlo_rhs, dim);

        if (dim == row || dim == lane || r->dot->shape.dim[dim] == 1)
            continue;
        *o = (struct outer){.count = r->dot->shape.dim[dim],
                            .is_rows = lhs >= 0 && rhs < 0};
        if (lhs >= 0 && (lhs == r->lhs->row_dim || lhs == r->lhs->lane_dim))
            return missing(e, r->lhs, "tiled along a dimension that its result does not tile");
        if (rhs >= 0 && (rhs == r->rhs->row_dim || rhs == r->rhs->lane_dim))
            return missing(e, r->rhs, "tiled along a dimension that its result does not tile");
        o->lhs = lhs < 0 ? 0 : stride_of(r->lhs, lhs);
        o->rhs = rhs < 0 ? 0 : stride_of(r->rhs, rhs);
        for (int i = 0; i < r->p->extra_count; i++)
            if (r->p->extra[i].kind == EXTRA_MATRIX)
                o->extra[i] = stride_of(r->p->extra[i].matrix.array, dim);
        r->outer_count++;
    }
    return 0;
}

static bool follows(const struct dot_matrix *m, int64_t stride, int64_t rows)
{
    return stride == m->row_tiles * m->array->tiles_across
           && rows % m->array->tile_rows == 0;
}

/* dimensions that follow the rows without a gap in every array that has rows become rows */
static void merge_rows(struct reader *r)
{
    struct dot_problem *p = r->p;

    for (int i = r->outer_count - 1; i >= 0; i--) {
        const struct outer *o = &r->outer[i];
        bool fits = o->is_rows && !p->is_lhs_transposed && follows(&p->lhs, o->lhs, p->m);

        for (int x = 0; x < p->extra_count; x++)
            if (p->extra[x].kind == EXTRA_MATRIX)
                fits = fits && follows(&p->extra[x].matrix, o->extra[x], p->m);
        if (!fits)
            continue;
        p->m *= o->count;
        p->lhs.row_tiles *= o->count;
        for (int x = 0; x < p->extra_count; x++)
            p->extra[x].matrix.row_tiles *= o->count;
        memmove(&r->outer[i], &r->outer[i + 1],
                (size_t)(--r->outer_count - i) * sizeof(r->outer[0]));
        i = r->outer_count;
    }
}

static bool nests(const struct reader *r, const struct outer *a, const struct outer *b)
{
    bool fits = a->lhs == b->lhs * b->count && a->rhs == b->rhs * b->count;

    for (int i = 0; i < r->p->extra_count; i++)
        fits = fits && a->extra[i] == b->extra[i] * b->count;
    return fits;
}

static int keep_outer(struct reader *r, struct err *e)
{
    struct dot_problem *p = r->p;

    for (int i = 0; i + 1 < r->outer_count; i++)
        if (nests(r, &r->outer[i], &r->outer[i + 1])) {
            r->outer[i + 1].count *= r->outer[i].count;
            memmove(&r->outer[i], &r->outer[i + 1],
                    (size_t)(--r->outer_count - i) * sizeof(r->outer[0]));
            i = -1;
        }
    if (r->outer_count > DOT_OUTER_MAX)
        return missing(e, p->extra[p->extra_count - 1].matrix.array,
                       "in more than two dimensions outside its tiles");
    for (int i = 0; i < DOT_OUTER_MAX; i++) {
        const struct outer *o = &r->outer[i];

        p->outer_count[i] = i < r->outer_count ? o->count : 1;
        if (i >= r->outer_count)
            continue;
        p->lhs.outer[i] = o->lhs;
        p->rhs.outer[i] = o->rhs;
        for (int x = 0; x < p->extra_count; x++)
            p->extra[x].matrix.outer[i] = o->extra[x];
    }
    return 0;
}

/* ----- operands */

static void read_matrix(struct dot_matrix *m, const struct array *a)
{
    *m = (struct dot_matrix){.array = a, .row_tiles = a->tiles_down,
                             .lane_tiles = a->tiles_across};
}

/* contracted dimensions outside the tiles, which follow the contracted rows without a gap */
static int merge_contracted(struct reader *r, const struct array *a, bool is_hlo_rhs,
                            bool is_tiled_by_row, struct dot_matrix *m, int64_t *k, struct err *e)
{
    for (int i = a->outer_count - 1; i >= 0; i--) {
        int dim = a->outer_dim[i];

        if (role_of(r->dot, is_hlo_rhs, dim) != ROLE_CONTRACT || a->shape.dim[dim] == 1)
            continue;
        if (!is_tiled_by_row || !follows(m, array_outer_stride(a, dim), *k))
            return missing(e, a, "contracted over a dimension outside its tiles");
        m->row_tiles *= a->shape.dim[dim];
        *k *= a->shape.dim[dim];
    }
    return 0;
}

static int check_tiled(struct reader *r, const struct array *a, bool is_hlo_rhs,
                       bool *rows_contract, struct err *e)
{
    enum role row, lane;

    if (a->is_linear)
        return missing(e, a, "linear: a product takes matrices");
    row = role_of(r->dot, is_hlo_rhs, a->row_dim);
    lane = role_of(r->dot, is_hlo_rhs, a->lane_dim);
    *rows_contract = row == ROLE_CONTRACT;
    if ((row == ROLE_CONTRACT) == (lane == ROLE_CONTRACT) || row == ROLE_BATCH
        || lane == ROLE_BATCH)
        return missing(e, a, "not tiled by one contracted and one other dimension");
    return 0;
}

static int read_operands(struct reader *r, const struct array *result, struct err *e)
{
    struct dot_problem *p = r->p;
    bool lhs_rows, rhs_rows;
    int64_t rhs_k;
    int row, lane;

    if (check_tiled(r, r->lhs, r->lhs_is_hlo_rhs, &lhs_rows, e)
        || check_tiled(r, r->rhs, !r->lhs_is_hlo_rhs, &rhs_rows, e))
        return -1;
    read_matrix(&p->lhs, r->lhs);
    read_matrix(&p->rhs, r->rhs);
    p->is_rhs_transposed = !rhs_rows;
    p->is_lhs_transposed = lhs_rows;
    p->k = r->lhs->shape.dim[lhs_rows ? r->lhs->row_dim : r->lhs->lane_dim];
    rhs_k = r->rhs->shape.dim[rhs_rows ? r->rhs->row_dim : r->rhs->lane_dim];
    row = result_dim(p->body, r->dot, r->lhs_is_hlo_rhs,
                     lhs_rows ? r->lhs->lane_dim : r->lhs->row_dim);
    lane = result_dim(p->body, r->dot, !r->lhs_is_hlo_rhs,
                      rhs_rows ? r->rhs->lane_dim : r->rhs->row_dim);
    if (row != result->row_dim || lane != result->lane_dim)
        return missing(e, result, "not tiled as its operands are");
    p->m = result->shape.dim[row];
    p->n = result->shape.dim[lane];
    if (merge_contracted(r, r->lhs, r->lhs_is_hlo_rhs, lhs_rows, &p->lhs, &p->k, e)
        || merge_contracted(r, r->rhs, !r->lhs_is_hlo_rhs, rhs_rows, &p->rhs, &rhs_k, e))
        return -1;
    if (rhs_k != p->k)
        return missing(e, r->rhs, "contracted in another order than its other operand");
    return list_outer(r, row, lane, e);
}

/* ----- the epilogue's arrays */

static bool is_per_column(const struct graph *body, int node, const struct array *result)
{
    const struct graph_node *n = &body->node[node];

    return n->op == HLO_BROADCAST && is_vector_per_column(body, n)
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
            if (add_extra(p, job->operand[p->body->node[n->operand[0]].parameter_index],
                          EXTRA_COLUMNS, n->operand[0], false, e))
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

int dot_problem_read(struct dot_problem *p, const struct kernel_job *job, struct err *e)
{
    struct reader r = {.p = p};
    const struct array *result = job->result[0];
    int lane, rank;

    memset(p, 0, sizeof(*p));
    if (dot_body_check(job->body, job->chip, e))
        return -1;
    p->body = job->body;
    p->node = find_dot(job->body);
    r.dot = &job->body->node[p->node];
    if (result->is_linear)
        return missing(e, result, "linear: a product gives matrices");
    rank = job->body->node[r.dot->operand[0]].shape.rank;
    lane = result->lane_dim;
    p->is_swapped = lane < r.dot->dot.batch_count + rank - r.dot->dot.batch_count
                                - r.dot->dot.contract_count;
    r.lhs_is_hlo_rhs = p->is_swapped;
    p->lhs_parameter = operand_parameter(job->body, r.dot->operand[p->is_swapped]);
    p->rhs_parameter = operand_parameter(job->body, r.dot->operand[!p->is_swapped]);
    r.lhs = job->operand[p->lhs_parameter];
    r.rhs = job->operand[p->rhs_parameter];
    matrix_type_of(r.lhs->shape.dtype, &p->lhs_type);
    matrix_type_of(r.rhs->shape.dtype, &p->rhs_type);
    p->precision = p->lhs_type == MATRIX_F32 ? r.dot->precision : PRECISION_DEFAULT;
    p->group_rows = matrix_rows(p->precision == PRECISION_DEFAULT ? p->lhs_type : MATRIX_BF16);
    if (read_extras(&r, job, e) || read_operands(&r, result, e))
        return -1;
    merge_rows(&r);
    return keep_outer(&r, e);
}
