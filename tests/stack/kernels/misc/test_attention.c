/* Do the kernels of attention compute what the interpreter says of their custom calls? */
#include "tests/test.h"

#include "cli/graphs/hardware_graphs.h"
#include "stack/nn/nn.h"
#include "tests/rigs/kernel_rig.h"
#include "tests/rigs/module_rig.h"

/*
 * Allowed: the kernel rounds exponentials to bf16, the computation that it stands for their shares
 * (2^-9 of each at most, and so of the sum of |v|, at most 1), both the result once more; the
 * scores' f32 errors are far below.
 */
#define EXPONENTIALS (2.0 / 512)

static struct graph *call_of(const struct graph_attention *r, struct arena *a)
{
    struct graph *g;
    struct err e;

    if (attention_graph(r, a, &g, &e))
        fail_msg("%s", e.msg);
    return g;
}

static void check(const char *chip, const struct graph_attention *r)
{
    struct kernel_rig rig = {.chip = chip, .values = RIG_UNIFORM, .ulp = 1,
                             .absolute = EXPONENTIALS};
    struct arena a;
    struct graph *g;

    arena_init(&a);
    g = call_of(r, &a);
    rig.index_end = g->node[g->output[0].node].attention->pages;
    kernel_rig_open(&rig, g);
    kernel_rig_check(&rig, 1);
    kernel_rig_close(&rig);
    arena_fini(&a);
}

static void flash(const char *chip, int64_t heads_q, int64_t heads_kv, int64_t q_len,
                  int64_t kv_len, int64_t block_q, int64_t block_kv, bool is_causal)
{
    check(chip, &(struct graph_attention){
        .form = ATTENTION_FLASH, .sequences = 1, .heads_q = heads_q, .heads_kv = heads_kv,
        .q_len = q_len, .kv_len = kv_len, .depth = 128, .block_q = block_q,
        .block_kv = block_kv, .is_causal = is_causal});
}

TEST(flash_attention_is_softmax_of_scaled_products)
{
    flash("v6e", 2, 1, 64, 256, 32, 256, false);
    flash("v6e", 2, 2, 64, 1024, 64, 512, false);
    flash("v5e", 1, 1, 128, 256, 32, 128, true);
    flash("v3", 3, 1, 64, 512, 32, 256, true);
    flash("v6e", 1, 1, 512, 512, 128, 256, true);
}

/* many rows, whose maxima and exponentials are beside the products */
TEST(many_rows_have_the_same_values)
{
    flash("v6e", 1, 1, 1024, 1024, 1024, 512, false);
    flash("v6e", 2, 1, 512, 512, 512, 512, true);
    flash("v6e", 1, 1, 512, 1024, 256, 512, true);
    flash("v6e", 2, 2, 256, 768, 256, 384, false);
    flash("v5e", 1, 1, 256, 512, 256, 512, true);
    flash("v3", 1, 1, 512, 512, 512, 256, true);
    check("v6e", &(struct graph_attention){
        .form = ATTENTION_RAGGED, .sequences = 2, .heads_q = 6, .heads_kv = 2, .q_len = 128,
        .kv_len = 700, .depth = 128, .block_q = 128, .block_kv = 512, .page_tokens = 16});
    check("v6e", &(struct graph_attention){
        .form = ATTENTION_RAGGED, .sequences = 1, .heads_q = 8, .heads_kv = 2, .q_len = 90,
        .kv_len = 600, .depth = 128, .block_q = 64, .block_kv = 256, .page_tokens = 16});
}

static void paged(const char *chip, enum graph_attention_form form, int64_t sequences,
                  int64_t heads_q, int64_t heads_kv, int64_t q_len, int64_t kv_len,
                  int64_t block_kv)
{
    check(chip, &(struct graph_attention){
        .form = form, .sequences = sequences, .heads_q = heads_q, .heads_kv = heads_kv,
        .q_len = q_len, .kv_len = kv_len, .depth = 128, .block_q = q_len == 1 ? 1 : 16,
        .block_kv = block_kv, .page_tokens = 16});
}

TEST(paged_attention_finds_its_keys_through_the_table)
{
    paged("v6e", ATTENTION_PAGED, 2, 8, 2, 1, 512, 256);
    paged("v6e", ATTENTION_PAGED, 3, 4, 2, 1, 300, 256);
    paged("v5e", ATTENTION_PAGED, 1, 2, 2, 1, 256, 128);
    paged("v3", ATTENTION_PAGED, 2, 4, 1, 1, 256, 256);
}

