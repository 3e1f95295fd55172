/* Kernels of Pallas, tpu_custom_call: carried out by stack/mosaic/run.h. */
#include "import/eval/custom.h"
#include "import/mosaic/mosaic.h"
#include "stack/mosaic/run.h"

#include <string.h>

#include "base/floats.h"

static uint32_t word_of(const struct value *v, int64_t i)
{
    const char *at = (const char *)v->data + (size_t)(v->is_splat ? 0 : i) *
                                                 value_element_bytes(v);

    if (hlo_element_is_float(v->element))
        return f32_bits((float)hlo_element_load(v->element, at));
    return (uint32_t)hlo_element_load_int(v->element, at);
}

static void store_word(struct value *v, int64_t i, uint32_t word)
{
    void *at = (char *)v->data + (size_t)i * value_element_bytes(v);

    if (hlo_element_is_float(v->element))
        hlo_element_store(v->element, (double)f32_from_bits(word), at);
    else if (v->element == ELEMENT_PRED)
        *(unsigned char *)at = word != 0;
    else
        hlo_element_store_int(v->element, (int32_t)word, at);
}

static uint32_t *words_of(const struct value *v)
{
    int64_t count = value_count(v);
    uint32_t *word = mem_alloc_unset((size_t)count * sizeof(*word) + 1);

    for (int64_t i = 0; i < count; i++)
        word[i] = word_of(v, i);
    return word;
}

static int run(struct call *c, const struct mosaic_kernel *k, struct value *const *result)
{
    int inputs = k->array_count - k->output_count;
    uint32_t **array = mem_alloc(((size_t)k->array_count + 1) * sizeof(*array));
    bool *is_shared = mem_alloc((size_t)k->array_count + 1);
    int32_t bound[MOSAIC_RANK_MAX] = {0};
    struct mosaic_run_settings s = {.bound = bound, .device = c->device,
                                    .device_count = c->ev->device_count,
                                    .watch = c->ev->s.kernels};
    struct err inner = {.msg = ""};
    int status;

    for (int i = 0; i < k->dynamic_count; i++)
        bound[i] = (int32_t)value_int(c->operand[i], 0);
    for (int i = 0; i < inputs; i++)
        array[i] = words_of(c->operand[k->dynamic_count + i]);
    for (int i = 0; i < k->output_count; i++) {
        int from = k->alias[i];         /* begins as that operand is, and shares its words */

        is_shared[inputs + i] = from >= 0;
        array[inputs + i] = is_shared[inputs + i]
            ? array[from]
            : mem_alloc((size_t)value_count(result[i]) * sizeof(uint32_t) + 1);
    }
    status = mosaic_run(k, array, &s, &inner);
    for (int i = 0; i < k->output_count && !status; i++)
        for (int64_t j = 0; j < value_count(result[i]); j++)
            store_word(result[i], j, array[inputs + i][j]);
    for (int i = 0; i < k->array_count; i++)
        if (!is_shared[i])
            mem_free(array[i]);
    mem_free(array);
    mem_free(is_shared);
    if (status)
        *c->ev->err = inner;
    return status;
}

int custom_mosaic(struct call *c)
{
    struct value *result[MOSAIC_RANK_MAX * 8];
    const struct mosaic_kernel *k;
    struct arena a;
    int status = 0;

    arena_init(&a);
    k = mosaic_of_call(c->f->c, c->i, c->ev->m->file, &a, c->ev->err);
    if (!k || k->output_count > (int)(sizeof(result) / sizeof(result[0])))
        status = k ? call_fail(c, "a kernel of %d results", k->output_count) : -1;
    else if (c->i->type.element == ELEMENT_TUPLE)
        status = call_result_tuple(c);
    else
        status = call_result(c);
    for (int i = 0; !status && i < k->output_count; i++) {
        result[i] = c->i->type.element == ELEMENT_TUPLE ? call_part(c, i) : c->result;
        status = result[i] ? 0 : -1;
    }
    if (!status)
        status = run(c, k, result);
    arena_fini(&a);
    return status;
}
