/*
 * Copies: which DMAs carry out one. Tiles of an array lie together along lanes, then row tiles, then
 * outer dimensions; what goes on without a gap in both arrays is one DMA, with a stride where one
 * level of both has one. Rows that are no whole tiles are copied as rows of words.
 */
#include "stack/kernels/mosaic/copy.h"

static int64_t outer_count(const struct tiles *t)
{
    int64_t n = 1;

    for (int d = 0; d < t->rank; d++)
        if (d != t->row_dim && d != t->lane_dim)
            n *= t->dim[d];
    return n;
}

/* what lies together: tiles along lanes, then rows of tiles, then outer dimensions from the last on */
struct run { int64_t rows; int next_dim; };

static int64_t across_of(const struct tiles *t)
{
    return t->lane_dim >= 0 ? (t->dim[t->lane_dim] + TILE_LANES - 1) / TILE_LANES : 1;
}

static int64_t down_of(const struct tiles *t)
{
    return t->row_dim >= 0 ? (t->dim[t->row_dim] + t->rows - 1) / t->rows : 1;
}

struct level { int64_t count, from, to; };      /* of a copy, in VMEM rows */

#define LEVELS_MAX (MOSAIC_RANK_MAX + 1)

/* Levels from the innermost on, those that go on in both without a gap being one with what is inside
 * them; *rows is what lies together: first those of a tile that are copied. */
static int copy_levels(const struct tiles *a, const struct tiles *b, struct level *level,
                       int64_t *rows)
{
    struct level all[LEVELS_MAX];
    int count = 0, kept = 0;

    if (a->is_linear && b->is_linear) {
        *rows = tiles_rows(a);
        return 0;
    }
    all[count++] = (struct level){across_of(a), a->lane_step, b->lane_step};
    all[count++] = (struct level){down_of(a), a->row_step, b->row_step};
    for (int d = a->rank - 1; d >= 0; d--) {
        int e = b->rank - 1 - (a->rank - 1 - d);

        if (d != a->row_dim && d != a->lane_dim && count < LEVELS_MAX)
            all[count++] = (struct level){a->dim[d], a->outer_step[d],
                                          e >= 0 ? b->outer_step[e] : 0};
    }
    for (int i = 0; i < count; i++) {
        if (all[i].count == 1)
            continue;
        if (!kept && all[i].from == *rows && all[i].to == *rows)
            *rows *= all[i].count;
        else if (kept && level[kept - 1].count * level[kept - 1].from == all[i].from &&
                 level[kept - 1].count * level[kept - 1].to == all[i].to)
            level[kept - 1].count *= all[i].count;
        else
            level[kept++] = all[i];
    }
    return kept;
}

enum isa_opcode pallas_copy_code(enum mosaic_space from, enum mosaic_space to)
{
    bool is_hbm = from == MOSAIC_HBM || from == MOSAIC_ANY;
    bool to_hbm = to == MOSAIC_HBM || to == MOSAIC_ANY;

    if (is_hbm)
        return to_hbm ? OP_DMA_HBM_HBM : to == MOSAIC_SMEM ? OP_DMA_HBM_SMEM : OP_DMA_HBM_VMEM;
    if (from == MOSAIC_SMEM)
        return to_hbm ? OP_DMA_SMEM_HBM : OP_DMA_SMEM_VMEM;
    return to_hbm ? OP_DMA_VMEM_HBM : to == MOSAIC_SMEM ? OP_DMA_VMEM_SMEM : OP_DMA_VMEM_VMEM;
}

/* one copy of `rows` by a level, from and to granules in registers */
static void put_copy(struct lower *l, enum isa_opcode code, struct isa_operand from,
                     struct isa_operand to, const struct level *level, int64_t rows,
                     struct isa_operand flag)
{
    int64_t run = rows * GRANULES_PER_ROW;

    if (!level)
        vcode_put(&l->code, isa_make_dma(code, from, I(run), to, flag));
    else
        vcode_put(&l->code, isa_make_dma_strided(code, from, I(run * level->count), to, flag,
                                                 I(level->from * GRANULES_PER_ROW),
                                                 I(level->to * GRANULES_PER_ROW), I(run)));
}

bool copy_has_size(const struct place *p) { return p->has_row_size || p->has_lane_size; }

static struct scalar product(struct lower *l, struct scalar a, struct scalar b)
{
    struct isa_operand x, y;
    int to;

