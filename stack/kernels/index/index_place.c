/*
 * Where indices are, and where they point to: scalar code.
 *
 * Indices come to SMEM by copies of tiles. Where they do not fit, a window of
 * tiles is there, and each batch first makes sure that it is the right one,
 * with a guarded copy: loops go through indices in the order in which they
 * lie, so that this is rare.
 */
#include "stack/kernels/index/kernel_index.h"

#include "base/units.h"

#define WORD_BYTES 4
#define PRED_WINDOW 8                   /* the builder takes p1..p7 */
#define SMEM_RESERVE_BYTES 2048         /* for what else the kernel keeps there */

static int64_t smem_left(const struct index_work *w)
{
    return w->job->smem + w->job->smem_bytes - w->smem_next - SMEM_RESERVE_BYTES;
}

/* components of one tile stand in one window, of several tiles in a window each */
static int window_count(const struct index_work *w)
{
    const struct array *a = w->indices;

    return a->is_linear || w->vector_dim < 0 || w->vector_dim == a->lane_dim ||
           w->vector_dim == a->row_dim ? 1 : w->components;
}

bool index_is_known(const struct index_work *w, int k)
{
    return w->trips && (w->trips->known >> k & 1);
}

bool index_fits_smem(const struct index_work *w)
{
    if (!w->indices)
        return smem_left(w) >= w->components * ARRAY_GRANULE_BYTES;
    return smem_left(w) >= (int64_t)window_count(w) * ARRAY_TILE_BYTES;
}

int index_no_smem(const struct index_work *w, struct err *e)
{
    return err_set(e, "%s: %lld bytes of SMEM are too few for its indices", w->node->name,
                   (long long)w->job->smem_bytes);
}

static bool is_used(const struct index_work *w, int k)
{
    const struct array *t = w->is_scatter ? w->result : w->table;

    for (int d = 0; d < t->shape.rank; d++)
        if (w->axis[d].component == k)
            return true;
    return false;
}

/* registers are few: so many of eight for a component each, at least one */
int index_batch(const struct index_work *w)
{
    int used = 0, batch = w->has_whole_rows ? INDEX_BATCH : INDEX_BATCH / 2, most;


    batch = w->is_scatter ? batch / 2 : batch;
    most = batch;
    for (int k = 0; k < w->components; k++)
        used += is_used(w, k);
    while (batch > 1 && batch * used > most)
        batch /= 2;
    return batch;
}

void index_batch_registers(struct index_work *w, int count, struct isa_operand to[][INDEX_BATCH],
                           struct isa_operand *result)
{
    for (int k = 0; k < w->components; k++)
        for (int u = 0; u < count; u++)
            to[k][u] = is_used(w, k) ? builder_reg(&w->m) : NONE;
    for (int u = 0; u < count; u++) {
        result[u] = NONE;
        for (int k = w->components - 1; k >= 0; k--)
            result[u] = is_used(w, k) ? to[k][u] : result[u];
        if (result[u].kind == OPERAND_NONE)
            result[u] = builder_reg(&w->m);
    }
}

int64_t index_word(struct index_work *w, int64_t value)
{
    int64_t at = w->smem_next;

    w->smem_next += WORD_BYTES;
    index_word_set(w, at, I(value));
    return at;
}

struct isa_operand index_word_get(struct index_work *w, int64_t at)
{
    struct isa_operand to = builder_reg(&w->m);

    emit_sld(&w->code, to.value, NONE, I(at));
    return to;
}

void index_word_set(struct index_work *w, int64_t at, struct isa_operand value)
{
    emit_sst(&w->code, NONE, I(at), value);
}

static void fetch(struct index_work *w, const struct array *from, struct isa_operand granule,
                  int64_t granules, struct isa_operand to, int pred)
{
    enum isa_opcode code = from->space == SPACE_HBM ? OP_DMA_HBM_SMEM : OP_DMA_VMEM_SMEM;

    vcode_put(&w->code,
              isa_if(pred, isa_make_dma(code, granule, I(granules), to, I(w->flag_index))));
}

