/* Do kernels that move data put every element in its place? */
#include "tests/test.h"

#include "stack/kernel_move.h"
#include "tests/kernel_rig.h"
#include "tests/random_move.h"

static void set_orders(struct kernel_rig *r, const struct random_move *m)
{
    int count = m->body.parameter_count;

    for (int i = 0; i < count; i++)
        r->operand_order[i] = m->order[i];
    r->result_order[0] = m->order[count];
}

/* tiles of the result's layout */
static int64_t result_tiles(const struct random_move *m)
{
    struct array a;

    array_init(&a, "y", &m->body.node[m->body.output[0].node].shape,
               m->order[m->body.parameter_count]);
    return a.tile_count;
}

/* way: index into move_ways, or -1 for the cheapest */
static void random_moves(const struct kernel_rig *like, uint64_t seed, int count,
                         int64_t elements, int way)
{
    for (int i = 0; i < count; i++) {
        struct tiling t = {.count = 1, .size = {way}};
        struct kernel_rig r = *like;
        struct random_move m;
        char name[40];

        r.values = RIG_HARD;
        r.tiling = way < 0 ? NULL : &t;
        random_move_make(&m, seed + (uint64_t)i, elements, 1 + i % 3);
        snprintf(name, sizeof(name), "seed %d", (int)seed + i);
        m.body.name = name;
        set_orders(&r, &m);
        if (result_tiles(&m) < 100) {
            kernel_rig_open(&r, &m.body);
            kernel_rig_check(&r, 1);
            kernel_rig_close(&r);
        }
        random_move_free(&m);
    }
}

TEST(random_moves_the_general_way)
{
    random_moves(&(struct kernel_rig){.chip = "v3"}, 1000,
                 40, 700, 0);
    random_moves(&(struct kernel_rig){.chip = "v5e", .operands_in_vmem = 1,
                                      .results_in_vmem = 1}, 2000, 10, 700, 0);
    random_moves(&(struct kernel_rig){.chip = "v2", .vmem_rows = 300}, 3000, 10, 700, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_moves_the_general_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