    if (a.is_known || b.is_known)
        return a.is_known ? scalar_mul(l, b, a.value) : scalar_mul(l, a, b.value);
    x = scalar_use(l, a);
    y = scalar_use(l, b);
    to = scalar_register(l);
    emit_smul(&l->code, to, x, y);
    return scalar_keep(l, R(to));
}

static struct scalar shifted(struct lower *l, struct scalar s, int by)
{
    struct isa_operand x = scalar_use(l, s);
    int to = scalar_register(l);

    emit_sshrl(&l->code, to, x, I(by));
    return scalar_keep(l, R(to));
}

/* granules that lie together in a part: of a tile row's lanes, of which 128 are a tile of 128; of a
 * vector, 8 of whose words are one */
static struct scalar run_granules(struct lower *l, const struct place *p)
{
    if (!p->has_lane_size)
        return scalar_known(across_of(&p->t) * TILE_ROWS * GRANULES_PER_ROW);
    return p->t.is_linear ? shifted(l, p->lane_size, 3) : p->lane_size;
}

/* of all of a part of a computed size: whole tiles */
static struct scalar sized_granules(struct lower *l, const struct place *p)
{
    struct scalar run = run_granules(l, p), down = scalar_known(down_of(&p->t));

    if (p->has_row_size)
        down = shifted(l, p->row_size, __builtin_ctz((unsigned)p->t.rows));
    return product(l, down, run);
}

/* Of two dimensions: row tiles one after the other, in each so many tiles as there are. */
static int copy_sized(struct lower *l, const struct mosaic_op *op, const struct place *from,
                      const struct place *to, struct scalar flag, struct scalar a,
                      struct scalar b)
{
    const struct place *sized = copy_has_size(from) ? from : to;
    enum isa_opcode code = pallas_copy_code(from->space, to->space);
    struct scalar all, run;
    struct isa_operand x, y, n, r;

    if (outer_count(&sized->t) != 1 || from->has_row_size != to->has_row_size ||
        from->has_lane_size != to->has_lane_size)
        return pallas_fail(l, op, "a part of a computed size of an array of %d dimensions",
                           sized->t.rank);
    if (to->has_half && to->space != MOSAIC_VMEM)
        return pallas_fail(l, op, "a part of a computed size that is no whole number of tiles for "
                          "certain is written");
    all = sized_granules(l, sized);
    run = run_granules(l, sized);
    x = scalar_use(l, a);
    y = scalar_use(l, b);
    n = scalar_use(l, all);
    r = scalar_use(l, run);
    vcode_put(&l->code, isa_make_dma_strided(code, x, n, y, scalar_use(l, flag),
                                             I(from->t.row_step * GRANULES_PER_ROW),
                                             I(to->t.row_step * GRANULES_PER_ROW), r));
    return 0;
}

#define COPIES_MAX 4096

enum isa_opcode copy_remote_code(enum mosaic_space from, enum mosaic_space to)
{
    bool is_hbm = from == MOSAIC_HBM || from == MOSAIC_ANY;
    bool to_hbm = to == MOSAIC_HBM || to == MOSAIC_ANY;

    if (is_hbm)
        return to_hbm ? OP_DMA_HBM_HBM_REMOTE : OP_DMA_HBM_VMEM_REMOTE;
    return to_hbm ? OP_DMA_VMEM_HBM_REMOTE : OP_DMA_VMEM_REMOTE;
}

/* one copy of `rows` by a level; a remote one is a run at a time */
static void put_level(struct lower *l, const struct copy_way *w, struct scalar from, struct scalar to,
                      const struct level *level, int64_t rows)
{
    int64_t count = w->is_remote && level ? level->count : 1;

    if (!w->is_remote) {
        struct isa_operand source = scalar_use(l, from);

        struct isa_operand target = scalar_use(l, to);

        put_copy(l, w->code, source, target, level, rows, scalar_use(l, w->flag));
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        struct scalar x = scalar_add(l, from, scalar_known(level ? i * level->from * GRANULES_PER_ROW : 0));
        struct scalar y = scalar_add(l, to, scalar_known(level ? i * level->to * GRANULES_PER_ROW : 0));
        struct isa_operand source = scalar_use(l, x), target = scalar_use(l, y);
        struct isa_operand sent = scalar_use(l, w->sent), core = scalar_use(l, w->core);

        vcode_put(&l->code, isa_make_dma_rem(w->code, source, I(rows * GRANULES_PER_ROW), target,
                                             scalar_use(l, w->flag), sent, core));
    }
}

/*
 * One DMA for each of the levels beyond the innermost, `rows` of each tile: from granules a and b on.
 * What was copied, in granules; -1.
 */
