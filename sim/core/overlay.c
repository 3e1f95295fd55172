/* Times the fetches of overlays into the two halves of the instruction memory. */
#include "sim/core/overlay.h"

#include <math.h>

static const struct isa_overlays *overlays_of(const struct core *c)
{
    return &c->program->overlays;
}

static cycle_t overlay_fetch_cycles(const struct chip *chip, uint32_t bundles)
{
    double bytes = (double)bundles * (double)chip->core_bundle_bytes;
    int64_t ps = chip->dma_read_ns * PS_PER_NS + (int64_t)ceil(bytes * 1000 / chip->dma_core_gbps);

    return div_up(ps * chip->chip_clock_mhz, 1000000);
}

/* into a half of the memory, from `from` on or when the fetch before has ended */
static void fetch(struct core *c, int half, uint32_t overlay, cycle_t from)
{
    const struct isa_overlays *o = overlays_of(c);

    c->overlay_free_at = later(from, c->overlay_free_at)
                         + overlay_fetch_cycles(c->chip, o->first[overlay + 1] - o->first[overlay]);
    c->overlay_held[half] = overlay;
    c->overlay_ready_at[half] = c->overlay_free_at;
}

void overlay_launch(struct core *c)
{
    c->overlay_half = 0;
    c->overlay_free_at = 0;
    for (int half = 0; half < 2; half++) {
        c->overlay_held[half] = 0;
        c->overlay_ready_at[half] = 0;
    }
    if (overlays_of(c)->count > 1)
        fetch(c, 1, overlays_of(c)->next[0], 0);
}

static bool runs_here(const struct core *c, uint32_t overlay)
{
    return c->is_listing || c->overlay_held[c->overlay_half] == overlay;
}

void overlay_wait(struct core *c, struct issue_time *t)
{
    uint32_t overlay = isa_overlay_of(overlays_of(c), c->pc);
    int other = !c->overlay_half;

    if (runs_here(c, overlay))
        return;
    if (c->overlay_held[other] != overlay)
        fetch(c, other, overlay, c->now);
    issue_not_before(t, c->overlay_ready_at[other], STALL_FETCH);
}

void overlay_enter(struct core *c, cycle_t at)
{
    uint32_t overlay = isa_overlay_of(overlays_of(c), c->pc), next = overlays_of(c)->next[overlay];

    if (runs_here(c, overlay))
        return;
    c->overlay_half = !c->overlay_half;
    if (next != overlay && c->overlay_held[!c->overlay_half] != next)
        fetch(c, !c->overlay_half, next, at);
}
