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

/* the largest array's, in its layout: a few elements of rank 8 may take many */
static int64_t most_tiles(const struct random_move *m)
{
    const struct graph *g = &m->body;
    int64_t most = 0;

    for (int i = 0; i <= g->parameter_count; i++) {
        int node = i < g->parameter_count ? g->parameter[i] : g->output[0].node;
        struct array a;

        array_init(&a, "a", &g->node[node].shape, m->order[i]);
        most = a.tile_count > most ? a.tile_count : most;
    }
    return most;
}

/* way: index into move_ways, or -1 for the cheapest */
/* the kernel's code for either core of a chip, one behind the other on one core */
static void split_over_cores(struct kernel_rig *r, struct segment *segment)
{
    struct link_item item[2];
    struct err e = {0};

    for (int core = 0; core < 2; core++) {
        struct kernel_job job = r->job;

        job.core = core;
        job.core_count = 2;
        if (kernel_compile(&job, &r->arena, &segment[core], &e))
            fail_msg("%s", e.msg);
        item[core] = (struct link_item){.kind = LINK_SEGMENT, .segment = &segment[core],
                                        .note = "core"};
    }
    if (link_program(item, 2, &r->machine_chip, "both", &r->arena, &r->linked, &e))
        fail_msg("%s", e.msg);
}

static bool on_two_cores;

static void random_moves(const struct kernel_rig *like, uint64_t seed, int count,
                         int64_t elements, int way)
{
    for (int i = 0; i < count; i++) {
        struct tiling t = {.count = 1, .size = {way}};
        struct kernel_rig r = *like;
        struct segment segment[2];
        struct random_move m;
        char name[40];

        r.values = RIG_HARD;
        r.tiling = way < 0 ? NULL : &t;
        random_move_make(&m, seed + (uint64_t)i, elements, 1 + i % 3);
        snprintf(name, sizeof(name), "seed %d", (int)seed + i);
        m.body.name = name;
        set_orders(&r, &m);
        if (most_tiles(&m) < 400) {
            kernel_rig_open(&r, &m.body);
            if (on_two_cores)
                split_over_cores(&r, segment);
            kernel_rig_check(&r, 1);
            kernel_rig_close(&r);
        }
        random_move_free(&m);
    }
}

TEST(random_moves_the_cheapest_way)
{
    static const char *const chips[] = {"v3", "v2", "v5e", "v6e", "v7x"};

    for (int i = 0; i < 5; i++)
        random_moves(&(struct kernel_rig){.chip = chips[i], .operands_in_vmem = i == 1,
                                          .results_in_vmem = i == 2},
                     1000 * (uint64_t)(i + 1), 30, 20000, -1);
}

TEST(random_moves_the_general_way)
{
    random_moves(&(struct kernel_rig){.chip = "v3"}, 1000,
                 40, 700, 0);
    random_moves(&(struct kernel_rig){.chip = "v5e", .operands_in_vmem = 1,
                                      .results_in_vmem = 1}, 2000, 10, 700, 0);
    random_moves(&(struct kernel_rig){.chip = "v2", .vmem_rows = 300}, 3000, 10, 700, 0);
}

TEST(random_moves_shared_by_two_cores)
{
    on_two_cores = true;
    random_moves(&(struct kernel_rig){.chip = "v4"}, 7000, 30, 20000, -1);
    on_two_cores = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_moves_the_general_way),
        cmocka_unit_test(random_moves_the_cheapest_way),
        cmocka_unit_test(random_moves_shared_by_two_cores),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
