/*
 * Loop fusions: the phases of a step. In the order of levels, and of fewer axes first, each phase
 * makes what is a result, what others spread over more axes, and what is reduced.
 */
#include "stack/kernels/loop/loop_nest.h"

#include "base/arena.h"
#include "base/units.h"

#define OPS_PER_BLOCK 256
#define REGISTERS_PER_BLOCK 24          /* tiles of a block's units, about */
#define LIFTED_TILES 8                  /* of a block whose sums over lanes are awaited in it */
#define PLAIN_TILES 32                  /* of a block whose rounds do not overlap: accuracy.md */
#define PLAIN_OPS 800

static bool is_root_of(const struct loop_plan *p, int node, uint32_t mask, int level)
{
    return p->mask[node] == mask && p->level[node] == level;
}

/* what `node` is made for; -1: nothing in this phase */
static bool is_reduced_here(const struct loop_nest *n, int reduce)
{
    const struct graph_node *x = &n->p->body.node[reduce];

    return x->op == HLO_REDUCE && !n->p->is_lifted[reduce]
           && is_root_of(n->p, x->operand[0], n->mask, n->level);
}

static bool is_needed(const struct loop_plan *p, int node)
{
    return p->is_kept[node] && !loop_is_direct(p, node) && !p->is_finished[node];
}

/* whether a result of this phase behind number `result` takes the value of `parameter` */
static bool is_read_behind(const struct loop_nest *n, int result, int parameter)
{
    const struct graph *g = &n->p->body;
    bool *takes = mem_alloc((size_t)g->node_count), is_read = false;

    takes[parameter] = true;
    for (int i = parameter + 1; i < g->node_count; i++)
        for (int k = 0; k < g->node[i].operand_count; k++)
            takes[i] |= takes[g->node[i].operand[k]];
    for (int i = result + 1; i < g->output_count; i++)
        is_read |= takes[g->output[i].node] && is_root_of(n->p, g->output[i].node, n->mask, n->level);
    mem_free(takes);
    return is_read;
}

/* A result that lies where an operand does: what others of the unit take of it is loaded first. */
static int load_overwritten(struct loop_nest *n, int result)
{
    const struct loop_plan *p = n->p;
    int region = loop_region(p, p->operand_count + result);

    if (region >= p->operand_count)
        return 0;
    for (int i = 0; i < p->body.node_count; i++)
        if (p->body.node[i].op == HLO_PARAMETER && p->mask[i] == n->mask &&
            loop_region(p, p->array_of[i]) == region && is_read_behind(n, result, i) &&
            fused_emit(&n->fused, i, n->e))
            return -1;
    return 0;
}

static int emit_unit(struct loop_nest *n)
{
    const struct loop_plan *p = n->p;

    if (n->is_by_rows && n->unit[AXIS_ROWS] % loop_chunk_units(p) > 0)
        return 0;                       /* the first one of 128 rows has made them all */
    for (int i = 0; i < p->body.node_count; i++) {
        if (!is_root_of(p, i, n->mask, n->level) || !is_needed(p, i))
            continue;
        if (fused_emit(&n->fused, i, n->e))
            return -1;
        loop_keep(n, i);
    }
    for (int i = 0; i < p->body.output_count; i++) {
        int node = p->body.output[i].node;

        if (!is_root_of(p, node, n->mask, n->level))
            continue;
        if (fused_emit(&n->fused, node, n->e) || load_overwritten(n, i))
            return -1;
        loop_store_result(n, i, node);
    }
    for (int i = 0; i < p->body.node_count; i++) {
        if (!is_reduced_here(n, i))
            continue;
        if (fused_emit(&n->fused, p->body.node[i].operand[0], n->e))
            return -1;
        loop_add_to_sum(n, i);
    }
    return 0;
}

static bool has_roots(const struct loop_nest *n)
{
    const struct loop_plan *p = n->p;

    for (int i = 0; i < p->body.node_count; i++)
        if ((is_root_of(p, i, n->mask, n->level) && is_needed(p, i)) || is_reduced_here(n, i))
            return true;
    for (int i = 0; i < p->body.output_count; i++)
        if (is_root_of(p, p->body.output[i].node, n->mask, n->level))
            return true;
    return false;
}

/* axes of all reductions of a phase */
static uint32_t reduced_here(const struct loop_nest *n)
{
    uint32_t reduced = 0;

    for (int i = 0; i < n->p->body.node_count; i++)
        if (is_reduced_here(n, i))
            reduced |= loop_reduced_axes(n->p, i);
    return reduced;
}

