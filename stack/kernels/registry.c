/* Finds the kind of kernel that makes a body, and goes the whole way from job to segment. */
#include "stack/kernels/registry.h"

#include <string.h>

#include "stack/kernels/loop/loop_plan.h"

#define KERNEL(name, category, operations) extern const struct kernel_kind kernel_##name;
#include "stack/kernels/registry.def"

struct kind_row {
    const struct kernel_kind *kind;
    enum graph_op op[10];               /* HLO_COUNT behind the last */
};

static const struct kind_row rows[] = {
#define OP(id) HLO_##id,
#define KERNEL(name, category, operations) {&kernel_##name, {operations HLO_COUNT}},
#include "stack/kernels/registry.def"
    {NULL, {HLO_COUNT}}                 /* behind the last */
};

static bool has_one_of(const struct graph *body, const enum graph_op *op)
{
    for (int i = 0; i < body->node_count; i++)
        for (int k = 0; op[k] != HLO_COUNT; k++)
            if (body->node[i].op == op[k])
                return true;
    return false;
}

const struct kernel_kind *kernel_kind_of(const struct graph *body)
{
    for (const struct kind_row *r = rows; r->kind; r++)
        if (r->op[0] == HLO_COUNT || has_one_of(body, r->op))
            return r->kind == &kernel_move && loop_reads_slices(body) ? &kernel_loop : r->kind;
    return NULL;
}

const struct kernel_kind *kernel_kind_named(const char *name)
{
    for (const struct kind_row *r = rows; r->kind; r++)
        if (!strcmp(r->kind->name, name))
            return r->kind;
    return NULL;
}

#define TILING_TRIES 4                  /* the code of one may need more registers than there are */

static int compile_tiling(const struct kernel_kind *kind, const struct kernel_job *job,
                          const struct tiling *t, struct arena *a, struct segment *out,
                          struct err *e)
{
    memset(out, 0, sizeof(*out));
    out->tiling = *t;
    if (kind->cost(job, t, &out->cost))
        return err_set(e, "its tiling does not go with its shapes");
    return out->cost.is_idle ? 0 : kind->emit(job, t, a, out, e);
}

static int compile(const struct kernel_kind *kind, const struct kernel_job *job, struct arena *a,
                   struct segment *out, struct err *e)
{
    struct kernel_job alone = *job;
    struct tiling t[TILING_TRIES];
    int count = 1, status = -1;

    memset(out, 0, sizeof(*out));
    if (kind->check_supported(job->body, job->chip, e))
        return -1;
    if (kind->is_for_one_core && job->core > 0) {
        out->cost.is_idle = true;
        return 0;
    }
    if (kind->is_for_one_core)
        alone.core_count = 1;
    job = &alone;
    if (job->tiling)
        t[0] = *job->tiling;
    else if ((count = kind->tilings(job, t, TILING_TRIES)) == 0)
        return err_set(e, "no tiling goes with these layouts and %lld KiB of vector memory",
                       (long long)(job->vmem_rows * ARRAY_ROW_BYTES / 1024));
    for (int i = 0; i < count && status; i++)
        status = compile_tiling(kind, job, &t[i], a, out, e);
    return status;
}

/* what a kernel says of its own node has the name in front already */
static const char *without_name(const char *message, const char *name)
{
    size_t length = strlen(name);

    return strncmp(message, name, length) == 0 && strncmp(message + length, ": ", 2) == 0
               ? message + length + 2 : message;
}

int kernel_compile(const struct kernel_job *job, struct arena *a, struct segment *out,
                   struct err *e)
{
    const struct kernel_kind *kind = kernel_kind_of(job->body);
    struct err inner = {0};

    if (!kind)
        return err_set(e, "%s: no kernel makes %s", job->name,
                       graph_op_name(job->body->node[job->body->node_count - 1].op));
    if (compile(kind, job, a, out, &inner)) {
        if (kind == &kernel_mosaic) {   /* the author's names and lines are in it */
            *e = inner;
            return -1;
        }
        return err_set(e, "%s (%s): %s", job->name, kind->category,
                       without_name(inner.msg, job->name));
    }
    return 0;
}

struct graph *kernel_body_of(const struct graph *g, int node, struct arena *a)
{
    const struct graph_node *n = &g->node[node];
    struct graph *body = arena_alloc(a, sizeof(*body));
    int *operand = arena_array(a, (size_t)n->operand_count + 1, sizeof(*operand)), made;

    graph_init(body, a, n->name);
    body->source = n->source;
    for (int i = 0; i < n->operand_count; i++) {
        const struct graph_node *o = &g->node[n->operand[i]];

        operand[i] = graph_parameter(body, o->shape, o->name);
    }
    made = graph_add(body, n, operand, n->operand_count);
    for (int i = 0; i < n->tuple_count; i++)
        graph_output(body, graph_tuple_element(body, made, i), n->name, -1);
    if (n->tuple_count == 0)
        graph_output(body, made, n->name, -1);
    return body;
}
