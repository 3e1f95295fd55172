/*
 * From pass to pass: levels of k, phases, columns; masks for lanes of k that
 * hold nothing.
 */
#include "stack/kernels/conv/conv_passes.h"


int conv_live_phases(const struct conv_plan *p, struct live_phase *list)
{
    const struct conv_dim *d = p->shape.dim;
    int live = 0, all = 0;

    for (int64_t r0 = 0; r0 < d[0].phases; r0++)
        for (int64_t r1 = 0; r1 < d[1].phases; r1++)
            for (int64_t r2 = 0; r2 < d[2].phases; r2++, all++) {
                const int64_t r[] = {r0, r1, r2};
                struct live_phase x = {.sums = all * conv_phase_sums(p)};
                bool is_live = true;

                for (int i = 0; i < CONV_SPATIAL; i++) {
                    x.count[i] = conv_level_count(p, i, r[i]);
                    is_live &= x.count[i] > 0;
                    if (d[i].phases > 1)
                        x.rows += (d[i].phase[r[i]].offset - d[i].lowest) * p->base[i] *
                                  CONV_TILE_ROWS;
                    if (i == p->pair_level)
                        x.is_odd = conv_step_taps(p, i, r[i]) % 2;
                }
                if (is_live)
                    list[live++] = x;
            }
    return live;
}

static int64_t most_of(const struct live_phase *list, int count, int dim)
{
    int64_t most = 1;

    for (int i = 0; i < count; i++)
        if (list[i].count[dim] > most)
            most = list[i].count[dim];
    return most;
}

static int64_t tap_rows(const struct conv_plan *p, int dim)     /* from one pass to the next */
{
    int64_t taps = dim == p->pair_level ? 2 : 1;

    if (dim == 2 && conv_has_lines(p))
        return p->shape.dim[dim].tap_stride * (p->is_dense ? p->shape.batch : 1);
    return taps * p->shape.dim[dim].tap_stride * p->base[dim] * CONV_TILE_ROWS;
}

void conv_set_phase(struct conv_gen *g, const struct live_phase *x, int pred, bool sets_counts)
{
    for (int i = 0; i <= CONV_SPATIAL; i++)
        bundler_add(&g->b, isa_if(pred, isa_sadd(S_BASE0 + i, R(S_LHS), I(x->rows))));
    for (int i = 0; i < CONV_SPATIAL; i++) {
        bundler_add(&g->b, isa_if(pred, isa_smov(S_K1 + i, I(x->count[CONV_SPATIAL - 1 - i]))));
        if (sets_counts)
            bundler_add(&g->b, isa_if(pred, isa_smov(S_N1 + i, I(x->count[CONV_SPATIAL - 1 - i]))));
    }
    bundler_add(&g->b, isa_if(pred, isa_pmov(P_ODD, I(x->is_odd))));
}

/* the levels of k: P_WRAP when all of a phase has gone */
static void advance_levels(struct conv_gen *g, const struct live_phase *list, int live)
{
    const struct conv_plan *p = g->p;
    int pred = ISA_PRED_ALWAYS;
    int next[] = {P_TEMP, P_TEMP_2, P_TEMP_3, P_WRAP};

    for (int level = 0; level <= CONV_SPATIAL; level++) {
        int dim = CONV_SPATIAL - level;
        int64_t count = level ? most_of(list, live, dim) : p->feature_blocks;
        int64_t step = level ? tap_rows(p, dim) : p->feature_stride * CONV_TILE_ROWS;

        if (count == 1)
            continue;
        bundler_add(&g->b, isa_if(pred, isa_ssub(S_K0 + level, R(S_K0 + level), I(1))));
        bundler_add(&g->b, isa_if(pred, isa_sadd(S_BASE0 + level, R(S_BASE0 + level), I(step))));
        for (int i = 0; i < level; i++)
            bundler_add(&g->b, isa_if(pred, isa_smov(S_BASE0 + i, R(S_BASE0 + level))));
        bundler_add(&g->b, isa_scmp_eq(next[level], R(S_K0 + level), I(0)));
        if (level)
            bundler_add(&g->b, isa_if(next[level], isa_smov(S_K0 + level, R(S_N1 + level - 1))));
        else
            bundler_add(&g->b, isa_if(next[level], isa_smov(S_K0, I(p->feature_blocks))));
        pred = next[level];
    }
    if (pred == ISA_PRED_ALWAYS)
        bundler_add(&g->b, isa_pmov(P_WRAP, I(1)));
    else if (pred != P_WRAP)
        bundler_add(&g->b, isa_pmov(P_WRAP, R(pred)));
}