int loop_unit_ops(const struct loop_plan *p)
{
    struct fused_cost k;

    fused_cost(&p->body, p->job->chip, &k);
    return (k.valu + k.pop + 2) * p->parts + 4;
}

/*
 * Nothing but rows is reduced, and all that a sum takes is a block: it stays in registers, and no
 * edge is apart.
 */
static bool sums_columns(const struct loop_plan *p)
{
    return p->reduced_mask == 1u << AXIS_ROWS && !p->is_linear && p->axis[AXIS_ROWS].grid_dim < 0 &&
           p->axis[AXIS_ROWS].box * loop_unit_ops(p) <= PLAIN_OPS;
}

/* then the long axes outside are loops inside those over lanes, or over rows where a block has lanes */
static void order_columns(struct loop_nest *n)
{
    const int innermost = reduced_here(n) ? AXIS_ROWS : AXIS_LANES;

    n->axis_count = 0;
    if (n->mask >> innermost & 1)
        n->axis_order[n->axis_count++] = innermost;
    for (int a = AXIS_ROWS + 1; a < n->p->axis_count; a++)
        if (n->mask >> a & 1)
            n->axis_order[n->axis_count++] = a;
    for (int a = AXIS_LANES; a <= AXIS_ROWS; a++)
        if (a != innermost && n->mask >> a & 1)
            n->axis_order[n->axis_count++] = a;
}

/* axes that a phase reduces go innermost, so that sums stay in registers for a block */
static void order_axes(struct loop_nest *n)
{
    uint32_t reduced = reduced_here(n);

    if (sums_columns(n->p)) {
        order_columns(n);
        return;
    }
    n->axis_count = 0;
    for (int pass = 1; pass >= 0; pass--)
        for (int a = 0; a < n->p->axis_count; a++)
            if (n->mask >> a & 1 && (int)(reduced >> a & 1) == pass
                && !(n->p->is_linear && a == AXIS_LANES))
                n->axis_order[n->axis_count++] = a;
}

static int64_t best_part(int64_t units, int64_t most)
{
    int64_t part = most < units ? most : units;

    while (part > 1 && part * 2 > most && units % part)
        part--;
    return units % part && part * 2 <= most ? (most < units ? most : units) : part;
}

/* units of a block */
static int64_t block_room(const struct loop_nest *n)
{
    int64_t room = OPS_PER_BLOCK / loop_unit_ops(n->p);
    int64_t tiles = (n->p->has_lifted ? LIFTED_TILES : REGISTERS_PER_BLOCK) / n->p->parts;

    if (n->is_plain) {
        room = PLAIN_OPS / loop_unit_ops(n->p);
        tiles = PLAIN_TILES;
    }
    return room < 1 ? 1 : room > tiles ? tiles : room;
}

/* whole rows of 128 values along axis 1, so that their lanes are known when code is made */
static void choose_chunks(struct loop_nest *n)
{
    const struct loop_axis *x = &n->p->axis[AXIS_ROWS];
    int64_t chunk = loop_chunk_units(n->p), *unroll = &n->unroll[AXIS_ROWS];
    bool is_looped = n->loop_mask >> AXIS_ROWS & 1;

    n->is_chunked = false;
    if (chunk == 1 || !(n->mask >> AXIS_ROWS & 1)
        || (n->mask == n->p->full_mask && !n->spreads_late))
        return;
    if (is_looped && x->box >= chunk)
        *unroll = *unroll < chunk ? chunk : *unroll / chunk * chunk;
    n->is_chunked = (!is_looped || *unroll % chunk == 0) && loop_has_chunks(n->p);
}

static void choose_unroll(struct loop_nest *n)
{
    int64_t room;
    bool is_full = true;

    n->is_plain = n->p->job->codegen == CODEGEN_XLA && n->p->reduced_mask == 0
                  && n->mask == n->p->full_mask;
    room = block_room(n);
    if (sums_columns(n->p) && reduced_here(n))
        room = room > n->p->axis[AXIS_ROWS].box ? room : n->p->axis[AXIS_ROWS].box;
    n->loop_mask = 0;
    for (int k = 0; k < n->axis_count; k++) {
        int a = n->axis_order[k];
        int64_t units = n->p->axis[a].box;

        n->unroll[a] = 1;
        if (is_full && units <= room) {
            n->unroll[a] = units;
            room /= units;
            continue;
        }
        if (is_full)
            n->unroll[a] = best_part(units - loop_nest_has_edge(n->p, a), room);
        if (n->unroll[a] < 1)
            n->unroll[a] = 1;
        is_full = false;
        n->loop_mask |= 1u << a;
    }
    choose_chunks(n);
}

