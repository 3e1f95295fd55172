#include "tests/rigs/one_graph.h"

struct arena arena;
struct graph g;

int one_graph_open(void **state)
{
    (void)state;
    arena_init(&arena);
    graph_init(&g, &arena, "test");
    return 0;
}

int one_graph_close(void **state)
{
    (void)state;
    graph_fini(&g);
    arena_fini(&arena);
    return 0;
}

void one_graph_again(void)
{
    one_graph_close(NULL);
    one_graph_open(NULL);
}
