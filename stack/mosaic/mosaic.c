/* The tables of Mosaic's operations and elements, attributes by name, and refusals. */
#include "stack/mosaic/mosaic.h"

#include <stdarg.h>
#include <math.h>
#include <string.h>

#include "base/text.h"

static const struct {
    const char *name;
    int operands, results, regions;
} codes[] = {
#define MOSAIC(id, name, operands, results, regions, eval) {name, operands, results, regions},
#include "stack/mosaic/ops.def"
};

static const struct {
    const char *name;
    int bits;
    enum mosaic_element_kind kind;
} elements[] = {
#define MOSAIC_ELEMENT(id, name, bits, kind) {name, bits, MOSAIC_KIND_##kind},
#include "stack/mosaic/elements.def"
};

static const char *const spaces[] = {"vmem", "smem", "hbm", "cmem", "semaphore_mem",
                                     "vmem_shared", "host", "any"};

const char *mosaic_code_name(enum mosaic_code code)
{
    return code < MOSAIC_UNKNOWN ? codes[code].name : "";
}

enum mosaic_code mosaic_code_find(const char *name)
{
    for (int i = 0; i < MOSAIC_UNKNOWN; i++)
        if (!strcmp(codes[i].name, name))
            return (enum mosaic_code)i;
    return MOSAIC_UNKNOWN;
}

const char *mosaic_element_name(enum mosaic_element e) { return elements[e].name; }
int mosaic_element_bits(enum mosaic_element e) { return elements[e].bits; }
enum mosaic_element_kind mosaic_element_kind(enum mosaic_element e) { return elements[e].kind; }
const char *mosaic_space_name(enum mosaic_space s) { return spaces[s]; }

enum mosaic_element mosaic_element_find(const char *name, size_t bytes)
{
    for (int i = 0; i < MOSAIC_ELEMENT_COUNT; i++)
        if (strlen(elements[i].name) == bytes && !memcmp(elements[i].name, name, bytes))
            return (enum mosaic_element)i;
    return MOSAIC_ELEMENT_COUNT;
}

int64_t mosaic_elements(const struct mosaic_type *t)
{
    int64_t n = 1;

    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] < 0 || __builtin_mul_overflow(n, t->dim[i], &n))
            return -1;
    return n;
}

bool mosaic_type_equal(const struct mosaic_type *a, const struct mosaic_type *b)
{
    return a->kind == b->kind && a->element == b->element && a->rank == b->rank &&
           !memcmp(a->dim, b->dim, (size_t)a->rank * sizeof(*a->dim));
}

bool mosaic_is_fp8(enum mosaic_element e)
{
    return mosaic_element_kind(e) == MOSAIC_KIND_FLOAT && mosaic_element_bits(e) == 8;
}

bool mosaic_is_float(const struct mosaic_type *t)
{
    return mosaic_element_kind(t->element) == MOSAIC_KIND_FLOAT;
}

char *mosaic_type_print(const struct mosaic_type *t, char *buf, size_t buf_bytes)
{
    static const char *const kinds[] = {"", "vector<", "memref<"};
    size_t at = 0;

    text_print(buf, buf_bytes, "%s", kinds[t->kind]);
    for (int i = 0; i < t->rank && (at = strlen(buf)) + 24 < buf_bytes; i++) {
        if (t->dim[i] == MOSAIC_DYNAMIC)
            text_print(buf + at, buf_bytes - at, "?x");
        else
            text_print(buf + at, buf_bytes - at, "%lldx", (long long)t->dim[i]);
    }
    at = strlen(buf);
    text_print(buf + at, buf_bytes - at, "%s%s%s%s", mosaic_element_name(t->element),
               t->kind == MOSAIC_REF ? ", " : "",
               t->kind == MOSAIC_REF ? mosaic_space_name(t->space) : "",
               t->kind == MOSAIC_SCALAR ? "" : ">");
    return buf;
}

static const struct mosaic_op *find_in(const struct mosaic_block *b, int number)
{
    for (int i = 0; i < b->op_count; i++) {
        const struct mosaic_op *inner;

        if (b->op[i]->number == number)
            return b->op[i];
        for (int r = 0; r < b->op[i]->region_count; r++)
            if ((inner = find_in(b->op[i]->region[r], number)))
                return inner;
    }
    return NULL;
}

const struct mosaic_op *mosaic_op_of(const struct mosaic_kernel *k, int number)
{
    const struct mosaic_op *op = NULL;

    for (int i = 0; i < k->function_count && number && !op; i++)
        op = find_in(k->function[i]->body, number);
    return op;
}

const struct mosaic_attr *mosaic_attr(const struct mosaic_op *op, const char *name)
{
    for (int i = 0; i < op->attr_count; i++)
        if (!strcmp(op->attr[i].name, name))
            return &op->attr[i];
    return NULL;
}

