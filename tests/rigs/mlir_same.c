/* Two trees of MLIR held against each other, operation by operation. */
#include "tests/rigs/mlir_same.h"

#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct comparison {
    char *buf;
    size_t buf_bytes;
    bool is_found;                      /* a difference */
    int *other;                         /* by value of a: the value of b it must be; -1 */
    const struct mlir_op *op;           /* of a, at hand */
};

static bool differ(struct comparison *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static bool differ(struct comparison *c, const char *fmt, ...)
{
    char text[400];
    va_list args;

    if (c->is_found)
        return true;
    va_start(args, fmt);
    text_print_args(text, sizeof(text), fmt, args);
    va_end(args);
    text_print(c->buf, c->buf_bytes, "%s at %d:%d: %s", c->op ? c->op->name : "tree",
               c->op ? c->op->line : 0, c->op ? c->op->col : 0, text);
    c->is_found = true;
    return true;
}

static bool same_text(struct mlir_text a, struct mlir_text b)
{
    return a.bytes == b.bytes && (a.bytes == 0 || memcmp(a.data, b.data, a.bytes) == 0);
}

/* but for blanks */
static bool same_words(struct mlir_text a, struct mlir_text b)
{
    size_t i = 0, k = 0;

    for (;;) {
        while (i < a.bytes && isspace((unsigned char)a.data[i]))
            i++;
        while (k < b.bytes && isspace((unsigned char)b.data[k]))
            k++;
        if (i == a.bytes || k == b.bytes)
            return i == a.bytes && k == b.bytes;
        if (a.data[i++] != b.data[k++])
            return false;
    }
}

static bool same_attr(const struct mlir_attr *a, const struct mlir_attr *b);

static bool same_type(const struct mlir_type *a, const struct mlir_type *b)
{
    if (a == b)
        return true;
    if (!a || !b || a->kind != b->kind || a->rank != b->rank || a->part_count != b->part_count ||
        a->result_count != b->result_count || a->is_ranked != b->is_ranked)
        return false;
    if (a->kind == MLIR_SCALAR && (a->element != b->element || !same_words(a->text, b->text)))
        return false;
    for (int i = 0; i < a->rank; i++) {
        if (a->dim[i] != b->dim[i])
            return false;
    }
    for (int i = 0; i < a->part_count; i++) {
        if (!same_type(a->part[i], b->part[i]))
            return false;
    }
    for (int i = 0; i < a->result_count; i++) {
        if (!same_type(a->result[i], b->result[i]))
            return false;
    }
    return same_type(a->item, b->item) && !a->encoding == !b->encoding &&
           (!a->encoding || same_attr(a->encoding, b->encoding));
}

static bool same_elements(const struct mlir_attr *a, const struct mlir_attr *b)
{
    int64_t count = mlir_type_elements(a->type);
    size_t bytes = a->type->item->element == ELEMENT_COUNT
                       ? 8 : hlo_element_bytes(a->type->item->element);

    if (!same_type(a->type, b->type) || !a->data != !b->data)
        return false;
    for (int64_t i = 0; a->data && i < count; i++) {
        const char *x = a->data, *y = b->data;

        if (memcmp(x + (a->is_splat ? 0 : (size_t)i * bytes),
                   y + (b->is_splat ? 0 : (size_t)i * bytes), bytes) != 0)
            return false;
    }
    return true;
}

/* The type of a channel is not in artifacts. */
static bool same_pairs(const struct mlir_attr *a, const struct mlir_attr *b)
{
    bool is_channel = a->kind == MLIR_DIALECT && strcmp(a->name, "stablehlo.channel_handle") == 0;

    for (int i = 0; i < a->count; i++) {
        const struct mlir_attr *other = mlir_attr_find(b, a->named[i].name);

        if (is_channel && strcmp(a->named[i].name, "type") == 0)
            continue;
        if (!other || !same_attr(a->named[i].attr, other))
            return false;
    }
    return a->count == b->count;
}

static bool same_ints(const struct mlir_attr *a, const struct mlir_attr *b)
{
    for (int i = 0; i < a->count && i < b->count; i++) {
        if (a->ints[i] != b->ints[i])
            return false;
    }
    return a->count == b->count;
}

static bool same_attr(const struct mlir_attr *a, const struct mlir_attr *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case MLIR_UNIT:
    case MLIR_LOCATION:
        return true;
    case MLIR_BOOL:
    case MLIR_INTEGER:
        return a->integer == b->integer;
    case MLIR_FLOAT:                    /* text has fewer digits of an f32 than of a double */
        return (float)a->number == (float)b->number ||
               (a->number != a->number && b->number != b->number);
    case MLIR_STRING:
    case MLIR_SYMBOL:
        return same_text(a->text, b->text);
    case MLIR_RAW:
        return same_words(a->text, b->text);
    case MLIR_ENUM:
        return strcmp(a->name, b->name) == 0 && same_text(a->text, b->text);
    case MLIR_DIALECT:
        if (strcmp(a->name, b->name) != 0)
            return false;
        return strncmp(a->name, "stablehlo.", 10) == 0 && (!a->text.bytes || !b->text.bytes)
                   ? same_pairs(a, b) : same_words(a->text, b->text);
    case MLIR_DICTIONARY:
        return same_pairs(a, b);
    case MLIR_TYPE:
        return same_type(a->type, b->type);
    case MLIR_DENSE:
        return same_elements(a, b);
    case MLIR_INTS:
        return same_ints(a, b);
    case MLIR_ARRAY:
        for (int i = 0; i < a->count && i < b->count; i++) {
            if (!same_attr(a->item[i], b->item[i]))
                return false;
        }
        return a->count == b->count;
    }
    return false;
}

