/* The optimised graph with layouts and places: HLO text, each array with where it lies. */
#include "stack/module.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void print_place(const struct array *a, FILE *to)
{
    char text[256];

    fprintf(to, "//   %-28s %s %s 0x%" PRIx64 ", %" PRId64 " bytes, %" PRId64 " of them padding\n",
            a->name, array_print(a, text, sizeof(text)), a->space == SPACE_VMEM ? "VMEM" : "HBM",
            (uint64_t)a->address, a->bytes, a->bytes - array_payload_bytes(a));
}

void module_dump_graph(const struct module *m, FILE *to)
{
    graph_dump(&m->graph, to);
    fputs("\n// arrays: layout, place, size\n", to);
    for (int i = 0; i < m->graph.node_count; i++)
        if (m->array[i])
            print_place(m->array[i], to);
}
