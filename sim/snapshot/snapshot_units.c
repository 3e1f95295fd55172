/*
 * Units in a snapshot. Of a FIFO only the entries that are in it, of a
 * transpose only the rows that have been pushed.
 */
#include "sim/snapshot/snapshot_impl.h"

static const struct field fifo_fields[] = {
    SAVED(fifo, depth), SAVED(fifo, mask), SAVED(fifo, pushed), SAVED(fifo, popped),
    SAVED(fifo, written), SAVED(fifo, read), APART(fifo, ready_at), APART(fifo, code),
    APART(fifo, tile), APART(fifo, word), APART(fifo, is_grown)};

static const struct field xlu_fields[] = {
    SAVED_TIME(xlu, free_at), SAVED_BOOL(xlu, is_open), SAVED(xlu, pushed_rows), SAVED(xlu, type),
    SAVED_TIME(xlu, next_xpose_at), SAVED(xlu, row_count), APART(xlu, result),
    APART(xlu, buffer)};

static const struct field prepared_fields[] = {
    SAVED_BOOL(prepared, is_full), SAVED_BOOL(prepared, takes_type_of_push),
    SAVED(prepared, type)};

static const struct field accumulator_fields[] = {
    SAVED_BOOL(accumulator, has_sum), SAVED_BOOL(accumulator, is_integer),
    SAVED(accumulator, popped), SAVED(accumulator, written), SAVED(accumulator, read),
    SAVED_TIME(accumulator, ready_at)};

static const struct field mxu_fields[] = {
    SAVED_TIME(mxu, array_free_at), SAVED_TIME(mxu, port_free_at), SAVED_TIME(mxu, staged_at),
    SAVED(mxu, staged), SAVED(mxu, gain_loaded), SAVED(mxu, weights_prep), SAVED(mxu, rows_prep),
    APART(mxu, weights_prepared), APART(mxu, rows_prepared), APART(mxu, result),
    APART(mxu, accumulator),
    APART(mxu, sum), APART(mxu, staging), APART(mxu, gain),     /* in core.mxu_memory */
    APART(mxu, array), APART(mxu, old_array), APART(mxu, next_old), APART(mxu, is_finite),
    APART(mxu, deferred)
};

static const struct field quadrant_fields[] = {
    SAVED_BOOL(quadrant, is_columns), SAVED(quadrant, filled), SAVED(quadrant, top),
    APART(quadrant, pair)};

/* what the rings can hold, and only a listing's FIFOs grow */
static bool is_possible(const struct core *c, uint32_t old_mask, uint32_t depth, uint32_t mask,
                        uint32_t waiting, uint32_t stored)
{
    return (mask == old_mask || c->is_listing) && depth <= mask + 1 && waiting <= mask + 1
           && stored <= mask + 1;
}

static void archive_fifo(struct core *c, struct fifo *f, struct archive *a)
{
    struct fifo read = *f;

    WALK(a, fifo_fields, &read);
    if (archive_is_loading(a) && !a->is_failed) {
        archive_check(a, is_possible(c, f->mask, read.depth, read.mask, read.pushed - read.popped,
                                     read.written - read.read) && fifo_resize(f, read.mask),
                      "the snapshot has a fifo of %u entries in %u", (unsigned)read.depth,
                      (unsigned)read.mask + 1);
        if (a->is_failed)
            return;
        f->depth = read.depth;
        f->pushed = read.pushed;
        f->popped = read.popped;
        f->written = read.written;
        f->read = read.read;
    }
    for (uint32_t i = f->popped; i != f->pushed && !a->is_failed; i++) {
        archive_times(a, &f->ready_at[i & f->mask], 1);
        if (f->code)
            archive_bytes(a, &f->code[i & f->mask], sizeof(*f->code));
    }
    for (uint32_t i = f->read; i != f->written && !a->is_failed; i++)
        archive_bytes(a, f->tile ? f->tile[i & f->mask] : &f->word[i & f->mask],
                      f->tile ? sizeof(*f->tile) : sizeof(*f->word));
}

static void archive_xlu(struct core *c, struct xlu *x, struct archive *a)
{
    WALK(a, xlu_fields, x);
    archive_check(a, x->row_count >= 0 && x->row_count <= 128 && x->pushed_rows >= 0
                     && x->pushed_rows <= 128 && (unsigned)x->type <= 4
                     && (c->state == CORE_FAULTED
                         || x->row_count <= (x->is_open ? x->pushed_rows : 0)),
                  "the snapshot has a transpose of %d rows", x->row_count);
    if (!a->is_failed)
        archive_bytes(a, x->buffer, (size_t)x->row_count * sizeof(*x->buffer));
    archive_fifo(c, &x->result, a);
}

static void archive_prepared(struct prepared *p, struct archive *a)
{
    WALK(a, prepared_fields, p);
    archive_check(a, (unsigned)p->type < MATRIX_TYPE_COUNT,
                  "the snapshot has a prep register of type %d", (int)p->type);
}

static void archive_mxu(struct core *c, struct mxu *x, struct archive *a)
{
    int halves = chip_mxu_halves(c->chip);

    WALK(a, mxu_fields, x);
    archive_prepared(&x->weights_prepared, a);
    archive_prepared(&x->rows_prepared, a);
    for (int i = 0; i < c->chip->mxu_accumulators; i++) {
        struct accumulator *s = &x->accumulator[i];

        WALK(a, accumulator_fields, s);
        archive_check(a, s->popped >= 0 && s->popped < halves && s->read >= 0 && s->read < halves,
                      "the snapshot has accumulator %d half popped", i);
    }
    archive_fifo(c, &x->result, a);
}

/* weights and sums: in core.mxu_memory, of which most may never have been touched */
static void archive_arrays(const struct chip *chip, struct mxu *x, struct archive *a)
{
    int quadrants = chip_mxu_halves(chip) * chip_mxu_halves(chip);

    archive_sparse(a, x->sum, (size_t)chip->mxu_accumulators * sizeof(*x->sum));
    for (int i = 0; i < 2; i++) {
        archive_sparse(a, x->gain[i], (size_t)quadrants * sizeof(*x->gain[i]));
        for (int j = 0; j < quadrants; j++) {
            WALK(a, quadrant_fields, &x->staging[i][j]);
            archive_sparse(a, x->staging[i][j].pair, sizeof(x->staging[i][j].pair));
        }
    }
}

void snapshot_units_archive(struct core *c, struct archive *a)
{
    archive_fifo(c, &c->eup, a);
    archive_fifo(c, &c->crf, a);
    archive_fifo(c, &c->v2s, a);
    archive_fifo(c, &c->drf, a);
    for (int i = 0; i < c->chip->xlu_count; i++)
        archive_xlu(c, &c->xlu[i], a);
    for (int i = 0; i < c->chip->mxu_count; i++) {
        archive_mxu(c, &c->mxu[i], a);
        archive_arrays(c->chip, &c->mxu[i], a);
    }
}

uint32_t snapshot_units_archive_crc(uint32_t crc)
{
    crc = archive_table_crc(crc, fifo_fields, COUNT_OF(fifo_fields));
    crc = archive_table_crc(crc, xlu_fields, COUNT_OF(xlu_fields));
    crc = archive_table_crc(crc, prepared_fields, COUNT_OF(prepared_fields));
    crc = archive_table_crc(crc, accumulator_fields, COUNT_OF(accumulator_fields));
    crc = archive_table_crc(crc, mxu_fields, COUNT_OF(mxu_fields));
    return archive_table_crc(crc, quadrant_fields, COUNT_OF(quadrant_fields));
}