static int64_t put_levels(struct lower *l, const struct mosaic_op *op, const struct copy_way *w,
                          const struct tiles *from, const struct tiles *to, int64_t rows,
                          struct scalar a, struct scalar b)
{
    struct level level[LEVELS_MAX];
    int64_t copies = 1, index[LEVELS_MAX] = {0};
    int count = copy_levels(from, to, level, &rows);

    for (int i = 1; i < count; i++)
        copies *= level[i].count;
    if (copies * (w->is_remote && count ? level[0].count : 1) > COPIES_MAX)
        return pallas_fail(l, op, "%lld copies of one", (long long)copies);
    for (int64_t c = 0; c < copies; c++) {
        int64_t x = 0, y = 0;
        struct scalar begin, end;

        for (int i = 1; i < count; i++) {
            x += index[i] * level[i].from;
            y += index[i] * level[i].to;
        }
        begin = scalar_add(l, a, scalar_known(x * GRANULES_PER_ROW));
        end = scalar_add(l, b, scalar_known(y * GRANULES_PER_ROW));
        put_level(l, w, begin, end, count ? &level[0] : NULL, rows);
        for (int i = 1; i < count && ++index[i] == level[i].count; i++)
            index[i] = 0;
    }
    return rows * GRANULES_PER_ROW * copies * (count ? level[0].count : 1);
}

/* ----- parts of tiles: rows of words, of which a tile has 8 */

/* where a part begins: its first row of words, and which of its tile's that is */
struct begin {
    struct scalar row, word;
    int64_t multiple;                   /* that `word` surely is of */
    bool is_even;                       /* row tiles follow each other without a gap */
};

static int64_t words_in(const struct place *p)
{
    int64_t rows = p->t.row_dim < 0 ? 1 : p->t.dim[p->t.row_dim];

    return (rows + p->t.rows / TILE_ROWS - 1) / (p->t.rows / TILE_ROWS);
}

static struct begin begin_of(struct lower *l, const struct place *p)
{
    int64_t packed = p->t.rows / TILE_ROWS;
    struct begin b = {.multiple = TILE_ROWS};

    b.is_even = p->t.row_step == TILE_ROWS && across_of(&p->t) == 1;
    if (p->has_late_row) {
        b.row = scalar_add(l, p->row_offset, scalar_known(p->base));
        b.word = place_shifted(l, p->late_row, __builtin_ctz((unsigned)packed));
        b.multiple = p->late_multiple / packed;
    } else {
        b.row = scalar_add(l, place_row(l, p), scalar_known(p->sublane / packed));
        b.word = scalar_known(p->sublane / packed);
    }
    return b;
}

/* row of words number `k` of a part */
static struct scalar row_of_words(struct lower *l, const struct begin *b, const struct place *p,
                                  int64_t k)
{
    struct scalar in_tile, row;

    if (k == 0 || b->is_even)
        return scalar_add(l, b->row, scalar_known(k));
    in_tile = scalar_add(l, b->word, scalar_known(k));
    if (in_tile.is_known)
        return scalar_add(l, b->row, scalar_known(in_tile.value / TILE_ROWS * p->t.row_step +
                                                  in_tile.value % TILE_ROWS - b->word.value));
    row = scalar_mul(l, place_shifted(l, in_tile, __builtin_ctz(TILE_ROWS)), p->t.row_step);
    row = scalar_add(l, row, place_masked(l, in_tile, TILE_ROWS - 1));
    return scalar_add(l, b->row, scalar_sub(l, row, b->word));
}

/* rows of words from number `k` on that lie in one tile, of both */
static int64_t piece_of(const struct begin *from, const struct begin *to, int64_t k, int64_t all)
{
    int64_t most = all - k;

    for (int i = 0; i < 2; i++) {
        const struct begin *b = i ? to : from;
        int64_t left = b->is_even         ? all
                       : b->word.is_known ? TILE_ROWS - (b->word.value + k) % TILE_ROWS
                                          : TILE_ROWS;

        if (!b->is_even && !b->word.is_known)       /* such that none goes over a tile's end */
            while (left > b->multiple || k % left)
                left /= 2;
        most = left < most ? left : most;
    }
    return most;
}

static bool splits_tiles(const struct place *p)
{
    return p->has_late_row || p->sublane % p->t.rows || p->t.is_dense ||
           (p->t.row_dim >= 0 ? !p->covers_rows && p->t.dim[p->t.row_dim] % p->t.rows != 0
                              : !p->covers_rows);
}

