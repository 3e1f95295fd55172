/* Do the attention kernels compute attention, and in what time? */
#include "tests/test.h"

#include <math.h>

#include "base/floats.h"
#include "base/rng.h"
#include "sim/machine/machine.h"
#include "stack/kernels/misc/attention.h"
#include "stack/module/link.h"

#define DEPTH ATTENTION_DEPTH

struct bench {
    struct arena arena;
    struct chip chip;
    struct slice slice;
    struct attention p;
    struct segment segment;
    struct link_result linked;
    struct machine *m;
    float *q, *k, *v;                   /* [rows][128], bf16 values */
    struct err err;
};

static void must(int status, const struct err *e)
{
    if (status)
        fail_msg("%s", e->msg);
}

static float *random_rows(struct bench *b, int64_t rows, uint64_t seed)
{
    float *x = arena_array(&b->arena, (size_t)(rows * DEPTH), sizeof(*x));
    struct rng r;

    rng_init(&r, seed);
    for (int64_t i = 0; i < rows * DEPTH; i++)
        x[i] = f32_round_to_bf16(rng_uniform(&r, -1, 1));
    return x;
}

static void write_rows(struct bench *b, int64_t address, const float *x, int64_t rows)
{
    struct shape s = shape_make(DTYPE_BF16, 2, (int64_t[]){rows, DEPTH});
    struct array a;
    void *tiles;

    array_init(&a, "x", &s, NULL);
    tiles = arena_alloc(&b->arena, (size_t)a.bytes);
    array_pack(&a, x, tiles);
    must(machine_hbm_write(b->m, 0, address, tiles, a.bytes, &b->err), &b->err);
}

static float *read_rows(struct bench *b, int64_t address, int64_t rows)
{
    struct shape s = shape_make(DTYPE_BF16, 2, (int64_t[]){rows, DEPTH});
    struct array a;
    void *tiles, *x;

    array_init(&a, "x", &s, NULL);
    tiles = arena_alloc(&b->arena, (size_t)a.bytes);
    x = arena_alloc(&b->arena, (size_t)(rows * DEPTH * 4));
    must(machine_hbm_read(b->m, 0, address, tiles, a.bytes, &b->err), &b->err);
    array_unpack(&a, tiles, x);
    return x;
}

static void open_bench(struct bench *b, const char *chip, const struct attention *p)
{
    struct machine_options options = {.thread_count = 1, .simd = "auto", .check_races = true};
    struct kernel_job job = {.name = "attention", .first_flag = 2, .smem = LINK_SMEM_END,
                             .core_count = 1};
    struct link_item item = {.kind = LINK_SEGMENT, .segment = &b->segment, .note = "attention"};
    int64_t end;

    memset(b, 0, sizeof(*b));
    arena_init(&b->arena);
    b->p = *p;
    assert_true(slice_of_chip(&b->slice, chip, 0));
    must(chip_load_builtin(&b->chip, chip, NULL, &b->arena, &b->err), &b->err);
    job.chip = &b->chip;
    job.vmem_rows = b->chip.vmem_bytes / ARRAY_ROW_BYTES;
    job.smem_bytes = b->chip.smem_bytes - LINK_SMEM_END;
    must(attention_plan(&b->p, &b->chip, 1 << 20, &end, &b->err), &b->err);
    must(attention_emit(&b->p, &job, &b->arena, &b->segment, &b->err), &b->err);
    must(link_program(&item, 1, &b->chip, "attention", &b->arena, &b->linked, &b->err), &b->err);
    b->m = machine_create(&b->slice, &b->chip, &options, &b->err);
    assert_non_null(b->m);
    must(machine_load(b->m, 0, &b->linked.program, &b->err), &b->err);
}

static void close_bench(struct bench *b)
{
    machine_destroy(b->m);
    arena_fini(&b->arena);
}

/*
 * One row against `keys` rows of k and v, of which it sees the first `seen`, in double.
 * Allowed: p is rounded to bf16 (2^-9 of it at most, and so of the sum of |v|, at most 1 of each:
 * 2^-9 of the result's scale 1), the result once more, the scores' f32 errors are far below.
 */
static void check_row(const float *o, const float *q, const float *k, const float *v,
                      int64_t seen)
{
    double *p = mem_alloc((size_t)seen * sizeof(*p)), most = -1e300, sum = 0;

    for (int64_t j = 0; j < seen; j++) {
        p[j] = 0;
        for (int d = 0; d < DEPTH; d++)
            p[j] += (double)q[d] * (double)k[j * DEPTH + d];
        p[j] /= sqrt(DEPTH);
        most = p[j] > most ? p[j] : most;
    }
    for (int64_t j = 0; j < seen; j++)
        sum += p[j] = exp(p[j] - most);
    for (int d = 0; d < DEPTH; d++) {
        double x = 0, size = 0;

        for (int64_t j = 0; j < seen; j++) {
            x += p[j] / sum * (double)v[j * DEPTH + d];
            size += p[j] / sum * fabs((double)v[j * DEPTH + d]);
        }
        if (!(fabs((double)o[d] - x) <= size / 256 + fabs(x) / 256 + 1e-5))
            fail_msg("element %d is %g, should be %g", d, (double)o[d], x);
    }
    mem_free(p);
}

