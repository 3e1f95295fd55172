/*
 * Lowers what goes between the program and its host while it runs: an infeed is one more parameter
 * of each run, an outfeed one more result; and tells what custom calls would want.
 */
#include "import/lower/lower_impl.h"

#include <string.h>

static bool is_entry(const struct lower_scope *s)
{
    return s->c == &s->l->module->computation[s->l->module->entry];
}

static void note_queue(struct lower_scope *s, enum lowered_queue queue, const struct hlo_type *t,
                       const char *name, int graph)
{
    struct lower *l = s->l;
    int *number = arena_alloc(l->arena, sizeof(*number));

    *number = graph;
    MEM_ADD(l->queue, l->queue_count, l->queue_capacity) = (struct lowered_leaf){
        .leaf = {.type = *t, .form = EXPAND_SAME, .part = t->element, .first = -1, .parts = 1,
                 .parameter = -1},
        .queue = queue, .name = name, .count = 1, .graph = number, .alias = -1};
}

static const char *queue_name(struct lower_scope *s, const struct hlo_instruction *i, int leaf)
{
    return arena_printf(s->l->arena, "%s{%d}", i->name, leaf);
}

void lower_infeed(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    int count = hlo_type_leaves(&i->type), *node;

    (void)op;
    if (!is_entry(s)) {
        lower_refuse(s, "an infeed within a loop or a branch");
        return;
    }
    node = arena_array(s->l->arena, (size_t)count + 1, sizeof(*node));
    for (int k = 0; k < count; k++) {
        const struct hlo_type *t = hlo_type_leaf(&i->type, k);

        node[k] = NODE_NONE;
        if (lower_is_empty(t))
            continue;
        note_queue(s, LOWERED_INFEED, t, queue_name(s, i, k), s->g->parameter_count);
        node[k] = graph_parameter(s->g, lower_shape(s, t), queue_name(s, i, k));
    }
    lower_set_leaves(s, count, node);
}

void lower_outfeed(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    const struct hlo_type *t = &s->c->instruction[i->operand[0]].type;
    const struct lower_value *v = lower_leaves(s, 0);

    (void)op;
    if (!is_entry(s)) {
        lower_refuse(s, "an outfeed within a loop or a branch");
        return;
    }
    for (int k = 0; k < v->count; k++)
        if (v->node[k] != NODE_NONE)
            note_queue(s, LOWERED_OUTFEED, hlo_type_leaf(t, k), queue_name(s, i, k), v->node[k]);
    lower_set(s, NODE_NONE);
}

/* beginnings of names of libraries for other machines */
static const struct { const char *begin, *what; } libraries[] = {
    {"te_", "Transformer Engine"}, {"lapack_", "LAPACK on the host"}, {"__cpu$", "XLA for CPUs"},
    {"__cublas", "cuBLAS"}, {"__cudnn", "cuDNN"}, {"cu", "a CUDA library"},
    {"hip", "a ROCm library"}, {"__gpu$", "XLA for GPUs"}, {"triton", "Triton"},
    {"__triton", "Triton"}, {"xla_python_", "Python on the host"},
    {"xla_ffi_", "Python on the host"}, {"AwsNeuron", "AWS Neuron"},
};

void lower_custom_call(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    const char *target = i->target ? i->target : "";

    (void)op;
    for (size_t k = 0; k < sizeof(libraries) / sizeof(libraries[0]); k++)
        if (strncmp(target, libraries[k].begin, strlen(libraries[k].begin)) == 0) {
            lower_refuse(s, "it calls %s of %s: export the program for the TPU", target,
                         libraries[k].what);
            return;
        }
    lower_refuse(s, "the custom call %s is not known", target);
}
