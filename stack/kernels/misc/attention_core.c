/*
 * Emits a step of attention with a running maximum and sum (flash attention), keys block by block.
 */
#include "stack/kernels/misc/attention_core.h"

#include <assert.h>

#include "base/units.h"
#include "isa/matrix.h"
#include "stack/backend/emitters.h"

#define LANES 128
#define TILE_ROWS 8
#define PACKED_ROWS 16
#define LEAST (-1e30f)                  /* below every score; no infinity: inf - inf is NaN */
#define VECTORS_MAX 32
#define FEW_TILES 64                    /* of scores of a head, in one round of a loop */

enum { REGION_Q = 1, REGION_KEYS, REGION_SCORES, REGION_M, REGION_L, REGION_ALPHA, REGION_ACC,
       REGION_OUT };

enum {                                  /* pointers and counters of the loops of a step */
    SREG_AT_Q = SREG_CORE, SREG_AT_KEYS, SREG_AT_S, SREG_AT_M, SREG_AT_ACC, SREG_AT_LIMIT,
    SREG_LIMIT_END, SREG_HEADS, SREG_ROUNDS
};
#define PRED_LIMIT 1

static int halves(const struct attention_core *k) { return (int)(k->chip->mxu_size / LANES); }
static int vectors(const struct attention_core *k) { return (int)(k->keys / LANES); }
static int64_t all_groups(const struct attention_core *k)
{
    return k->heads * k->members * k->groups;
}

/* units that take part in the keys of one head: each a tile of keys */
static int units(const struct attention_core *k)
{
    int64_t tiles = div_up(vectors(k), halves(k));

    return (int)(tiles < k->chip->mxu_count ? tiles : k->chip->mxu_count);
}

static int passes(const struct attention_core *k)
{
    return (int)div_up(vectors(k), units(k) * halves(k));
}

/* first tile of 128 keys that a unit has in a pass; how many it has */
static int first_vector(const struct attention_core *k, int pass, int u)
{
    return (pass * units(k) + u) * halves(k);
}

static int vector_count(const struct attention_core *k, int pass, int u)
{
    int left = vectors(k) - first_vector(k, pass, u);

    return left < 0 ? 0 : left < halves(k) ? left : halves(k);
}

/* heads side by side in a round of the loop of few rows, each with units of its own */
static int heads_at_once(const struct attention_core *k)
{
    int most = (int)k->chip->mxu_count / units(k);

    return passes(k) == 1 && k->heads % most == 0 ? most : 1;
}

/* Where a head is from the pointers of a round on, in VMEM rows, and its first unit. */
struct head_at { int unit; int64_t q, keys, scores, state; };

static struct head_at head_at(const struct attention_core *k, int number)
{
    int64_t groups = k->members * k->groups;

    return (struct head_at){
        .unit = number * units(k), .q = number * k->q_head_rows,
        .keys = number * k->key_head_rows,
        .scores = number * groups * vectors(k) * TILE_ROWS, .state = number * groups * TILE_ROWS};
}


int64_t core_score_rows(const struct attention_core *k)
{
    return all_groups(k) * vectors(k) * TILE_ROWS;
}

int64_t core_state_rows(const struct attention_core *k) { return all_groups(k) * TILE_ROWS; }

static void set(struct attention_core *k, int sreg, int64_t value)
{
    emit_smov(k->c, sreg, I(value));
}

static void copy(struct attention_core *k, int sreg, int from)
{
    emit_smov(k->c, sreg, R(from));
}

static void advance(struct attention_core *k, int sreg, int64_t by)
{
    emit_sadd(k->c, sreg, R(sreg), I(by));
}

/* ----- the matrix unit */

/* keys or values `first` to `first` + 7 of the block, as f32 */
static int key_tile(struct attention_core *k, int64_t row, int64_t first, bool is_value)
{
    struct vcode *c = k->c;
    int v;

    if (!k->token_rows) {
        v = emit_vld(c, isa_rows_at(R(SREG_AT_KEYS), row + first / PACKED_ROWS * TILE_ROWS),
                     REGION_KEYS);
        return emit_d_v(c, first / TILE_ROWS & 1 ? OP_VUNPACK_C_H : OP_VUNPACK_C_L, R(v));
    }
    v = emit_vld(c,
                 isa_rows_apart(R(SREG_AT_KEYS), row + first * k->token_rows, (int)k->token_rows),
                 REGION_KEYS);
    return is_value ? emit_vand_u32(c, R(v), I(-65536)) : emit_vshll_u32(c, R(v), I(16));
}