/* What an attribute that is not there means, where it means something. */
static bool is_default(const struct mlir_named *n)
{
    static const struct { const char *name; int64_t value; } numbers[] = {
        {"api_version", 1}, {"has_side_effect", 0}, {"indices_are_sorted", 0},
        {"unique_indices", 0}, {"is_stable", 0}, {"dimension", -1}, {"is_host_transfer", 0},
        {"lower", 0}, {"version", 0}, {"feature_group_count", 1}, {"batch_group_count", 1}
    };
    const struct mlir_attr *a = n->attr;
    bool is_list = a->kind == MLIR_ARRAY || a->kind == MLIR_DICTIONARY;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (strcmp(numbers[i].name, n->name) == 0)
            return a->integer == numbers[i].value;
    }
    if (strcmp(n->name, "backend_config") == 0)
        return a->text.bytes == 0;
    if (strcmp(n->name, "precision_config") == 0) {
        for (int i = 0; i < a->count; i++) {
            if (!mlir_text_is(a->item[i]->text, "DEFAULT"))
                return false;
        }
        return true;
    }
    if (strcmp(n->name, "arg_attrs") == 0 || strcmp(n->name, "res_attrs") == 0) {
        for (int i = 0; i < a->count; i++) {
            if (a->item[i]->count)
                return false;
        }
        return true;
    }
    if (strcmp(n->name, "padding") == 0 || strstr(n->name, "dilation") ||
        strstr(n->name, "stride") || strcmp(n->name, "window_reversal") == 0)
        return true;                    /* windows say what is not usual */
    return (is_list && a->count == 0) || strcmp(n->name, "sym_visibility") == 0 ||
           strcmp(n->name, "jax.uses_shape_polymorphism") == 0;
}

static bool differ_attrs(struct comparison *c, const struct mlir_op *a, const struct mlir_op *b)
{
    for (int i = 0; i < a->attr_count; i++) {
        const struct mlir_attr *other = mlir_op_attr(b, a->attr[i].name);

        if (!other && !is_default(&a->attr[i]))
            return differ(c, "attribute %s is only in the first", a->attr[i].name);
        if (other && !same_attr(a->attr[i].attr, other) &&
            !(is_default(&a->attr[i]) && is_default(&(struct mlir_named){a->attr[i].name, other})))
            return differ(c, "attribute %s differs (kinds %d, %d; \"%.80s\", \"%.80s\")",
                          a->attr[i].name, (int)a->attr[i].attr->kind, (int)other->kind,
                          a->attr[i].attr->text.data ? a->attr[i].attr->text.data : "",
                          other->text.data ? other->text.data : "");
    }
    for (int i = 0; i < b->attr_count; i++) {
        if (!mlir_op_attr(a, b->attr[i].name) && !is_default(&b->attr[i]))
            return differ(c, "attribute %s is only in the second", b->attr[i].name);
    }
    return false;
}

