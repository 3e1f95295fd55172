/* Stages of a product: which parts of a body they are, and the loop fusions that they become. */
#include "stack/kernels/dot/kernel_dot_fused.h"
#include "stack/kernels/dot/kernel_dot_epilogue.h"

#include <string.h>

#include "stack/hlo/rewrite.h"

/* ----- parts of a body as graphs of their own */

struct part {
    const struct graph *from;
    struct graph *to;
    int *moved;                         /* by node of `from`, NODE_NONE: not there yet */
    const struct array *const *array;   /* of the parameters of `from`, or NULL */
    const struct array **operand;       /* of the parameters of `to`, or NULL */
};

static struct part begin(const struct graph *from, const struct array *const *array,
                         const struct array **operand, struct arena *a)
{
    struct part p = {.from = from, .to = arena_alloc(a, sizeof(*p.to)), .array = array,
                     .operand = operand,
                     .moved = arena_array(a, (size_t)from->node_count, sizeof(int))};

    graph_init(p.to, a, from->name);
    for (int i = 0; i < from->node_count; i++)
        p.moved[i] = NODE_NONE;
    return p;
}

/* a parameter in the place of node `node`, which `array` holds */
static void replace(struct part *p, int node, enum graph_dtype dtype, const struct array *array)
{
    struct shape s = p->from->node[node].shape;

    s.dtype = dtype;
    if (p->operand)
        p->operand[p->to->parameter_count] = array;
    p->to->source = p->from->node[node].source;
    p->moved[node] = graph_parameter(p->to, s, p->from->node[node].name);
}

static int copy(struct part *p, int node)
{
    const struct graph_node *n = &p->from->node[node];
    int *operand;

    if (p->moved[node] != NODE_NONE)
        return p->moved[node];
    if (n->op == HLO_PARAMETER) {
        replace(p, node, n->shape.dtype, p->array ? p->array[n->parameter_index] : NULL);
        return p->moved[node];
    }
    operand = arena_array(p->to->arena, (size_t)n->operand_count + 1, sizeof(*operand));
    for (int i = 0; i < n->operand_count; i++)
        operand[i] = copy(p, n->operand[i]);
    p->to->source = n->source;
    return p->moved[node] = graph_add(p->to, n, operand, n->operand_count);
}

/* ----- what a body consists of */

struct split {
    const struct graph *body;
    int dot;
    int root[FUSED_RESULT];             /* of a computed operand, or NODE_NONE */
    enum graph_dtype type[FUSED_RESULT];        /* that the passes get */
    bool epilogue_is_loop;              /* what is computed of the results is a fused loop */
};

static bool is_float(enum graph_dtype t) { return t == DTYPE_F32 || t == DTYPE_BF16; }

/* behind conversions that the matrix unit makes itself */
static int behind_conversions(const struct graph *body, int node)
{
    const struct graph_node *n = &body->node[node];

    while (n->op == HLO_CONVERT && is_float(n->shape.dtype)
           && is_float(body->node[n->operand[0]].shape.dtype)) {
        node = n->operand[0];
        n = &body->node[node];
    }
    return node;
}

static bool needs_dot(const struct graph *body, int node, int dot)
{
    const struct graph_node *n = &body->node[node];

    for (int i = 0; i < n->operand_count; i++)
        if (n->operand[i] == dot || needs_dot(body, n->operand[i], dot))
            return true;
    return false;
}

/* operands are bf16, as the unit rounds them, unless their f32 is cut into parts */
static int find_operand(struct split *s, int which, struct err *e)
{
    const struct graph_node *dot = &s->body->node[s->dot];
    int node = dot->operand[which], root = behind_conversions(s->body, node);
    const struct graph_node *n = &s->body->node[root];

    s->root[which] = NODE_NONE;
    if (n->op == HLO_PARAMETER)
        return 0;
    if (n->op == HLO_CONSTANT)
        return err_set(e, "an operand of a product is a constant");
    s->root[which] = root;
    s->type[which] = n->shape.dtype;
    if (is_float(s->type[which]))
        s->type[which] = dot->precision == PRECISION_DEFAULT ? DTYPE_BF16
                                                             : s->body->node[node].shape.dtype;
    return 0;
}