/* behind a phase: the next one, or the first of the next columns */
static void advance_phase(struct conv_gen *g, const struct live_phase *list, int live)
{
    const struct conv_plan *p = g->p;
    int64_t columns = p->unit_columns * p->halves * conv_column_sums(p);

    if (live == 1) {
        conv_set_phase(g, &list[0], P_WRAP, false);
        bundler_add(&g->b, isa_if(P_WRAP, isa_sadd(S_PASS_RESULT, R(S_PASS_RESULT), I(columns))));
        return;
    }
    bundler_add(&g->b, isa_if(P_WRAP, isa_sadd(S_PHASE, R(S_PHASE), I(1))));
    bundler_add(&g->b, isa_scmp_eq(P_TEMP, R(S_PHASE), I(live)));
    bundler_add(&g->b, isa_if(P_TEMP, isa_smov(S_PHASE, I(0))));
    for (int i = 0; i < live; i++) {
        int64_t step = i ? list[i].sums - list[i - 1].sums
                         : columns + list[0].sums - list[live - 1].sums;

        bundler_add(&g->b, isa_scmp_eq(P_TEMP, R(S_PHASE), I(i)));
        bundler_add(&g->b, isa_pand(P_TEMP, P_TEMP, P_WRAP));
        conv_set_phase(g, &list[i], P_TEMP, true);
        bundler_add(&g->b, isa_if(P_TEMP, isa_sadd(S_PASS_RESULT, R(S_PASS_RESULT), I(step))));
    }
}

void conv_advance(struct conv_gen *g, const struct live_phase *list, int live)
{
    advance_levels(g, list, live);
    advance_phase(g, list, live);
}

/* ----- masks: what of 128 lanes of k is there */

struct masks { int64_t usual[2], edge[2]; };

static int64_t within(int64_t x)
{
    return x < 0 ? 0 : x > ARRAY_LANES ? ARRAY_LANES : x;
}

static struct masks masks_of(const struct conv_plan *p)
{
    int64_t features = p->features_here, block = p->slots * ARRAY_LANES;
    struct masks m = {{ARRAY_LANES, ARRAY_LANES}, {ARRAY_LANES, ARRAY_LANES}};

    if (p->shape.mode == CONV_TRANSPOSED)
        return m;
    if (p->contracted == 1) {
        m.usual[0] = m.edge[0] = within(features);
        m.usual[1] = p->pair_level < 0 ? 0 : within(features);
        m.edge[1] = 0;
        return m;
    }
    for (int slot = 0; slot < p->slots; slot++)
        m.edge[slot] = within(features - (p->feature_blocks - 1) * block - slot * ARRAY_LANES);
    return m;
}

bool conv_needs_masks(const struct conv_plan *p)
{
    struct masks m = masks_of(p);

    for (int slot = 0; slot < p->slots; slot++)
        if (m.usual[slot] < ARRAY_LANES || m.edge[slot] < ARRAY_LANES)
            return true;
    return false;
}

static void put_mask(struct conv_gen *g, int slot, int64_t lanes, int pred)
{
    if (lanes == 0)
        bundler_add(&g->b, isa_if(pred, isa_vmmov(CONV_MASK_OF_SLOT + slot, I(0))));
    else
        bundler_add(
            &g->b, isa_if(pred, isa_vcmask(CONV_MASK_OF_SLOT + slot, (lanes - 1) << 13 | 7 << 10)));
}

void conv_set_masks(struct conv_gen *g, const struct live_phase *list, int live)
{
    const struct conv_plan *p = g->p;
    struct masks m = masks_of(p);
    bool is_pair = p->contracted == 1;
    int level = is_pair ? CONV_SPATIAL - p->pair_level : 0;
    bool is_counted = is_pair ? p->pair_level >= 0 && most_of(list, live, p->pair_level) > 1
                              : p->feature_blocks > 1;

    if (!g->has_masks)
        return;
    rounds_open(&g->rounds, NULL, 0);
    for (int slot = 0; slot < p->slots; slot++)
        put_mask(g, slot, m.usual[slot], ISA_PRED_ALWAYS);
    if (is_counted)
        bundler_add(&g->b, isa_scmp_eq(P_EDGE, R(S_K0 + level), I(1)));
    else
        bundler_add(&g->b, isa_pmov(P_EDGE, I(1)));
    if (is_pair)
        bundler_add(&g->b, isa_pand(P_EDGE, P_EDGE, P_ODD));
    bundler_end(&g->b);
    rounds_open(&g->rounds, NULL, 0);
    for (int slot = 0; slot < p->slots; slot++)
        if (m.edge[slot] != m.usual[slot])
            put_mask(g, slot, m.edge[slot], P_EDGE);
    bundler_end(&g->b);
}
