/*
 * Cuts a long program into overlays: each cut stands where the fewest branches cross it, and of
 * such places at the latest.
 */
#include "isa/overlay.h"

/* by bundle: branches that would lead across a cut in front of it, loops' heads counted too */
static uint32_t *count_crossings(const struct isa_program *p, uint32_t delay, struct arena *a)
{
    uint32_t count = p->bundle_count;
    uint32_t *crossings = arena_array(a, (size_t)count + 2, sizeof(*crossings));

    for (uint32_t b = 0; b < count; b++)
        for (uint32_t i = 0; i < p->bundle[b].op_count; i++) {
            const struct isa_op *op = &p->op[p->bundle[b].first_op + i];
            uint32_t target = (uint32_t)op->operand[0].value, end = b + delay;
            uint32_t first = target <= b ? target : b + 1;

            if (op->code != OP_SBR)
                continue;
            if (target > b && target - 1 > end)
                end = target - 1;
            crossings[first]++;
            crossings[(end < count ? end : count) + 1]--;
        }
    for (uint32_t b = 1; b <= count; b++)
        crossings[b] += crossings[b - 1];
    return crossings;
}

static uint32_t find_cut(const uint32_t *crossings, uint32_t first, uint32_t half)
{
    uint32_t best = first + half;

    for (uint32_t cut = first + half; cut > first + half / 4; cut--)
        if (crossings[cut] < crossings[best])
            best = cut;
    return best;
}

static void cut_program(const struct isa_program *p, uint32_t half, uint32_t delay,
                        struct arena *a, struct isa_overlays *o)
{
    const uint32_t *crossings = count_crossings(p, delay, a);
    uint32_t at = 0;

    o->first = arena_array(a, (size_t)p->bundle_count / (half / 4) + 3, sizeof(*o->first));
    for (o->count = 1; p->bundle_count - at > half; o->count++) {
        at = find_cut(crossings, at, half);
        o->first[o->count] = at;
    }
    o->first[o->count] = p->bundle_count;
}

/* the jump is made behind the delay bundles, of which the last may lie in another overlay */
static void note_branch(struct isa_overlays *o, uint32_t last_delay, uint32_t target)
{
    uint32_t from = isa_overlay_of(o, last_delay), to = isa_overlay_of(o, target);

    if (to == from)
        return;
    o->is_entry[target] = 1;
    if (to < from)
        o->next[from] = to;
}

void isa_overlays(const struct isa_program *p, int64_t imem_bundles, int branch_delay_bundles,
                  struct arena *a, struct isa_overlays *out)
{
    uint32_t delay = (uint32_t)branch_delay_bundles;

    *out = (struct isa_overlays){.count = 1};
    if (p->bundle_count <= imem_bundles)
        return;
    cut_program(p, (uint32_t)(imem_bundles / 2), delay, a, out);
    out->next = arena_array(a, out->count, sizeof(*out->next));
    out->is_entry = arena_array(a, p->bundle_count, sizeof(*out->is_entry));
    for (uint32_t k = 0; k < out->count; k++) {
        out->next[k] = k + 1 < out->count ? k + 1 : k;
        out->is_entry[out->first[k]] = k > 0;
    }
    for (uint32_t b = 0; b < p->bundle_count; b++)
        for (uint32_t i = 0; i < p->bundle[b].op_count; i++) {
            const struct isa_op *op = &p->op[p->bundle[b].first_op + i];

            if (op->code == OP_SBR)
                note_branch(out, b + delay < p->bundle_count ? b + delay : p->bundle_count - 1,
                            (uint32_t)op->operand[0].value);
        }
}

uint32_t isa_overlay_of(const struct isa_overlays *o, uint32_t bundle)
{
    uint32_t first = 0, end = o->count;

    while (first + 1 < end) {
        uint32_t middle = first + (end - first) / 2;

        if (o->first[middle] <= bundle)
            first = middle;
        else
            end = middle;
    }
    return first;
}