static void flash(const char *chip, int64_t heads_q, int64_t heads_kv, int64_t q_len,
                  int64_t kv_len, int64_t block_q, int64_t block_kv, bool is_causal)
{
    struct attention p = {.form = ATTENTION_FLASH, .sequences = 1, .heads_q = heads_q,
                          .heads_kv = heads_kv, .q_len = q_len, .kv_len = kv_len,
                          .block_q = block_q, .block_kv = block_kv, .is_causal = is_causal};
    struct bench b;
    float *o;

    open_bench(&b, chip, &p);
    b.q = random_rows(&b, heads_q * q_len, 1);
    b.k = random_rows(&b, heads_kv * kv_len, 2);
    b.v = random_rows(&b, heads_kv * kv_len, 3);
    write_rows(&b, b.p.q, b.q, heads_q * q_len);
    write_rows(&b, b.p.k, b.k, heads_kv * kv_len);
    write_rows(&b, b.p.v, b.v, heads_kv * kv_len);
    must(machine_run(b.m, &b.err), &b.err);
    o = read_rows(&b, b.p.o, heads_q * q_len);
    for (int64_t i = 0; i < heads_q * q_len; i++) {
        int64_t kv = i / q_len / (heads_q / heads_kv) * kv_len * DEPTH;

        check_row(o + i * DEPTH, b.q + i * DEPTH, b.k + kv, b.v + kv,
                  is_causal ? i % q_len + kv_len - q_len + 1 : kv_len);
    }
    close_bench(&b);
}

TEST(flash_attention_is_softmax_of_scaled_products)
{
    flash("v6e", 2, 1, 64, 256, 32, 256, false);
    flash("v6e", 2, 2, 64, 1024, 64, 512, false);
    flash("v5e", 1, 1, 128, 256, 32, 128, true);
    flash("v3", 3, 1, 64, 512, 32, 256, true);
    flash("v6e", 1, 1, 512, 512, 128, 256, true);
}

/* the row of q or o of query `t` of head `h`, as PAGED and RAGGED have them */
static int64_t row_of(const struct attention *p, int64_t sequence, int64_t h, int64_t t)
{
    int64_t group = p->heads_q / p->heads_kv, kv = h / group, member = h % group;
    int64_t blocks = (p->q_len + p->block_q - 1) / p->block_q;

    if (p->q_len == 1)
        return (sequence * p->heads_kv + kv) * 16 + member;
    return (((sequence * blocks + t / p->block_q) * p->heads_kv + kv) * group + member)
           * p->block_q + t % p->block_q;
}

static int64_t q_rows(const struct attention *p)
{
    if (p->q_len == 1)
        return p->sequences * p->heads_kv * 16;
    return row_of(p, p->sequences - 1, p->heads_q - 1, p->q_len - 1) + p->block_q;
}

/* row of the pages at which key (or value) `j` of a sequence lies */
static int64_t page_row(const struct attention *p, const int32_t *table, int64_t sequence,
                        int64_t h, int64_t j, bool is_value)
{
    int64_t of_one = attention_table_entries(p) / p->sequences;
    int64_t page = table[sequence * of_one + j / p->page_tokens];
    int64_t pages = p->sequences * ((p->kv_len + p->page_tokens - 1) / p->page_tokens);

    if (p->form == ATTENTION_RAGGED)
        return (page * p->page_tokens + j % p->page_tokens) * 16 + 2 * h + is_value;
    return (h * pages + page) * p->page_tokens + j % p->page_tokens;
}

static void check_sequence(struct bench *b, const int32_t *table, const float *o, int64_t s)
{
    const struct attention *p = &b->p;
    float *k = arena_alloc(&b->arena, (size_t)(p->kv_len * DEPTH * 4));
    float *v = arena_alloc(&b->arena, (size_t)(p->kv_len * DEPTH * 4));

    for (int64_t h = 0; h < p->heads_q; h++) {
        int64_t kv = h / (p->heads_q / p->heads_kv);

        for (int64_t j = 0; j < p->kv_len; j++) {
            memcpy(k + j * DEPTH, b->k + page_row(p, table, s, kv, j, false) * DEPTH, DEPTH * 4);
            memcpy(v + j * DEPTH, b->v + page_row(p, table, s, kv, j, true) * DEPTH, DEPTH * 4);
        }
        for (int64_t t = 0; t < p->q_len; t++) {
            int64_t at = row_of(p, s, h, t) * DEPTH;

            check_row(o + at, b->q + at, k, v, p->kv_len - p->q_len + t + 1);
        }
    }
}