static bool same_string(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool differ_places(struct comparison *c, const struct mlir_op *a, const struct mlir_op *b)
{
    struct hlo_place x = {0}, y = {0};
    struct arena names;
    bool is_other = false;

    if (!a->location || !b->location)
        return false;
    arena_init(&names);
    mlir_place_of(&names, a->location, &x);
    mlir_place_of(&names, b->location, &y);
    if (!same_string(x.op_name, y.op_name) || !same_string(x.file, y.file) || x.line != y.line)
        is_other = differ(c, "places %s %s:%d and %s %s:%d", x.op_name ? x.op_name : "-",
                          x.file ? x.file : "-", x.line, y.op_name ? y.op_name : "-",
                          y.file ? y.file : "-", y.line);
    arena_fini(&names);
    return is_other;
}

static bool differ_values(struct comparison *c, const struct mlir_value *a,
                          const struct mlir_value *b, int count)
{
    for (int i = 0; i < count; i++) {
        if (!same_type(a[i].type, b[i].type))
            return differ(c, "the types of value %d differ", i);
        c->other[a[i].id] = b[i].id;
    }
    return false;
}

static bool differ_op(struct comparison *c, const struct mlir_op *a, const struct mlir_op *b);

static bool differ_block(struct comparison *c, const struct mlir_block *a,
                         const struct mlir_block *b)
{
    if (a->argument_count != b->argument_count || a->op_count != b->op_count)
        return differ(c, "%d arguments and %d operations, %d and %d", a->argument_count,
                      a->op_count, b->argument_count, b->op_count);
    if (differ_values(c, a->argument, b->argument, a->argument_count))
        return true;
    for (int i = 0; i < a->op_count; i++) {
        if (differ_op(c, a->op[i], b->op[i]))
            return true;
    }
    return false;
}

static bool differ_op(struct comparison *c, const struct mlir_op *a, const struct mlir_op *b)
{
    c->op = a;
    if (strcmp(a->name, b->name) != 0)
        return differ(c, "the other is %s", b->name);
    if (a->operand_count != b->operand_count || a->result_count != b->result_count ||
        a->region_count != b->region_count)
        return differ(c, "%d operands, %d results, %d regions; %d, %d, %d", a->operand_count,
                      a->result_count, a->region_count, b->operand_count, b->result_count,
                      b->region_count);
    for (int i = 0; i < a->operand_count; i++) {
        if (c->other[a->operand[i]->id] != b->operand[i]->id)
            return differ(c, "operand %d is another value", i);
    }
    if (differ_values(c, a->result, b->result, a->result_count) || differ_attrs(c, a, b) ||
        differ_places(c, a, b))
        return true;
    for (int i = 0; i < a->region_count; i++) {
        c->op = a;
        if (a->region[i].block_count != b->region[i].block_count)
            return differ(c, "region %d has %d blocks, %d", i, a->region[i].block_count,
                          b->region[i].block_count);
        for (int k = 0; k < a->region[i].block_count; k++) {
            if (differ_block(c, &a->region[i].block[k], &b->region[i].block[k]))
                return true;
        }
    }
    return false;
}

const char *mlir_difference(const struct mlir_tree *a, const struct mlir_tree *b, char *buf,
                            size_t buf_bytes)
{
    struct comparison c = {.buf = buf, .buf_bytes = buf_bytes};

    c.other = malloc(((size_t)a->value_count + 1) * sizeof(int));
    if (!c.other)
        abort();
    memset(c.other, -1, (size_t)a->value_count * sizeof(int));
    if (a->module_count != b->module_count)
        differ(&c, "%d modules, %d", a->module_count, b->module_count);
    for (int i = 0; i < a->module_count && !c.is_found; i++)
        differ_op(&c, a->module[i], b->module[i]);
    free(c.other);
    return c.is_found ? buf : NULL;
}
