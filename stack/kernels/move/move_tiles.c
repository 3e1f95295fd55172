/*
 * Emits the general way to make an array: loops over its tiles, rows and runs, each run fetched
 * and inserted under a mask.
 */
#include "stack/kernels/move/move_tiles.h"

#include <assert.h>

#define TILE_ROWS 8                     /* of 512 bytes */
#define TILE_GRANULES (ARRAY_TILE_BYTES / ARRAY_GRANULE_BYTES)
#define SPILL_TILES 16
#define FLAG_IN 0                       /* of the job's flags */
#define FLAG_OUT 1

static const struct isa_operand zero = {.kind = OPERAND_IMM};
static const struct isa_operand one = {.kind = OPERAND_IMM, .value = 1};

int64_t move_tiles_least_rows(const struct kernel_job *job, int64_t extra_rows)
{
    return (SPILL_TILES + 1) * TILE_ROWS + job->operand_count + extra_rows;
}

static int64_t rows_of(const struct array *a) { return a->tile_count * TILE_ROWS; }

/* arrays in VMEM are used in place; of the others the smallest that fit are brought there */
static int place_arrays(struct move_tiles *t, int64_t extra_rows, struct err *e)
{
    const struct kernel_job *job = t->job;
    int64_t row = job->vmem_row, end = job->vmem_row + job->vmem_rows;
    struct move_gather_array *list[MOVE_OPERANDS_MAX + 1];
    int count = 0;

    if (job->operand_count > MOVE_OPERANDS_MAX)
        return err_set(e, "%s: %d operands (at most %d)", job->name, job->operand_count,
                       MOVE_OPERANDS_MAX);
    if (move_tiles_least_rows(job, extra_rows) > job->vmem_rows)
        return err_set(e, "%s: %lld rows of VMEM, needs %lld", job->name, (long long)job->vmem_rows,
                       (long long)move_tiles_least_rows(job, extra_rows));
    t->spill_row = row;
    t->spill_tiles = SPILL_TILES;
    t->extra_row = row + SPILL_TILES * TILE_ROWS;
    row = t->extra_row + extra_rows;
    for (int i = 0; i <= job->operand_count; i++) {
        struct move_gather_array *a = i < job->operand_count ? &t->operand[i] : &t->result;

        *a = (struct move_gather_array){.array = i < job->operand_count ? job->operand[i]
                                                                   : job->result[0]};
        if (a->array->space == SPACE_VMEM) {
            a->is_resident = true;
            a->row = a->array->address / ARRAY_ROW_BYTES;
            continue;
        }
        a->row = row;                   /* of its own, should there be no room for all of it */
        row += a == &t->result ? TILE_ROWS : 1;
        list[count++] = a;
    }
    row = (row + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
    for (int done = 0; done < count; done++) {
        int least = -1;

        for (int i = 0; i < count; i++)
            if (!list[i]->is_resident &&
                (least < 0 || rows_of(list[i]->array) < rows_of(list[least]->array)))
                least = i;
        if (row + rows_of(list[least]->array) > end)
            break;
        list[least]->is_resident = true;
        list[least]->row = row;
        row += rows_of(list[least]->array);
    }
    return 0;
}

static bool is_copied(const struct move_gather_array *a)
{
    return a->is_resident && a->array->space == SPACE_HBM;
}

/* tiles of an array that this core makes */
static void share_of(const struct kernel_job *job, const struct array *a, int64_t *first,
                     int64_t *count)
{
    int64_t share = (a->tile_count + job->core_count - 1) / job->core_count;

    *first = share * job->core;
    *count = a->tile_count - *first < share ? a->tile_count - *first : share;
}

static void copy_in(struct move_tiles *t, const struct move_gather_array *a)
{
    emit_dma_hbm_vmem(t->g.m.code, I(a->array->address / ARRAY_GRANULE_BYTES),
                      I(a->array->tile_count * TILE_GRANULES),
                      I(a->row * ARRAY_ROW_BYTES / ARRAY_GRANULE_BYTES),
                      I(t->job->first_flag + FLAG_IN));
}

static void copy_out(struct move_tiles *t, const struct move_gather_array *a)
{
    int64_t first, count;

    share_of(t->job, a->array, &first, &count);
    if (count <= 0)
        return;
    emit_dma_vmem_hbm(
        t->g.m.code, I((a->row * ARRAY_ROW_BYTES + first * ARRAY_TILE_BYTES) / ARRAY_GRANULE_BYTES),
        I(count * TILE_GRANULES),
        I((a->array->address + first * ARRAY_TILE_BYTES) / ARRAY_GRANULE_BYTES),
        I(t->job->first_flag + FLAG_OUT));
    vcode_await(t->g.m.code, I(t->job->first_flag + FLAG_OUT), count * TILE_GRANULES, -1);
}

int move_tiles_begin(struct move_tiles *t, const struct kernel_job *job, int64_t extra_rows,
                     struct arena *a, struct err *e)
{
    *t = (struct move_tiles){.job = job};
    if (place_arrays(t, extra_rows, e))
        return -1;
    vcode_init(&t->code, a);
    t->code.note = job->name;
    vcode_begin_block(&t->code);
    t->g = (struct move_gather){.body = job->body, .operand = t->operand, .lane = zero,
                                .flag = job->first_flag + FLAG_IN, .smem = job->smem,
                                .smem_end = job->smem + job->smem_bytes};
    builder_init(&t->g.m, &t->code, job->chip);
    for (int i = 0; i < job->operand_count; i++)
        if (is_copied(&t->operand[i]))
            copy_in(t, &t->operand[i]);
    for (int i = 0; i < job->operand_count; i++)
        if (is_copied(&t->operand[i]))
            vcode_await(t->g.m.code, I(t->g.flag), t->operand[i].array->tile_count * TILE_GRANULES,
                        -1);
    return 0;
}

/* What the loops over tiles, rows and runs keep in scalar registers. */
struct walk {
    struct move_tiles *t;
    const struct move_gather_array *to;
    tiles_value *value;
    void *user;
    int accumulator;                    /* the tile, as it grows */
    struct isa_operand tile, row, lane, run;
    struct isa_operand rows_end, lanes_end;     /* of the logical array, from the tile's first */
    struct move_gather_place first;             /* element of the tile, and where it is kept */
    int64_t first_saved;
};

/* bits [shift, shift + width) of each word under the mask */
static void insert(struct walk *w, int v, int mask)
{
    struct builder *m = &w->t->g.m;
    int bits = 8 * w->to->array->element_bytes, kept = m->next_sreg;

    if (bits < 32) {
        struct isa_operand part = builder_and(m, w->row, 32 / bits - 1);
        int shift = builder_splat(m, builder_mul(m, part, bits));
        int field = emit_vshll_u32(m->code, R(emit_vmov(m->code, I((1 << bits) - 1))), R(shift));
        int others =
            emit_vand_u32(m->code, R(w->accumulator), R(emit_vxor_u32(m->code, R(field), I(-1))));

        v = emit_vor_u32(m->code, R(emit_vshll_u32(m->code, R(v), R(shift))), R(others));
    }
    vcode_put(m->code, isa_vsel(w->accumulator, mask, R(v), R(w->accumulator)));
    m->next_sreg = kept;
}

/* lanes [lane, lane + run) of the row's sublane */
static int run_mask(struct walk *w)
{
    struct builder *m = &w->t->g.m;
    int bytes = w->to->array->element_bytes,
        lane = emit_vand_u32(m->code, R(emit_vlaneseq(m->code)), I(ARRAY_LANES - 1));
    int sublane = builder_splat(m, builder_shift(m, w->row, bytes == 4 ? 0 : bytes == 2 ? -1 : -2));
    int after = emit_vsub_s32(m->code, R(lane), R(builder_splat(m, w->lane)));
    int a = emit_vcmp_ge_s32(m->code, R(after), zero);
    int b = emit_vcmp_lt_s32(m->code, R(after), R(builder_splat(m, w->run)));
    int c = emit_vcmp_eq_s32(m->code, R(emit_vshrl_u32(m->code, R(emit_vlaneseq(m->code)), I(7))),
                             R(sublane));

    return emit_vmand(m->code, emit_vmand(m->code, a, b), c);
}

/* index of the first element of this run, inside the array even where the tile is not */
static void place_run(struct walk *w, struct move_gather_place *p)
{
    const struct array *a = w->to->array;
    struct builder *m = &w->t->g.m;
    int row_dim = a->row_dim, lane_dim = a->lane_dim;

    *p = w->first;
    p->run = w->run;
    p->mark = m->next_sreg;
    move_gather_recall(&w->t->g, w->first_saved, p);
    p->varying = a->is_linear ? a->shape.rank - 1 : lane_dim;
    if (a->is_linear && a->shape.rank)
        p->index[0] = builder_min(
            m, builder_add(m, builder_add(m, p->index[0], builder_shift(m, w->row, 7)), w->lane),
            I(a->shape.dim[0] - 1));
    if (a->is_linear)
        return;
    p->index[lane_dim] =
        builder_min(m, builder_add(m, p->index[lane_dim], w->lane), I(a->lanes - 1));
    p->index[row_dim] = builder_min(m, builder_add(m, p->index[row_dim], w->row), I(a->rows - 1));
    move_gather_resolve(&w->t->g, p);
}

static void one_run(struct walk *w)
{
    struct builder *m = &w->t->g.m;
    int kept = m->next_sreg, v;
    struct move_gather_place p;

    builder_set(m, w->run, builder_sub(m, w->lanes_end, w->lane));
    place_run(w, &p);
    w->t->g.lane = w->lane;
    v = w->value(w->t, &p, w->user);
    insert(w, v, run_mask(w));
    builder_set(m, w->lane, builder_add(m, w->lane, w->run));
    m->next_sreg = kept;
}

/* the tile's first index, from its number, to SMEM; and its extents */
static void locate_tile(struct walk *w)
{
    const struct array *a = w->to->array;
    struct builder *m = &w->t->g.m;
    struct isa_operand rest = w->tile;
    int64_t count[GRAPH_RANK_MAX], scale[GRAPH_RANK_MAX];
    int dim[GRAPH_RANK_MAX], dims = 0;

    for (int k = 0; k < a->outer_count; k++, dims++) {
        dim[dims] = a->outer_dim[k];
        count[dims] = a->shape.dim[dim[dims]];
        scale[dims] = 1;
    }
    if (!a->is_linear || a->shape.rank) {
        dim[dims] = a->is_linear ? 0 : a->row_dim;
        count[dims] = a->tiles_down;
        scale[dims++] = a->is_linear ? (int64_t)a->tile_rows * ARRAY_LANES : a->tile_rows;
    }
    if (!a->is_linear) {
        dim[dims] = a->lane_dim;
        count[dims] = a->tiles_across;
        scale[dims++] = ARRAY_LANES;
    }
    w->first.rank = dims;
    w->first.mark = m->next_sreg;
    for (int k = dims - 1; k >= 0; k--) {
        struct isa_operand *index = &w->first.index[dim[k]];
        int kept;

        *index = builder_reg(m);
        kept = m->next_sreg;
        if (k) {
            struct isa_operand next = builder_div(m, rest, count[k]);

            builder_set(
                m, *index,
                builder_mul(m, builder_sub(m, rest, builder_mul(m, next, count[k])), scale[k]));
            builder_set(m, w->run, next); /* free until the first run */
            rest = w->run;
        } else {
            builder_set(m, *index, builder_mul(m, rest, scale[k]));
        }
        m->next_sreg = kept;
    }
    w->first_saved = move_gather_save(&w->t->g, &w->first);
    builder_set(m, w->rows_end,
                a->is_linear ? I(a->tile_rows)
                             : builder_min(m, I(a->tile_rows),
                                           builder_sub(m, I(a->rows), w->first.index[a->row_dim])));
    builder_set(m, w->lanes_end,
                a->is_linear
                    ? I(ARRAY_LANES)
                    : builder_min(m, I(ARRAY_LANES),
                                  builder_sub(m, I(a->lanes), w->first.index[a->lane_dim])));
}

static void store_tile(struct walk *w)
{
    struct builder *m = &w->t->g.m;
    const struct move_gather_array *to = w->to;
    int64_t granule_row = ARRAY_ROW_BYTES / ARRAY_GRANULE_BYTES;
    int flag = w->t->job->first_flag + FLAG_OUT;

    if (to->is_resident) {
        emit_vst(m->code, isa_rows_at(builder_shift(m, w->tile, 3), to->row), w->accumulator,
                 VCODE_REGION_ANY);
        return;
    }
    emit_vst(m->code, isa_rows_at(zero, to->row), w->accumulator, VCODE_REGION_ANY);
    emit_dma_vmem_hbm(
        m->code, I(to->row * granule_row), I(TILE_GRANULES),
        builder_add(m, I(to->array->address / ARRAY_GRANULE_BYTES), builder_shift(m, w->tile, 7)),
        I(flag));
    vcode_await(m->code, I(flag), TILE_GRANULES, -1);
}

static void walk_rows(struct walk *w)
{
    struct builder *m = &w->t->g.m;
    struct isa_operand rows, runs;

    builder_set(m, w->row, zero);
    rows = builder_loop_begin(m, 1);
    builder_set(m, w->lane, zero);
    runs = builder_loop_begin(m, 1);
    one_run(w);
    vcode_begin_block(&w->t->code);
    builder_while_end(m, runs, w->lane, w->lanes_end);
    builder_set(m, w->row, builder_add(m, w->row, one));
    builder_while_end(m, rows, w->row, w->rows_end);
}

void move_tiles_make(struct move_tiles *t, const struct move_gather_array *to, tiles_value *value,
                     void *user)
{
    struct builder *m = &t->g.m;
    struct walk w = {.t = t, .to = to, .value = value, .user = user};
    int64_t first, count;
    int kept = m->next_sreg;
    struct isa_operand tiles;

    share_of(t->job, to->array, &first, &count);
    if (count <= 0 || !shape_elems(&to->array->shape))
        return;
    w.accumulator = vcode_pinned_vreg(&t->code);
    w.tile = builder_reg(m);
    w.row = builder_reg(m);
    w.lane = builder_reg(m);
    w.run = builder_reg(m);
    w.rows_end = builder_reg(m);
    w.lanes_end = builder_reg(m);
    builder_set(m, w.tile, I(first));
    tiles = builder_loop_begin(m, count);
    {
        int inner = m->next_sreg;

        locate_tile(&w);
        vcode_put(m->code, isa_vmov(w.accumulator, I(0)));
        m->next_sreg = inner;
        walk_rows(&w);
        m->next_sreg = inner;
        store_tile(&w);
        builder_set(m, w.tile, builder_add(m, w.tile, one));
        m->next_sreg = inner;
        move_gather_drop(&t->g, w.first_saved);
    }
    builder_loop_end(m, tiles);
    m->next_sreg = kept;
}

int move_tiles_end(struct move_tiles *t, struct arena *a, struct segment *out, struct err *e)
{
    int status;

    if (is_copied(&t->result))
        copy_out(t, &t->result);
    if (t->g.m.is_exhausted) {
        vcode_fini(&t->code);
        return err_set(e, "%s: more scalar registers than there are", t->job->name);
    }
    status = kernel_finish(t->job, &t->code, t->spill_row, t->spill_tiles, a, out, e);
    vcode_fini(&t->code);
    return status;
}
