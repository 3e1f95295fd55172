/*
 * What reads an array stands before what changes it where it lies.
 *
 * A dynamic update, a loop or a branch that changes an array in its place copies it if somebody
 * reads it afterwards. Who only happens to stand there, and needs nothing of the change, is moved
 * before it, with what it needs itself: `y = x.at[i].set(v); z = x[j]` then moves two rows, not an
 * array. XLA's scheduler has the same edges from readers to what overwrites.
 *
 * Nothing is moved if a reader has to stay, because it needs the change or because it talks to other
 * devices, whose order is theirs, too; nor where what is moved would take more memory than a copy.
 */
#include "stack/hlo/in_place.h"
#include "stack/hlo/array.h"
#include "stack/hlo/rewrite.h"
#include "stack/passes/pass.h"

#include <string.h>

struct readers {
    const struct graph *g;
    int *order, *place;                 /* nodes as they will stand; by node, where */
    int *memory;                        /* by node: the node in whose memory it lies */
    bool *marked, *depends;             /* by node; of one change */
};

static void find_memory(struct readers *r)
{
    for (int i = 0; i < r->g->node_count; i++) {
        const struct graph_node *n = &r->g->node[i];
        bool is_there = n->op == HLO_RESHAPE || n->op == HLO_ADD_DEPENDENCY;

        r->memory[i] = is_there ? r->memory[n->operand[0]] : i;
    }
}

/* not what only renames it */
static bool reads(const struct readers *r, int node, int memory)
{
    for (int k = 0; k < r->g->node[node].operand_count; k++)
        if (r->memory[r->g->node[node].operand[k]] == memory)
            return r->memory[node] != memory;
    return false;
}

static bool changes(const struct readers *r, int node, int memory)
{
    for (int k = 0; k < r->g->node[node].operand_count; k++)
        if (r->memory[r->g->node[node].operand[k]] == memory && graph_may_change(r->g, node, k))
            return true;
    return false;
}

static bool is_output(const struct readers *r, int memory)
{
    for (int i = 0; i < r->g->output_count; i++)
        if (r->memory[r->g->output[i].node] == memory)
            return true;
    return false;
}

static bool may_move(const struct graph_node *n)
{
    bool talks = graph_op_kind(n->op) == KIND_COLLECTIVE || graph_op_kind(n->op) == KIND_MESSAGE ||
                 n->op == HLO_MOSAIC;

    if (n->op == HLO_WHILE || n->op == HLO_CONDITIONAL)
        talks = graph_has_collective(n->called[0]) || graph_has_collective(n->called[1]);
    return !talks;
}

/* what needs the change, of all that stands behind it */
static void find_dependents(struct readers *r, int change)
{
    for (int at = r->place[change]; at < r->g->node_count; at++) {
        int node = r->order[at];

        r->depends[node] = node == change;
        for (int k = 0; k < r->g->node[node].operand_count && !r->depends[node]; k++)
            r->depends[node] = r->depends[r->g->node[node].operand[k]];
    }
}

/* who reads what the marked node changes stands before it, and goes with it */
static void mark_readers(struct readers *r, int from, int node)
{
    const struct graph_node *n = &r->g->node[node];

    for (int k = 0; k < n->operand_count; k++)
        for (int at = from + 1; graph_may_change(r->g, node, k) && at < r->place[node]; at++)
            if (reads(r, r->order[at], r->memory[n->operand[k]]))
                r->marked[r->order[at]] = true;
}

/* Marks what marked ones need of what stands behind `from`; false: some of it has to stay. */
static bool mark_needed(struct readers *r, int from)
{
    for (int at = r->g->node_count - 1; at > from; at--) {
        int node = r->order[at];
        const struct graph_node *n = &r->g->node[node];

        if (!r->marked[node])
            continue;
        if (r->depends[node] || !may_move(n))
            return false;
        for (int k = 0; k < n->operand_count; k++)
            r->marked[n->operand[k]] = true;
        mark_readers(r, from, node);
    }
    return true;
}

static int64_t shape_bytes(const struct shape *s)
{
    return shape_elems(s) * array_element_bytes(s->dtype);
}

static int64_t node_bytes(const struct graph_node *n)
{
    int64_t bytes = n->tuple_count ? 0 : shape_bytes(&n->shape);

    for (int i = 0; i < n->tuple_count; i++)
        bytes += shape_bytes(&n->tuple[i]);
    return bytes;
}

/* Marks who reads the memory behind the change; false: nobody, or a copy is made anyway. */
static bool mark_late(struct readers *r, int change, int memory)
{
    bool is_any = false;

    memset(r->marked, 0, (size_t)r->g->node_count);
    for (int at = r->place[change] + 1; at < r->g->node_count; at++) {
        int node = r->order[at];

        if (!reads(r, node, memory))
            continue;
        if (changes(r, node, memory))
            return false;
        r->marked[node] = is_any = true;
    }
    return is_any && !is_output(r, memory);
}

/* whether all that is marked may stand before the change, and takes no more than a copy */
static bool may_all_move(struct readers *r, int change, int memory)
{
    const int from = r->place[change];
    int64_t bytes = 0;

    memset(r->depends, 0, (size_t)r->g->node_count);
    find_dependents(r, change);
    if (!mark_needed(r, from))
        return false;
    for (int at = from + 1; at < r->g->node_count; at++)
        bytes += r->marked[r->order[at]] ? node_bytes(&r->g->node[r->order[at]]) : 0;
    return bytes <= node_bytes(&r->g->node[memory]);
}

static void move_marked(struct readers *r, int from)
{
    const int count = r->g->node_count;
    int *behind = mem_alloc(((size_t)count + 1) * sizeof(*behind)), moved = from, left = 0;

    for (int at = from; at < count; at++) {
        if (at > from && r->marked[r->order[at]])
            r->order[moved++] = r->order[at];
        else
            behind[left++] = r->order[at];
    }
    memcpy(r->order + moved, behind, (size_t)left * sizeof(*behind));
    for (int at = from; at < count; at++)
        r->place[r->order[at]] = at;
    mem_free(behind);
}

static bool order_readers(struct readers *r)
{
    bool has_changed = false;

    for (int node = 0; node < r->g->node_count; node++) {
        const struct graph_node *n = &r->g->node[node];

        for (int k = 0; k < n->operand_count; k++) {
            int memory = r->memory[n->operand[k]];

            if (!graph_may_change(r->g, node, k) || !mark_late(r, node, memory) ||
                !may_all_move(r, node, memory))
                continue;
            move_marked(r, r->place[node]);
            has_changed = true;
        }
    }
    return has_changed;
}

static void rebuild(struct graph *g, const int *order)
{
    struct rewrite w;

    rewrite_begin(&w, g);
    for (int at = 0; at < g->node_count; at++)
        rewrite_copy(&w, order[at]);
    rewrite_end(&w);
}

int pass_readers(struct graph *g, const struct pass_context *c, struct err *e)
{
    size_t count = (size_t)g->node_count + 1;
    struct readers r = {.g = g, .order = mem_alloc(count * sizeof(int)),
                        .place = mem_alloc(count * sizeof(int)),
                        .memory = mem_alloc(count * sizeof(int)),
                        .marked = mem_alloc(count), .depends = mem_alloc(count)};

    (void)c;
    (void)e;
    for (int i = 0; i < g->node_count; i++)
        r.order[i] = r.place[i] = i;
    find_memory(&r);
    if (order_readers(&r))
        rebuild(g, r.order);
    mem_free(r.order);
    mem_free(r.place);
    mem_free(r.memory);
    mem_free(r.marked);
    mem_free(r.depends);
    return 0;
}
