/* What the compiler knows of a training step, for the tables of its report. */
#include "cli/train.h"

#include "base/units.h"
#include "stack/precision.h"

#include <string.h>

#define ARRAY_COLUMNS 128               /* of an array that the compiler uses, and its rows */
#define TEXT_CHARS 200

/* ---- source operations ---- */

/* of its matmuls: sides in whole tiles, the whole array counted, times the passes */
static int64_t issued_flops(const struct chip *chip, const struct graph *g,
                            const struct graph_node *n)
{
    const struct graph_node *lhs = &g->node[n->operand[0]], *rhs = &g->node[n->operand[1]];
    bool is_f32 = lhs->shape.dtype != DTYPE_BF16 || rhs->shape.dtype != DTYPE_BF16;
    int64_t matmuls = div_up(n->shape.dim[0], TILE_ROWS) * div_up(n->shape.dim[1], ARRAY_COLUMNS)
                      * div_up(lhs->shape.dim[n->dot.lhs_contract[0]], ARRAY_COLUMNS);

    return matmuls * (is_f32 ? precision_passes(n->precision)->pass_count : 1)
           * 2 * TILE_ROWS * chip->mxu_size * chip->mxu_size;
}

static struct report_source *source_of(struct report_step *step, struct report_source *list,
                                       const char *name)
{
    for (size_t i = 0; i < step->source_count; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    list[step->source_count] = (struct report_source){.name = name, .text = ""};
    return &list[step->source_count++];
}

/* "dot f32[64,512]; add f32[64,512]": the operations in their order, as far as a line goes */
static const char *add_text(const char *text, const struct graph_node *n, struct arena *a)
{
    char shape[96];

    if (strlen(text) > TEXT_CHARS)
        return text;
    return arena_printf(a, "%s%s%s %s", text, *text ? "; " : "", graph_op_name(n->op),
                        shape_print(&n->shape, shape, sizeof(shape)));
}

static void list_sources(struct train_run *t, const struct graph *g, struct report_step *step)
{
    struct report_source *list = arena_array(&t->arena, (size_t)g->node_count + 1, sizeof(*list));

    step->source = list;
    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];
        struct report_source *s;

        if (graph_op_kind(n->op) == KIND_SOURCE || !*n->source)
            continue;
        s = source_of(step, list, n->source);
        s->text = add_text(s->text, n, &t->arena);
        if (n->op != HLO_DOT)
            continue;
        s->product_flops += graph_node_flops(g, i);
        step->issued_flops += issued_flops(&t->chip, g, n);
    }
}

static void list_layers(struct train_run *t, struct report_step *step)
{
    const struct model *m = &t->model;
    struct report_layer *list = arena_array(&t->arena, (size_t)m->layer_count + 1, sizeof(*list));

    for (int i = 0; i < m->layer_count; i++)
        list[i] = (struct report_layer){.name = m->layer[i].name, .scope = m->layer[i].name};
    step->layer = list;
    step->layer_count = (size_t)m->layer_count;
}

/* ---- memory ---- */

/* where each kernel begins, by the markers in the program; kernel 0 at its start */
static uint32_t *kernel_starts(const struct compiled *c, struct arena *a)
{
    uint32_t *start = arena_array(a, (size_t)c->kernel_count + 2, sizeof(*start));
    const struct isa_program *p = &c->program;

    start[c->kernel_count] = start[c->kernel_count + 1] = p->bundle_count;
    for (uint32_t i = 0; i < p->bundle_count; i++)
        for (uint32_t j = 0; j < p->bundle[i].op_count; j++) {
            const struct isa_op *op = &p->op[p->bundle[i].first_op + j];

            if (op->code == OP_VTRACE && op->operand[0].value > 0
                && op->operand[0].value < c->kernel_count)
                start[op->operand[0].value] = i;
        }
    return start;
}

static struct report_buffer *add_buffer(struct report_step *step, struct report_buffer *list)
{
    struct report_buffer *b = &list[step->buffer_count++];

    b->last_bundle = step->program->bundle_count - 1;
    return b;
}

static void add_hbm(struct report_step *step, struct report_buffer *list,
                    const struct compiled_buffer *from)
{
    struct report_buffer *b;

    for (size_t i = 0; i < step->buffer_count; i++)
        if (list[i].memory == MEMORY_HBM && list[i].offset_bytes == from->hbm_address)
            return;                     /* an output that overwrites its parameter */
    b = add_buffer(step, list);
    b->memory = MEMORY_HBM;
    b->name = from->name;
    b->offset_bytes = from->hbm_address;
    b->bytes = shape_elems(&from->shape) * (TILE_BYTES / (TILE_ROWS * TILE_COLUMNS));
    b->padded_bytes = from->layout.bytes;
}

static void add_vmem(struct report_step *step, struct report_buffer *list,
                     const struct compiled *c, const uint32_t *start)
{
    for (int i = 0; i < c->vmem_count; i++) {
        const struct compiled_range *r = &c->vmem[i];
        int first = r->first_kernel < 0 ? 0 : r->first_kernel;
        int last = r->last_kernel > c->kernel_count ? c->kernel_count : r->last_kernel;
        uint32_t end = last < 0 ? start[0] + 1 : start[last + 1];
        struct report_buffer *b = add_buffer(step, list);

        b->memory = MEMORY_VMEM;
        b->name = r->name;
        b->inside = r->inside;
        b->offset_bytes = r->address;
        b->bytes = r->bytes;
        b->padded_bytes = r->padded_bytes;
        b->first_bundle = first >= c->kernel_count ? b->last_bundle : start[first];
        if (end > 0 && end - 1 < b->last_bundle && end - 1 >= b->first_bundle)
            b->last_bundle = end - 1;
    }
    if (c->stats.spill_count > 0) {
        struct report_buffer *b = add_buffer(step, list);

        b->memory = MEMORY_VMEM;
        b->name = "spilled registers";
        b->offset_bytes = c->vmem_peak_bytes;
        b->bytes = b->padded_bytes = (int64_t)c->stats.spill_tiles * TILE_BYTES;
    }
}

static void list_buffers(struct train_run *t, const struct compiled *c, struct report_step *step)
{
    size_t room = (size_t)(c->parameter_count + c->output_count + c->vmem_count) + 2;
    struct report_buffer *list = arena_array(&t->arena, room, sizeof(*list)), *b;

    for (int i = 0; i < c->parameter_count; i++)
        add_hbm(step, list, &c->parameter[i]);
    for (int i = 0; i < c->output_count; i++)
        add_hbm(step, list, &c->output[i]);
    add_vmem(step, list, c, kernel_starts(c, &t->arena));
    b = add_buffer(step, list);
    b->memory = MEMORY_SMEM;
    b->name = "place in the ring";
    b->bytes = b->padded_bytes = SMEM_ABI_BYTES;
    step->buffer = list;
}

void train_fill_tables(struct train_run *t, struct report_step *step)
{
    const struct compiled *c = strategy_train_program(t->strategy);

    list_sources(t, &strategy_train_graph(t->strategy)->graph, step);
    list_layers(t, step);
    list_buffers(t, c, step);
}
