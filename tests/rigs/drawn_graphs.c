/* Draws graphs by seeds and holds each against the interpreter. */
#include "tests/rigs/drawn_graphs.h"

#include "base/units.h"
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/rigs/seeds.h"

void drawn_graphs_check(int usual, struct rng *rng, void (*draw)(void))
{
    static const char *const slices[] = {"v2-8", "v3-8", "v4-8", "v5e", "v6e", "v7x"};
    int count = seeds_count(usual);

    seeds_print(count);
    for (int i = 0; i < count; i++) {
        struct module_rig r = {.megacore = false};

        rng_init(rng, seeds_at(i));
        r.slice = slices[rng_below(rng, (uint32_t)COUNT_OF(slices))];
        draw();
        g.name = arena_printf(&arena, "seed %llu", (unsigned long long)seeds_at(i));
        module_rig_check(&r, &g, seeds_at(i));
        one_graph_again();
    }
}
