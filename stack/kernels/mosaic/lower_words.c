/*
 * Arrays in SMEM: a word for each element, rows of more than one dimension beginning at whole
 * granules, so that they are copied. In HBM and VMEM they lie as all arrays do, in tiles or in rows of
 * 128.
 */
#include <string.h>

#include "base/units.h"
#include "stack/kernels/mosaic/lower.h"

#define WORD_BYTES 4
#define WORDS_PER_GRANULE (GRANULE_BYTES / WORD_BYTES)

void words_steps(struct tiles *t, int64_t unit)
{
    int64_t step = 1;

    for (int d = t->rank - 1; d >= 0; d--) {
        t->outer_step[d] = step;
        step *= t->dim[d];
        if (d == t->rank - 1 && t->rank > 1)
            step = round_up(step, unit);
    }
}

int words_open(struct lower *l, const struct mosaic_op *op, const struct mosaic_type *t,
               struct place *p)
{
    int64_t words = 1;

    p->t.row_dim = p->t.lane_dim = -1;
    p->t.is_linear = false;
    words_steps(&p->t, WORDS_PER_GRANULE);
    if (t->rank)
        words = p->t.outer_step[0] * t->dim[0];
    if (t->rank > 1 && t->dim[0] < 1)
        words = 0;
    words = round_up(words, WORDS_PER_GRANULE);
    l->next_smem = (int)round_up(l->next_smem, GRANULE_BYTES);
    p->base = l->next_smem;
    if (mosaic_elements(t) < 0 || words * WORD_BYTES > l->smem_end - l->next_smem)
        return pallas_fail(l, op, "%lld words of SMEM, %d are left", (long long)words,
                          (l->smem_end - l->next_smem) / WORD_BYTES);
    l->next_smem += (int)(words * WORD_BYTES);
    return 0;
}

/* ----- copies: a row of words at a time, up to 128 of them */

struct rows { int64_t count, lanes, outer; };

static struct rows rows_of(const struct tiles *words)
{
    struct rows r = {1, 1, 1};

    if (words->rank)
        r.lanes = words->dim[words->rank - 1];
    if (words->rank > 1)
        r.count = words->dim[words->rank - 2];
    for (int d = 0; d < words->rank - 2; d++)
        r.outer *= words->dim[d];
    return r;
}

int64_t words_granules(const struct tiles *t)
{
    struct rows r = rows_of(t);

    return r.outer * r.count * div_up(r.lanes, WORDS_PER_GRANULE);
}

/* the words from an outer index on, in steps of the tiles' or the words' own */
static int64_t outer_at(const struct tiles *t, int64_t outer)
{
    int64_t at = 0;

    for (int d = t->rank - 3; d >= 0; d--) {
        at += outer % t->dim[d] * t->outer_step[d];
        outer /= t->dim[d];
    }
    return at;
}

/* granules: where it begins */
static struct scalar begin_of(struct lower *l, const struct place *p)
{
    struct isa_operand x;
    int to;

    if (p->space != MOSAIC_SMEM)
        return scalar_mul(l, place_row(l, p), GRANULES_PER_ROW);
    if (!p->has_offset)
        return scalar_known(p->base / GRANULE_BYTES);
    x = scalar_use(l, p->offset);
    to = scalar_register(l);
    emit_sshrl(&l->code, to, x, I(__builtin_ctz(GRANULE_BYTES)));
    return scalar_add(l, scalar_keep(l, R(to)), scalar_known(p->base / GRANULE_BYTES));
}

struct words_copy {
    enum isa_opcode code;
    bool is_to_words;
    struct scalar array, words;         /* granules: where they begin */
    struct scalar flag;
};

/* `rows` rows of `run` granules, which begin so many granules behind those beginnings */
static void put_rows(struct lower *l, const struct words_copy *c, int64_t array, int64_t words,
                     int64_t rows, int64_t run, int64_t words_step)
{
    struct scalar a = scalar_add(l, c->array, scalar_known(array));
    struct scalar b = scalar_add(l, c->words, scalar_known(words));
    struct isa_operand from = scalar_use(l, c->is_to_words ? a : b);
    struct isa_operand to = scalar_use(l, c->is_to_words ? b : a);
    struct isa_operand flag = scalar_use(l, c->flag), x = I(GRANULES_PER_ROW), y = I(words_step);

    if (rows == 1)
        vcode_put(&l->code, isa_make_dma(c->code, from, I(run), to, flag));
    else
        vcode_put(&l->code, isa_make_dma_strided(c->code, from, I(rows * run), to, flag,
                                                 c->is_to_words ? x : y, c->is_to_words ? y : x,
                                                 I(run)));
}