/* what is computed of the results reads an operand of the product once more, by blocks of its own */
static void read_operands_again(struct part *p)
{
    for (int i = 0; i < p->from->node_count; i++)
        if (p->from->node[i].op == HLO_PARAMETER)
            p->moved[i] = NODE_NONE;
}

/* the product with its operands, and with what is computed of its results unless that is staged */
static struct graph *product_of(const struct split *s, const struct kernel_job *job,
                                const struct array **operand, const struct dot_fused_loop *fused,
                                struct arena *a)
{
    struct part p = begin(s->body, job ? job->operand : NULL, operand, a);

    for (int i = 0; i < FUSED_RESULT; i++)
        if (s->root[i] != NODE_NONE) {
            replace(&p, s->root[i], s->type[i], fused ? &fused[i].array : NULL);
            p.moved[s->root[i]] = graph_convert(p.to, p.moved[s->root[i]],
                                                s->body->node[s->root[i]].shape.dtype);
        }
    copy(&p, s->dot);
    if (s->epilogue_is_loop) {
        struct graph_node *n = &p.to->node[p.moved[s->dot]];

        if (n->shape.dtype == DTYPE_BF16)
            n->shape.dtype = DTYPE_F32;
        graph_output(p.to, p.moved[s->dot], "sums", -1);
    } else {
        read_operands_again(&p);
        for (int i = 0; i < s->body->output_count; i++)
            graph_output(p.to, copy(&p, s->body->output[i].node), s->body->output[i].name, -1);
    }
    graph_freeze(p.to);
    return p.to;
}

/* what makes an operand, as a loop fusion with one result */
static struct graph *operand_of(const struct split *s, int which, const struct kernel_job *job,
                                const struct array **operand, struct arena *a)
{
    struct part p = begin(s->body, job ? job->operand : NULL, operand, a);
    int node = copy(&p, s->root[which]);

    graph_output(p.to, graph_convert(p.to, node, s->type[which]), "block", -1);
    graph_freeze(p.to);
    return p.to;
}

/* what is computed of the sums, which are its first parameter */
static struct graph *results_of(const struct split *s, const struct kernel_job *job,
                                const struct array **operand, const struct array *sums,
                                struct arena *a)
{
    struct part p = begin(s->body, job ? job->operand : NULL, operand, a);
    enum graph_dtype type = s->body->node[s->dot].shape.dtype;

    replace(&p, s->dot, type == DTYPE_BF16 ? DTYPE_F32 : type, sums);
    if (type == DTYPE_BF16)
        p.moved[s->dot] = graph_convert(p.to, p.moved[s->dot], type);
    for (int i = 0; i < s->body->output_count; i++)
        graph_output(p.to, copy(&p, s->body->output[i].node), s->body->output[i].name, -1);
    graph_freeze(p.to);
    return p.to;
}

/* ----- whether all of it can be made */

/* a vector that is spread along another dimension than the results' lanes is a fused loop's work */
static bool fits_rounds(const struct graph *body, const struct array *result)
{
    for (int i = 0; i < body->node_count; i++) {
        const struct graph_node *n = &body->node[i];
        int lanes = result && !result->is_linear ? result->lane_dim : n->shape.rank - 1;

        if (n->op == HLO_BROADCAST && body->node[n->operand[0]].shape.rank == 1
            && n->dims[0] != lanes)
            return false;
    }
    return true;
}

/* the loop over results sees one block of them at a time, in which a slice would begin anew */
static bool begins_further_on(const struct graph *body, int dot)
{
    for (int i = 0; i < body->node_count; i++) {
        const struct graph_node *n = &body->node[i];

        for (int d = 0; n->op == HLO_SLICE && n->operand[0] == dot && d < n->shape.rank; d++)
            if (n->start[d] != 0 || n->stride[d] != 1)
                return true;
    }
    return false;
}

static int split_operands(struct split *s, struct arena *a, struct err *e)
{
    for (int i = 0; i < FUSED_RESULT; i++) {
        if (find_operand(s, i, e))
            return -1;
        if (s->root[i] != NODE_NONE
            && loop_plan_check_supported(operand_of(s, i, NULL, NULL, a), e))
            return -1;
    }
    return 0;
}

