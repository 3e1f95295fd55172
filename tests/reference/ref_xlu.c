/*
 * The cross-lane units: reductions, permutes, transposes.
 */
#include "sim/lanes/f32_exact.h"
#include "tests/reference/ref_impl.h"
#include "tests/test.h"

static void push(struct ref_op *x, enum isa_opcode pop, const ref_tile tile)
{
    ref_push(x, x->fifo, x->ready_at, pop, false, tile);
}

static void fill_row(ref_tile tile, int i, uint32_t word)
{
    for (int j = 0; j < LANES; j++)
        tile[i][j] = word;
}

typedef float combine_fn(float a, float b);
static combine_fn *const combines[] = {f32_add, f32_max, f32_min};

/* lane j with lane j + 64, then + 32, 16, 8, 4, 2, 1 */
static float reduce(const uint32_t *row, combine_fn *combine)
{
    float value[LANES];

    for (int j = 0; j < LANES; j++)
        value[j] = f32_from_bits(row[j]);
    for (int distance = 64; distance > 0; distance /= 2)
        for (int j = 0; j < distance; j++)
            value[j] = combine(value[j], value[j + distance]);
    return value[0];
}

static void reduce_tile(struct ref_op *x, combine_fn *combine)
{
    const uint32_t (*a)[LANES] = ref_v(x, 0);
    ref_tile tile;

    for (int i = 0; i < 8; i++)
        fill_row(tile, i, f32_bits(reduce(a[i], combine)));
    push(x, OP_VPOP_XLANE, (const uint32_t (*)[LANES])tile);
}

void ref_VADD_XLANE(struct ref_op *x) { reduce_tile(x, f32_add); }
void ref_VMAX_XLANE(struct ref_op *x) { reduce_tile(x, f32_max); }
void ref_VMIN_XLANE(struct ref_op *x) { reduce_tile(x, f32_min); }

/* both halves in f32, rounded at the end */
void ref_VXLANE_BF16(struct ref_op *x)
{
    const uint32_t (*a)[LANES] = ref_v(x, 0);
    combine_fn *combine = combines[ref_choice(x, 0)];
    uint32_t low[LANES], high[LANES];
    ref_tile tile;

    for (int i = 0; i < 8; i++) {
        for (int j = 0; j < LANES; j++) {
            low[j] = a[i][j] << 16;
            high[j] = a[i][j] & 0xffff0000;
        }
        fill_row(tile, i, bf16_from_f32(reduce(low, combine))
                          | (uint32_t)bf16_from_f32(reduce(high, combine)) << 16);
    }
    push(x, OP_VPOP_XLANE, (const uint32_t (*)[LANES])tile);
}

static int extreme_lane(const uint32_t *row, bool is_min)
{
    int best = 0;

    for (int j = 0; j < LANES; j++)
        if (isnan(f32_from_bits(row[j])))
            return j;
    for (int j = 1; j < LANES; j++) {
        float a = f32_flush(f32_from_bits(row[j])), b = f32_flush(f32_from_bits(row[best]));

        if (is_min ? a < b : a > b)
            best = j;
    }
    return best;
}

void ref_VXLANE_INDEX(struct ref_op *x)
{
    const uint32_t (*a)[LANES] = ref_v(x, 0);
    ref_tile tile;

    for (int i = 0; i < 8; i++)
        fill_row(tile, i, (uint32_t)extreme_lane(a[i], ref_choice(x, 0) == 1));
    push(x, OP_VPOP_XLANE, (const uint32_t (*)[LANES])tile);
}

void ref_VPERM(struct ref_op *x)
{
    const uint32_t (*a)[LANES] = ref_v(x, 0), (*lane)[LANES] = ref_v(x, 1);
    ref_tile tile;

    for (int i = 0; i < 8; i++)
        for (int j = 0; j < LANES; j++)
            tile[i][j] = a[i][lane[i][j] % LANES];
    push(x, OP_VPOP_PERMUTE, (const uint32_t (*)[LANES])tile);
}

