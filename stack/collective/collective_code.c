/*
 * The loop over rows. While a row is carried out, the kind and values of the
 * next are on their way from SMEM; each kind of row is an operation whose guard
 * is true. Rows that are more than one operation leave the loop and come back
 * through "next", which loads the row behind the current one anew.
 */
#include "stack/collective/collective_code.h"

#include "sim/chip/limits.h"

int collective_put(struct bundler *b, int guard, int not_before, enum isa_opcode code, int count,
                   const struct isa_operand *operand)
{
    struct isa_op op = bundler_op(code, 0, count, operand);

    op.pred_is_negated = guard < 0;
    op.pred = (uint8_t)(guard < 0 ? ~guard : guard);
    return bundler_put(b, &op, not_before);
}

cycle_t collective_bundles_since(const struct bundler *b, size_t *from)
{
    cycle_t count = (cycle_t)(b->bundle_count - *from);

    *from = b->bundle_count;
    return count;
}

static int latest(int a, int b)
{
    return a > b ? a : b;
}

/* what is told of the next row; S_ROW is the current one */
static int load_word(struct bundler *b, int guard, int to, int word)
{
    return PUT_IF(b, guard, OP_SLD, REG(to), REG(S_ROW), IMM(ROW_BYTES_OF_TABLE + 4 * word));
}

static int decide(struct bundler *b, int not_before)
{
    int last;

    last = PUT(b, OP_SCMP_EQ, REG(P_WAIT), REG(S_KIND), IMM(ROW_WAIT));
    last = latest(last, PUT(b, OP_SCMP_EQ, REG(P_COPY), REG(S_KIND), IMM(ROW_COPY)));
    last = latest(last, PUT_AT_LEAST(b, ISA_PRED_ALWAYS, not_before, OP_SCMP_EQ, REG(P_SPECIAL),
                                    REG(S_KIND), IMM(ROW_SPECIAL)));
    return latest(last, PUT(b, OP_SCMP_EQ, REG(P_SIGNAL), REG(S_KIND), IMM(ROW_SIGNAL)));
}

/* the row behind the current one, from nothing; what additions have stored is in memory then */
static void put_next(struct bundler *b)
{
    int last;

    bundler_label(b, LABEL_NEXT, "next");
    bundler_begin(b, "next row", 0);
    load_word(b, ISA_PRED_ALWAYS, S_KIND, WORD_KIND);
    load_word(b, ISA_PRED_ALWAYS, S_A, WORD_A);
    load_word(b, ISA_PRED_ALWAYS, S_B, WORD_B);
    load_word(b, ISA_PRED_ALWAYS, S_C, WORD_C);
    PUT(b, OP_SADD, REG(S_ROW), REG(S_ROW), IMM(ROW_BYTES_OF_TABLE));
    last = decide(b, 0);
    bundler_put(b, &(struct isa_op){.code = OP_SFENCE, .pred = ISA_PRED_ALWAYS}, last);
    bundler_end(b);
}

enum { P_END = P_REST, P_FETCH };

/* false: not in so many bundles */
static bool put_row(struct bundler *b, int ii)
{
    const struct isa_operand target = IMM(LABEL_ROW);
    struct isa_op branch = bundler_op(OP_SBR, 0, 1, &target);
    int branch_at = ii - 1 - b->limits.branch_delay_bundles, wait, last;

    bundler_begin(b, "row", ii);
    branch.pred = P_SPECIAL;
    branch.pred_is_negated = true;
    bundler_put_at(b, &branch, branch_at);
    wait = PUT_IF(b, P_WAIT, OP_DMA_DONE, REG(S_A), REG(S_B));
    last = PUT_AT_LEAST(b, P_WAIT, wait + 1, OP_VSYNCADD, REG(S_A), REG(S_C));
    last = latest(last, PUT_IF(b, P_COPY, OP_DMA_GENERAL, REG(S_ROW), IMM(0)));
    last = latest(last, PUT_IF(b, P_SIGNAL, OP_VSYNCADD_R, REG(S_A), REG(S_B), REG(S_C)));
    last = latest(last, load_word(b, ISA_PRED_ALWAYS, S_KIND, WORD_KIND));
    last = latest(last, load_word(b, ~P_SPECIAL, S_A, WORD_A));
    last = latest(last, load_word(b, ~P_SPECIAL, S_B, WORD_B));
    last = latest(last, load_word(b, ~P_SPECIAL, S_C, WORD_C));
    last = latest(last, PUT_IF(b, ~P_SPECIAL, OP_SADD, REG(S_ROW), REG(S_ROW),
                              IMM(ROW_BYTES_OF_TABLE)));
    last = latest(last, decide(b, branch_at));
    if (!b->is_too_long && last < ii)
        return true;
    bundler_drop(b);
    return false;
}