static void paged(const char *chip, enum attention_form form, int64_t sequences, int64_t heads_q,
                  int64_t heads_kv, int64_t q_len, int64_t kv_len, int64_t pages_per_block)
{
    struct attention p = {.form = form, .sequences = sequences, .heads_q = heads_q,
                          .heads_kv = heads_kv, .q_len = q_len, .kv_len = kv_len,
                          .pages_per_block = pages_per_block, .block_q = q_len == 1 ? 0 : 16};
    int64_t rows;
    struct bench b;
    int32_t *table;

    open_bench(&b, chip, &p);
    rows = sequences * ((kv_len + 15) / 16) * 16 * (form == ATTENTION_RAGGED ? 16 : heads_kv);
    table = arena_array(&b.arena, (size_t)attention_table_entries(&b.p), sizeof(*table));
    attention_fill_table(&b.p, table);
    b.q = random_rows(&b, q_rows(&b.p), 1);
    b.k = random_rows(&b, rows, 2);
    b.v = form == ATTENTION_RAGGED ? b.k : random_rows(&b, rows, 3);
    write_rows(&b, b.p.q, b.q, q_rows(&b.p));
    write_rows(&b, b.p.k, b.k, rows);
    if (form == ATTENTION_PAGED)
        write_rows(&b, b.p.v, b.v, rows);
    must(machine_hbm_write(b.m, 0, b.p.table, table, attention_table_entries(&b.p) * 4, &b.err),
         &b.err);
    must(machine_run(b.m, &b.err), &b.err);
    for (int64_t s = 0; s < sequences; s++)
        check_sequence(&b, table, read_rows(&b, b.p.o, q_rows(&b.p)), s);
    close_bench(&b);
}

TEST(paged_attention_finds_its_keys_through_the_table)
{
    paged("v6e", ATTENTION_PAGED, 2, 8, 2, 1, 512, 16);
    paged("v6e", ATTENTION_PAGED, 3, 4, 2, 1, 300, 16);
    paged("v5e", ATTENTION_PAGED, 1, 2, 2, 1, 256, 8);
    paged("v3", ATTENTION_PAGED, 2, 4, 1, 1, 256, 16);
}

TEST(ragged_attention_has_all_heads_of_a_page_in_a_step)
{
    paged("v6e", ATTENTION_RAGGED, 2, 24, 8, 1, 700, 16);
    paged("v6e", ATTENTION_RAGGED, 1, 6, 2, 32, 512, 32);
    paged("v5e", ATTENTION_RAGGED, 2, 4, 2, 17, 250, 16);
}

TEST(sizes_that_are_not_made_are_refused)
{
    struct attention p = {.form = ATTENTION_FLASH, .sequences = 1, .heads_q = 3, .heads_kv = 2,
                          .q_len = 64, .kv_len = 256};
    struct arena arena;
    struct chip chip;
    struct err e;
    int64_t end;

    arena_init(&arena);
    must(chip_load_builtin(&chip, "v6e", NULL, &arena, &e), &e);
    assert_int_equal(attention_plan(&p, &chip, 0, &end, &e), -1);
    assert_string_equal(e.msg, "attention: 3 heads of q do not share 2 of k evenly");
    p.heads_q = 2;
    p.kv_len = 100;
    p.block_kv = 0;
    assert_int_equal(attention_plan(&p, &chip, 0, &end, &e), -1);
    assert_string_equal(e.msg, "attention: blocks of 100 keys, multiples of 128 are made");
    p.kv_len = p.block_kv = 256;
    p.q_len = 40;
    p.block_q = 0;
    assert_int_equal(attention_plan(&p, &chip, 0, &end, &e), -1);
    assert_non_null(strstr(e.msg, "blocks of queries are multiples of 16"));
    p.q_len = 1;
    p.form = ATTENTION_RAGGED;
    p.block_q = p.block_kv = 0;
    p.heads_q = p.heads_kv = 16;
    assert_int_equal(attention_plan(&p, &chip, 0, &end, &e), -1);
    assert_string_equal(e.msg, "attention: 16 heads of k, up to 8 are made");
    must(chip_load_builtin(&chip, "v7x", NULL, &arena, &e), &e);
    assert_int_equal(attention_plan(&p, &chip, 0, &end, &e), -1);
    assert_non_null(strstr(e.msg, "has accumulators, which its kernels do not use"));
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flash_attention_is_softmax_of_scaled_products),
        cmocka_unit_test(paged_attention_finds_its_keys_through_the_table),
        cmocka_unit_test(ragged_attention_has_all_heads_of_a_page_in_a_step),
        cmocka_unit_test(sizes_that_are_not_made_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
