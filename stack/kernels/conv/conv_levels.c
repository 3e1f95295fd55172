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
                        x.is_odd = (d[i].dilation == 1 ? p->taps[i] : d[i].phase[r[i]].count) % 2;
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
        PUT_IF(g, pred, OP_SADD, REG(S_BASE0 + i), REG(S_LHS), IMM(x->rows));
    for (int i = 0; i < CONV_SPATIAL; i++) {
        PUT_IF(g, pred, OP_SMOV, REG(S_K1 + i), IMM(x->count[CONV_SPATIAL - 1 - i]));
        if (sets_counts)
            PUT_IF(g, pred, OP_SMOV, REG(S_N1 + i), IMM(x->count[CONV_SPATIAL - 1 - i]));
    }
    PUT_IF(g, pred, OP_PMOV, REG(P_ODD), IMM(x->is_odd));
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
        PUT_IF(g, pred, OP_SSUB, REG(S_K0 + level), REG(S_K0 + level), IMM(1));
        PUT_IF(g, pred, OP_SADD, REG(S_BASE0 + level), REG(S_BASE0 + level), IMM(step));
        for (int i = 0; i < level; i++)
            PUT_IF(g, pred, OP_SMOV, REG(S_BASE0 + i), REG(S_BASE0 + level));
        PUT(g, OP_SCMP_EQ, REG(next[level]), REG(S_K0 + level), IMM(0));
        if (level)
            PUT_IF(g, next[level], OP_SMOV, REG(S_K0 + level), REG(S_N1 + level - 1));
        else
            PUT_IF(g, next[level], OP_SMOV, REG(S_K0), IMM(p->feature_blocks));
        pred = next[level];
    }
    if (pred == ISA_PRED_ALWAYS)
        PUT(g, OP_PMOV, REG(P_WRAP), IMM(1));
    else if (pred != P_WRAP)
        PUT(g, OP_PMOV, REG(P_WRAP), REG(pred));
}

/* behind a phase: the next one, or the first of the next columns */
static void advance_phase(struct conv_gen *g, const struct live_phase *list, int live)
{
    const struct conv_plan *p = g->p;
    int64_t columns = p->unit_columns * p->halves * conv_column_sums(p);

    if (live == 1) {
        conv_set_phase(g, &list[0], P_WRAP, false);
        PUT_IF(g, P_WRAP, OP_SADD, REG(S_PASS_RESULT), REG(S_PASS_RESULT), IMM(columns));
        return;
    }
    PUT_IF(g, P_WRAP, OP_SADD, REG(S_PHASE), REG(S_PHASE), IMM(1));
    PUT(g, OP_SCMP_EQ, REG(P_TEMP), REG(S_PHASE), IMM(live));
    PUT_IF(g, P_TEMP, OP_SMOV, REG(S_PHASE), IMM(0));
    for (int i = 0; i < live; i++) {
        int64_t step = i ? list[i].sums - list[i - 1].sums
                         : columns + list[0].sums - list[live - 1].sums;

        PUT(g, OP_SCMP_EQ, REG(P_TEMP), REG(S_PHASE), IMM(i));
        PUT(g, OP_PAND, REG(P_TEMP), REG(P_TEMP), REG(P_WRAP));
        conv_set_phase(g, &list[i], P_TEMP, true);
        PUT_IF(g, P_TEMP, OP_SADD, REG(S_PASS_RESULT), REG(S_PASS_RESULT), IMM(step));
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
        PUT_IF(g, pred, OP_VMMOV, REG(CONV_MASK_OF_SLOT + slot), IMM(0));
    else
        PUT_IF(g, pred, OP_VCMASK, REG(CONV_MASK_OF_SLOT + slot),
               IMM((lanes - 1) << 13 | 7 << 10));
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
    conv_section(g, NULL, 0);
    for (int slot = 0; slot < p->slots; slot++)
        put_mask(g, slot, m.usual[slot], ISA_PRED_ALWAYS);
    if (is_counted)
        PUT(g, OP_SCMP_EQ, REG(P_EDGE), REG(S_K0 + level), IMM(1));
    else
        PUT(g, OP_PMOV, REG(P_EDGE), IMM(1));
    if (is_pair)
        PUT(g, OP_PAND, REG(P_EDGE), REG(P_EDGE), REG(P_ODD));
    bundler_end(&g->b);
    conv_section(g, NULL, 0);
    for (int slot = 0; slot < p->slots; slot++)
        if (m.edge[slot] != m.usual[slot])
            put_mask(g, slot, m.edge[slot], P_EDGE);
    bundler_end(&g->b);
}
