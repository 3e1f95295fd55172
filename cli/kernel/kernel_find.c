/* Kernels of a program, each as a graph of its own; or a Mosaic module by itself. */
#include "cli/kernel/kernel.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "import/mosaic/mosaic.h"
#include "import/read/read.h"
#include "stack/mosaic/extent.h"

static struct kernel_found *add_found(struct kernel_file *f, const char *source,
                                      const struct mosaic_kernel *k)
{
    struct kernel_found *n = &MEM_ADD(f->found, f->count, f->capacity);

    *n = (struct kernel_found){.name = k->name, .source = source, .kernel = k, .devices = 1,
                               .graph = arena_alloc(&f->arena, sizeof(*n->graph))};
    graph_init(n->graph, &f->arena, k->name);
    n->graph->source = source;
    return n;
}

static void finish_found(struct kernel_found *n, int node)
{
    int count = n->graph->node[node].tuple_count;

    for (int i = 0; i < count; i++)
        graph_output(n->graph, graph_tuple_element(n->graph, node, i), "result", -1);
    if (!count)
        graph_output(n->graph, node, "result", -1);
}

/* ----- out of a lowered program: tables that it makes of constants stand in the kernel */

/* the graph's type of elements that tables are worked out of; DTYPE_COUNT: another one */
static enum graph_dtype table_dtype(enum hlo_element e)
{
    return e == ELEMENT_S32  ? DTYPE_S32
           : e == ELEMENT_U32 ? DTYPE_U32
           : e == ELEMENT_S8  ? DTYPE_S8
           : e == ELEMENT_U8  ? DTYPE_U8 : DTYPE_COUNT;
}

static bool is_integer(enum graph_dtype t)
{
    return t == DTYPE_S32 || t == DTYPE_U32 || t == DTYPE_S8 || t == DTYPE_U8;
}

/* the first parameter of integers that a node is made of; -1: none */
static int parameter_of(const struct graph *g, int node)
{
    const struct graph_node *n = &g->node[node];
    int found = n->op == HLO_PARAMETER && is_integer(n->shape.dtype) ? n->parameter_index : -1;

    for (int i = 0; i < n->operand_count && found < 0; i++)
        found = parameter_of(g, n->operand[i]);
    return found;
}

static const char *unknown_of(struct kernel_file *f, const struct graph *g, int node)
{
    int parameter = g == &f->program.graph.lowered.graph ? parameter_of(g, node) : -1;

    return parameter < 0 ? "values that only the running program has"
                         : arena_printf(&f->arena, "parameter %d of the program: --input "
                                        "%d=FILE.npy (or ones, iota, ...) says them", parameter,
                                        parameter);
}

/* An array that the program gives the kernel once already is the same here; -1: it is another one. */
static int given_before(const struct graph_node *n, const int *operand, int i)
{
    for (int k = 0; k < i; k++)
        if (n->operand[k] == n->operand[i])
            return operand[k];
    return -1;
}

static void take_node(struct kernel_file *f, const struct graph *g, int node)
{
    const struct graph_node *n = &g->node[node];
    struct kernel_found *k = add_found(f, n->source, n->mosaic);
    int *operand = arena_array(&f->arena, (size_t)n->operand_count + 1, sizeof(*operand));

    if (mosaic_reaches_devices(n->mosaic) && f->program.graph.devices > 1)
        k->devices = f->program.graph.devices;
    for (int i = 0; i < n->operand_count; i++) {
        const struct graph_node *o = &g->node[n->operand[i]];
        bool is_table = n->mosaic->known && n->mosaic->known[i];

        operand[i] = given_before(n, operand, i);
        if (operand[i] < 0)
            operand[i] = is_table && o->op == HLO_CONSTANT
                             ? graph_add(k->graph, o, NULL, 0)
                             : graph_parameter(k->graph, o->shape, o->name);
        if (!is_table && !k->unknown && mosaic_is_table(n->mosaic, i - n->mosaic->dynamic_count))
            k->unknown = unknown_of(f, g, n->operand[i]);
    }
    finish_found(k, graph_add(k->graph, n, operand, n->operand_count));
}

static void take_graph(struct kernel_file *f, const struct graph *g)
{
    for (int i = 0; i < g->node_count; i++) {
        if (g->node[i].op == HLO_MOSAIC)
            take_node(f, g, i);
        for (int c = 0; c < GRAPH_CALLED_MAX; c++)
            if (g->node[i].called[c])
                take_graph(f, g->node[i].called[c]);
    }
}

/* ----- out of the program as it was read, where something beside the kernels cannot be lowered */

static int add_arrays(struct kernel_file *f, struct kernel_found *n, struct err *e)
{
    const struct mosaic_kernel *k = n->kernel;
    int inputs = k->array_count - k->output_count, made = 0;
    int *operand = arena_array(&f->arena, (size_t)(inputs + k->dynamic_count) + 1,
                               sizeof(*operand));
    const struct shape scalar = {.dtype = DTYPE_S32};

    for (int i = 0; i < k->dynamic_count; i++)
        operand[made++] = graph_parameter(n->graph, scalar, "bound");
    for (int i = 0; i < k->array_count; i++) {
        struct shape s = graph_mosaic_shape(&k->array[i]);
        char type[96];

        if (s.dtype == DTYPE_COUNT)
            return err_set(e, "kernel %s: an array of %s, which the compiler does not have", k->name,
                           mosaic_type_print(&k->array[i], type, sizeof(type)));
        if (i < inputs)
            operand[made++] = graph_parameter(n->graph, s,
                                              arena_printf(&f->arena, "operand_%d", i));
        if (i < inputs && !n->unknown && mosaic_is_table(k, i))
            n->unknown = "the call, and here is only what it calls";
    }
    if (k->dynamic_count)
        n->unknown = "the call, and here is only what it calls";
    finish_found(n, graph_mosaic(n->graph, operand, made, k));
    return 0;
}

