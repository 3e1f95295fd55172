/*
 * What no kernel makes becomes what kernels make (docs/compiler.md, What does not fit): the same
 * operation over parts of its dimensions, or in a plainer form, with layouts of its own.
 *
 * Which parts is a search: each dimension is halved by itself, and of those sizes that a kernel
 * takes the one is chosen that is predicted to take the fewest cycles; where there is none, the
 * dimension that is longest, in tiles, is halved until there is.
 */
#include "stack/module/module_impl.h"

#include "base/units.h"
#include "stack/hlo/rewrite.h"
#include "stack/kernels/registry.h"
#include "stack/passes/pass.h"
#include "stack/passes/pieces/pieces.h"

#include <string.h>

#define PIECES_MAX 4096                 /* more are no program that anybody could want */
#define TILINGS_MAX 4
#define SORT_BLOCK_MAX (1 << 20)        /* elements of a block of a long sort */
#define SORT_BLOCK_MIN 128

struct legalizing {
    const struct module_plan *plan;
    const struct pass_context *context;
    struct graph *g;                    /* of the node that no kernel makes */
    int node;
    struct arena scratch;
    struct pieces pieces;
    bool is_emitted;                    /* kernels are tried to their last bundle, not their plan */
    struct err why;                     /* what the last kernel that was tried so lacks */
};

/* layouts as in a program of its own: operands and results lie row-major, as in the whole one */
static int settle(struct graph *body, const struct pass_context *c, struct err *e)
{
    return pass_layout(body, c, e) || pass_simplify(body, c, e) || graph_verify(body, e) ? -1 : 0;
}

/*
 * A graph with the node's operands as parameters, named as no node is; `n` becomes the node with
 * those operands.
 */
static void begin_body(struct legalizing *l, struct graph *body, struct arena *a,
                       struct graph_node *n)
{
    *n = l->g->node[l->node];
    graph_init(body, a, n->name);
    graph_stand_for(body, n);
    n->operand = arena_array(a, (size_t)n->operand_count + 1, sizeof(int));
    for (int i = 0; i < n->operand_count; i++) {
        const struct graph_node *o = &l->g->node[l->g->node[l->node].operand[i]];

        n->operand[i] = graph_parameter(body, o->shape, arena_printf(a, "operand.%d", i));
    }
}

/* predicted cycles of one node's kernel; -1: none makes it */
static int64_t kernel_cycles(struct legalizing *l, const struct graph *body, int node)
{
    struct graph *alone = kernel_body_of(body, node, &l->scratch);
    const struct kernel_kind *kind = kernel_kind_of(alone);
    int operands = alone->parameter_count, results = alone->output_count;
    struct module_value *value =
        arena_array(&l->scratch, (size_t)(operands + results), sizeof(*value));
    struct module_value **list =
        arena_array(&l->scratch, (size_t)(operands + results) + 1, sizeof(*list));
    struct module_step step = {.kind = STEP_KERNEL, .body = alone, .name = alone->name,
                               .source = "", .operand = list, .result = list + operands,
                               .operand_count = operands, .result_count = results};
    struct tiling t[TILINGS_MAX];
    struct segment segment;
    struct kernel_job job;
    struct err e;

    for (int i = 0; i < operands + results; i++) {
        int at = i < operands ? alone->parameter[i] : alone->output[i - operands].node;

        array_init(&value[i].array, "", &alone->node[at].shape, NULL);
        list[i] = &value[i];
    }
    graph_freeze(alone);
    job = module_plan_job(l->plan, &step, l->plan->communicator_count > 0, l->plan->scoped_bytes);
    if (l->is_emitted)
        return kernel_compile(&job, &l->scratch, &segment, &l->why) ? -1
                                                                    : segment.cost.total_cycles;
    if (!kind || kind->check_supported(alone, job.chip, &e) ||
        kind->tilings(&job, t, TILINGS_MAX) == 0)
        return -1;
    return t[0].predicted_cycles;
}

