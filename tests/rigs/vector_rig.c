#include "tests/rigs/vector_rig.h"

#include "tests/test.h"

static void put_tile(struct rig *rig, int row, const uint32_t *tile)
{
    static const uint32_t zeros[VECTOR_TILE];
    struct err e;

    assert_int_equal(machine_vmem_write(rig->m, 0, row * 512, tile ? tile : zeros, 4096, &e), 0);
}

void vector_run(struct rig *rig, const char *body, const uint32_t *a, const uint32_t *b,
                uint32_t *out)
{
    char text[4096];
    struct err e;

    snprintf(text, sizeof(text), "{ v0 = vld [vmem:0] }\n{ v1 = vld [vmem:8] }\n%s\n"
             "{ vst [vmem:16] v2 }\n{ shalt }\n", body);
    put_tile(rig, 0, a);
    put_tile(rig, 8, b);
    rig_cycles(rig, text);
    assert_int_equal(machine_vmem_read(rig->m, 0, 16 * 512, out, 4096, &e), 0);
}

void vector_random(struct rng *r, uint32_t *tile)
{
    for (int i = 0; i < VECTOR_TILE; i++)
        tile[i] = (uint32_t)rng_next(r);
}

uint32_t vector_packed(const uint32_t *tile, int bits, int row, int lane)
{
    int per_word = 32 / bits;
    uint32_t word = tile[row / per_word * 128 + lane] >> row % per_word * bits;

    return bits == 32 ? word : word & ((1u << bits) - 1);
}
