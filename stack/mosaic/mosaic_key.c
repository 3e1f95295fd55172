/*
 * Writes a kernel field by field, so that holes between fields say nothing, and behind each struct
 * what its pointers lead to. Values are their numbers.
 */
#include "stack/mosaic/mosaic_key.h"

#include <string.h>

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

static const struct field type_fields[] = {
    SAVED(mosaic_type, kind), SAVED(mosaic_type, element), SAVED(mosaic_type, space),
    SAVED(mosaic_type, rank), SAVED(mosaic_type, dim)};

static const struct field attr_fields[] = {
    APART(mosaic_attr, name), SAVED(mosaic_attr, kind), SAVED(mosaic_attr, integer),
    SAVED(mosaic_attr, number), SAVED(mosaic_attr, count), APART(mosaic_attr, ints),
    APART(mosaic_attr, text), APART(mosaic_attr, element), SAVED_BOOL(mosaic_attr, is_splat),
    APART(mosaic_attr, type)};

static const struct field place_fields[] = {
    APART(mosaic_place, file), APART(mosaic_place, name), SAVED(mosaic_place, line),
    SAVED(mosaic_place, col)};

static const struct field op_fields[] = {
    SAVED(mosaic_op, code), SAVED(mosaic_op, number), APART(mosaic_op, name),
    SAVED(mosaic_op, operand_count), SAVED(mosaic_op, result_count), SAVED(mosaic_op, attr_count),
    SAVED(mosaic_op, region_count), APART(mosaic_op, operand), APART(mosaic_op, result),
    APART(mosaic_op, segment), SAVED(mosaic_op, segment_count), APART(mosaic_op, attr),
    APART(mosaic_op, region), APART(mosaic_op, place)};

static const struct field window_fields[] = {
    SAVED_BOOL(mosaic_window, is_windowed), SAVED(mosaic_window, bound),
    APART(mosaic_window, transform), SAVED_BOOL(mosaic_window, is_element),
    SAVED(mosaic_window, pad_low), SAVED(mosaic_window, pad_high), SAVED(mosaic_window, buffers),
    SAVED_BOOL(mosaic_window, is_revisited)};

static const struct field cost_fields[] = {
    SAVED(mosaic_cost, flops), SAVED(mosaic_cost, bytes), SAVED(mosaic_cost, transcendentals),
    SAVED(mosaic_cost, remote_bytes)};

static const struct field kernel_fields[] = {
    APART(mosaic_kernel, arena), APART(mosaic_kernel, name), SAVED(mosaic_kernel, version),
    SAVED(mosaic_kernel, value_count), SAVED(mosaic_kernel, operation_count),
    SAVED(mosaic_kernel, function_count), APART(mosaic_kernel, function),
    APART(mosaic_kernel, main), SAVED(mosaic_kernel, grid_rank), SAVED(mosaic_kernel, grid),
    SAVED(mosaic_kernel, semantics), SAVED(mosaic_kernel, prefetch_count),
    SAVED(mosaic_kernel, operand_count), SAVED(mosaic_kernel, output_count),
    SAVED(mosaic_kernel, scratch_count), APART(mosaic_kernel, window), APART(mosaic_kernel, array),
    SAVED(mosaic_kernel, array_count), SAVED(mosaic_kernel, dynamic_count),
    APART(mosaic_kernel, known), APART(mosaic_kernel, alias),
    SAVED(mosaic_kernel, vmem_limit_bytes), SAVED(mosaic_kernel, collective_id),
    SAVED_BOOL(mosaic_kernel, has_communication), SAVED_BOOL(mosaic_kernel, has_side_effect),
    APART(mosaic_kernel, cost)};

#define ADD_FIELDS(key, table, at) add_fields(key, table, COUNT_OF(table), at)

static void add_fields(struct bytes *key, const struct field *field, size_t count, const void *at)
{
    for (size_t i = 0; i < count; i++)
        if (field[i].kind != FIELD_APART)
            bytes_append(key, (const char *)at + field[i].offset, field[i].bytes);
}

/* whether there is something behind a pointer, which is told */
static bool is_there(struct bytes *key, const void *p)
{
    unsigned char there = p != NULL;

    bytes_append(key, &there, 1);
    return p;
}

/* with its end, so that two texts are not taken for one */
static void add_text(struct bytes *key, const char *text)
{
    if (is_there(key, text))
        bytes_append(key, text, strlen(text) + 1);
}

static void add_values(struct bytes *key, struct mosaic_value *const *value, int count)
{
    for (int i = 0; i < count; i++) {
        bytes_append(key, &value[i]->id, sizeof(value[i]->id));
        ADD_FIELDS(key, type_fields, &value[i]->type);
        add_text(key, value[i]->name);
    }
}

static void add_attr(struct bytes *key, const struct mosaic_attr *a)
{
    ADD_FIELDS(key, attr_fields, a);
    add_text(key, a->name);
    add_text(key, a->text);
    ADD_FIELDS(key, type_fields, &a->type);
    if (a->kind == MOSAIC_ATTR_INTS)
        bytes_append(key, a->ints, (size_t)a->count * sizeof(*a->ints));
    if (a->kind == MOSAIC_ATTR_ELEMENTS)
        bytes_append(key, a->element, (a->is_splat ? 1 : (size_t)a->count) * sizeof(*a->element));
}

static void add_block(struct bytes *key, const struct mosaic_block *b);

static void add_op(struct bytes *key, const struct mosaic_op *op)
{
    ADD_FIELDS(key, op_fields, op);
    add_text(key, op->name);
    add_values(key, op->operand, op->operand_count);
    add_values(key, op->result, op->result_count);
    if (is_there(key, op->segment))
        bytes_append(key, op->segment, (size_t)op->segment_count * sizeof(*op->segment));
    for (int i = 0; i < op->attr_count; i++)
        add_attr(key, &op->attr[i]);
    ADD_FIELDS(key, place_fields, &op->place);
    add_text(key, op->place.file);
    add_text(key, op->place.name);
    for (int i = 0; i < op->region_count; i++)
        add_block(key, op->region[i]);
}

static void add_block(struct bytes *key, const struct mosaic_block *b)
{
    bytes_append(key, &b->argument_count, sizeof(b->argument_count));
    bytes_append(key, &b->op_count, sizeof(b->op_count));
    add_values(key, b->argument, b->argument_count);
    for (int i = 0; i < b->op_count; i++)
        add_op(key, b->op[i]);
}

void mosaic_key(const struct mosaic_kernel *k, struct bytes *key)
{
    ADD_FIELDS(key, kernel_fields, k);
    add_text(key, k->name);
    for (int i = 0; i < k->function_count; i++) {
        add_text(key, k->function[i]->name);
        add_block(key, k->function[i]->body);
    }
    add_text(key, k->main->name);
    for (int i = 0; i < k->operand_count; i++) {
        ADD_FIELDS(key, window_fields, &k->window[i]);
        add_text(key, k->window[i].transform ? k->window[i].transform->name : NULL);
    }
    for (int i = 0; i < k->array_count; i++)
        ADD_FIELDS(key, type_fields, &k->array[i]);
    if (is_there(key, k->known))
        for (int i = 0; i < k->dynamic_count + k->array_count - k->output_count; i++)
            is_there(key, k->known[i]);
    if (is_there(key, k->alias))
        bytes_append(key, k->alias, (size_t)k->output_count * sizeof(*k->alias));
    ADD_FIELDS(key, cost_fields, &k->cost);
}
