/* Emits the permutes that reverse, thin out or spread the lanes of a tile, and their masks. */
#include "stack/kernels/move/move_lanes.h"

#include "base/units.h"

/*
 * A lane number below 128, times this over a step and shifted back, is divided by the step: what
 * the rounded reciprocal is too large by stays below 128 * 128 of the 32,768 that one is worth.
 */
#define RECIPROCAL_BITS 15

/* what stands in each lane: its number behind the first that belongs to the grid of to_step */
static int behind_first(struct move_step *s, const struct move_lanes *l)
{
    int lane = emit_vand_u32(s->m.code, R(emit_vlaneseq(s->m.code)), I(ARRAY_LANES - 1));

    return emit_vsub_s32(s->m.code, R(lane), I(l->to % l->to_step));
}

/* and that over to_step, rounded down */
static int places(struct move_step *s, const struct move_lanes *l, int behind)
{
    int32_t reciprocal = (int32_t)div_up((int64_t)1 << RECIPROCAL_BITS, l->to_step);
    int product = emit_vmul_u32(s->m.code, R(behind), I(reciprocal));

    return emit_vshra_s32(s->m.code, R(product), I(RECIPROCAL_BITS));
}

/* the lane of the operand for each lane of the result; the permute takes it modulo 128 */
static int sources(struct move_step *s, const struct move_lanes *l)
{
    int32_t first = l->from - l->to / l->to_step * l->from_step;
    int place = l->to_step == 1 ? emit_vlaneseq(s->m.code)
                                : places(s, l, behind_first(s, l));

    place = emit_vmul_u32(s->m.code, R(place), I(l->from_step));
    return emit_vadd_s32(s->m.code, R(place), I(first));
}

int move_permute(struct move_step *s, int v, const struct move_lanes *l)
{
    int unit = move_take_xlu(s);

    s->xlu += (double)s->box->job->chip->xlu_issue_cycles;
    s->valu += l->to_step == 1 ? 2 : 6;
    s->ops += l->to_step == 1 ? 5 : 9;
    if (s->is_counted)
        return v;
    return emit_vperm(s->m.code, unit, v, sources(s, l));
}

int move_lanes_mask(struct move_step *s, const struct move_lanes *l)
{
    int last = l->to + (l->count - 1) * l->to_step, mask, behind, place;

    s->ops++;
    if (l->to_step > 1) {
        s->valu += 7;
        s->ops += 8;
    }
    if (s->is_counted)
        return -1;
    mask = emit_vcmask(s->m.code, l->to << 3 | 7 << 10 | last << 13);
    if (l->to_step == 1)
        return mask;
    behind = behind_first(s, l);
    place = emit_vmul_u32(s->m.code, R(places(s, l, behind)), I(l->to_step));
    return emit_vmand(s->m.code, mask, emit_vcmp_eq_s32(s->m.code, R(place), R(behind)));
}