uint32_t mosaic_reduced_dims(const struct mosaic_op *op)
{
    const struct mosaic_attr *dims = mosaic_attr(op, "reduction_dims");
    uint32_t mask = 0;

    for (int i = 0; dims && dims->kind == MOSAIC_ATTR_INTS && i < dims->count; i++)
        mask |= 1u << dims->ints[i];
    return mask;
}

int64_t mosaic_int(const struct mosaic_op *op, const char *name, int64_t otherwise)
{
    const struct mosaic_attr *a = mosaic_attr(op, name);

    return a && a->kind == MOSAIC_ATTR_INT ? a->integer : otherwise;
}

bool mosaic_is_zero(const struct mosaic_value *v)
{
    const struct mosaic_attr *a = v->op && v->op->code == MOSAIC_CONSTANT
                                      ? mosaic_attr(v->op, "value") : NULL;

    if (!a)
        return false;
    switch (a->kind) {
    case MOSAIC_ATTR_INT:      return a->integer == 0;
    case MOSAIC_ATTR_FLOAT:    return a->number == 0 && !signbit(a->number);
    case MOSAIC_ATTR_ELEMENTS: return a->is_splat && a->element[0] == 0;
    default:                   return false;
    }
}

const char *mosaic_text(const struct mosaic_op *op, const char *name, const char *otherwise)
{
    const struct mosaic_attr *a = mosaic_attr(op, name);

    return a && a->kind == MOSAIC_ATTR_TEXT ? a->text : otherwise;
}

int mosaic_group(const struct mosaic_op *op, int group, int *count)
{
    int first = 0;

    *count = group < op->segment_count ? op->segment[group] : 0;
    for (int i = 0; i < group && i < op->segment_count; i++)
        first += op->segment[i];
    return first;
}

const struct mosaic_value *mosaic_in_group(const struct mosaic_op *op, int group)
{
    int count, first = mosaic_group(op, group, &count);

    return count ? op->operand[first] : NULL;
}

/* ----- other devices */

static bool any_op(const struct mosaic_block *b, bool (*is_it)(const struct mosaic_op *))
{
    for (int i = 0; i < b->op_count; i++) {
        if (is_it(b->op[i]))
            return true;
        for (int r = 0; r < b->op[i]->region_count; r++)
            if (any_op(b->op[i]->region[r], is_it))
                return true;
    }
    return false;
}

static bool any_op_of(const struct mosaic_kernel *k, bool (*is_it)(const struct mosaic_op *))
{
    for (int i = 0; i < k->function_count; i++)
        if (any_op(k->function[i]->body, is_it))
            return true;
    return false;
}

static bool reaches_device(const struct mosaic_op *op)
{
    switch (op->code) {
    case MOSAIC_SEM_BARRIER: return true;
    case MOSAIC_SEM_SIGNAL: return mosaic_in_group(op, 2) != NULL;
    case MOSAIC_ENQUEUE_DMA: return mosaic_in_group(op, 4) != NULL;
    default: return false;
    }
}

static bool asks_number(const struct mosaic_op *op) { return op->code == MOSAIC_DEVICE_ID; }

bool mosaic_reaches_devices(const struct mosaic_kernel *k)
{
    return any_op_of(k, reaches_device);
}

bool mosaic_asks_devices(const struct mosaic_kernel *k)
{
    return mosaic_reaches_devices(k) || any_op_of(k, asks_number);
}

int mosaic_refuse(const struct mosaic_kernel *k, const struct mosaic_op *op, struct err *e,
                  const char *fmt, ...)
{
    char message[400];
    va_list args;

    va_start(args, fmt);
    text_print_args(message, sizeof(message), fmt, args);
    va_end(args);
    if (op && op->place.file)
        return err_at(e, op->place.file, op->place.line, op->place.col, "kernel %s: %s: %s",
                      k->name, op->name, message);
    return err_set(e, "kernel %s: %s%s%s", k->name, op ? op->name : "", op ? ": " : "", message);
}

bool mosaic_neutral(const char *kind, enum mosaic_element e, uint32_t *word)
{
    bool is_float = mosaic_element_kind(e) == MOSAIC_KIND_FLOAT;

    *word = 0;
    if (!strcmp(kind, "mul"))
        *word = is_float ? 0x3f800000u : 1;
    else if (!strncmp(kind, "max", 3))
        *word = is_float ? 0xff800000u : kind[3] == 'u' ? 0 : 0x80000000u;
    else if (!strncmp(kind, "min", 3))
        *word = is_float ? 0x7f800000u : kind[3] == 'u' ? 0xffffffffu : 0x7fffffffu;
    else if (!strcmp(kind, "and"))
        *word = 0xffffffffu;
    else
        return !strcmp(kind, "add") || !strcmp(kind, "sum") || !strcmp(kind, "or") ||
               !strcmp(kind, "xor");
    return true;
}
