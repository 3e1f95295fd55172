/* A tpu_custom_call of a program with its operands and results, as a kernel. */
#include "import/mosaic/mosaic_impl.h"

#include <stdlib.h>
#include <string.h>

#define TARGET "tpu_custom_call"

bool mosaic_is_call(const struct hlo_instruction *i)
{
    return i->op == OPCODE_CUSTOM_CALL && hlo_detail(i)->target && !strcmp(hlo_detail(i)->target, TARGET);
}

/* An array of the program as memory of the kernel; booleans are words there. */
static int array_of(const struct hlo_type *t, struct mosaic_type *to, struct err *e)
{
    const char *name = t->element < ELEMENT_COUNT ? hlo_element_mlir_name(t->element) : "";
    size_t length = strlen(name);

    if (t->element == ELEMENT_TUPLE || t->rank > MOSAIC_RANK_MAX)
        return err_set(e, "an operand that is no array of up to %d dimensions", MOSAIC_RANK_MAX);
    *to = (struct mosaic_type){.kind = MOSAIC_REF, .space = MOSAIC_HBM, .rank = t->rank};
    if (length && name[0] == 'u' && name[1] == 'i') {   /* kernels have no signs in their types */
        name++;
        length--;
    }
    to->element = mosaic_element_find(name, length);
    if (to->element == MOSAIC_ELEMENT_COUNT)
        return err_set(e, "an operand of %s, which kernels do not have", name);
    for (int d = 0; d < t->rank; d++)
        to->dim[d] = t->dim[d];
    return 0;
}

/* Programs for cores have wider elements in place of these, and 8-bit floats' codes. */
static bool stands_for(enum mosaic_element given, enum mosaic_element own)
{
    switch (own) {
    case MOSAIC_I2: case MOSAIC_I4: return given == MOSAIC_I8;
    case MOSAIC_I16: return given == MOSAIC_I32;
    case MOSAIC_F16: case MOSAIC_F4E2M1FN: return given == MOSAIC_F32;
    default: return mosaic_is_fp8(own) && given == MOSAIC_I8;
    }
}

static int attach(struct mosaic_kernel *k, const struct hlo_computation *c,
                  const struct hlo_instruction *i, struct err *e)
{
    bool is_tuple = i->type->element == ELEMENT_TUPLE;
    int inputs = i->operand_count - k->dynamic_count;
    int outputs = is_tuple ? i->type->part_count : 1;

    if (inputs < 0 || inputs + outputs != k->prefetch_count + k->operand_count)
        return err_set(e, "the call has %d operands and %d results; its kernel takes %d bounds of "
                       "its grid, %d prefetched and %d other arrays", i->operand_count, outputs,
                       k->dynamic_count, k->prefetch_count, k->operand_count);
    k->output_count = outputs;
    k->array_count = inputs + outputs;
    k->array = arena_array(k->arena, (size_t)k->array_count, sizeof(*k->array));
    for (int n = 0; n < k->array_count; n++) {
        const struct hlo_type *t =
            n < inputs ? c->instruction[i->operand[k->dynamic_count + n]].type
            : is_tuple ? &i->type->part[n - inputs] : i->type;

        if (array_of(t, &k->array[n], e))
            return -1;
        if (k->grid_rank + n < k->main->body->argument_count) {
            enum mosaic_element own = k->main->body->argument[k->grid_rank + n]->type.element;

            if (stands_for(k->array[n].element, own))
                k->array[n].element = own;
        }
    }
    return 0;
}

/* the number behind `key`, and where it ends in *at; -1: the key is not there any more */
static long number_behind(const char **at, const char *key)
{
    const char *found = strstr(*at, key);
    char *end;
    long n;

    if (!found)
        return -1;
    n = strtol(found + strlen(key), &end, 10);
    *at = end;
    return n;
}

static void set_alias(struct mosaic_kernel *k, int *alias, long output, long operand)
{
    operand -= k->dynamic_count;
    if (output >= 0 && output < k->output_count && operand >= 0 &&
        operand < k->array_count - k->output_count)
        alias[output] = (int)operand;
}

/* As StableHLO writes it, `output_tuple_indices = [0], operand_index = 1`, or HLO, `{0}: (1, {})`. */
static void read_aliases(struct mosaic_kernel *k, const struct hlo_instruction *i)
{
    int *alias = arena_array(k->arena, (size_t)k->output_count, sizeof(*alias));

    for (int n = 0; n < k->output_count; n++)
        alias[n] = -1;
    for (int p = 0; p < hlo_detail(i)->other.count; p++) {
        const char *at = hlo_detail(i)->other.item[p].value;

        if (!strcmp(hlo_detail(i)->other.item[p].key, "output_operand_aliases"))
            for (long output; (output = number_behind(&at, "output_tuple_indices = [")) >= 0;)
                set_alias(k, alias, output, number_behind(&at, "operand_index = "));
        else if (!strcmp(hlo_detail(i)->other.item[p].key, "output_to_operand_aliasing"))
            for (at = strchr(at, '{'); at && (at = strchr(at + 1, '{'));) {
                long output = strtol(at + 1, NULL, 10);
                long operand = number_behind(&at, "(");

                set_alias(k, alias, output, operand);
                at = strchr(at, '}');
            }
    }
    k->alias = alias;
}

static bool has_side_effect(const struct hlo_instruction *i)
{
    for (int p = 0; p < hlo_detail(i)->other.count; p++)
        if (strstr(hlo_detail(i)->other.item[p].key, "has_side_effect"))
            return !strcmp(hlo_detail(i)->other.item[p].value, "true");
    return false;
}

static struct mosaic_kernel *read_call(const struct hlo_computation *c,
                                       const struct hlo_instruction *i, const char *file,
                                       struct arena *a, struct err *e)
{
    struct mosaic_config config;
    struct mosaic_kernel *k;

    if (!hlo_detail(i)->config) {
        err_set(e, "the call has no backend_config");
        return NULL;
    }
    if (mosaic_config_read(hlo_detail(i)->config, a, &config, e))
        return NULL;
    k = mosaic_read_located(config.body, config.body_bytes, config.locations,
                            config.location_bytes, file, a, e);
    if (!k)
        return NULL;
    k->vmem_limit_bytes = config.vmem_limit_bytes ? config.vmem_limit_bytes
                                                  : mosaic_limit_of_flags(getenv("LIBTPU_INIT_ARGS"));
    k->collective_id = config.collective_id;
    k->has_communication = config.has_communication;
    k->skips_device_barrier = config.skips_device_barrier;
    k->cost = config.cost;
    k->has_side_effect = has_side_effect(i);
    if (attach(k, c, i, e))
        return NULL;
    read_aliases(k, i);
    return mosaic_verify(k, e) ? NULL : k;
}

const struct mosaic_kernel *mosaic_of_call(const struct hlo_computation *c,
                                           const struct hlo_instruction *i, const char *file,
                                           struct arena *a, struct err *e)
{
    struct mosaic_kernel *k = read_call(c, i, file, a, e);

    if (!k && !e->line) {
        struct err inner = *e;

        err_at(e, file ? file : "", i->line, i->col, "%s: %s", hlo_name(i), inner.msg);
    }
    return k;
}
