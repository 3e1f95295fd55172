/* Says of custom calls that are left why cores cannot carry them out. */
#include "import/lower/lower_impl.h"
#include "import/mosaic/mosaic.h"

#include <string.h>

/* beginnings of names of libraries for other machines */
static const struct { const char *begin, *what; } libraries[] = {
    {"te_", "Transformer Engine"}, {"lapack_", "LAPACK on the host"}, {"__cpu$", "XLA for CPUs"},
    {"__cublas", "cuBLAS"}, {"__cudnn", "cuDNN"}, {"cu", "a CUDA library"},
    {"hip", "a ROCm library"}, {"__gpu$", "XLA for GPUs"}, {"triton", "Triton"},
    {"__triton", "Triton"}, {"xla_python_", "Python on the host"},
    {"xla_ffi_", "Python on the host"}, {"AwsNeuron", "AWS Neuron"},
};

/* memory of the call's array number `array` that only scalars are loaded of */
static bool is_in_smem(const struct mosaic_kernel *k, int array)
{
    return array >= 0 &&
           k->main->body->argument[k->grid_rank + array]->type.space == MOSAIC_SMEM;
}

/*
 * A word of SMEM holds one element: narrow integers that a kernel takes there are widened before the
 * call, with their signs, or without where the program's type has none.
 */
static const struct mosaic_kernel *widen_words(struct lower_scope *s, const struct mosaic_kernel *k,
                                               int *operand, int count)
{
    struct mosaic_kernel *wide = NULL;

    for (int o = 0; o < count; o++) {
        int array = o - k->dynamic_count;

        if (!is_in_smem(k, array) ||
            mosaic_element_kind(k->array[array].element) != MOSAIC_KIND_INT ||
            mosaic_element_bits(k->array[array].element) >= 32)
            continue;
        if (!wide) {
            wide = arena_copy(s->l->arena, k, 1, sizeof(*k));
            wide->array = arena_copy(s->l->arena, k->array, (size_t)k->array_count,
                                     sizeof(*k->array));
        }
        wide->array[array].element = MOSAIC_I32;
        operand[o] = graph_convert(s->g, operand[o], DTYPE_S32);
    }
    return wide ? wide : k;
}

/* The same bits as the program's type; those of 8 bits are as many whole numbers. */
static int as_type(struct graph *g, int node, enum graph_dtype dtype)
{
    return dtype == DTYPE_U8 || dtype == DTYPE_S8 ? graph_convert(g, node, dtype)
                                                  : graph_bitcast_convert(g, node, dtype);
}

/*
 * A kernel of Pallas is a node of its own, whose kernel lives as long as the graph. Kernels have no
 * signs in their types: results are seen as the program has them.
 */
static void lower_mosaic(struct lower_scope *s, const struct hlo_instruction *i)
{
    struct err e = {.msg = ""};
    const struct mosaic_kernel *k = mosaic_of_call(s->c, i, s->l->module->file, s->l->arena, &e);
    int *operand = arena_array(s->l->arena, (size_t)i->operand_count + 1, sizeof(*operand));
    struct graph_node n = {.op = HLO_MOSAIC};
    char text[700];
    int node, *result;

    if (!k) {
        lower_refuse(s, "%s", err_format(&e, text, sizeof(text)));
        return;
    }
    for (int o = 0; o < i->operand_count; o++)
        operand[o] = lower_operand(s, o);
    n.mosaic = k = widen_words(s, k, operand, i->operand_count);
    node = lower_add(s, &n, operand, i->operand_count);
    if (s->g->node[node].op != HLO_MOSAIC) {
        lower_set(s, node);             /* refused: what stands in its place */
        return;
    }
    result = arena_array(s->l->arena, (size_t)k->output_count + 1, sizeof(*result));
    for (int o = 0; o < k->output_count; o++) {
        const struct hlo_type *t = i->type->element == ELEMENT_TUPLE ? &i->type->part[o] : i->type;

        result[o] = k->output_count > 1 ? graph_tuple_element(s->g, node, o) : node;
        result[o] = as_type(s->g, result[o], lower_shape(s, t).dtype);
    }
    lower_set_leaves(s, k->output_count, result);
}

void lower_custom_call(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    const char *target = hlo_detail(i)->target ? hlo_detail(i)->target : "";

    (void)op;
    if (mosaic_is_call(i)) {
        lower_mosaic(s, i);
        return;
    }
    for (size_t k = 0; k < sizeof(libraries) / sizeof(libraries[0]); k++)
        if (strncmp(target, libraries[k].begin, strlen(libraries[k].begin)) == 0) {
            lower_refuse(s, "it calls %s of %s: export the program for the TPU", target,
                         libraries[k].what);
            return;
        }
    lower_refuse(s, "the custom call %s is not known", target);
}
