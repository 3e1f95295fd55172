/* Kernels of Pallas in a graph, by their own interpreter: stack/mosaic/run.h. */
#include <string.h>

#include "base/floats.h"
#include "stack/interp/interp_ops.h"
#include "stack/mosaic/run.h"

static bool is_wide_float(bool is_wide, const struct mosaic_type *t)
{
    return is_wide && mosaic_is_float(t) && !mosaic_is_fp8(t->element);
}

/* The words of an array: its own where they are words, else a copy. */
static uint32_t *words_of(bool is_wide, const struct mosaic_type *t, void *data)
{
    int64_t count = mosaic_elements(t);
    bool is_float = is_wide_float(is_wide, t);
    uint32_t *word;

    if (!is_float && !mosaic_is_fp8(t->element))
        return data;
    word = mem_alloc((size_t)count * sizeof(*word) + 1);
    for (int64_t i = 0; i < count; i++)
        word[i] = is_float ? f32_bits((float)((const double *)data)[i])
                           : mosaic_word_of_code(t->element, ((const uint32_t *)data)[i]);
    return word;
}

static void give_back(bool is_wide, const struct mosaic_type *t, void *data, uint32_t *word,
                      bool is_result)
{
    bool is_float = is_wide_float(is_wide, t);

    if (!is_float && !mosaic_is_fp8(t->element))
        return;
    for (int64_t i = 0; is_result && i < mosaic_elements(t); i++)
        if (is_float)
            ((double *)data)[i] = (double)f32_from_bits(word[i]);
        else
            ((uint32_t *)data)[i] = mosaic_code_of_word(t->element, word[i]);
    mem_free(word);
}

static size_t bytes_of(const struct mosaic_type *t)
{
    return (size_t)mosaic_elements(t) * sizeof(uint32_t);
}

/* one device's arrays, those that an operand and a result share once */
struct device_arrays { uint32_t **array; int32_t bound[MOSAIC_RANK_MAX]; };

static void take(const struct graph_node *n, bool is_wide, void *const *input, void *const *output,
                 struct device_arrays *to)
{
    const struct mosaic_kernel *k = n->mosaic;
    int inputs = k->array_count - k->output_count;
    uint32_t **array = mem_alloc(((size_t)k->array_count + 1) * sizeof(*array));

    for (int i = 0; i < k->dynamic_count; i++)
        to->bound[i] = *(const int32_t *)input[i];
    for (int i = 0; i < k->array_count; i++)
        array[i] = words_of(is_wide, &k->array[i],
                            i < inputs ? input[k->dynamic_count + i] : output[i - inputs]);
    /* a result in an operand's place begins as it; the operand itself may have other readers */
    for (int i = 0; i < k->output_count; i++)
        if (k->alias[i] >= 0)
            memcpy(array[inputs + i], array[k->alias[i]], bytes_of(&k->array[inputs + i]));
    for (int i = 0; i < k->output_count; i++)
        if (k->alias[i] >= 0) {
            give_back(is_wide, &k->array[k->alias[i]], NULL, array[k->alias[i]], false);
            array[k->alias[i]] = array[inputs + i];
        }
    to->array = array;
}

static void give(const struct graph_node *n, bool is_wide, void *const *output, bool is_right,
                 struct device_arrays *from)
{
    const struct mosaic_kernel *k = n->mosaic;
    int inputs = k->array_count - k->output_count;

    for (int i = 0; i < k->array_count; i++) {
        bool is_shared = false;

        for (int o = 0; o < k->output_count; o++)
            is_shared |= k->alias[o] == i;
        if (!is_shared)
            give_back(is_wide, &k->array[i], i < inputs ? NULL : output[i - inputs],
                      from->array[i], i >= inputs && is_right);
    }
    mem_free(from->array);
}

int interp_mosaic(const struct graph_node *n, bool is_wide, int device_count,
                  void *const *const *input, void *const *const *output, struct err *e)
{
    const struct mosaic_kernel *k = n->mosaic;
    bool is_team = device_count > 1 && mosaic_reaches_devices(k);
    struct mosaic_run_settings *s = mem_alloc((size_t)device_count * sizeof(*s));
    struct device_arrays *d = mem_alloc((size_t)device_count * sizeof(*d));
    uint32_t *const **array = mem_alloc((size_t)device_count * sizeof(*array));
    int status = 0;

    for (int i = 0; i < device_count; i++) {
        take(n, is_wide, input[i], output[i], &d[i]);
        s[i] = (struct mosaic_run_settings){.bound = d[i].bound, .device = i,
                                            .device_count = device_count};
        array[i] = d[i].array;
    }
    if (is_team)
        status = mosaic_run_team(k, device_count, array, s, e);
    for (int i = 0; i < device_count && !is_team && !status; i++)
        status = mosaic_run(k, d[i].array, &s[i], e);
    for (int i = 0; i < device_count; i++)
        give(n, is_wide, output[i], !status, &d[i]);
    mem_free(array);
    mem_free(d);
    mem_free(s);
    return status;
}
