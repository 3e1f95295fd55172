#include "stack/collective_program.h"

#include <assert.h>
#include <string.h>

#include "base/units.h"
#include "sim/inspect.h"
#include "stack/collective_code.h"

#define GRANULE 32
#define VMEM_ROW 512
#define REMOTE 0x100
#define WORD_NUMBER (ROW_WORDS - 1)     /* of an operation in its list, in rows that are one */

struct collective_program {
    struct collective_lists lists;
    struct collective_code code;
    struct machine *machine;
};

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

/* ----- pages */

static int page_bytes(const struct collective_program *c)
{
    return c->code.page_rows * ROW_BYTES_OF_TABLE;
}

static int page_count(const struct collective_program *c, int core)
{
    int count = c->lists.count(c->lists.context, core), per = c->code.costs.page_ops;

    return count > per ? (count + per - 1) / per : 1;
}

static int64_t page_address(const struct collective_program *c, int page)
{
    return c->lists.table_address + (int64_t)page * page_bytes(c);
}

/* the first two pages are in SMEM from the start; page + 2 comes into the place of `page` */
static void last_row(const struct collective_program *c, int page, int pages, int32_t *row)
{
    int32_t granules_of_page = page_bytes(c) / GRANULE;

    row[WORD_KIND] = ROW_SPECIAL;
    if (page + 1 == pages) {
        row[WORD_C] = ROUNDS_END;
        return;
    }
    row[WORD_C] = ROUNDS_PAGE;
    row[WORD_A] = page == 0 ? 0 : granules_of_page;
    row[WORD_B] = -row[WORD_A];
    row[WORD_FLAG] = c->lists.flag_count;
    row[WORD_NEXT] = (page + 1) % 2 * page_bytes(c) - ROW_BYTES_OF_TABLE;
    row[WORD_FETCH_TO] = page + 2 < pages ? page % 2 * granules_of_page : -1;
    row[WORD_FETCH] = page + 2 < pages ? granules(page_address(c, page + 2)) : 0;
}

static void make_page(const struct collective_program *c, int core, int page, int32_t *to)
{
    int pages = page_count(c, core), per = c->code.costs.page_ops, first = page * per;
    int count = c->lists.count(c->lists.context, core) - first;
    struct collective_op op;

    memset(to, 0, (size_t)page_bytes(c));
    if (count > per)
        count = per;
    for (int i = 0; i < count; i++, to += ROW_WORDS) {
        c->lists.op(c->lists.context, core, first + i, &op);
        to[WORD_NUMBER] = first + i;
        op_row(&op, &c->code, to);
    }
    last_row(c, page, pages, to);
}

static int write_pages(const struct collective_program *c, int core, int32_t *buffer,
                       struct err *e)
{
    int pages = page_count(c, core);

    if (page_address(c, pages) > machine_hbm_share_bytes(c->machine))
        return err_set(e, "no room for the table of core %d: %d operations take %lld bytes of HBM"
                       " behind the arrays, which end at %lld of %lld", core,
                       c->lists.count(c->lists.context, core),
                       (long long)pages * page_bytes(c), (long long)c->lists.table_address,
                       (long long)machine_hbm_share_bytes(c->machine));
    for (int page = 2; page < pages; page++) {
        make_page(c, core, page, buffer);
        if (machine_hbm_write(c->machine, core, page_address(c, page), buffer, page_bytes(c), e))
            return -1;
    }
    return 0;
}

/* ----- the whole */

static int load(struct collective_program *c, struct err *e)
{
    int32_t *buffer = mem_alloc((size_t)page_bytes(c));
    int failed = 0;

    for (int core = 0; core < machine_core_count(c->machine) && !failed; core++)
        failed = machine_load(c->machine, core, &c->code.program, e)
                 || write_pages(c, core, buffer, e);
    mem_free(buffer);
    return failed ? -1 : 0;
}

struct collective_program *collective_program_of_lists(const struct collective_lists *l,
                                                       struct machine *m, struct arena *a,
                                                       struct err *e)
{
    const struct chip *chip = machine_chip(m);
    struct collective_program *c = arena_alloc(a, sizeof(*c));

    *c = (struct collective_program){.lists = *l, .machine = m};
    if (l->flag_count >= chip->sync_flags) {
        err_set(e, "the collective needs %d sync flags; %s has %lld", l->flag_count + 1,
                chip->chip_name, (long long)chip->sync_flags);
        return NULL;
    }
    if (collective_code_make(chip, l->type, a, &c->code, e) || load(c, e))
        return NULL;
    return c;
}


/* the first two pages, which the launch finds in SMEM and writes over */
static int put_first_pages(struct collective_program *c, int core, int32_t *buffer, struct err *e)
{
    int pages = page_count(c, core);

    for (int page = 0; page < 2 && page < pages; page++) {
        make_page(c, core, page, buffer);
        if (machine_smem_write(c->machine, core, (int64_t)page * page_bytes(c), buffer,
                               page_bytes(c), e))
            return -1;
    }
    return 0;
}

/* "; core 3 was at operation 17 of its list: wait for flag 2 >= 128" */
static void name_row(const struct collective_program *c, struct err *e)
{
    static const char *const names[] = {"a copy", "a send", "a wait", "an addition", "a signal"};
    int core = machine_fault(c->machine)->core;
    int64_t row = machine_scalar(c->machine, core, S_ROW);
    struct collective_op op;
    int32_t word[ROW_WORDS];
    struct err unused;
    size_t length = strlen(e->msg);

    if (machine_smem_read(c->machine, core, row, word, sizeof(word), &unused) != 0
        || (word[WORD_KIND] == ROW_SPECIAL && word[WORD_C] < 0)
        || word[WORD_NUMBER] < 0
        || word[WORD_NUMBER] >= c->lists.count(c->lists.context, core))
        return;
    c->lists.op(c->lists.context, core, word[WORD_NUMBER], &op);
    snprintf(e->msg + length, sizeof(e->msg) - length,
             "; core %d was at operation %d of its list, %s (flag %d, core %d, value %d, %lld"
             " bytes)", core, word[WORD_NUMBER], names[op.kind], op.flag, op.peer, op.value,
             (long long)op.bytes);
}

int collective_program_run(struct collective_program *c, struct err *e)
{
    int32_t *buffer = mem_alloc((size_t)page_bytes(c));
    int failed = 0;

    for (int core = 0; core < machine_core_count(c->machine) && !failed; core++)
        failed = put_first_pages(c, core, buffer, e);
    mem_free(buffer);
    if (failed || machine_run(c->machine, e) == 0)
        return failed;
    name_row(c, e);
    return -1;
}

/* ----- costs */

void collective_program_overheads(const struct chip *chip, enum collective_type type,
                                  struct collective_overheads *out)
{
    struct collective_code code;
    struct arena a;
    struct err e;

    arena_init(&a);
    collective_code_make(chip, type, &a, &code, &e);
    *out = code.costs;
    arena_fini(&a);
}

cycle_t collective_add_cycles(const struct collective_overheads *o, int64_t bytes)
{
    int64_t rounds = bytes / o->add_round_bytes, rest = bytes % o->add_round_bytes;

    if (rounds == 0)
        return o->add_only_rest_cycles;
    return o->op_cycles[COLLECTIVE_ADD] + rounds * o->add_round_cycles
           + (rest ? o->add_rest_cycles : 0);
}