/* whether a fused loop can compute what is computed of the results */
static int check_results(const struct split *s, const struct chip *chip, struct arena *a,
                         struct err *e)
{
    const struct graph *body = s->body;

    for (int i = 0; i < body->output_count; i++)
        if (body->output[i].node != s->dot && !needs_dot(body, body->output[i].node, s->dot))
            return err_set(e, "a result that does not depend on the product");
    if (begins_further_on(body, s->dot))
        return err_set(e, "a slice that leaves out the product's first results");
    if (dot_body_check(product_of(s, NULL, NULL, NULL, a), chip, e))
        return -1;
    return loop_plan_check_supported(results_of(s, NULL, NULL, NULL, a), e);
}

/* of the left operand, as passes take it */
static int rows_of_round(const struct graph *plain)
{
    const struct graph_node *dot = &plain->node[dot_body_find(plain)];
    int parameter = dot_body_parameter(plain, dot->operand[0]);
    enum matrix_type type = MATRIX_F32;

    dot_body_type(plain->node[plain->parameter[parameter]].shape.dtype, &type);
    return matrix_rows(type);
}

static int split_body(struct split *s, const struct graph *body, const struct chip *chip,
                      enum dot_choice choice, const struct array *result, struct arena *a,
                      struct err *e)
{
    const struct graph *plain;
    bool fits, is_long;

    *s = (struct split){.body = body, .dot = dot_body_find(body)};
    if (s->dot < 0)
        return err_set(e, s->dot == NODE_NONE ? "no product" : "more than one product in a kernel");
    if (split_operands(s, a, e))
        return -1;
    plain = product_of(s, NULL, NULL, NULL, a);
    fits = plain->parameter_count + plain->output_count <= LOOP_ARRAY_MAX && fits_rounds(plain, result)
           && dot_body_check(plain, chip, e) == 0;
    is_long = fits && dot_epilogue_is_long(plain, rows_of_round(plain), chip);
    s->epilogue_is_loop = (!fits || is_long) != (choice == CHOICE_OTHER);
    if (s->epilogue_is_loop)
        return check_results(s, chip, a, e);
    return fits ? 0 : err_set(e, "what is computed of the results does not go into rounds");
}

int dot_fused_check(const struct graph *body, const struct chip *chip, struct err *e)
{
    struct split s;
    struct arena a;
    struct err ignored;
    int status;

    arena_init(&a);
    status = split_body(&s, body, chip, CHOICE_FIRST, NULL, &a, e)
             && split_body(&s, body, chip, CHOICE_OTHER, NULL, &a, &ignored) ? -1 : 0;
    arena_fini(&a);
    return status;
}

/* ----- with arrays */

/* an array like node `node`, laid out as the first array here of the same dimensions */
static void make_array(struct dot_fused_loop *s, const char *name, const struct shape *shape,
                       const struct array *const *list, int count)
{
    const int *order = NULL;

    for (int i = count - 1; i >= 0; i--)
        if (list[i] && shape_same_dims(&list[i]->shape, shape))
            order = list[i]->order;
    array_init(&s->array, name, shape, order);
}

static int begin_plan(struct dot_fused_loop *s, const struct kernel_job *job, struct arena *a,
                      struct err *e)
{
    int64_t box[LOOP_AXIS_MAX];

    s->is_there = true;
    if (loop_plan_init(&s->plan, &s->job, a, e))
        return -1;
    memcpy(s->axis, s->plan.axis, sizeof(s->axis));
    for (int i = 0; i < s->plan.axis_count; i++)
        box[i] = s->plan.axis[i].units;
    s->job.vmem_rows = INT32_MAX;       /* only to see what a unit takes */
    s->job.flag_count = INT32_MAX;
    if (!loop_plan_cut(&s->plan, box) || loop_measure(&s->plan, e))
        return err_set(e, "no loop over blocks makes it");
    s->job = (struct kernel_job){.chip = job->chip, .codegen = job->codegen, .name = job->name,
                                 .source = job->source, .body = s->job.body,
                                 .operand_count = s->job.operand_count,
                                 .result_count = s->job.result_count, .operand = s->operand,
                                 .result = s->result};
    for (int i = 0; i < s->plan.array_count; i++)
        if (s->plan.array[i].array == &s->array)
            s->own = i;
    s->plan.array[s->own].is_own = true;
    for (int i = 0; i < s->job.body->node_count; i++)
        s->has_iota |= s->job.body->node[i].op == HLO_IOTA;
    return s->plan.array[s->own].is_tiled ? 0 : err_set(e, "an operand that is no matrix");
}