/* the one element of an array in VMEM, by way of a vector */
static void push_start(struct index_work *w, const struct array *from, int64_t smem)
{
    struct isa_rows row = isa_rows_apart(NONE, from->address / ARRAY_ROW_BYTES, 0);
    int kept = w->m.next_sreg;
    struct isa_operand to = builder_reg(&w->m);

    emit_vpush(&w->code, emit_vld(&w->code, row, VCODE_REGION_ANY));
    emit_spop(&w->code, to.value);
    emit_sst(&w->code, NONE, I(smem), to);
    w->m.next_sreg = kept;
}

static void fetch_starts(struct index_work *w)
{
    int count = 0;

    w->index_smem = w->smem_next;
    for (int k = 0; k < w->components; k++) {
        int64_t at = w->index_smem + k * ARRAY_GRANULE_BYTES;

        if (w->axis[k].component < 0 || index_is_known(w, k))
            continue;
        if (w->start[k]->space == SPACE_VMEM) {
            push_start(w, w->start[k], at);
            continue;
        }
        fetch(w, w->start[k], I(w->start[k]->address / ARRAY_GRANULE_BYTES), 1,
              I(at / ARRAY_GRANULE_BYTES), -1);
        count++;
    }
    if (count)
        vcode_await(&w->code, I(w->flag_index), count, -1);
    w->smem_next += w->components * ARRAY_GRANULE_BYTES;
}

void index_begin(struct index_work *w)
{
    int64_t tiles;

    w->smem_next = round_up(w->smem_next, ARRAY_GRANULE_BYTES);
    if (!w->indices) {
        fetch_starts(w);
        return;
    }
    w->index_smem = w->smem_next;
    tiles = smem_left(w) / ARRAY_TILE_BYTES;
    if (w->indices->tile_count <= tiles) {
        tiles = w->indices->tile_count;
        fetch(w, w->indices, I(w->indices->address / ARRAY_GRANULE_BYTES), tiles * INDEX_GRANULES,
              I(w->index_smem / ARRAY_GRANULE_BYTES), -1);
        vcode_await(&w->code, I(w->flag_index), tiles * INDEX_GRANULES, -1);
        w->smem_next += tiles * ARRAY_TILE_BYTES;
        return;
    }
    w->window_tiles = tiles / window_count(w);
    for (int k = 0; k < window_count(w); k++) {
        w->window[k] = builder_reg(&w->m);
        builder_set(&w->m, w->window[k], I(-w->window_tiles));
    }
    w->smem_next += window_count(w) * w->window_tiles * ARRAY_TILE_BYTES;
}

/* a value moves to the register `fixed`, so that temporary ones are free again */
static void keep(struct index_work *w, struct isa_operand *value, struct isa_operand fixed)
{
    if (value->kind != OPERAND_REG || value->value == fixed.value)
        return;
    builder_set(&w->m, fixed, *value);
    *value = fixed;
}

/* tile and byte of the index vector's first component at w->coordinate */
static void place_of_indices(struct index_work *w, struct isa_operand *tile,
                             struct isa_operand *byte)
{
    const struct array *a = w->indices;
    struct builder *m = &w->m;
    struct isa_operand tile_kept = builder_reg(m), byte_kept = builder_reg(m);
    int kept = m->next_sreg;

    *tile = *byte = I(0);
    for (int d = 0; d < a->shape.rank; d++) {
        struct isa_operand x;

        m->next_sreg = kept;
        if (d == w->vector_dim)
            continue;
        x = index_coordinate(w, w->rows_dim_of[d]);
        if (a->is_linear) {
            *tile = builder_shift(m, x, -10);
            *byte = builder_shift(m, builder_and(m, x, 1023), 2);
        } else if (d == a->lane_dim) {
            *tile = builder_add(m, *tile, builder_shift(m, x, -7));
            *byte = builder_add(m, *byte, builder_shift(m, builder_and(m, x, 127), 2));
        } else if (d == a->row_dim) {
            *tile = builder_add(m, *tile, builder_mul(m, builder_shift(m, x, -3), a->tiles_across));
            *byte = builder_add(m, *byte, builder_shift(m, builder_and(m, x, 7), 9));
        } else {
            *tile = builder_add(m, *tile, builder_mul(m, x, array_outer_stride(a, d)));
        }
        keep(w, tile, tile_kept);
        keep(w, byte, byte_kept);
    }
    m->next_sreg = kept;
}

