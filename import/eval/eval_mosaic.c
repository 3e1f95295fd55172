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

/* a kernel's arrays on one device, and the results that they become */
struct device_run {
    struct value *result[MOSAIC_RANK_MAX * 8];
    uint32_t **array;
    bool *is_shared;                    /* by array: it is an operand's */
    int32_t bound[MOSAIC_RANK_MAX];
    struct mosaic_run_settings s;
};

static int open_results(struct call *c, const struct mosaic_kernel *k, struct device_run *d)
{
    bool is_tuple = c->i->type->element == ELEMENT_TUPLE;

    if (k->output_count > (int)(sizeof(d->result) / sizeof(d->result[0])))
        return call_fail(c, "a kernel of %d results", k->output_count);
    if (is_tuple ? call_result_tuple(c) : call_result(c))
        return -1;
    for (int i = 0; i < k->output_count; i++) {
        d->result[i] = is_tuple ? call_part(c, i) : c->result;
        if (!d->result[i])
            return -1;
    }
    return 0;
}

static int take(struct call *c, const struct mosaic_kernel *k, struct device_run *d)
{
    int inputs = k->array_count - k->output_count;

    *d = (struct device_run){.array = NULL};
    if (open_results(c, k, d))
        return -1;
    d->array = mem_alloc(((size_t)k->array_count + 1) * sizeof(*d->array));
    d->is_shared = mem_alloc((size_t)k->array_count + 1);
    d->s = (struct mosaic_run_settings){.bound = d->bound, .device = c->device,
                                        .device_count = c->ev->device_count,
                                        .log = stderr, .watch = c->ev->s.kernels};
    for (int i = 0; i < k->dynamic_count; i++)
        d->bound[i] = (int32_t)value_int(c->operand[i], 0);
    for (int i = 0; i < inputs; i++)
        d->array[i] = words_of(c->operand[k->dynamic_count + i]);
    for (int i = 0; i < k->output_count; i++) {
        int from = k->alias[i];         /* begins as that operand is, and shares its words */

        d->is_shared[inputs + i] = from >= 0;
        d->array[inputs + i] = from >= 0
            ? d->array[from]
            : mem_alloc((size_t)value_count(d->result[i]) * sizeof(uint32_t) + 1);
    }
    return 0;
}

static void give(const struct mosaic_kernel *k, struct device_run *d, bool is_right)
{
    int inputs = k->array_count - k->output_count;

    for (int i = 0; i < k->output_count && is_right; i++)
        for (int64_t j = 0; j < value_count(d->result[i]); j++)
            store_word(d->result[i], j, d->array[inputs + i][j]);
    for (int i = 0; i < k->array_count && d->array; i++)
        if (!d->is_shared[i])
            mem_free(d->array[i]);
    mem_free(d->array);
    mem_free(d->is_shared);
}

int custom_mosaic(struct call *c)
{
    struct err inner = {.msg = ""};
    const struct mosaic_kernel *k;
    struct device_run d;
    struct arena a;
    int status = -1;

    arena_init(&a);
    k = mosaic_of_call(c->f->c, c->i, c->ev->m->file, &a, c->ev->err);
    if (k && !take(c, k, &d)) {
        status = mosaic_run(k, d.array, &d.s, &inner);
        if (status)
            *c->ev->err = inner;
        give(k, &d, !status);
    }
    arena_fini(&a);
    return status;
}

/* the devices of a frame together */
static int run_between(struct frame *f, int index, const struct mosaic_kernel *k)
{
    const struct hlo_instruction *i = &f->c->instruction[index];
    size_t count = (size_t)f->device_count;
    struct device_run *d = mem_alloc(count * sizeof(*d));
    struct mosaic_run_settings *s = mem_alloc(count * sizeof(*s));
    uint32_t *const **array = mem_alloc(count * sizeof(*array));
    struct value **operand = mem_alloc(((size_t)i->operand_count + 1) * sizeof(*operand));
    struct err inner = {.msg = ""};
    int status = 0, taken = 0;

    for (; taken < f->device_count && !status; taken++) {
        struct call c = {.f = f, .ev = f->ev, .i = i, .index = index, .device = f->device[taken],
                         .operand = operand};

        for (int o = 0; o < i->operand_count; o++)
            operand[o] = *frame_value(f, taken, i->operand[o]);
        status = take(&c, k, &d[taken]);
        *frame_value(f, taken, index) = c.result;
        s[taken] = d[taken].s;
        array[taken] = d[taken].array;
    }
    if (!status && mosaic_run_team(k, f->device_count, array, s, &inner)) {
        *f->ev->err = inner;
        status = -1;
    }
    for (int t = 0; t < taken; t++)
        give(k, &d[t], !status);
    mem_free(operand);
    mem_free(array);
    mem_free(s);
    mem_free(d);
    return status;
}

int eval_kernel_between(struct frame *f, int index, bool *was_run)
{
    const struct hlo_instruction *i = &f->c->instruction[index];
    const struct mosaic_kernel *k;
    struct arena a;
    int status = 0;

    *was_run = false;
    if (f->device_count < 2 || !mosaic_is_call(i))
        return 0;
    arena_init(&a);
    k = mosaic_of_call(f->c, i, f->ev->m->file, &a, f->ev->err);
    if (!k || mosaic_reaches_devices(k)) {
        *was_run = true;
        status = k ? run_between(f, index, k) : -1;
    }
    arena_fini(&a);
    return status;
}