static void flush(struct loop_nest *n)
{
    loop_flush_sums(n);
    loop_flush_columns(n);
}

/* values that other phases have kept; they are columns, which rows cannot be made of */
static void find_leaves(struct loop_nest *n)
{
    const struct loop_plan *p = n->p;

    for (int i = 0; i < p->body.node_count; i++)
        n->fused.is_leaf[i] = p->is_kept[i] && p->body.node[i].op != HLO_REDUCE
                              && (p->mask[i] != n->mask
                                  || (p->level[i] < n->level && !n->is_by_rows));
}

/* the nest of a phase, or NULL where there is nothing to do */
static struct loop_nest *make_nest(struct loop_plan *p, struct vcode *c, uint32_t mask, int level,
                                   struct err *e)
{
    struct loop_nest *n = arena_alloc(p->arena, sizeof(*n));

    n->p = p;
    n->code = c;
    n->mask = mask;
    n->level = level;
    n->e = e;
    for (int i = 0; i < p->body.node_count; i++)
        if (is_reduced_here(n, i))
            p->is_finished[i] = false;
    if (!has_roots(n))
        return NULL;
    fused_init(&n->fused, c, p->job->chip, &p->body, loop_parts(p, mask), p->arena);
    n->fused.leaf = loop_leaf;
    n->fused.user = n;
    order_axes(n);
    n->spreads_late = loop_spreads_late(p);
    choose_unroll(n);
    n->is_by_rows = loop_goes_by_rows(p, mask);
    if (n->is_by_rows) {
        n->fused.parts = 1;
        n->fused.leaf = loop_leaf_by_rows;
    }
    find_leaves(n);
    for (int i = 0; i < p->body.node_count; i++)
        if (is_reduced_here(n, i))
            p->is_finished[i] = loop_finishes_sum(n, i);
    return n;
}

/* ----- phases together */

static const uint32_t rows_mask = 1u << AXIS_ROWS;

static bool is_together(const struct loop_plan *p, uint32_t mask)
{
    return (mask | rows_mask) == p->full_mask;
}

static bool has_phase(const struct loop_plan *p, uint32_t mask, int level)
{
    const struct loop_nest n = {.p = (struct loop_plan *)p, .mask = mask, .level = level};

    return has_roots(&n);
}

/*
 * Sums over rows that stay in registers, and are spread over the rows again: what is made before
 * and behind them is one nest, whose block makes all phases, so that phases of several blocks
 * overlap. What lives on fewer axes has come before.
 */
bool loop_goes_together(const struct loop_plan *p)
{
    bool comes_back = false;

    if (!sums_columns(p) || p->has_lifted)
        return false;
    for (int level = 0; level < p->level_count; level++)
        for (uint32_t mask = 0; mask <= p->full_mask; mask++) {
            if (level && !is_together(p, mask) && has_phase(p, mask, level))
                return false;
            comes_back |= level && mask == p->full_mask && has_phase(p, mask, level);
        }
    return comes_back && p->level_count * 2 <= NEST_PART_MAX;
}

static void begin_part(struct loop_nest *n, const struct loop_nest_part *part)
{
    n->mask = part->mask;
    n->level = part->level;
    n->fused.parts = loop_parts(n->p, n->mask);
    find_leaves(n);
}

static void list_parts(struct loop_nest *n)
{
    const struct loop_plan *p = n->p;
    const uint32_t mask[] = {p->full_mask & ~rows_mask, p->full_mask};

    for (int level = 0; level < p->level_count; level++)
        for (int i = 0; i < 2; i++)
            if (has_phase(p, mask[i], level))
                n->part[n->part_count++] = (struct loop_nest_part){mask[i], level};
}

static void choose_unroll_together(struct loop_nest *n)
{
    int64_t room = OPS_PER_BLOCK / loop_unit_ops(n->p);

    n->unroll[AXIS_ROWS] = n->p->axis[AXIS_ROWS].box;
    room /= n->unroll[AXIS_ROWS];
    for (int k = 1; k < n->axis_count; k++) {
        int a = n->axis_order[k];

        n->unroll[a] = best_part(n->p->axis[a].box, room < 1 ? 1 : room);
        room /= n->unroll[a];
        if (n->unroll[a] < n->p->axis[a].box) {
            n->loop_mask |= 1u << a;
            room = 1;
        }
    }
}