/* a special row without rounds: the end, a page, or an addition of less than a round */
static void put_slow(struct bundler *b)
{
    bundler_label(b, LABEL_SLOW, "slow");
    bundler_begin(b, "page", 0);
    PUT(b, OP_SCMP_EQ, REG(P_SLOW), REG(S_C), IMM(0));
    PUT(b, OP_SCMP_EQ, REG(P_END), REG(S_C), IMM(ROUNDS_END));
    bundler_end_branch(b, LABEL_REST, P_SLOW, false);
}

/* a list that has ended: the program too, or what comes behind the segment */
static void put_end(struct bundler *b, const struct collective_place *place)
{
    bundler_begin(b, NULL, 0);
    if (place) {
        bundler_end_branch(b, LABEL_END, P_END, false);
        return;
    }
    bundler_put(b, &(struct isa_op){.code = OP_SHALT, .pred = P_END}, 0);
    bundler_end(b);
}

static void put_page(struct bundler *b, const struct collective_place *place,
                     const struct collective_code *code)
{
    enum { S_FLAG = S_TEMP, S_NEXT, S_FETCH, S_FETCH_TO };
    int granules = code->page_rows * ROW_BYTES_OF_TABLE / 32;

    put_end(b, place);
    bundler_begin(b, NULL, 0);
    PUT(b, OP_SLD, REG(S_FLAG), REG(S_ROW), IMM(4 * WORD_FLAG));
    PUT(b, OP_SLD, REG(S_FETCH_TO), REG(S_ROW), IMM(4 * WORD_FETCH_TO));
    PUT(b, OP_SLD, REG(S_FETCH), REG(S_ROW), IMM(4 * WORD_FETCH));
    PUT(b, OP_SLD, REG(S_NEXT), REG(S_ROW), IMM(4 * WORD_NEXT));
    PUT(b, OP_DMA_DONE, REG(S_FLAG), REG(S_A));
    bundler_end(b);
    bundler_begin(b, NULL, 0);
    PUT(b, OP_VSYNCADD, REG(S_FLAG), REG(S_B));
    PUT(b, OP_SCMP_GE, REG(P_FETCH), REG(S_FETCH_TO), IMM(0));
    PUT(b, OP_SMOV, REG(S_ROW), REG(S_NEXT));
    PUT_IF(b, P_FETCH, OP_DMA_HBM_SMEM, REG(S_FETCH), IMM(granules), REG(S_FETCH_TO),
           REG(S_FLAG));
    bundler_end_branch(b, LABEL_NEXT, ISA_PRED_ALWAYS, false);
}

/* what a real collective does before its first operation and we do not: a wait in its place */
static cycle_t delay_cycles(const struct chip *chip)
{
    return chip->launch_collective_ns * chip->chip_clock_mhz / 1000;
}

static void put_delay(struct bundler *b)
{
    cycle_t delay = delay_cycles(b->chip);

    if (delay > 0)
        PUT(b, OP_VDELAY, IMM(delay));
}