/* 128 or 256 keys from `first` on into a staging register: columns of k^T, or rows of v */
static void push_weights(struct attention_core *k, int unit, int64_t row, int64_t first,
                         bool is_wide, bool is_value)
{
    struct vcode *c = k->c;

    for (int j = LANES / TILE_ROWS - 1; j >= 0; j--) {
        int v = key_tile(k, row, first + j * TILE_ROWS, is_value);

        if (is_wide) {
            int upper = key_tile(k, row, first + LANES + j * TILE_ROWS, is_value);

            emit_vmatprep_subr(c, unit, upper, MATRIX_F32);
        }
        emit_vmatpush(c, unit, v, is_wide ? 2 : 0, MATRIX_F32, !is_value, is_value);
    }
}

static void push_pass(struct attention_core *k, int pass, const struct head_at *at,
                      bool is_value)
{
    for (int u = 0; u < units(k); u++)
        if (vector_count(k, pass, u))
            push_weights(k, at->unit + u, at->keys, (int64_t)first_vector(k, pass, u) * LANES,
                         vector_count(k, pass, u) == 2, is_value);
}

/*
 * LATCH_NOW: the weights that have been pushed are loaded first. A latch leaves none in the staging
 * register, so of a loop only the first round's does it: LATCH_ONCE, behind latch_before.
 */
enum latch { LATCH_NEVER, LATCH_NOW, LATCH_ONCE };

static void multiply(struct attention_core *k, int unit, int rows, int upper, bool is_value,
                     enum latch latch)
{
    struct isa_op op = isa_vmatmul(unit, rows, upper >= 0, MATRIX_F32,
                                   latch == LATCH_NOW ? 1 + is_value : 0, is_value);

    if (upper >= 0)
        emit_vmatprep_mubr(k->c, unit, upper, MATRIX_F32);
    vcode_put(k->c, op)->region = latch == LATCH_ONCE ? VCODE_LATCHES : 0;
}

/* right before a loop whose products are of LATCH_ONCE: rows of zeros, whose results nobody wants */
static void latch_before(struct attention_core *k, int pass, bool is_value)
{
    vcode_latch_begin(k->c);
    for (int u = 0; u < units(k); u++) {
        if (!vector_count(k, pass, u))
            continue;
        multiply(k, u, emit_vmov(k->c, I(0)), -1, is_value, LATCH_NOW);
        for (int i = 0; i < halves(k); i++)
            emit_vpop_mrf(k->c, u, 0);
    }
}

/* ----- scores */

/* scores of 8 rows, scaled */
static void score_group(struct attention_core *k, int pass, int q, int group,
                        const struct head_at *at, enum latch latch)
{
    struct vcode *c = k->c;

    for (int u = 0; u < units(k); u++)
        if (vector_count(k, pass, u))
            multiply(k, at->unit + u, q, -1, false, latch);
    for (int u = 0; u < units(k); u++)
        for (int i = 0; vector_count(k, pass, u) && i < halves(k); i++) {
            int64_t j = first_vector(k, pass, u) + i;
            int s = emit_vpop_mrf(k->c, at->unit + u, 0);

            if (i < vector_count(k, pass, u))
                emit_vst(
                    c, isa_rows_at(R(SREG_AT_S), at->scores + (group * vectors(k) + j) * TILE_ROWS),
                    emit_vmul_f32(c, R(s), F(k->scale)), REGION_SCORES);
        }
}

/* a packed tile of queries, or its lower half */
static void score_round(struct attention_core *k, int pass, int group, int count,
                        const struct head_at *at, enum latch latch)
{
    struct vcode *c = k->c;
    int tile = emit_vld(c, isa_rows_at(R(SREG_AT_Q), at->q + group / 2 * TILE_ROWS), REGION_Q);

    for (int g = 0; g < count; g++) {
        int q = emit_d_v(c, g ? OP_VUNPACK_C_H : OP_VUNPACK_C_L, R(tile));

        score_group(k, pass, q, group + g, at, g ? LATCH_NEVER : latch);
    }
}

static bool is_single(const struct attention_core *k) { return k->members * k->groups == 1; }

/* ----- softmax */

/* value[0] becomes the combination of all, pair by pair */
static int tree(struct vcode *c, enum isa_opcode code, int *value, int count)
{
    for (; count > 1; count = (count + 1) / 2)
        for (int i = 0; i < count / 2; i++) {
            value[i] = emit_d_vv(c, code, R(value[2 * i]), R(value[2 * i + 1]));
            if (i == count / 2 - 1 && count % 2)
                value[i + 1] = value[count - 1];
        }
    return value[0];
}