/* of one piece of these sizes, copies and all; -1: no kernel makes it */
static int64_t piece_cycles(struct legalizing *l, const int64_t *size)
{
    const int64_t from[PIECE_DIMS_MAX] = {0};
    struct graph body;
    struct graph_node n;
    int64_t cycles = 0;
    struct err e;

    arena_init(&l->scratch);
    begin_body(l, &body, &l->scratch, &n);
    graph_output(&body, pieces_make(&body, &n, &l->pieces, from, size), "piece", -1);
    if (settle(&body, l->context, &e)) {
        l->why = e;
        cycles = -1;
    }
    for (int i = 0; i < body.node_count && cycles >= 0; i++)
        if (body.node[i].op == n.op) {
            int64_t one = kernel_cycles(l, &body, i);

            cycles = one < 0 ? -1 : cycles + one;
        }
    graph_fini(&body);
    arena_fini(&l->scratch);
    return cycles;
}

static int64_t piece_count(const struct pieces *p, const int64_t *size)
{
    int64_t count = 1;

    for (int d = 0; d < p->count; d++)
        count *= div_up(p->dim[d].extent, size[d]);
    return count;
}

static int64_t half_of(const struct piece_dim *d, int64_t size)
{
    int64_t half = div_up(size, 2);

    return half > d->unit ? round_up(half, d->unit) : half;
}

/* the dimension to halve so that a kernel fits, at the lowest cost; -1: none */
static int best_dim(struct legalizing *l, int64_t *size)
{
    int64_t fewest = 0;
    int best = -1;

    for (int d = 0; d < l->pieces.count; d++) {
        int64_t whole = size[d], cycles;

        if (whole == 1)
            continue;
        size[d] = half_of(&l->pieces.dim[d], whole);
        cycles = piece_cycles(l, size);
        if (cycles >= 0)
            cycles *= piece_count(&l->pieces, size);
        size[d] = whole;
        if (cycles >= 0 && (best < 0 || cycles < fewest)) {
            best = d;
            fewest = cycles;
        }
    }
    return best;
}

static int longest_dim(const struct pieces *p, const int64_t *size)
{
    int longest = -1;

    for (int d = 0; d < p->count; d++)
        if (size[d] > 1 && (longest < 0 || size[d] * p->dim[longest].unit >
                                               size[longest] * p->dim[d].unit))
            longest = d;
    return longest;
}

/*
 * Sizes of pieces that a kernel makes; false: there are none. Where halving one dimension is not
 * enough, the longest is halved until a kernel fits; of the last halving there is a choice again.
 */
static bool find_sizes(struct legalizing *l, int64_t *size)
{
    int d;

    for (d = 0; d < l->pieces.count; d++)
        size[d] = l->pieces.dim[d].extent;
    l->is_emitted = true;               /* as a whole, in other layouts */
    if (piece_cycles(l, size) >= 0)
        return true;
    l->is_emitted = false;
    for (d = best_dim(l, size); d < 0;) {
        int longest = longest_dim(&l->pieces, size);
        int64_t whole;

        if (longest < 0 || piece_count(&l->pieces, size) > PIECES_MAX)
            return false;
        whole = size[longest];
        size[longest] = half_of(&l->pieces.dim[longest], whole);
        if (piece_cycles(l, size) < 0)
            continue;
        size[longest] = whole;
        d = best_dim(l, size);
    }
    size[d] = half_of(&l->pieces.dim[d], size[d]);
    return true;
}

/* What a kernel lacks for the node as it is, which nobody has asked where there are no pieces. */
static void ask_kernel(struct legalizing *l)
{
    l->is_emitted = true;
    arena_init(&l->scratch);
    kernel_cycles(l, l->g, l->node);
    arena_fini(&l->scratch);
}

static struct graph *refuse(struct legalizing *l, struct err *e)
{
    const struct graph_node *n = &l->g->node[l->node];
    char shape[96];

