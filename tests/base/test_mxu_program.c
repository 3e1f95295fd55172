/*
 * A whole product by hand: C = A x B, 256 x 256 x 256 in bf16, on a v6e, with
 * B stationary in the array; its numbers, its cycles, what the counters say.
 */
#include "base/floats.h"
#include "tests/reference/plain_mxu.h"
#include "tests/test.h"

#define N 256

static struct plain model;
static int a[N][N], b[N][N];

/* 16 rows from `row`, 128 columns from `column`, packed, at VMEM tile `index` */
static void put_tile(const int (*matrix)[N], int row, int column, int index)
{
    static struct plain_tile t;
    struct err e;

    t.type = MATRIX_BF16;
    for (int i = 0; i < 16 * 128; i++)
        t.code[i / 128][i % 128] =
            f32_bits((float)matrix[row + i / 128][column + i % 128]) >> 16;
    plain_pack(&t);
    assert_int_equal(machine_vmem_write(model.rig.m, 0, 4096L * index, t.word, 4096, &e), 0);
}

/* A at tiles 0..31, B at 32..63: lower and upper half of each 16 rows */
static void put_matrices(void)
{
    for (int i = 0; i < N * N; i++) {
        a[i / N][i % N] = (int)rng_below(&model.rng, 33) - 16;
        b[i / N][i % N] = (int)rng_below(&model.rng, 33) - 16;
    }
    for (int i = 0; i < 32; i++) {
        put_tile((const int (*)[N])a, i / 2 * 16, i % 2 * 128, i);
        put_tile((const int (*)[N])b, i / 2 * 16, i % 2 * 128, 32 + i);
    }
}

/* the next tiles are loaded while those of the last turn go into the unit */
static void write_program(void)
{
    for (int i = 15; i >= 0; i--)
        plain_add(&model, "{ v2 = vld [vmem:%d] ;; v1 = vld [vmem:%d] }\n"
                          "{ vmatprep.subr.bf16.mxu0 v2 }\n{ vmatpush1.bf16.msra.mxu0 v1 }\n",
                  8 * (32 + 2 * i + 1), 8 * (32 + 2 * i));
    for (int i = 0; i < 16; i++)
        plain_add(&model, "{ v4 = vld [vmem:%d] ;; v3 = vld [vmem:%d] }\n"
                          "{ vmatprep.mubr.bf16.mxu0 v4 }\n"
                          "{ vmatmul.mubr.bf16%s.gmra.mxu0 v3 }\n",
                  8 * (2 * i + 1), 8 * 2 * i, i ? "" : ".vlgmr.msra");
    plain_pop(&model, "vpop.f32.mrf", 64);
}

static void check_product(void)
{
    uint32_t word[1024];

    for (int tile = 0; tile < 64; tile++) {
        plain_result(&model, tile, word);
        for (int i = 0; i < 1024; i++) {
            int row = tile / 2 * 8 + i / 128, n = tile % 2 * 128 + i % 128, sum = 0;

            for (int k = 0; k < N; k++)
                sum += a[row][k] * b[k][n];
            assert_int_equal((int)f32_from_bits(word[i]), sum);
        }
    }
}

TEST(product_of_256_cubed_is_right_and_takes_its_time)
{
    const struct core_counters *k;

    plain_open(&model, "v6e", NULL, "auto");
    put_matrices();
    write_program();
    plain_run(&model);
    check_product();
    k = machine_counters(model.rig.m, 0);
    assert_int_equal(k->matmul_flops, 2LL * N * N * N);
    assert_int_equal(rig_unit(&model.rig, 0, "mxu0.push")->busy_cycles, N * N / 4 / N);
    assert_int_equal(rig_unit(&model.rig, 0, "mxu0")->busy_cycles, 1 + N / 2);
    /*
     * A load, 16 pushes of 4; the first rows (whose prep overlaps the last push) after the latch,
     * 7 + 14 x 8 and a prep until the last rows enter; their fourth tile comes 6 cycles after the
     * first and is popped, stored, and that is the end.
     */
    assert_int_equal(k->cycles, (1 + 64) + (1 + 7 + 14 * 8 + 1) + (192 + 6) + 3);
    plain_close(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(product_of_256_cubed_is_right_and_takes_its_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