static int state_load(struct attention_core *k, int64_t base, int64_t row, int region)
{
    return emit_vld(k->c, isa_rows_at(R(SREG_AT_M), base - k->m_row + row), region);
}

static void state_store(struct attention_core *k, int64_t base, int64_t row, int region, int v)
{
    emit_vst(k->c, isa_rows_at(R(SREG_AT_M), base - k->m_row + row), v, region);
}

static int score_load(struct attention_core *k, int group, int j)
{
    return emit_vld(k->c, isa_rows_at(R(SREG_AT_S), (int64_t)(group * vectors(k) + j) * TILE_ROWS),
                    REGION_SCORES);
}

/* the last key of the block that each row of group `group` of this round may see */
static int limit_of(struct attention_core *k, int group)
{
    struct vcode *c = k->c;
    int limit = emit_vstv(c, SREG_AT_LIMIT), row = vcode_vreg(c);

    if (!k->is_causal)
        return limit;
    vcode_put(c, isa_vlaneseq(row));
    row = emit_vshrl_u32(c, R(row), I(7));
    row = emit_vadd_s32(c, R(row), I(group * TILE_ROWS));
    return emit_vadd_s32(c, R(limit), R(row));
}

/* scores of keys that a row may not see become less than all others */
static void mask_group(struct attention_core *k, int group, int *value)
{
    struct vcode *c = k->c;
    int limit = limit_of(k, group), lane = vcode_vreg(c);

    vcode_put(c, isa_vlaneseq(lane));
    lane = emit_vand_u32(c, R(lane), I(LANES - 1));
    for (int j = 0; j < vectors(k); j++) {
        int column = emit_vadd_s32(c, R(lane), I(j * LANES));
        int mask = emit_vcmp_le_s32(c, R(column), R(limit));

        value[j] = emit_vsel(c, mask, R(value[j]), F(LEAST));
        emit_vst(c, isa_rows_at(R(SREG_AT_S), (int64_t)(group * vectors(k) + j) * TILE_ROWS),
                 value[j], REGION_SCORES);
    }
}

/* rows of a member follow each other; the next member begins at the first limit again */
static void next_limit(struct attention_core *k, int groups)
{
    struct vcode *c = k->c;

    if (!k->is_masked || !k->is_causal)
        return;
    advance(k, SREG_AT_LIMIT, (int64_t)groups * TILE_ROWS);
    emit_scmp_lt(c, PRED_LIMIT, R(SREG_AT_LIMIT), R(SREG_LIMIT_END));
    emit_select(c, SREG_AT_LIMIT, PRED_LIMIT, R(SREG_AT_LIMIT), R(SREG_LIMIT));
}

/* the new maximum, and by how much what was summed before it shrinks */
static void maximum(struct attention_core *k, int group)
{
    struct vcode *c = k->c;
    int value[VECTORS_MAX], before, now, row = group * TILE_ROWS;

    for (int j = 0; j < vectors(k); j++)
        value[j] = score_load(k, group, j);
    if (k->is_masked)
        mask_group(k, group, value);
    now = emit_vmax_xlane(c, group % (int)k->chip->xlu_count,
                          tree(c, OP_VMAX_F32, value, vectors(k)));
    before = state_load(k, k->m_row, row, REGION_M);
    now = emit_vmax_f32(c, R(now), R(before));
    state_store(k, k->m_row, row, REGION_M, now);
    before = emit_vsub_f32(c, R(before), R(now));
    state_store(k, k->alpha_row, row, REGION_ALPHA, emit_vpow2(c, vcode_in_register(c, R(before))));
}

static void exponentials(struct attention_core *k, int group)
{
    struct vcode *c = k->c;
    int value[VECTORS_MAX], row = group * TILE_ROWS, sum, l;
    int m = state_load(k, k->m_row, row, REGION_M);

    for (int j = 0; j < vectors(k); j++) {
        int x = emit_vsub_f32(c, R(score_load(k, group, j)), R(m));

        value[j] = emit_vpow2(c, vcode_in_register(c, R(x)));
        emit_vst(c, isa_rows_at(R(SREG_AT_S), (int64_t)(group * vectors(k) + j) * TILE_ROWS),
                 value[j], REGION_SCORES);
    }
    sum = emit_vadd_xlane(c, group % (int)k->chip->xlu_count,
                          tree(c, OP_VADD_F32, value, vectors(k)));
    l = state_load(k, k->alpha_row, row, REGION_ALPHA);
    l = emit_vmul_f32(c, R(state_load(k, k->l_row, row, REGION_L)), R(l));
    state_store(k, k->l_row, row, REGION_L, emit_vadd_f32(c, R(l), R(sum)));
}

