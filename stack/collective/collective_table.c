/* Rows and pages of the table from which the program on the cores reads its operations. */
#include "stack/collective/collective_table.h"

#include <assert.h>
#include <string.h>

#include "base/units.h"

#define GRANULE 32
#define VMEM_ROW 512
#define REMOTE 0x100

/* ----- rows */

static int32_t granules(int64_t bytes)
{
    assert(bytes % GRANULE == 0);
    return (int32_t)(uint32_t)(bytes / GRANULE);    /* HBM addresses have no sign */
}

static void copy_row(const struct collective_op *o, int32_t *row)
{
    bool is_remote = o->kind == COLLECTIVE_SEND;

    row[0] = o->from_space | o->to_space << 4 | (is_remote ? REMOTE : 0);
    row[1] = granules(o->from);
    row[2] = granules(o->to);
    row[3] = granules(o->run_bytes);
    for (int i = 0; i < COLLECTIVE_LEVELS; i++) {
        row[4 + 3 * i] = (int32_t)o->level[i].count;
        row[5 + 3 * i] = granules(o->level[i].from_stride);
        row[6 + 3 * i] = granules(o->level[i].to_stride);
    }
    row[13] = o->flag;
    row[14] = is_remote ? o->source_flag : 0;
    row[15] = is_remote ? o->peer : 0;
    row[WORD_KIND] = ROW_COPY;
}

static void add_row(const struct collective_op *o, const struct collective_code *code,
                    int32_t *row)
{
    int64_t rows = div_up(o->bytes, VMEM_ROW), round = code->round_tiles * 8;

    assert(o->from % VMEM_ROW == 0 && o->to % VMEM_ROW == 0);
    row[WORD_KIND] = ROW_SPECIAL;
    row[WORD_A] = (int32_t)(o->from / VMEM_ROW);
    row[WORD_B] = (int32_t)(o->to / VMEM_ROW);
    row[WORD_C] = (int32_t)(rows / round);
    row[WORD_REST] = (int32_t)(rows % round);
}

static void op_row(const struct collective_op *o, const struct collective_code *code,
                   int32_t *row)
{
    switch (o->kind) {
    case COLLECTIVE_COPY:
    case COLLECTIVE_SEND:
        copy_row(o, row);
        break;
    case COLLECTIVE_ADD:
        add_row(o, code, row);
        break;
    default:
        row[WORD_KIND] = o->kind == COLLECTIVE_WAIT ? ROW_WAIT : ROW_SIGNAL;
        row[WORD_A] = o->flag;
        row[WORD_B] = o->value;
        row[WORD_C] = o->kind == COLLECTIVE_WAIT ? -o->value : o->peer;
    }
}

static int64_t base_of(const struct collective_table *t, int space)
{
    return space == COLLECTIVE_HBM ? t->base.hbm : t->base.vmem;
}

/* an operation of the list, moved to where this table's arrays and flags are */
static void placed_op(const struct collective_table *t, int core, int index,
                      struct collective_op *o)
{
    t->lists.op(t->lists.context, core, index, o);
    if (o->kind == COLLECTIVE_ADD) {
        o->from += t->base.vmem;
        o->to += t->base.vmem;
    } else if (o->kind == COLLECTIVE_COPY || o->kind == COLLECTIVE_SEND) {
        o->from += base_of(t, o->from_space);
        o->to += base_of(t, o->to_space);
    }
    o->flag += t->base.flag;
    o->source_flag += t->base.flag;
}

/* ----- pages */

int collective_table_page_bytes(const struct collective_table *t)
{
    return t->code.page_rows * ROW_BYTES_OF_TABLE;
}

static int row_count(const struct collective_table *t, int core)
{
    return t->lists.count(t->lists.context, core) + t->cut_count;
}

int collective_table_pages(const struct collective_table *t, int core)
{
    int count = row_count(t, core), per = t->code.costs.page_ops;

    return count > per ? (count + per - 1) / per : 1;
}

int64_t collective_table_address(const struct collective_table *t, int page)
{
    return t->lists.table_address + (int64_t)page * collective_table_page_bytes(t);
}

int64_t collective_table_cut_row(const struct collective_table *t, int cut)
{
    int row = t->cut[cut] + cut, per = t->code.costs.page_ops;

    return t->base.smem + row / per % 2 * collective_table_page_bytes(t) +
           row % per * ROW_BYTES_OF_TABLE;
}

/* the first two pages are in SMEM from the start; page + 2 comes into the place of `page` */
static void last_row(const struct collective_table *t, int page, int pages, int32_t *row)
{
    int32_t granules_of_page = collective_table_page_bytes(t) / GRANULE;
    int32_t smem = (int32_t)t->base.smem;

    row[WORD_KIND] = ROW_SPECIAL;
    if (page + 1 == pages) {
        row[WORD_C] = ROUNDS_END;
        return;
    }
    row[WORD_C] = ROUNDS_PAGE;
    row[WORD_A] = page == 0 ? 0 : granules_of_page;
    row[WORD_B] = -row[WORD_A];
    row[WORD_FLAG] = t->base.flag + t->lists.flag_count;
    row[WORD_NEXT] = smem + (page + 1) % 2 * collective_table_page_bytes(t) - ROW_BYTES_OF_TABLE;
    row[WORD_FETCH_TO] = page + 2 < pages ? smem / GRANULE + page % 2 * granules_of_page : -1;
    row[WORD_FETCH] = page + 2 < pages ? granules(collective_table_address(t, page + 2)) : 0;
}

/* an operation, or the end of a part; `cuts`: how many of these stand before it */
static void put_row(const struct collective_table *t, int core, int row, int *cuts, int32_t *to)
{
    struct collective_op op;

    to[WORD_NUMBER] = row - *cuts;
    if (*cuts < t->cut_count && t->cut[*cuts] + *cuts == row) {
        to[WORD_KIND] = ROW_SPECIAL;
        to[WORD_C] = ROUNDS_END;
        ++*cuts;
        return;
    }
    placed_op(t, core, row - *cuts, &op);
    op_row(&op, &t->code, to);
}

void collective_table_page(const struct collective_table *t, int core, int page, int32_t *to)
{
    int pages = collective_table_pages(t, core), per = t->code.costs.page_ops, first = page * per;
    int count = row_count(t, core) - first, cuts = 0;

    memset(to, 0, (size_t)collective_table_page_bytes(t));
    if (count > per)
        count = per;
    while (cuts < t->cut_count && t->cut[cuts] + cuts < first)
        cuts++;
    for (int i = 0; i < count; i++, to += ROW_WORDS)
        put_row(t, core, first + i, &cuts, to);
    last_row(t, page, pages, to);
}