    if (!*l->why.msg)
        ask_kernel(l);
    if (n->op == HLO_MOSAIC) {          /* its author chose the sizes, and the line says more */
        *e = l->why;
        return NULL;
    }
    err_set(e, "%s%s%s of %s is not supported on this chip, nor is any part of it: %s; other sizes "
            "or types, or a chip with more vector memory, may do", n->source, *n->source ? ", " : "",
            graph_op_name(n->op), shape_print(&n->shape, shape, sizeof(shape)),
            *l->why.msg ? l->why.msg : "no kernel makes it and it has no parts");
    return NULL;
}

/*
 * The largest block of a long sort that a kernel takes; 0: there is none. The kernel has as many
 * rows for one block as for many.
 */
static int64_t sort_block(struct legalizing *l, const struct graph_node *n)
{
    int64_t block = SORT_BLOCK_MAX;
    bool fits = false;

    if (n->operand_count > PIECES_SORTED_MAX)
        return 0;
    for (; block >= SORT_BLOCK_MIN && !fits; block /= 2) {
        struct graph one;

        arena_init(&l->scratch);
        graph_init(&one, &l->scratch, "block");
        fits = kernel_cycles(l, &one, pieces_sort_block(&one, n->operand_count, block)) >= 0;
        graph_fini(&one);
        arena_fini(&l->scratch);
    }
    return fits ? 2 * block : 0;
}

/* results of the node as outputs; false: it has no pieces */
static bool make_pieces(struct legalizing *l, struct graph *body, const struct graph_node *n)
{
    int64_t size[PIECE_DIMS_MAX], block;
    int made = pieces_plain_form(body, n, false), results[PIECES_SORTED_MAX], count = 1;

    if (made == NODE_NONE && pieces_of(l->g, &l->g->node[l->node], &l->pieces) &&
        find_sizes(l, size))
        made = pieces_join(body, n, &l->pieces, size);
    if (made == NODE_NONE)
        made = pieces_plain_form(body, n, true);
    results[0] = made;
    l->is_emitted = false;
    if (made == NODE_NONE && graph_op_kind(n->op) == KIND_SORT && (block = sort_block(l, n)) > 0)
        count = pieces_sort(body, n, block, results);
    for (int i = 0; i < count && results[0] != NODE_NONE; i++)
        graph_output(body, results[i], arena_printf(body->arena, "%s.%d", n->name, i), -1);
    return results[0] != NODE_NONE;
}

/* What a pad fills with is a number of its kernel's, as fusion makes it, not an array that it reads. */
static int fill_with_number(struct rewrite *w, int node, struct graph_node *n, const void *user)
{
    const struct graph_node *value = &w->to.node[n->operand[n->operand_count - 1]];
    struct graph *body;
    int in[2];

    (void)node;
    (void)user;
    if (n->op != HLO_PAD || value->op != HLO_CONSTANT || value->literal)
        return NODE_NONE;
    body = arena_alloc(w->to.arena, sizeof(*body));
    graph_init(body, w->to.arena, "pad");
    in[0] = graph_parameter(body, w->to.node[n->operand[0]].shape, "operand");
    in[1] = graph_constant(body, value->shape, value->value);
    graph_output(body, graph_add(body, n, in, 2), "padded", -1);
    graph_freeze(body);
    return graph_fusion(&w->to, n->operand, 1, body);
}

struct graph *module_legalize(const struct module_plan *p, const struct pass_context *c,
                              struct graph *g, int node, struct err *e)
{
    struct legalizing l = {.plan = p, .context = c, .g = g, .node = node};
    struct graph *body = arena_alloc(g->arena, sizeof(*body));
    struct graph_node n;

    begin_body(&l, body, g->arena, &n);
    if (!make_pieces(&l, body, &n)) {
        graph_fini(body);
        return refuse(&l, e);
    }
    if (settle(body, c, e))
        return NULL;
    rewrite_each(body, fill_with_number, NULL);
    graph_freeze(body);
    return body;
}
