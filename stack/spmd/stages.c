/*
 * Cuts a step into pipeline stages: assigns nodes, measures messages, checks what a loop of steps
 * needs, and emits each stage.
 */
#include "stack/spmd/stages.h"

#include <string.h>

#include "base/units.h"
#include "stack/hlo/array.h"
#include "stack/spmd/stages_impl.h"

static int64_t bytes_of(const struct stages_cut *c, int node)
{
    struct array a;

    array_init(&a, "", &c->g->node[node].shape, NULL);
    return a.bytes;
}

/* room for the largest message of each kind */
static void measure(struct stages_cut *c)
{
    for (int s = 0; s < c->r->stage_count; s++)
        for (int m = 0; m < c->batches; m++) {
            int64_t up = 0, down = 0;

            for (int i = 0; i < c->g->node_count; i++) {
                up += stages_go_up(c, i, m, s) ? bytes_of(c, i) : 0;
                down += stages_go_down(c, i, m, s) ? bytes_of(c, i) : 0;
            }
            c->forward_bytes = up > c->forward_bytes ? up : c->forward_bytes;
            c->backward_bytes = down > c->backward_bytes ? down : c->backward_bytes;
        }
    c->forward_bytes = round_up(c->forward_bytes, ARRAY_TILE_BYTES);
    c->backward_bytes = round_up(c->backward_bytes, ARRAY_TILE_BYTES);
    c->out->bytes = STAGE_SLOTS * (c->forward_bytes + c->backward_bytes);
}

/* what a stage sends to the one above or below in the passes of a micro batch */
static bool has_message(const struct stages_cut *c, int micro, int from, bool is_up)
{
    for (int i = 0; i < c->g->node_count; i++)
        if (is_up ? stages_go_up(c, i, micro, from) : stages_go_down(c, i, micro, from))
            return true;
    return false;
}

/* then both know at the end of a round that slots are free (docs/parallel.md) */
static int check_round(const struct stages_cut *c, struct err *e)
{
    for (int s = 0; s + 1 < c->r->stage_count; s++)
        for (int m = 0; m < c->batches; m++) {
            bool goes_up = has_message(c, m, s, true);

            if (goes_up != has_message(c, m, s + 1, false))
                return err_set(e, "stage %d gets nothing back from stage %d, which is so where no "
                               "layer up to it is trained; several steps per execution need "
                               "messages both ways", goes_up ? s : s + 1, goes_up ? s + 1 : s);
        }
    return 0;
}

/* messages behind all micro batches take turns with theirs in the slots */
static int check_last(const struct stages_cut *c, struct err *e)
{
    for (int s = 0; s < c->r->stage_count && c->batches > c->r->micro_batches; s++)
        for (int is_up = 0; is_up < 2; is_up++)
            if (has_message(c, c->r->micro_batches, s, is_up) && !has_message(c, 0, s, is_up))
                return err_set(e, "stage %d sends a sum over all stages that way alone, and "
                               "nothing of any micro batch", s);
    return 0;
}

int stages_cut(const struct stages_request *r, struct arena *a, struct stages *out, struct err *e)
{
    size_t nodes = (size_t)r->g->node_count + 1;
    struct stages_cut c = {.r = r, .arena = a, .g = r->g, .out = out, .passes = 1};

    memset(out, 0, sizeof(*out));
    out->part = arena_array(a, (size_t)r->stage_count, sizeof(*out->part));
    c.is_live = arena_array(a, nodes, sizeof(*c.is_live));
    c.stage_of = arena_array(a, nodes, sizeof(*c.stage_of));
    c.phase = arena_array(a, nodes, sizeof(*c.phase));
    memcpy(c.phase, r->phase, (nodes - 1) * sizeof(*c.phase));
    c.batches = r->micro_batches;
    c.highest = arena_array(a, nodes, sizeof(*c.highest));
    c.lowest = arena_array(a, nodes, sizeof(*c.lowest));
    if (stages_assign(&c, e) || check_last(&c, e) || (r->is_round && check_round(&c, e)))
        return -1;
    measure(&c);
    for (int s = 0; s < r->stage_count; s++)
        if (stages_emit(&c, s, e))
            return -1;
    return 0;
}

void stages_place(struct stages *s, int stage_count, int64_t address)
{
    for (int k = 0; k < stage_count; k++) {
        struct graph *g = &s->part[k].graph;

        for (int i = 0; i < g->node_count; i++)
            if (g->node[i].message) {
                struct graph_message *m = arena_alloc(g->arena, sizeof(*m));

                *m = *g->node[i].message;
                m->address += address;
                g->node[i].message = m;
            }
    }
}