static void begin_limits(struct attention_core *k)
{
    copy(k, SREG_AT_LIMIT, SREG_LIMIT);
    emit_sadd(k->c, SREG_LIMIT_END, R(SREG_LIMIT), I(k->groups * TILE_ROWS));
}

/* over all groups of all heads, two at a time where they are even */
static void each_group(struct attention_core *k, void (*body)(struct attention_core *, int))
{
    struct vcode *c = k->c;
    int once = all_groups(k) % 2 ? 1 : 2;

    vcode_begin_block(c);
    set(k, SREG_AT_S, k->s_row);
    set(k, SREG_AT_M, k->m_row);
    begin_limits(k);
    vcode_loop_begin(c, SREG_ROUNDS, all_groups(k) / once);
    for (int g = 0; g < once; g++)
        body(k, g);
    if (body == maximum)
        next_limit(k, once);
    vcode_loop_step(c, SREG_AT_S, (int64_t)once * vectors(k) * TILE_ROWS);
    vcode_loop_step(c, SREG_AT_M, once * TILE_ROWS);
    vcode_loop_end(c, SREG_ROUNDS);
}

/* ----- the sum of v */

static void value_group(struct attention_core *k, int pass, int group, const struct head_at *at,
                        enum latch latch)
{
    struct vcode *c = k->c;
    int part[ISA_UNIT_MAX], count = 0, sum;
    int64_t row = at->state + group * TILE_ROWS;

    for (int u = 0; u < units(k); u++) {
        int64_t j = at->scores + ((int64_t)group * vectors(k) + first_vector(k, pass, u))
                                 * TILE_ROWS;
        int some = vector_count(k, pass, u), p;

        if (!some)
            continue;
        p = emit_vld(c, isa_rows_at(R(SREG_AT_S), j), REGION_SCORES);
        multiply(k, at->unit + u, p,
                 some == 2 ? emit_vld(c, isa_rows_at(R(SREG_AT_S), j + TILE_ROWS), REGION_SCORES)
                           : -1,
                 true, latch);
    }
    for (int u = 0; u < units(k); u++)
        if (vector_count(k, pass, u)) {
            part[count++] = emit_vpop_mrf(k->c, at->unit + u, 0);
            if (halves(k) == 2)
                emit_vpop_mrf(k->c, at->unit + u, 0); /* columns that v does not have */
        }
    sum = state_load(k, k->acc_row, row, REGION_ACC);
    if (!pass)
        sum = emit_vmul_f32(c, R(sum), R(state_load(k, k->alpha_row, row, REGION_ALPHA)));
    sum = emit_vadd_f32(c, R(sum), R(tree(c, OP_VADD_F32, part, count)));
    state_store(k, k->acc_row, row, REGION_ACC, sum);
}

/* ----- a product: scores, or the sum of v */

static void product_round(struct attention_core *k, int pass, int group, int count,
                          const struct head_at *at, bool is_value, enum latch latch)
{
    if (!is_value)
        score_round(k, pass, group, count, at, latch);
    for (int g = 0; is_value && g < count; g++)
        value_group(k, pass, group + g, at, g ? LATCH_NEVER : latch);
}

/* all keys are in the arrays at once: what is computed of scores goes into the products' loops */
static bool goes_together(const struct attention_core *k) { return passes(k) == 1; }

/* many rows: weights once per head, then a loop over its rows, two groups a round */
static void product_of_many(struct attention_core *k, int pass, bool is_value)
{
    struct vcode *c = k->c;
    int64_t rounds = k->members * k->groups / 2;
    struct head_at at = head_at(k, 0);

    vcode_loop_begin(c, SREG_HEADS, k->heads);
    push_pass(k, pass, &at, is_value);
    latch_before(k, pass, is_value);
    vcode_loop_begin(c, SREG_ROUNDS, rounds);
    for (int g = 0; g < 2 && is_value && goes_together(k); g++)
        exponentials(k, g);
    product_round(k, pass, 0, 2, &at, is_value, LATCH_ONCE);
    for (int g = 0; g < 2 && !is_value && goes_together(k); g++)
        maximum(k, g);
    if (!is_value && goes_together(k))
        next_limit(k, 2);
    if (!is_value)
        vcode_loop_step(c, SREG_AT_Q, TILE_ROWS);
    vcode_loop_step(c, SREG_AT_S, (int64_t)2 * vectors(k) * TILE_ROWS);
    if (is_value || goes_together(k))
        vcode_loop_step(c, SREG_AT_M, 2 * TILE_ROWS);
    vcode_loop_end(c, SREG_ROUNDS);
    advance(k, SREG_AT_KEYS, k->key_head_rows);
    if (!is_value)
        advance(k, SREG_AT_Q, k->q_head_rows - rounds * TILE_ROWS);
    vcode_loop_end(c, SREG_HEADS);
}