void ref_VROT_LANE(struct ref_op *x)
{
    const uint32_t (*a)[LANES] = ref_v(x, 0);
    uint32_t up = (uint32_t)ref_s(x, 1);
    ref_tile tile;

    for (uint32_t i = 0; i < 8; i++)
        for (uint32_t j = 0; j < LANES; j++)
            tile[i][j] = a[i][(j - up) % LANES];
    push(x, OP_VPOP_PERMUTE, (const uint32_t (*)[LANES])tile);
}

void ref_VBCAST_LANE(struct ref_op *x)
{
    const uint32_t (*a)[LANES] = ref_v(x, 0);
    int from = x->op->operand[1].value;
    ref_tile tile;

    for (int i = 0; i < 8; i++)
        fill_row(tile, i, a[i][((from & 127) + (from & 256 ? i : 0)) % LANES]);
    push(x, OP_VPOP_PERMUTE, (const uint32_t (*)[LANES])tile);
}

void ref_VPOP_XLANE(struct ref_op *x) { ref_pop(x, &x->c->xlu[x->op->unit_index].result); }
void ref_VPOP_PERMUTE(struct ref_op *x) { ref_pop(x, &x->c->xlu[x->op->unit_index].result); }
void ref_VPOP_TRF(struct ref_op *x) { ref_pop(x, &x->c->xlu[x->op->unit_index].result); }

/* rows of the tile go below those that are there; row r: sublane r / P, part r mod P */
static void gather(struct ref_op *x, struct ref_xlu *u, bool is_first)
{
    const uint32_t (*a)[LANES] = ref_v(x, 0);
    int32_t type = x->op->operand[ISA_XPOSE_TYPE].value;
    int rows = isa_xpose_rows(type), per_word = rows / 8, bits = 32 / per_word;

    if (is_first == u->is_open || (!is_first && (u->type != type || u->row_count >= LANES))) {
        ref_fault(x->c, x->at, FAULT_OPERATION, "a transpose in the wrong order");
        return;
    }
    u->is_open = true;
    u->type = type;
    for (int r = 0; r < rows; r++, u->row_count++)
        for (int j = 0; j < LANES; j++)
            u->row[u->row_count][j] = (uint32_t)((uint64_t)a[r / per_word][j]
                                                 >> r % per_word * bits & ((1ull << bits) - 1));
}

/* result row r, lane j is row j, lane r; lanes that were not pushed are 0 */
static void transpose(struct ref_op *x, struct ref_xlu *u)
{
    int rows = isa_xpose_rows(u->type), per_word = rows / 8, bits = 32 / per_word;

    for (int t = 0; t < x->op->operand[1].value / rows; t++) {
        ref_tile tile = {{0}};

        for (int r = 0; r < rows; r++)
            for (int j = 0; j < u->row_count; j++)
                tile[r / per_word][j] |= u->row[j][t * rows + r] << r % per_word * bits;
        ref_push(x, x->fifo, x->ready_at + t * x->c->m->chip.xlu_xpose_pop_cycles, OP_VPOP_TRF,
                 false, (const uint32_t (*)[LANES])tile);
    }
    u->is_open = false;
    u->row_count = 0;
}

static struct ref_xlu *unit_of(struct ref_op *x)
{
    return &x->c->xlu[x->op->unit_index];
}

void ref_VXPOSE_START(struct ref_op *x) { gather(x, unit_of(x), true); }
void ref_VXPOSE_CONT(struct ref_op *x) { gather(x, unit_of(x), false); }

void ref_VXPOSE_END(struct ref_op *x)
{
    gather(x, unit_of(x), false);
    if (x->c->state != REF_FAULTED)
        transpose(x, unit_of(x));
}

void ref_VXPOSE_ONE(struct ref_op *x)
{
    gather(x, unit_of(x), true);
    if (x->c->state != REF_FAULTED)
        transpose(x, unit_of(x));
}