/* a table of rows: those of a tile follow each other, and tiles of one do */
static void copy_table(struct lower *l, const struct words_copy *c, const struct tiles *array,
                       const struct tiles *words)
{
    struct rows r = rows_of(words);
    int64_t row_words = words->outer_step[words->rank - 2];
    int64_t most = array->row_step == TILE_ROWS ? r.count : TILE_ROWS;

    for (int64_t o = 0; o < r.outer; o++)
        for (int64_t row = 0; row < r.count; row += most)
            for (int64_t lane = 0; lane < r.lanes; lane += TILE_LANES) {
                int64_t rows = r.count - row < most ? r.count - row : most;
                int64_t lanes = r.lanes - lane < TILE_LANES ? r.lanes - lane : TILE_LANES;
                int64_t from = outer_at(array, o) + row / TILE_ROWS * array->row_step +
                               lane / TILE_LANES * array->lane_step;
                int64_t to = outer_at(words, o) + row * row_words + lane;

                put_rows(l, c, from * GRANULES_PER_ROW, to / WORDS_PER_GRANULE, rows,
                         div_up(lanes, WORDS_PER_GRANULE), row_words / WORDS_PER_GRANULE);
            }
}

/* a part whose rows are no granules, or that begins within one */
static bool is_apart(const struct tiles *words, const struct place *p)
{
    if (p->base % GRANULE_BYTES)
        return true;
    return words->rank > 1 && words->outer_step[words->rank - 2] % WORDS_PER_GRANULE;
}

int words_copy(struct lower *l, const struct mosaic_op *op, const struct place *from,
               const struct place *to, struct scalar flag, int64_t *granules)
{
    bool is_to_words = to->space == MOSAIC_SMEM;
    const struct place *words = is_to_words ? to : from, *array = is_to_words ? from : to;
    struct words_copy c = {pallas_copy_code(from->space, to->space), is_to_words, {0}, {0}, flag};
    struct rows r = rows_of(&words->t);

    if (from->space == MOSAIC_SMEM && to->space == MOSAIC_SMEM)
        return pallas_fail(l, op, "a copy within SMEM");
    if (mosaic_element_bits(array->t.element) != 32)
        return pallas_fail(l, op, "%s between SMEM and other memory; words of 32 bits are copied",
                           mosaic_element_name(array->t.element));
    if (is_apart(&words->t, words))
        return pallas_fail(l, op, "a part of SMEM that begins within %d bytes", GRANULE_BYTES);
    if (array->has_late_row)
        return pallas_fail(l, op, "a copy from within a tile");
    if (words->t.rank > 1 && (array->t.row_dim != array->t.rank - 2 ||
                              array->t.lane_dim != array->t.rank - 1 || array->sublane))
        return pallas_fail(l, op, "a part of other memory whose rows are not its rows");
    *granules = words_granules(&words->t);
    c.array = begin_of(l, array);
    c.words = begin_of(l, words);
    if (words->t.rank > 1) {
        copy_table(l, &c, &array->t, &words->t);
        return 0;
    }
    c.array = scalar_add(l, c.array, scalar_known(array->sublane * GRANULES_PER_ROW));
    if (array->t.is_linear || array->t.rank == 0 || r.lanes <= TILE_LANES)
        put_rows(l, &c, 0, 0, 1, *granules, 0);
    else
        for (int64_t lane = 0; lane < r.lanes; lane += TILE_LANES)
            put_rows(l, &c, lane / TILE_LANES * array->t.lane_step * GRANULES_PER_ROW,
                     lane / WORDS_PER_GRANULE, 1,
                     div_up(r.lanes - lane < TILE_LANES ? r.lanes - lane : TILE_LANES,
                            WORDS_PER_GRANULE), 0);
    return 0;
}
