/* Random bits of the reference interpreter: are they those that the machine draws for each tile? */
#include "tests/rigs/graph_rig.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

#include "stack/hlo/array.h"

#include <inttypes.h>

enum { SEED = 41, STREAM = 3, TILE_WORDS = 8 * 128 };

/* one vrng of core 0 after setrngseed of this key */
static void draw(uint32_t key, uint32_t *tile)
{
    struct rig rig;
    struct err e;
    char text[128];

    rig_open(&rig, "v3", NULL);
    snprintf(text, sizeof(text), "{ s1 = smov %" PRId32 " }\n{ setrngseed s1 }\n"
             "{ v0 = vrng }\n{ vst [vmem:0] v0 }\n{ shalt }", (int32_t)key);
    rig_cycles(&rig, text);
    assert_int_equal(machine_vmem_read(rig.m, 0, 0, tile, TILE_WORDS * 4, &e), 0);
    rig_close(&rig);
}

static void check(int rank, const int64_t *dim)
{
    struct graph_rig r;
    struct shape s = shape_make(DTYPE_U32, rank, dim);
    int64_t elems = shape_elems(&s);
    struct array layout;
    uint32_t *tiles;
    double *is;
    int seed;

    grig_init(&r);
    array_init(&layout, "bits", &s, NULL);
    seed = grig_parameter(&r, DTYPE_S32, 0, NULL, RIG_VALUES(SEED));
    is = grig_run(&r, graph_rng_bits(&r.g, s, seed, STREAM));
    tiles = arena_array(&r.arena, (size_t)layout.tile_count * TILE_WORDS, sizeof(*tiles));
    for (int64_t t = 0; t < layout.tile_count; t++)
        draw(graph_rng_key(SEED, STREAM, t), tiles + t * TILE_WORDS);
    for (int64_t i = 0; i < elems; i++) {
        int64_t index[GRAPH_RANK_MAX], rest = i;
        struct array_place p;

        for (int d = rank - 1; d >= 0; d--) {
            index[d] = rest % dim[d];
            rest /= dim[d];
        }
        p = array_place_of(&layout, index);
        assert_true(is[i] == tiles[p.tile * TILE_WORDS + p.sublane * 128 + p.lane]);
    }
    grig_fini(&r);
}

TEST(every_element_is_what_its_tile_draws)
{
    check(DIMS(9, 129));
    check(DIMS(2, 3, 1, 5));
    check(DIMS(1030));
    check(0, NULL);
}

TEST(seeds_streams_and_tiles_have_keys_of_their_own)
{
    enum { COUNT = 20 };
    uint32_t key[COUNT * COUNT * COUNT];

    for (int i = 0; i < COUNT * COUNT * COUNT; i++) {
        key[i] = graph_rng_key((uint32_t)(i / COUNT / COUNT), i / COUNT % COUNT, i % COUNT);
        for (int k = 0; k < i; k++)
            assert_true(key[k] != key[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_is_what_its_tile_draws),
        cmocka_unit_test(seeds_streams_and_tiles_have_keys_of_their_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