/* The flag of who waits counts whole tiles. */
static void make_up(struct lower *l, const struct copy_way *w, int64_t granules)
{
    struct isa_operand flag, core;

    if (granules <= 0)
        return;
    if (!w->is_remote) {
        emit_vsyncadd(&l->code, scalar_use(l, w->flag), I(granules));
        return;
    }
    emit_vsyncadd(&l->code, scalar_use(l, w->sent), I(granules));
    flag = scalar_use(l, w->flag);
    core = scalar_use(l, w->core);
    emit_vsyncadd_r(&l->code, flag, I(granules), core);
}

/*
 * Some rows of tiles: each piece of them that lies in one tile of both is copied by itself, with all
 * that lies beside it along lanes and in other dimensions.
 */
static int copy_parts(struct lower *l, const struct mosaic_op *op, const struct place *from,
                      const struct place *to, const struct copy_way *w, int64_t *granules)
{
    struct begin x = begin_of(l, from), y = begin_of(l, to);
    struct tiles a = from->t, b = to->t;
    int64_t all = words_in(from), packed = from->t.rows / TILE_ROWS, moved = 0;
    int64_t rows = from->t.row_dim < 0 ? 1 : from->t.dim[from->t.row_dim];

    if (from->t.rows != to->t.rows || (rows % packed && !to->covers_rows) || x.multiple < 1 ||
        y.multiple < 1)
        return pallas_fail(l, op, "a copy of rows that share words of 32 bits with others");
    if (a.row_dim >= 0)
        a.dim[a.row_dim] = a.rows;
    if (b.row_dim >= 0)
        b.dim[b.row_dim] = b.rows;
    x.is_even = y.is_even = x.is_even && y.is_even;
    for (int64_t k = 0, piece; k < all; k += piece) {
        struct scalar source, target;
        int64_t put;

        piece = piece_of(&x, &y, k, all);
        source = scalar_mul(l, row_of_words(l, &x, from, k), GRANULES_PER_ROW);
        target = scalar_mul(l, row_of_words(l, &y, to, k), GRANULES_PER_ROW);
        put = put_levels(l, op, w, &a, &b, piece, source, target);
        if (put < 0)
            return -1;
        moved += put;
    }
    *granules = copy_granules(to);
    make_up(l, w, *granules - moved);
    return 0;
}

int copy_put(struct lower *l, const struct mosaic_op *op, const struct place *from,
             const struct place *to, const struct copy_way *w, int64_t *granules)
{
    struct scalar a, b;
    bool is_linear = from->t.is_linear || to->t.is_linear;

    if (from->lane || to->lane || from->has_late_lane || to->has_late_lane || from->stride > 1 ||
        to->stride > 1)
        return pallas_fail(l, op, "a copy from within a tile");
    if (!is_linear && !copy_has_size(from) && !copy_has_size(to) && (splits_tiles(from) || splits_tiles(to)))
        return copy_parts(l, op, from, to, w, granules);
    if (from->sublane || to->sublane || from->has_late_row || to->has_late_row)
        return pallas_fail(l, op, "a copy from within a tile");
    a = scalar_mul(l, place_row(l, from), GRANULES_PER_ROW);
    b = scalar_mul(l, place_row(l, to), GRANULES_PER_ROW);
    if (copy_has_size(from) || copy_has_size(to))
        return w->is_remote ? pallas_fail(l, op, "a part of a computed size to another device")
                            : copy_sized(l, op, from, to, w->flag, a, b);
    *granules = put_levels(l, op, w, &from->t, &to->t, TILE_ROWS, a, b);
    return *granules < 0 ? -1 : 0;
}

int pallas_copy(struct lower *l, const struct mosaic_op *op, const struct place *from,
                const struct place *to, struct scalar flag, int64_t *granules)
{
    struct copy_way w = {.code = pallas_copy_code(from->space, to->space), .flag = flag};

    if (from->space == MOSAIC_SMEM || to->space == MOSAIC_SMEM)
        return words_copy(l, op, from, to, flag, granules);
    return copy_put(l, op, from, to, &w, granules);
}

/* granules that a copy to `p` raises its flag by: those of whole tiles */
int64_t copy_granules(const struct place *p)
{
    if (p->space == MOSAIC_SMEM)
        return words_granules(&p->t);
    if (p->t.is_linear)
        return tiles_rows(&p->t) * GRANULES_PER_ROW;
    return down_of(&p->t) * across_of(&p->t) * outer_count(&p->t) * TILE_ROWS * GRANULES_PER_ROW;
}

struct scalar copy_sized_granules(struct lower *l, const struct place *p)
{
    return sized_granules(l, p);
}