/* the first pages, on their way during the delay */
static void put_fetch(struct bundler *b, const struct collective_place *place, int page_rows)
{
    int granules = 2 * page_rows * ROW_BYTES_OF_TABLE / 32;

    bundler_begin(b, "start", 0);
    PUT(b, OP_DMA_HBM_SMEM, IMM(place->table / 32), IMM(granules), IMM(place->smem / 32),
        IMM(place->page_flag));
    bundler_end(b);
    bundler_begin(b, "start", 0);
    PUT(b, OP_SMOV, REG(S_ROW), IMM(place->smem - ROW_BYTES_OF_TABLE));
    put_delay(b);
    bundler_end(b);
    bundler_begin(b, "start", 0);
    PUT(b, OP_DMA_DONE, IMM(place->page_flag), IMM(granules));
    bundler_end(b);
    bundler_begin(b, "start", 0);
    PUT(b, OP_VSYNCADD, IMM(place->page_flag), IMM(-granules));
    bundler_end(b);
}

/* the next part of a list: pages and flags are as the part before has left them */
static void put_resume(struct bundler *b, const struct collective_place *place)
{
    bundler_begin(b, "start", 0);
    PUT(b, OP_SMOV, REG(S_ROW), IMM(place->resume_row));
    bundler_end(b);
}

/* the cycles of the section "next" */
static cycle_t put_start(struct bundler *b, const struct collective_place *place, int page_rows)
{
    size_t from;

    if (place && place->resume_row) {
        put_resume(b, place);
    } else if (place) {
        put_fetch(b, place, page_rows);
    } else {
        bundler_begin(b, "start", 0);
        PUT(b, OP_SMOV, REG(S_ROW), IMM(-ROW_BYTES_OF_TABLE));
        put_delay(b);
        bundler_end(b);
    }
    from = b->bundle_count;
    put_next(b);
    return collective_bundles_since(b, &from);
}

static int make_sections(struct bundler *b, enum collective_type type,
                         const struct collective_place *place, struct collective_code *code)
{
    struct collective_overheads *o = &code->costs;
    int ii = b->limits.branch_delay_bundles + 1;
    cycle_t next;
    size_t from;

    next = put_start(b, place, code->page_rows);
    o->start_cycles = (cycle_t)b->bundle_count + delay_cycles(b->chip);
    bundler_label(b, LABEL_ROW, "row");
    while (!put_row(b, ii))
        ii++;
    bundler_end(b);
    for (int kind = 0; kind < COLLECTIVE_OP_KIND_COUNT; kind++)
        o->op_cycles[kind] = ii;
    if (collective_adder(b, type, code) != 0)
        return -1;
    o->op_cycles[COLLECTIVE_ADD] += ii + next;
    from = b->bundle_count;
    put_slow(b);
    o->page_cycles = ii + code->setup_cycles + next + collective_bundles_since(b, &from);
    o->add_only_rest_cycles = o->page_cycles + o->add_rest_cycles;
    put_page(b, place, code);
    o->page_cycles += collective_bundles_since(b, &from);
    if (place) {
        bundler_label(b, LABEL_END, "end");
        bundler_begin(b, "end", 1);
        PUT(b, OP_SMOV, REG(S_ROW), IMM(0));
        bundler_end(b);
    }
    return 0;
}

int collective_code_make(const struct chip *chip, enum collective_type type,
                         const struct collective_place *place, struct arena *a,
                         struct collective_code *out, struct err *e)
{
    int64_t room = place ? place->smem_bytes : chip->smem_bytes;
    int64_t rows = room / 2 / ROW_BYTES_OF_TABLE;
    struct bundler b;
    int failed;

    *out = (struct collective_code){.page_rows = (int)(rows < PAGE_ROWS_MAX ? rows
                                                                            : PAGE_ROWS_MAX)};
    if (out->page_rows < 3)
        return err_set(e, "smem.bytes is %lld; the tables of a collective need at least %d",
                       (long long)chip->smem_bytes,
                       (int)(chip->smem_bytes - room) + 2 * 3 * ROW_BYTES_OF_TABLE);
    out->costs.page_ops = out->page_rows - 2;
    bundler_init(&b, chip);
    failed = make_sections(&b, type, place, out);
    if (failed)
        err_set(e, "%s has too few vector registers to add two arrays; 16 are needed",
                chip->chip_name);
    else
        bundler_finish(&b, "collective", a, &out->program);
    bundler_fini(&b);
    return failed ? -1 : isa_check(&out->program, &b.limits, e);
}
