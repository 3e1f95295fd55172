/*
 * The pass list.
 */
#include "stack/compile.h"

#include "base/units.h"
#include "stack/plan.h"

#include <inttypes.h>
#include <string.h>

static const char *kind_name(enum kernel_kind kind)
{
    static const char *const names[] = {
        [KERNEL_LOOP] = "loop", [KERNEL_DOT] = "dot", [KERNEL_TRANSPOSE] = "transpose",
        [KERNEL_ALL_REDUCE] = "all-reduce"};

    return names[kind];
}

static const char *form_name(enum form form)
{
    static const char *const names[] = {
        [FORM_MATRIX] = "matrix", [FORM_ROW] = "row", [FORM_COLUMN] = "column",
        [FORM_SCALAR] = "scalar", [FORM_SPLAT] = "splat"};

    return names[form];
}

static void dump_value(const struct plan *p, int node, FILE *to)
{
    const struct value *v = &p->value[node];
    const struct graph_node *n = &p->graph->node[node];
    char shape[96];

    fprintf(to, "    %-24s %-12s %-20s %s%s", n->name, graph_op_name(n->op),
            shape_print(&n->shape, shape, sizeof(shape)), form_name(v->form),
            v->is_late ? ", at the end" : "");
    if (v->buffer >= 0)
        fprintf(to, ", vmem row %" PRId64, p->buffer[v->buffer].row);
    fputc('\n', to);
}

static void dump_plan(const struct plan *p, const char *after, FILE *to)
{
    fprintf(to, "after %s: %s, %d kernels\n", after, p->graph->name, p->kernel_count);
    for (int i = 0; i < p->kernel_count; i++) {
        const struct kernel *k = &p->kernel[i];

        fprintf(to, "  kernel %d: %s over %" PRId64 "x%" PRId64 " tiles, from %s\n", i,
                kind_name(k->kind), k->tile_rows, k->tile_columns, k->note);
        for (int m = 0; m < k->node_count; m++)
            dump_value(p, k->node[m], to);
    }
}

static void maybe_dump(const struct plan *p, const char *pass)
{
    const struct compile_options *o = p->options;

    if (o->dump_after && o->dump_to && strcmp(o->dump_after, pass) == 0)
        dump_plan(p, pass, o->dump_to);
}

static void free_plan(struct plan *p)
{
    for (int i = 0; i < p->kernel_count; i++)
        mem_free(p->kernel[i].node);
    mem_free(p->kernel);
    mem_free(p->buffer);
}

static int compile_code(struct plan *p, struct compiled *out, struct err *e)
{
    int64_t spill_tiles =
        p->options->chip->vmem_bytes / TILE_BYTES - div_up(p->vmem_peak_rows, TILE_ROWS);
    struct vcode code;
    int status;

    vcode_init(&code, p->arena);
    status = pass_lower(p, out, &code, e);
    if (status == 0)
        status = vcode_compile(&code, p->options->chip, p->vmem_peak_rows, spill_tiles, p->arena,
                               &out->program, &out->stats, e);
    vcode_fini(&code);
    return status;
}

int compile_graph(const struct graph *g, const struct compile_options *options, struct arena *a,
                  struct compiled *out, struct err *e)
{
    struct plan p = {.graph = g, .options = options, .arena = a};
    int status;

    memset(out, 0, sizeof(*out));
    out->flops = graph_flops(g);
    status = pass_fuse(&p, e);
    if (status == 0) {
        maybe_dump(&p, "fuse");
        status = pass_place(&p, e);
    }
    if (status == 0) {
        maybe_dump(&p, "place");
        status = place_hbm(&p, out, e);
    }
    /* what does not fit is lowered again, each level with more loops and so shorter blocks */
    for (bool is_done = status != 0; !is_done; p.code_level++) {
        status = compile_code(&p, out, e);
        is_done = status == 0 || p.code_level == CODE_LEVELS - 1;
    }
    if (status == 0)
        place_describe(&p, out);
    out->program.name = g->name;
    out->vmem_peak_bytes = p.vmem_peak_rows * VMEM_ROW_BYTES;
    free_plan(&p);
    return status;
}