/* bytes from one index to the next along dimension `d` of indices, inside a batch */
static int64_t step_bytes(const struct array *a, int d)
{
    if (a->is_linear || d == a->lane_dim)
        return WORD_BYTES;
    if (d == a->row_dim)
        return ARRAY_ROW_BYTES;
    return array_outer_stride(a, d) * ARRAY_TILE_BYTES;
}

/* make sure that this tile is in the window; its place in SMEM */
static struct isa_operand in_window(struct index_work *w, struct isa_operand tile, int k)
{
    struct builder *m = &w->m;
    int64_t granules = w->window_tiles * INDEX_GRANULES;
    int64_t at = w->index_smem + k * w->window_tiles * ARRAY_TILE_BYTES;
    struct isa_operand first, distance;

    first = builder_min(m, tile, I(w->indices->tile_count - w->window_tiles));
    distance = builder_sub(m, tile, w->window[k]);
    emit_scmp_u32(&w->code, PRED_WINDOW, distance, I(w->window_tiles), SCMP_U32_GE);
    vcode_put(&w->code, isa_if(PRED_WINDOW, isa_smov(w->window[k].value, first)));
    first = builder_add(m, builder_mul(m, w->window[k], INDEX_GRANULES),
                        I(w->indices->address / ARRAY_GRANULE_BYTES));
    fetch(w, w->indices, first, granules, I(at / ARRAY_GRANULE_BYTES), PRED_WINDOW);
    vcode_await(&w->code, I(w->flag_index), granules, PRED_WINDOW);
    return builder_add(m, builder_mul(m, builder_sub(m, tile, w->window[k]), ARRAY_TILE_BYTES),
                       I(at));
}

static void load_word(struct index_work *w, struct isa_operand to, struct isa_operand base,
                      int64_t offset)
{
    bool is_imm = base.kind == OPERAND_IMM;

    emit_sld(&w->code, to.value, is_imm ? NONE : base, I(offset + (is_imm ? base.value : 0)));
}

/*
 * Start k from the words that count the rounds of loops: the first, which holds what they would add
 * at word 0, less step * each for what every word is.
 */
static void known_start(struct index_work *w, int k, struct isa_operand to)
{
    const struct kernel_loop *loop = w->job->loop;
    int64_t first = w->trips->first[k];
    struct builder *m = &w->m;
    int kept = m->next_sreg;

    for (int i = 0; i < GRAPH_TRIP_LOOPS && loop; i++, loop = loop->outer)
        first += w->trips->step[k][i] *
                 (loop->first + (loop->smem < 0 ? 0 : loop->each * loop->rounds));
    builder_set(m, to, I(first));
    loop = w->job->loop;
    for (int i = 0; i < GRAPH_TRIP_LOOPS && loop; i++, loop = loop->outer) {
        if (!w->trips->step[k][i] || loop->smem < 0)
            continue;
        m->next_sreg = kept;
        builder_set(m, to, builder_sub(m, to, builder_mul(m, index_word_get(w, loop->smem),
                                                          w->trips->step[k][i] * loop->each)));
    }
    m->next_sreg = kept;
}

static int fast_index_dim(const struct index_work *w, int fast_dim)
{
    for (int d = 0; d < w->indices->shape.rank; d++)
        if (d != w->vector_dim && w->rows_dim_of[d] == fast_dim)
            return d;
    return -1;
}

void index_load_batch(struct index_work *w, int fast_dim, int count,
                      struct isa_operand to[][INDEX_BATCH])
{
    const struct array *a = w->indices;
    int kept = w->m.next_sreg, fast;
    struct isa_operand tile, byte;

