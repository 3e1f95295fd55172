/*
 * Chains of transposes and reshapes that no kernel makes at the speed of the memory become several
 * that stream (move_steps.h).
 *
 * What a chain costs operation by operation is set against all of it at once, where that streams,
 * and against the steps. Most chains stream as they are, which their cost says, and stay. Reshapes
 * that share no factors go through a flat array (move_flat.h), those of what is spread become one
 * move with it (move_repeat.h), and concatenations of many parts several (move_join.h).
 */
#include "stack/passes/pass.h"

#include "stack/hlo/bitcast.h"
#include "stack/hlo/rewrite.h"
#include "stack/passes/moves/move_flat.h"
#include "stack/passes/moves/move_join.h"
#include "stack/passes/moves/move_repeat.h"

#define CHAIN_MAX 12
#define STREAMING_TILE_CYCLES 10        /* of 4 KiB in or out: some times the memory's; and where what */
#define MADE_TILE_CYCLES 40             /* is moved is made right before, in the first move then */
#define STREAMING_CYCLES 3000

struct moves {
    struct move_machine machine;
    struct graph *g;
    int *user_count, *user;             /* by node of the graph as it was; the last of them */
    bool *is_flattened;                 /* a reshape that is made in two (move_flat.h) */
};

/* of a chain; a reshape that is made in two would leave the chain no map */
static bool is_move(const struct moves *m, int node)
{
    const struct graph_node *n = &m->g->node[node];

    return (n->op == HLO_TRANSPOSE || n->op == HLO_RESHAPE || n->op == HLO_SLICE) &&
           !m->is_flattened[node];
}

static int64_t tiles_of(const struct shape *s)
{
    struct array a;

    array_init(&a, "", s, NULL);
    return a.tile_count * a.tile_rows * ARRAY_ROW_BYTES / (8 * ARRAY_ROW_BYTES);
}

/* a graph of nodes list[count - 1] .. list[0], each of which reads the next; of g's `first` on */
static struct graph *body_of(const struct graph *g, const int *list, int count, struct arena *a)
{
    struct graph *body = arena_alloc(a, sizeof(*body));
    int node;

    graph_init(body, a, "move");
    node = graph_parameter(body, g->node[g->node[list[count - 1]].operand[0]].shape, "operand");
    for (int i = count - 1; i >= 0; i--)
        node = graph_add(body, &g->node[list[i]], &node, 1);
    graph_output(body, node, "result", -1);
    graph_freeze(body);
    return body;
}

/* each operation by itself; those that rename elements where they are cost nothing */
static int64_t apart_cycles(const struct moves *m, const int *list, int count, struct arena *a)
{
    int64_t cycles = 0;

    for (int i = 0; i < count; i++) {
        const struct graph_node *n = &m->g->node[list[i]];
        int64_t one;

        if (n->op == HLO_RESHAPE && array_is_bitcast(&m->g->node[n->operand[0]].shape, &n->shape))
            continue;
        one = move_cycles(body_of(m->g, &list[i], 1, a), &m->machine);
        if (one == INT64_MAX)
            return INT64_MAX;
        cycles += one;
    }
    return cycles;
}

/* the chain that ends with the node, last operation first; its length */
static int chain_of(const struct moves *m, int node, int *list)
{
    int count = 0;

    for (int i = node; is_move(m, i) && count < CHAIN_MAX &&
                       (i == node || m->user_count[i] == 1);
         i = m->g->node[i].operand[0])
        list[count++] = i;
    return count;
}

/* a transpose or reshape whose value goes on to others than one more of them */
static bool is_end(const struct moves *m, int node)
{
    return is_move(m, node) &&
           (m->user_count[node] != 1 || !is_move(m, m->user[node]));
}

static int make_steps(struct rewrite *w, int operand, const char *source,
                      const struct move_steps *steps)
{
    for (int i = 0; i < steps->count; i++) {
        struct graph *body = arena_alloc(w->to.arena, sizeof(*body));

        graph_copy(steps->body[i], w->to.arena, body);
        graph_freeze(body);
        w->to.source = source;
        operand = graph_fusion(&w->to, &operand, 1, body);
    }
    return operand;
}

/*
 * What the chain moves is put together of parts, for nobody else; or, as XLA does it, rounded from a
 * product, which is stored as it was summed (docs/accuracy.md, What peak memory tells).
 */
static bool is_made_in_move(const struct moves *m, int node)
{
    const struct graph_node *n = &m->g->node[node];

    if (m->user_count[node] != 1)
        return false;
    return n->op == HLO_CONCATENATE || n->op == HLO_PAD
           || (n->op == HLO_CONVERT && m->machine.codegen == CODEGEN_XLA
               && m->g->node[n->operand[0]].op == HLO_DOT);
}