static int take_calls(struct kernel_file *f, const struct hlo_module *m, struct err *e)
{
    for (int c = 0; c < m->computation_count; c++)
        for (int i = 0; i < m->computation[c].count; i++) {
            const struct hlo_instruction *n = &m->computation[c].instruction[i];
            const struct mosaic_kernel *k;

            if (!mosaic_is_call(n))
                continue;
            k = mosaic_of_call(&m->computation[c], n, m->file, &f->arena, e);
            if (!k || add_arrays(f, add_found(f, "", k), e))
                return -1;
        }
    return 0;
}

/* ----- files */

static int open_program(const struct kernel_request *r, struct kernel_file *f, struct err *e)
{
    struct exec_program *p = &f->program;
    struct err refused;

    f->is_program = true;
    if (exec_load(&r->exec, p, e) || exec_make_inputs(&r->exec, p, e))
        return -1;
    for (int i = 0; i < p->parameter_count; i++) {
        enum graph_dtype dtype = table_dtype(p->parameter[i].type.element);
        struct lower_known *known;

        if (!p->parameter[i].data || dtype == DTYPE_COUNT)
            continue;
        known = arena_alloc(&f->arena, sizeof(*known));
        *known = (struct lower_known){.parameter = i, .dtype = dtype,
                                      .element = p->parameter[i].data,
                                      .next = p->graph.known};
        p->graph.known = known;
    }
    if (program_graph_lower(&p->graph, &p->arena, &refused) == 0)
        take_graph(f, &p->graph.lowered.graph);
    else if (take_calls(f, p->graph.device, e))
        return -1;
    return 0;
}

static bool has_word(const uint8_t *bytes, size_t count, const char *word)
{
    size_t length = strlen(word);

    for (size_t i = 0; i + length <= count; i++)
        if (!memcmp(bytes + i, word, length))
            return true;
    return false;
}

/* bytecode of a kernel, not of a program */
static bool is_module_alone(const uint8_t *bytes, size_t count)
{
    return count > 4 && !memcmp(bytes, "ML\xefR", 4) && has_word(bytes, count, "stable_mosaic");
}

static int open_module(const char *file, const uint8_t *bytes, size_t count, struct kernel_file *f,
                       struct err *e)
{
    struct mosaic_kernel *k = mosaic_read_body(bytes, count, file, &f->arena, e);

    if (!k || mosaic_find_arrays(k, e))
        return -1;
    return add_arrays(f, add_found(f, "", k), e);
}

int kernel_open(const struct kernel_request *r, struct kernel_file *f, struct err *e)
{
    const char *file = r->exec.file;
    uint8_t *bytes;
    size_t count;
    int status;

    *f = (struct kernel_file){.count = 0};
    arena_init(&f->arena);
    if (program_file_bytes(file, &bytes, &count, e))
        return -1;
    status = is_module_alone(bytes, count) ? open_module(file, bytes, count, f, e)
                                           : open_program(r, f, e);
    mem_free(bytes);
    if (!status && !f->count)
        return err_at(e, file, 0, 0, "there is no tpu_custom_call in it, and it is no Mosaic "
                      "module: no kernel to time");
    for (int i = 0; i < f->count && r->vmem_limit_kib; i++) {
        struct mosaic_kernel *k = arena_copy(&f->arena, f->found[i].kernel, 1, sizeof(*k));
        struct graph *g = f->found[i].graph;

        k->vmem_limit_bytes = r->vmem_limit_kib * 1024;
        f->found[i].kernel = k;
        for (int n = 0; n < g->node_count; n++)
            if (g->node[n].op == HLO_MOSAIC)
                g->node[n].mosaic = k;
    }
    return status;
}

void kernel_close(struct kernel_file *f)
{
    for (int i = 0; i < f->count; i++)
        graph_fini(f->found[i].graph);
    mem_free(f->found);
    if (f->is_program)
        exec_unload(&f->program);
    arena_fini(&f->arena);
}

static int refuse_choice(const struct kernel_file *f, const char *which, struct err *e)
{
    char list[320] = "";
    size_t at = 0;

    for (int i = 0; i < f->count && at < sizeof(list) - 60; i++)
        at += (size_t)text_print(list + at, sizeof(list) - at, "%s%d %.40s", i ? ", " : "", i + 1,
                                 f->found[i].name);
    return which ? err_set(e, "--kernel %s: the program's kernels are %s", which, list)
                 : err_set(e, "the program has %d kernels: %s; --kernel says which", f->count, list);
}

const struct kernel_found *kernel_choose(const struct kernel_file *f, const char *which,
                                         struct err *e)
{
    const struct kernel_found *found = NULL;
    char *end;
    long number = which ? strtol(which, &end, 10) : 0;
    int count = 0;

    if (which && end > which && !*end && number >= 1 && number <= f->count)
        return &f->found[number - 1];
    for (int i = 0; i < f->count; i++)
        if (!which || !strcmp(f->found[i].name, which)) {
            found = &f->found[i];
            count++;
        }
    if (count == 1)
        return found;
    refuse_choice(f, which, e);
    return NULL;
}