static struct loop_nest *make_nest_together(struct loop_plan *p, struct vcode *c, struct err *e)
{
    struct loop_nest *n = arena_alloc(p->arena, sizeof(*n));

    n->p = p;
    n->code = c;
    n->mask = p->full_mask;
    n->e = e;
    fused_init(&n->fused, c, p->job->chip, &p->body, p->parts, p->arena);
    n->fused.leaf = loop_leaf;
    n->fused.user = n;
    n->axis_order[n->axis_count++] = AXIS_ROWS;
    for (int a = AXIS_ROWS + 1; a < p->axis_count; a++)
        n->axis_order[n->axis_count++] = a;
    n->axis_order[n->axis_count++] = AXIS_LANES;
    choose_unroll_together(n);
    n->begin_part = begin_part;
    list_parts(n);
    for (int i = 0; i < p->body.node_count; i++)
        p->is_finished[i] = false;
    return n;
}

bool loop_has_scalars_together(struct loop_plan *p)
{
    struct err e;
    struct loop_nest *n = make_nest_together(p, NULL, &e);
    struct vcode c;
    int status;

    vcode_init(&c, p->arena);
    status = loop_nest_collect(n, &c, emit_unit);
    vcode_fini(&c);
    return !status && !n->has_failed;
}

static void flush_together(struct loop_nest *n)
{
    const struct loop_nest_part *last = &n->part[n->part_count - 1];

    flush(n);
    if (n->p->sink && n->mask == last->mask && n->level == last->level)
        n->p->sink->end(n->p->sink->user, n);
}

static int emit_together(struct loop_plan *p, struct vcode *c, struct err *e)
{
    return loop_nest_run(make_nest_together(p, c, e), emit_unit, flush_together);
}

static int emit_phase(struct loop_plan *p, struct vcode *c, uint32_t mask, int level,
                      struct err *e)
{
    struct loop_nest *n = make_nest(p, c, mask, level, e);

    if (!n)
        return 0;
    for (int i = 0; i < p->body.node_count; i++)
        if (is_reduced_here(n, i) && !loop_is_summed_at_once(n, i)) {
            vcode_begin_block(c);
            loop_init_sum(p, c, i);
        }
    return loop_nest_run(n, emit_unit, flush);
}

/* ----- what a phase takes */

static double slots_cycles(const struct chip *chip, const struct fused_cost *k)
{
    const double cycles[] = {
        (double)k->valu / (double)chip->slots_valu,
        (double)k->eup * (double)chip->eup_issue_cycles,
        (double)k->load / (double)(chip->slots_load + chip->slots_misc_load),
        (double)k->store / (double)(chip->slots_store + chip->slots_misc_store),
        (double)(k->load + k->store)
            / (double)(chip->slots_load + chip->slots_store
                       + (chip->slots_misc_load | chip->slots_misc_store)),
        (double)k->push * (double)chip->xlu_issue_cycles / (double)chip->xlu_count};
    double most = 0;

    for (size_t i = 0; i < COUNT_OF(cycles); i++)
        most = cycles[i] > most ? cycles[i] : most;
    return most;
}

/* cycles of a unit that the cross-lane units take for sums, at the end of a block */
static double finish_cycles(const struct loop_nest *n)
{
    const struct chip *chip = n->p->job->chip;
    double pushes = 0;

    for (int i = 0; i < n->p->body.node_count; i++) {
        double units = 1;

        if (!is_reduced_here(n, i) || !n->p->is_finished[i])
            continue;
        for (int a = 0; a < n->p->axis_count; a++)
            if (loop_reduced_axes(n->p, i) >> a & 1)
                units *= (double)n->unroll[a];
        pushes += loop_parts(n->p, n->p->mask[i]) / units;
    }
    return pushes * (double)chip->xlu_issue_cycles / (double)chip->xlu_count;
}

/* the cross-lane unit's answers that stand before each other on the longest way through a unit */
static int answers_in_turn(const struct loop_nest *n)
{
    const struct graph *g = &n->p->body;
    int *before = mem_alloc(((size_t)g->node_count + 1) * sizeof(int)), most = 0;

    for (int i = 0; i < g->node_count; i++) {
        bool is_here = n->p->mask[i] == n->mask && n->p->level[i] == n->level;

        for (int k = 0; k < g->node[i].operand_count && is_here; k++)
            if (before[g->node[i].operand[k]] > before[i])
                before[i] = before[g->node[i].operand[k]];
        before[i] += is_here && n->p->is_lifted[i] && g->node[i].op == HLO_REDUCE;
        most = before[i] > most ? before[i] : most;
    }
    mem_free(before);
    return most;
}