static int open_operand(struct dot_fused_loops *t, const struct split *s, int which,
                        const struct kernel_job *job, struct err *e)
{
    struct dot_fused_loop *x = &t->fused[which];
    struct graph *g = operand_of(s, which, job, x->operand, &t->arena);

    make_array(x, "block", &g->node[g->output[0].node].shape, x->operand, g->parameter_count);
    x->result[0] = &x->array;
    x->job = *job;
    x->job.body = g;
    x->job.operand = x->operand;
    x->job.result = x->result;
    x->job.operand_count = g->parameter_count;
    x->job.result_count = 1;
    return begin_plan(x, job, &t->arena, e);
}

static int open_results(struct dot_fused_loops *t, const struct split *s,
                        const struct kernel_job *job, struct err *e)
{
    struct dot_fused_loop *x = &t->fused[FUSED_RESULT];
    struct graph *g = results_of(s, job, x->operand, &x->array, &t->arena);

    make_array(x, "sums", &g->node[g->parameter[0]].shape, job->result, job->result_count);
    x->job = *job;
    x->job.body = g;
    x->job.operand = x->operand;
    x->job.operand_count = g->parameter_count;
    memcpy(x->result, job->result, (size_t)job->result_count * sizeof(x->result[0]));
    x->job.result = x->result;
    return begin_plan(x, job, &t->arena, e);
}

/* whether some array has dimensions outside tiles in other places, as a vector along the rows has */
static bool lies_otherwise(const struct loop_plan *p, uint32_t outside)
{
    for (int i = 0; i < p->array_count; i++)
        if (p->array[i].lane_axis != -2 && !p->array[i].is_tiled && p->array[i].mask & outside)
            return true;
    return false;
}

/* whether some value has one of the dimensions outside tiles and not another */
static bool tells_apart(const struct dot_fused_loops *t)
{
    for (int s = 0; s < FUSED_COUNT; s++) {
        const struct loop_plan *p = &t->fused[s].plan;
        uint32_t outside = p->full_mask & ~(1u << AXIS_LANES | 1u << AXIS_ROWS);

        if (t->fused[s].is_there && lies_otherwise(p, outside))
            return true;
        for (int i = 0; t->fused[s].is_there && i < p->body.node_count; i++)
            if (p->mask[i] & outside && (p->mask[i] & outside) != outside)
                return true;
    }
    return false;
}

int dot_open(struct dot_fused_loops *t, const struct kernel_job *job, enum dot_choice choice,
             struct err *e)
{
    struct split s;

    memset(t, 0, sizeof(*t));
    arena_init(&t->arena);
    if (split_body(&s, job->body, job->chip, choice, job->result[0], &t->arena, e))
        return -1;
    for (int i = 0; i < FUSED_RESULT; i++)
        if (s.root[i] != NODE_NONE && open_operand(t, &s, i, job, e))
            return -1;
    if (s.epilogue_is_loop && open_results(t, &s, job, e))
        return -1;
    t->job = *job;
    t->job.body = product_of(&s, job, t->operand, t->fused, &t->arena);
    t->job.operand = t->operand;
    t->job.operand_count = t->job.body->parameter_count;
    if (s.epilogue_is_loop) {
        t->result[0] = &t->fused[FUSED_RESULT].array;
        t->job.result = t->result;
        t->job.result_count = 1;
    }
    if (dot_problem_read(&t->problem, &t->job, tells_apart(t), e))
        return -1;
    t->problem.fused = t;
    return 0;
}

void dot_close(struct dot_fused_loops *t)
{
    for (int i = 0; i < FUSED_COUNT; i++)
        if (t->fused[i].is_there)
            loop_plan_fini(&t->fused[i].plan);
    arena_fini(&t->arena);
}
