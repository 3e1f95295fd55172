/*
 * The loop over rows. While a row is carried out, the kind and values of the
 * next are on their way from SMEM; each kind of row is an operation whose guard
 * is true. Rows that are more than one operation leave the loop and come back
 * through "next", which loads the row behind the current one anew.
 */
#include "stack/collective/collective_code.h"

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
static struct isa_op load_word(int to, int word)
{
    return isa_sld(to, R(S_ROW), I(ROW_BYTES_OF_TABLE + 4 * word));
}

static int decide(struct bundler *b, int not_before)
{
    int last = bundler_add(b, isa_scmp_eq(P_WAIT, R(S_KIND), I(ROW_WAIT)));

    last = latest(last, bundler_add(b, isa_scmp_eq(P_COPY, R(S_KIND), I(ROW_COPY))));
    last = latest(
        last, bundler_add_after(b, not_before, isa_scmp_eq(P_SPECIAL, R(S_KIND), I(ROW_SPECIAL))));
    return latest(last, bundler_add(b, isa_scmp_eq(P_SIGNAL, R(S_KIND), I(ROW_SIGNAL))));
}

/* the row behind the current one, from nothing; what additions have stored is in memory then */
static void put_next(struct bundler *b)
{
    int last;

    bundler_label(b, LABEL_NEXT, "next");
    bundler_begin(b, "next row", 0);
    bundler_add(b, load_word(S_KIND, WORD_KIND));
    bundler_add(b, load_word(S_A, WORD_A));
    bundler_add(b, load_word(S_B, WORD_B));
    bundler_add(b, load_word(S_C, WORD_C));
    bundler_add(b, isa_sadd(S_ROW, R(S_ROW), I(ROW_BYTES_OF_TABLE)));
    last = decide(b, 0);
    bundler_add_after(b, last, isa_sfence());
    bundler_end(b);
}

enum { P_END = P_REST, P_FETCH };

/* false: not in so many bundles */
static bool put_row(struct bundler *b, int ii)
{
    int branch_at = ii - 1 - b->limits.branch_delay_bundles, wait, last;

    bundler_begin(b, "row", ii);
    bundler_add_at(b, branch_at, isa_unless(P_SPECIAL, isa_sbr(LABEL_ROW)));
    wait = bundler_add(b, isa_if(P_WAIT, isa_dma_done(R(S_A), R(S_B))));
    last = bundler_add_after(b, wait + 1, isa_if(P_WAIT, isa_vsyncadd(R(S_A), R(S_C))));
    last = latest(last, bundler_add(b, isa_if(P_COPY, isa_dma_general(R(S_ROW), I(0)))));
    last = latest(last, bundler_add(b, isa_if(P_SIGNAL, isa_vsyncadd_r(R(S_A), R(S_B), R(S_C)))));
    last = latest(last, bundler_add(b, load_word(S_KIND, WORD_KIND)));
    last = latest(last, bundler_add(b, isa_unless(P_SPECIAL, load_word(S_A, WORD_A))));
    last = latest(last, bundler_add(b, isa_unless(P_SPECIAL, load_word(S_B, WORD_B))));
    last = latest(last, bundler_add(b, isa_unless(P_SPECIAL, load_word(S_C, WORD_C))));
    last = latest(last, bundler_add(b, isa_unless(P_SPECIAL, isa_sadd(S_ROW, R(S_ROW),
                                                                      I(ROW_BYTES_OF_TABLE)))));
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
    bundler_add(b, isa_scmp_eq(P_SLOW, R(S_C), I(0)));
    bundler_add(b, isa_scmp_eq(P_END, R(S_C), I(ROUNDS_END)));
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
    bundler_add(b, isa_if(P_END, isa_shalt()));
    bundler_end(b);
}

static void put_page(struct bundler *b, const struct collective_place *place,
                     const struct collective_code *code)
{
    enum { S_FLAG = S_TEMP, S_NEXT, S_FETCH, S_FETCH_TO };
    int granules = code->page_rows * ROW_BYTES_OF_TABLE / 32;

    put_end(b, place);
    bundler_begin(b, NULL, 0);
    bundler_add(b, isa_sld(S_FLAG, R(S_ROW), I(4 * WORD_FLAG)));
    bundler_add(b, isa_sld(S_FETCH_TO, R(S_ROW), I(4 * WORD_FETCH_TO)));
    bundler_add(b, isa_sld(S_FETCH, R(S_ROW), I(4 * WORD_FETCH)));
    bundler_add(b, isa_sld(S_NEXT, R(S_ROW), I(4 * WORD_NEXT)));
    bundler_add(b, isa_dma_done(R(S_FLAG), R(S_A)));
    bundler_end(b);
    bundler_begin(b, NULL, 0);
    bundler_add(b, isa_vsyncadd(R(S_FLAG), R(S_B)));
    bundler_add(b, isa_scmp_ge(P_FETCH, R(S_FETCH_TO), I(0)));
    bundler_add(b, isa_smov(S_ROW, R(S_NEXT)));
    bundler_add(
        b, isa_if(P_FETCH, isa_dma_hbm_smem(R(S_FETCH), I(granules), R(S_FETCH_TO), R(S_FLAG))));
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
        bundler_add(b, isa_vdelay(I(delay)));
}

/* the first pages, on their way during the delay */
static void put_fetch(struct bundler *b, const struct collective_place *place, int page_rows)
{
    int granules = 2 * page_rows * ROW_BYTES_OF_TABLE / 32;

    bundler_begin(b, "start", 0);
    bundler_add(b, isa_dma_hbm_smem(I(place->table / 32), I(granules), I(place->smem / 32),
                                    I(place->page_flag)));
    bundler_end(b);
    bundler_begin(b, "start", 0);
    bundler_add(b, isa_smov(S_ROW, I(place->smem - ROW_BYTES_OF_TABLE)));
    put_delay(b);
    bundler_end(b);
    bundler_begin(b, "start", 0);
    bundler_add(b, isa_dma_done(I(place->page_flag), I(granules)));
    bundler_end(b);
    bundler_begin(b, "start", 0);
    bundler_add(b, isa_vsyncadd(I(place->page_flag), I(-granules)));
    bundler_end(b);
}

/* the next part of a list: pages and flags are as the part before has left them */
static void put_resume(struct bundler *b, const struct collective_place *place)
{
    bundler_begin(b, "start", 0);
    bundler_add(b, isa_smov(S_ROW, I(place->resume_row)));
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
        bundler_add(b, isa_smov(S_ROW, I(-ROW_BYTES_OF_TABLE)));
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
    size_t from;
    cycle_t next = put_start(b, place, code->page_rows);

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
        bundler_add(b, isa_smov(S_ROW, I(0)));
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