TEST(ragged_attention_has_all_heads_of_a_page_in_a_step)
{
    paged("v6e", ATTENTION_RAGGED, 2, 24, 8, 1, 700, 256);
    paged("v6e", ATTENTION_RAGGED, 1, 6, 2, 32, 512, 512);
    /* few rows, and more keys than the arrays hold */
    paged("v6e", ATTENTION_RAGGED, 2, 8, 2, 1, 1500, 2048);
    paged("v6e", ATTENTION_RAGGED, 1, 2, 2, 1, 2500, 1024);
    paged("v6e", ATTENTION_RAGGED, 1, 4, 2, 16, 1100, 1024);
    paged("v5e", ATTENTION_RAGGED, 2, 8, 4, 1, 900, 640);
    paged("v3", ATTENTION_RAGGED, 1, 4, 2, 1, 500, 384);
    paged("v5e", ATTENTION_RAGGED, 2, 4, 2, 17, 250, 256);
}

/* what is computed before goes to HBM, and what comes behind reads it there */
TEST(a_call_stands_among_other_operations)
{
    struct module_rig r = {.slice = "v6e-1", .uses_fractions = true, .relative = 1.0 / 64,
                           .absolute = 4 * EXPONENTIALS, .check_races = true};
    struct graph_attention call = {.form = ATTENTION_FLASH, .sequences = 1, .heads_q = 2,
                                   .heads_kv = 2, .depth = 128, .q_len = 64, .kv_len = 256,
                                   .block_q = 32, .block_kv = 128, .is_causal = true};
    int operand[3], made;
    struct arena a;
    struct graph g;

    arena_init(&a);
    graph_init(&g, &a, "block");
    for (int i = 0; i < 3; i++)
        operand[i] = graph_parameter(&g, shape_make(DTYPE_BF16, 3, (int64_t[]){2, i ? 256 : 64,
                                                                               128}),
                                     arena_printf(&a, "p%d", i));
    made = operand[0];
    for (int i = 0; i < 3; i++)
        operand[i] = graph_unary(&g, HLO_TANH, operand[i]);
    graph_output(&g, graph_binary(&g, HLO_ADD, made, nn_attention_call(&g, operand, &call)), "y",
                 -1);
    module_rig_check(&r, &g, 3);
    graph_fini(&g);
    arena_fini(&a);
}

static void refused(const char *chip, const struct graph_attention *r, const char *why)
{
    struct kernel_rig rig = {.chip = chip, .may_refuse = true};
    struct arena a;

    arena_init(&a);
    kernel_rig_open(&rig, call_of(r, &a));
    if (!strstr(rig.refusal, why))
        fail_msg("\"%s\" instead of \"%s\"", rig.refusal, why);
    kernel_rig_close(&rig);
    arena_fini(&a);
}

TEST(sizes_that_are_not_made_are_refused)
{
    struct graph_attention r = {.form = ATTENTION_FLASH, .sequences = 1, .heads_q = 2,
                                  .heads_kv = 2, .q_len = 64, .kv_len = 100, .depth = 128};
    struct graph *g;
    struct arena a;
    struct err e;

    refused("v6e", &r, "blocks of 100 keys, multiples of 128 are made");
    r.kv_len = 256;
    refused("v7x", &r, "has accumulators, which attention's kernels do not use");
    r.q_len = 40;
    refused("v6e", &r, "blocks of 40 queries of 1 heads to one of k; multiples of 16 queries are "
            "made");
    r.q_len = 64;
    r.depth = 64;
    refused("v6e", &r, "heads are 64 wide, 128 is made");
    r.depth = 128;
    r.form = ATTENTION_RAGGED;
    r.q_len = 1;
    r.heads_q = r.heads_kv = 16;
    refused("v6e", &r, "16 heads of k, up to 8 are made");
    r.form = ATTENTION_PAGED;
    r.q_len = 17;
    refused("v6e", &r, "17 queries of a sequence; over pages of one head one is made");
    r.heads_q = 3;
    r.heads_kv = 2;
    arena_init(&a);
    assert_int_equal(attention_graph(&r, &a, &g, &e), -1);
    assert_string_equal(e.msg, "3 heads of queries over 2 of keys, 17 queries of 256 keys; "
                        "heads share evenly, and keys are at least as many");
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flash_attention_is_softmax_of_scaled_products),
        cmocka_unit_test(many_rows_have_the_same_values),
        cmocka_unit_test(paged_attention_finds_its_keys_through_the_table),
        cmocka_unit_test(ragged_attention_has_all_heads_of_a_page_in_a_step),
        cmocka_unit_test(a_call_stands_among_other_operations),
        cmocka_unit_test(sizes_that_are_not_made_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
