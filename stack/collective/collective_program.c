/*
 * Puts a collective's program and its tables onto a machine, launches it, and names the operation
 * at which a core is stuck.
 */
#include "stack/collective/collective_program.h"

#include <string.h>

#include "sim/observe/inspect.h"
#include "stack/collective/collective_table.h"


struct collective_program {
    struct collective_table table;
    struct machine *machine;
};

static int page_bytes(const struct collective_program *c)
{
    return collective_table_page_bytes(&c->table);
}

static int write_pages(const struct collective_program *c, int core, int32_t *buffer,
                       struct err *e)
{
    int pages = collective_table_pages(&c->table, core);

    if (collective_table_address(&c->table, pages) > machine_hbm_share_bytes(c->machine))
        return err_set(e, "no room for the table of core %d: %d operations take %lld bytes of HBM"
                       " behind the arrays, which end at %lld of %lld", core,
                       c->table.lists.count(c->table.lists.context, core),
                       (long long)pages * page_bytes(c),
                       (long long)c->table.lists.table_address,
                       (long long)machine_hbm_share_bytes(c->machine));
    for (int page = 2; page < pages; page++) {
        int64_t address = collective_table_address(&c->table, page);

        collective_table_page(&c->table, core, page, buffer);
        if (machine_hbm_write(c->machine, core, address, buffer, page_bytes(c), e))
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
        failed = machine_load(c->machine, core, &c->table.code.program, e)
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

    *c = (struct collective_program){.table.lists = *l, .machine = m};
    if (l->flag_count >= chip->sync_flags) {
        err_set(e, "the collective needs %d sync flags; %s has %lld", l->flag_count + 1,
                chip->chip_name, (long long)chip->sync_flags);
        return NULL;
    }
    if (collective_code_make(chip, l->type, NULL, a, &c->table.code, e) || load(c, e))
        return NULL;
    return c;
}


/* the first two pages, which the launch finds in SMEM and writes over */
static int put_first_pages(struct collective_program *c, int core, int32_t *buffer, struct err *e)
{
    int pages = collective_table_pages(&c->table, core);

    for (int page = 0; page < 2 && page < pages; page++) {
        collective_table_page(&c->table, core, page, buffer);
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
        || word[WORD_NUMBER] >= c->table.lists.count(c->table.lists.context, core))
        return;
    c->table.lists.op(c->table.lists.context, core, word[WORD_NUMBER], &op);
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
    collective_code_make(chip, type, NULL, &a, &code, &e);
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