/* few rows: a loop over heads, weights and all rows in a round */
static void product_of_few(struct attention_core *k, int pass, bool is_value)
{
    struct vcode *c = k->c;
    int once = heads_at_once(k), groups = (int)(k->members * k->groups);
    int step = groups < 2 ? 1 : 2;
    struct head_at next = head_at(k, once);

    vcode_loop_begin(c, SREG_HEADS, k->heads / once);
    for (int i = 0; i < once; i++) {
        struct head_at at = head_at(k, i);

        push_pass(k, pass, &at, is_value);
        for (int g = 0; g < groups; g += step)
            product_round(k, pass, g, step, &at, is_value, g ? LATCH_NEVER : LATCH_NOW);
    }
    vcode_loop_step(c, SREG_AT_KEYS, next.keys);
    if (!is_value)
        vcode_loop_step(c, SREG_AT_Q, next.q);
    vcode_loop_step(c, SREG_AT_S, next.scores);
    if (is_value)
        vcode_loop_step(c, SREG_AT_M, next.state);
    vcode_loop_end(c, SREG_HEADS);
}

static bool has_few(const struct attention_core *k)
{
    return k->members * k->groups * vectors(k) <= FEW_TILES;
}

static void product(struct attention_core *k, bool is_value)
{
    for (int pass = 0; pass < passes(k); pass++) {
        vcode_begin_block(k->c);
        if (!is_value)
            copy(k, SREG_AT_Q, SREG_Q);
        copy(k, SREG_AT_KEYS, is_value ? SREG_VALUES : SREG_KEYS);
        set(k, SREG_AT_S, k->s_row);
        set(k, SREG_AT_M, k->m_row);
        if (!is_value)
            begin_limits(k);
        if (has_few(k))
            product_of_few(k, pass, is_value);
        else
            product_of_many(k, pass, is_value);
    }
}

/* parts of a step in listings and reports */
static void note(struct attention_core *k, const char *part) { k->c->note = part; }

void core_step(struct attention_core *k)
{
    assert(vectors(k) <= VECTORS_MAX && (is_single(k) || k->groups % 2 == 0));
    note(k, "scores");
    product(k, false);
    if (has_few(k) || !goes_together(k)) {
        note(k, "maximum");
        each_group(k, maximum);
        note(k, "exponentials");
        each_group(k, exponentials);
    }
    note(k, "values");
    product(k, true);
    note(k, "attention");
    vcode_begin_block(k->c);
}

/* ----- begin and end */

static void clear_group(struct attention_core *k, int group)
{
    struct vcode *c = k->c;
    int zero = emit_vmov(c, I(0)), row = group * TILE_ROWS;

    state_store(k, k->m_row, row, REGION_M, emit_vmov(c, F(LEAST)));
    state_store(k, k->l_row, row, REGION_L, zero);
    state_store(k, k->acc_row, row, REGION_ACC, zero);
}

void core_begin(struct attention_core *k)
{
    each_group(k, clear_group);
    vcode_begin_block(k->c);
}

static int result(struct attention_core *k, int group)
{
    struct vcode *c = k->c;
    int row = group * TILE_ROWS;
    int by = emit_vrcp(c, vcode_in_register(c, R(state_load(k, k->l_row, row, REGION_L))));

    return emit_vmul_f32(c, R(state_load(k, k->acc_row, row, REGION_ACC)), R(by));
}

/* tiles of 16 rows; of few rows the upper 8 are not there */
void core_end(struct attention_core *k)
{
    struct vcode *c = k->c;
    int count = is_single(k) ? 1 : 2, low, high;

    vcode_begin_block(c);
    set(k, SREG_AT_M, k->m_row);
    copy(k, SREG_AT_Q, SREG_Q);
    vcode_loop_begin(c, SREG_ROUNDS, all_groups(k) / count);
    low = result(k, 0);
    high = count == 2 ? result(k, 1) : low;
    emit_vst(c, isa_rows_at(R(SREG_AT_Q), 0), emit_vpack_c_bf16(c, R(high), R(low)), REGION_OUT);
    vcode_loop_step(c, SREG_AT_Q, is_single(k) ? k->q_head_rows : TILE_ROWS);
    vcode_loop_step(c, SREG_AT_M, count * TILE_ROWS);
    vcode_loop_end(c, SREG_ROUNDS);
    vcode_begin_block(c);
}