static int measure_phase(struct loop_plan *p, uint32_t mask, int level, struct err *e)
{
    struct loop_nest *n = make_nest(p, NULL, mask, level, e);
    struct fused_cost k;
    struct vcode c;
    double cycles;
    int status, chain, answers;

    if (!n)
        return 0;
    vcode_init(&c, p->arena);
    status = loop_nest_collect(n, &c, emit_unit);
    fused_count(&c, &k);
    chain = n->is_plain ? vcode_chain_cycles(&c, p->job->chip) : 0;
    vcode_fini(&c);
    answers = answers_in_turn(n);
    if (answers == 0 && k.push)
        answers = 1;
    cycles = slots_cycles(p->job->chip, &k);
    if (n->is_by_rows)                  /* a unit is a part of 128 rows */
        cycles /= (double)loop_chunk_units(p);
    if (finish_cycles(n) > cycles)
        cycles = finish_cycles(n);
    p->phase[p->phase_count++] = (struct loop_phase){
        .mask = mask, .cycles = cycles,
        .block_units = n->is_plain ? block_room(n) : 0, .block_latency = chain,
        .latency = answers * (int)p->job->chip->xlu_reduce_cycles
                   + (int)(k.eup ? p->job->chip->eup_latency_cycles : 0)};
    return status;
}

/* of a unit of all axes: slots are shared by all phases */
static int measure_together(struct loop_plan *p, struct err *e)
{
    struct loop_nest *n = make_nest_together(p, NULL, e);
    const int part_count = n->part_count, rows = (int)p->axis[AXIS_ROWS].box;
    struct fused_cost sum = {0}, k;
    struct vcode c;
    int status = 0, whole_count = -1;

    n->part_count = 1;
    for (int i = 0; i < part_count && !status; i++) {
        int times = n->part[i].mask == p->full_mask ? rows : 1;

        whole_count += times > 1;

        n->part[0] = n->part[i];
        vcode_init(&c, p->arena);
        status = loop_nest_collect(n, &c, emit_unit);
        fused_count(&c, &k);
        vcode_fini(&c);
        sum = (struct fused_cost){sum.valu + times * k.valu, sum.eup + times * k.eup,
                                  sum.load + times * k.load, sum.store + times * k.store,
                                  sum.push + times * k.push, sum.pop + times * k.pop};
    }
    for (int i = 0; i < p->body.node_count; i++)        /* units but the first are added */
        if (loop_reduced_axes(p, i))
            sum.valu += rows * p->parts;
    p->phase[p->phase_count++] = (struct loop_phase){
        .mask = p->full_mask, .cycles = slots_cycles(p->job->chip, &sum) / rows,
        .block_units = rows * n->p->axis[n->axis_order[1]].box,
        .block_latency = (int)(whole_count * slots_cycles(p->job->chip, &sum))
                         + part_count * (int)(p->job->chip->eup_latency_cycles
                                              + p->job->chip->vmem_store_to_load_cycles)};
    return status;
}

static int count_bits(uint32_t x)
{
    int n = 0;

    for (; x; x &= x - 1)
        n++;
    return n;
}

static int each_phase(struct loop_plan *p, struct vcode *c, struct err *e)
{
    bool together = loop_goes_together(p) && loop_has_scalars_together(p);

    for (int level = 0; level < p->level_count; level++)
        for (int bits = 0; bits <= p->axis_count; bits++)
            for (uint32_t mask = 0; mask <= p->full_mask; mask++)
                if (count_bits(mask) == bits && !(together && is_together(p, mask))
                    && (c ? emit_phase(p, c, mask, level, e) : measure_phase(p, mask, level, e)))
                    return -1;
    return !together ? 0 : c ? emit_together(p, c, e) : measure_together(p, e);
}

int loop_emit_step(struct loop_plan *p, struct vcode *c, struct err *e)
{
    return each_phase(p, c, e);
}

int loop_measure(struct loop_plan *p, struct err *e)
{
    struct vcode c;
    int status;

    p->phase = arena_array(p->arena, (size_t)p->level_count << p->axis_count, sizeof(*p->phase));
    p->phase_count = 0;
    vcode_init(&c, p->arena);
    status = pipeline_begin(&p->pipeline, &c, p->arena, e) || each_phase(p, NULL, e);
    vcode_fini(&c);
    return status ? -1 : 0;
}