/* of an array in and one out, at some part of the memory's rate: nothing is sought for these */
static int64_t streaming_cycles(const struct graph *body, bool is_made_in_it)
{
    return STREAMING_CYCLES + (is_made_in_it ? MADE_TILE_CYCLES : STREAMING_TILE_CYCLES) *
           (tiles_of(&body->node[body->parameter[0]].shape) +
            tiles_of(&body->node[body->output[0].node].shape));
}

/* what the chain takes as it is; and the least: all of it at once, or several steps */
static int64_t find_steps(const struct moves *m, const int *list, int count, struct arena *a,
                          struct move_steps *steps)
{
    struct graph *whole = body_of(m->g, list, count, a);
    int operand = m->g->node[list[count - 1]].operand[0];
    int64_t enough = streaming_cycles(whole, is_made_in_move(m, operand));
    int64_t apart = apart_cycles(m, list, count, a);

    *steps = (struct move_steps){.cycles = INT64_MAX};
    if (apart <= enough)
        return apart;
    steps->cycles = move_streamed_cycles(whole, &m->machine);
    steps->count = steps->cycles < INT64_MAX;
    steps->body[0] = whole;
    if (steps->cycles > enough) {
        struct move_steps more;

        if (move_steps_find(whole, &m->machine, a, &more) && more.cycles < steps->cycles)
            *steps = more;
    }
    return apart;
}

static bool find_flat(const struct moves *m, int node, struct move_flat *flat)
{
    const struct graph_node *n = &m->g->node[node];

    return n->op == HLO_RESHAPE &&
           move_flat_find(&m->g->node[n->operand[0]].shape, &n->shape, &m->machine, flat);
}

static int make_repeat(struct rewrite *w, int node, const struct graph_node *n,
                       const struct moves *m)
{
    struct graph *body = move_repeat_find(m->g, node, &m->machine, w->to.arena);
    int operand;

    if (!body)
        return NODE_NONE;
    operand = w->moved[m->g->node[m->g->node[node].operand[0]].operand[0]];
    w->to.source = n->source;
    return graph_fusion(&w->to, &operand, 1, body);
}

static int change(struct rewrite *w, int node, struct graph_node *n, const void *user)
{
    const struct moves *m = user;
    int list[CHAIN_MAX], count, made = NODE_NONE;
    struct move_flat flat;
    struct move_steps steps;
    struct arena a;

    made = make_repeat(w, node, n, m);
    if (made != NODE_NONE)
        return made;
    if (m->is_flattened[node] && find_flat(m, node, &flat)) {
        w->to.source = n->source;
        return move_flat_make(&w->to, n->operand[0], &flat);
    }
    if (!is_end(m, node))
        return NODE_NONE;
    count = chain_of(m, node, list);
    arena_init(&a);
    if (find_steps(m, list, count, &a, &steps) > steps.cycles)
        made = make_steps(w, w->moved[m->g->node[list[count - 1]].operand[0]], n->source,
                          &steps);
    arena_fini(&a);
    return made;
}

static void find_users(struct moves *m, struct arena *a)
{
    const struct graph *g = m->g;

    m->user_count = arena_array(a, (size_t)g->node_count + 1, sizeof(int));
    m->user = arena_array(a, (size_t)g->node_count + 1, sizeof(int));
    for (int i = 0; i < g->node_count; i++)
        for (int k = 0; k < g->node[i].operand_count; k++) {
            m->user_count[g->node[i].operand[k]]++;
            m->user[g->node[i].operand[k]] = i;
        }
    for (int i = 0; i < g->output_count; i++)
        m->user_count[g->output[i].node] += 2;
}

static void find_flattened(struct moves *m, struct arena *a)
{
    struct move_flat flat;

    m->is_flattened = arena_array(a, (size_t)m->g->node_count + 1, sizeof(bool));
    for (int i = 0; i < m->g->node_count; i++)
        m->is_flattened[i] = find_flat(m, i, &flat);
}

int pass_moves(struct graph *g, const struct pass_context *c, struct err *e)
{
    struct moves m = {.machine = {c->chip, c->codegen, c->vmem_rows}, .g = g};
    struct arena a;

    (void)e;
    move_join_by_levels(g);
    arena_init(&a);
    find_users(&m, &a);
    find_flattened(&m, &a);
    rewrite_each(g, change, &m);
    arena_fini(&a);
    return 0;
}