    if (!a) {
        for (int k = 0; k < w->components; k++)
            for (int u = 0; u < count && is_used(w, k); u++)
                if (index_is_known(w, k))
                    known_start(w, k, to[k][u]);
                else
                    load_word(w, to[k][u], I(w->index_smem + k * ARRAY_GRANULE_BYTES), 0);
        return;
    }
    place_of_indices(w, &tile, &byte);
    fast = fast_index_dim(w, fast_dim);
    for (int k = 0; k < w->components; k++) {
        int64_t step = fast < 0 ? 0 : step_bytes(a, fast);
        int64_t of_vector = w->vector_dim < 0 ? 0 : k * step_bytes(a, w->vector_dim);
        int base_reg = w->m.next_sreg;
        struct isa_operand base;

        if (!is_used(w, k))
            continue;
        if (!w->window_tiles) {
            base = builder_add(&w->m,
                               builder_add(&w->m, builder_mul(&w->m, tile, ARRAY_TILE_BYTES), byte),
                               I(w->index_smem));
        } else if (window_count(w) == 1) {
            base = builder_add(&w->m, in_window(w, tile, 0), byte);
        } else {
            base = builder_add(&w->m, tile, I(of_vector / ARRAY_TILE_BYTES));
            base = builder_add(&w->m, in_window(w, base, k), byte);
            of_vector = 0;
        }
        for (int u = 0; u < count; u++)
            load_word(w, to[k][u], base, of_vector + u * step);
        w->m.next_sreg = base_reg;
    }
    w->m.next_sreg = kept;
}

static struct isa_operand least(struct index_work *w, bool is_unsigned, bool is_max,
                                struct isa_operand a, int64_t bound)
{
    struct isa_operand to = builder_reg(&w->m);

    emit_smin_max(&w->code, to.value, a, I(bound), is_max, is_unsigned);
    return to;
}

/* p = p & (0 <= x <= last), as unsigned numbers */
static void check_inside(struct index_work *w, struct isa_operand x, int64_t last, int pred,
                         bool is_first)
{
    int to = is_first ? pred : pred + 1;

    emit_scmp_u32(&w->code, to, x, I(last), SCMP_U32_LE);
    if (!is_first)
        emit_pand(&w->code, pred, pred, to);
}

static struct isa_operand axis_coordinate(struct index_work *w, const struct index_axis *x,
                                          int fast_dim, int u, struct isa_operand word)
{
    bool is_unsigned = w->indices && w->indices->shape.dtype == DTYPE_U32;
    struct isa_operand at = I(0);

    if (x->component >= 0) {
        at = word;
        if (w->is_clamped && !is_unsigned)
            at = least(w, false, true, at, 0);
        if (w->is_clamped)
            at = least(w, is_unsigned, false, at, x->last);
    }
    if (x->rows_dim >= 0) {
        at = builder_add(&w->m, at, index_coordinate(w, x->rows_dim));
        if (x->rows_dim == fast_dim)
            at = builder_add(&w->m, at, I(u));
    }
    return at;
}

static void place_on_axis(struct index_work *w, int d, struct isa_operand x,
                          struct index_spot *s)
{
    const struct array *t = w->is_scatter ? w->result : w->table;
    struct builder *m = &w->m;
    int rows_log2 = 3 + w->pack_log2;

    if (t->is_linear) {
        s->lane = builder_and(m, x, ARRAY_LANES - 1);
        x = builder_shift(m, x, -7);
    } else if (d == t->lane_dim) {
        s->lane = x;
        return;
    }
    if (t->is_linear || d == t->row_dim) {
        int64_t across = t->is_linear ? 1 : t->tiles_across;

        s->tile = builder_add(m, s->tile, builder_mul(m, builder_shift(m, x, -rows_log2), across));
        s->sublane = builder_and(m, builder_shift(m, x, -w->pack_log2), 7);
        s->part = builder_and(m, x, w->pack - 1);
    } else {
        s->tile = builder_add(m, s->tile, builder_mul(m, x, array_outer_stride(t, d)));
    }
}

void index_spot(struct index_work *w, int fast_dim, int u, const struct isa_operand *word,
                int first_pred, struct index_spot *s)
{
    const struct array *t = w->is_scatter ? w->result : w->table;
    bool is_first = true;
    struct isa_operand fixed[4] = {builder_reg(&w->m), builder_reg(&w->m), builder_reg(&w->m),
                                   builder_reg(&w->m)};
    int kept = w->m.next_sreg;

    *s = (struct index_spot){
        .tile = I(0), .sublane = I(0), .part = I(0), .lane = I(0), .is_inside = NONE};
    for (int d = 0; d < t->shape.rank; d++) {
        const struct index_axis *x = &w->axis[d];
        struct isa_operand of_axis = x->component < 0 ? I(0) : word[x->component];

        if (!w->is_clamped && x->component >= 0) {
            check_inside(w, of_axis, x->last, first_pred, is_first);
            s->is_inside = R(first_pred);
            is_first = false;
        }
        place_on_axis(w, d, axis_coordinate(w, x, fast_dim, u, of_axis), s);
        keep(w, &s->tile, fixed[0]);
        keep(w, &s->sublane, fixed[1]);
        keep(w, &s->part, fixed[2]);
        keep(w, &s->lane, fixed[3]);
        w->m.next_sreg = kept;
    }
}

