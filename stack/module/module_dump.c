/* Prints the optimised graph as HLO text, each array with its layout and its place. */
#include "stack/module/module.h"
#include "base/text.h"
#include "stack/kernels/registry.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *space_name(const struct array *a)
{
    return a->space == SPACE_VMEM ? "VMEM" : a->space == SPACE_CMEM ? "CMEM" : "HBM";
}

static void print_place(const struct array *a, FILE *to)
{
    char text[256];

    fprintf(to, "//   %-28s %s %s 0x%" PRIx64 ", %" PRId64 " bytes, %" PRId64 " of them padding\n",
            a->name, array_print(a, text, sizeof(text)), space_name(a),
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

static void print_arrays(const char *what, const struct array *const *array, int count, FILE *to)
{
    char text[256];

    for (int i = 0; i < count; i++)
        fprintf(to, "  // %s %d: \"%s\" %s at %s 0x%" PRIx64 "\n", what, i, array[i]->name,
                array_print(array[i], text, sizeof(text)),
                space_name(array[i]), (uint64_t)array[i]->address);
}

static void print_tiling(const struct module_kernel *k, FILE *to)
{
    const struct tiling *t = &k->segment->tiling;

    fprintf(to, "  // tiling ");
    for (int i = 0; i < t->count; i++)
        fprintf(to, "%s%" PRId64, i ? ", " : "", t->size[i]);
    fprintf(to, ": %" PRId64 " cycles predicted\n", k->segment->cost.total_cycles);
}

/* what the kernel computes, as comments */
static void print_body(const struct graph *body, FILE *to)
{
    size_t bytes;
    char *text, *line, *rest = NULL;
    bool is_entry = false;              /* behind the computations of two scalars */
    FILE *memory = text_memory(&text, &bytes);

    graph_dump(body, memory);
    text_memory_end(memory, &text);
    for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if ((is_entry |= strncmp(line, "ENTRY", 5) == 0))
            fprintf(to, "  // | %s\n", line);
    free(text);
}

int module_dump_llo(const struct module *m, FILE *to, struct err *e)
{
    for (int i = 0; i < m->kernel_count; i++) {
        const struct module_kernel *k = &m->kernel[i];
        struct kernel_job job = k->job;
        struct segment segment;
        struct arena a;
        int status;

        fprintf(to, "kernel k%d \"%s\", %s, source \"%s\" {\n", i, k->name, k->category,
                k->source);
        print_body(job.body, to);
        print_arrays("operand", job.operand, job.operand_count, to);
        print_arrays("result", job.result, job.result_count, to);
        print_tiling(k, to);
        job.llo = to;
        job.tiling = &k->segment->tiling;
        arena_init(&a);
        status = kernel_compile(&job, &a, &segment, e);
        arena_fini(&a);
        if (status)
            return -1;
        fputs("}\n\n", to);
    }
    return 0;
}