void index_only_spot(struct index_work *w, struct index_spot *s)
{
    struct isa_operand word[GRAPH_RANK_MAX][INDEX_BATCH], one[GRAPH_RANK_MAX];
    struct isa_operand unused[INDEX_BATCH];

    index_batch_registers(w, 1, word, unused);
    index_load_batch(w, -1, 1, word);
    for (int k = 0; k < w->components; k++)
        one[k] = word[k][0];
    index_spot(w, -1, 0, one, 0, s);
}

/* one dimension outside tiles is a loop with its coordinate in a register */
static void begin_single(struct index_work *w, const struct array *a, int d,
                         struct index_nest *n)
{
    w->coordinate[d] = builder_reg(&w->m);
    builder_set(&w->m, w->coordinate[d], I(0));
    n->flat = w->coordinate[d];
    n->counter = builder_loop_begin(&w->m, a->shape.dim[d]);
}

void index_nest_words(struct index_work *w, const struct array *a)
{
    for (int i = 0; i < a->outer_count; i++)
        if (a->shape.dim[a->outer_dim[i]] > 1 && !w->coordinate_smem[a->outer_dim[i]])
            w->coordinate_smem[a->outer_dim[i]] = index_word(w, 0);
}

void index_nest_place(struct index_work *w, const struct array *a, struct isa_operand flat)
{
    int64_t inner = index_outer_places(a);

    for (int i = 0; i < a->outer_count; i++) {
        int d = a->outer_dim[i], kept = w->m.next_sreg;

        inner /= a->shape.dim[d];
        if (a->shape.dim[d] > 1)
            index_word_set(w, w->coordinate_smem[d],
                           builder_mod(&w->m, builder_div(&w->m, flat, inner), a->shape.dim[d]));
        w->m.next_sreg = kept;
    }
}

/* several are one loop too, whose coordinates are words of SMEM */
static void begin_several(struct index_work *w, const struct array *a, struct index_nest *n)
{
    index_nest_words(w, a);
    n->flat = builder_reg(&w->m);
    builder_set(&w->m, n->flat, I(0));
    n->counter = builder_loop_begin(&w->m, index_outer_places(a));
    index_nest_place(w, a, n->flat);
}

int64_t index_outer_places(const struct array *a)
{
    int64_t count = 1;

    for (int i = 0; i < a->outer_count; i++)
        count *= a->shape.dim[a->outer_dim[i]];
    return count;
}

void index_nest_begin(struct index_work *w, const struct array *a, struct index_nest *n)
{
    int dims = 0, last = 0;

    for (int i = 0; i < a->outer_count; i++) {
        int d = a->outer_dim[i];

        w->coordinate[d] = I(0);
        if (a->shape.dim[d] == 1)
            continue;
        dims++;
        last = d;
    }
    n->is_loop = dims > 0;
    if (dims == 1)
        begin_single(w, a, last, n);
    else if (dims)
        begin_several(w, a, n);
}

void index_nest_end(struct index_work *w, struct index_nest *n)
{
    if (!n->is_loop)
        return;
    emit_sadd(&w->code, n->flat.value, n->flat, I(1));
    builder_loop_end(&w->m, n->counter);
}

struct isa_operand index_coordinate(struct index_work *w, int d)
{
    return w->coordinate_smem[d] ? index_word_get(w, w->coordinate_smem[d]) : w->coordinate[d];
}

struct isa_operand index_outer_tile(struct index_work *w, const struct array *a)
{
    struct isa_operand tile = I(0);

    for (int i = 0; i < a->outer_count; i++) {
        int d = a->outer_dim[i];

        tile = builder_add(&w->m, tile,
                           builder_mul(&w->m, index_coordinate(w, d), array_outer_stride(a, d)));
    }
    return tile;
}
