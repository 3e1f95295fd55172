/*
 * What a listing declares: the kernel's operands, and allocations in full dumps.
 */
#include "isa/listing_internal.h"

#include "base/text.h"
#include "base/units.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_BYTES 4

int listing_error(struct isa_errors *errors, const char *file, int line, int col,
                  const char *fmt, ...)
{
    char msg[400];
    va_list ap;

    if (errors->count == ISA_ERROR_MAX)
        return -1;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof(msg), fmt, ap);
    va_end(ap);
    return err_at(&errors->err[errors->count++], file, line, col, "%s", msg);
}

static enum listing_space space_of(const char *at, const char *end)
{
    static const struct { const char *name; enum listing_space space; } spaces[] = {
        { "hbm", SPACE_HBM }, { "vmem", SPACE_VMEM }, { "smem", SPACE_SMEM },
        { "sflag", SPACE_SFLAG }, { "<no memory space>", SPACE_VALUE },
    };

    while (at < end && isspace((unsigned char)*at))
        at++;
    for (size_t i = 0; i < COUNT_OF(spaces); i++) {
        size_t length = strlen(spaces[i].name);

        if ((size_t)(end - at) >= length && memcmp(at, spaces[i].name, length) == 0 &&
            ((size_t)(end - at) == length || !isalnum((unsigned char)at[length])))
            return spaces[i].space;
    }
    return SPACE_UNKNOWN;
}

/* "%s128_s0" or "s0": the number of its scalar register, -1 for none */
static int register_of(const char *name)
{
    const char *at = strrchr(name, '_');
    int64_t number;

    at = at ? at + 1 : name[0] == '%' ? name + 1 : name;
    if (at[0] != 's' || text_parse_int(at + 1, 0, ISA_SREG_COUNT - 1, &number) != 0)
        return -1;
    return (int)number;
}

/* behind `key`, or NULL */
static const char *field(const char *at, const char *end, const char *key)
{
    const char *found = listing_find(at, end, key);

    return found ? found + strlen(key) : NULL;
}

static void set_kind(struct listing_operand *o, const char *kind, const char *end)
{
    const char *stop = kind;

    while (stop < end && *stop != ',' && *stop != ']')
        stop++;
    o->is_output = listing_find(kind, stop, "output") != NULL ||
                   listing_find(kind, stop, "inout") != NULL;
    o->is_input = listing_find(kind, stop, "in") != NULL;
}

/* "inlined_call_operand.hbm [shape: f32[8,128], index: 0, kind: input, shape index: {}]" */
int listing_declare_operand(struct listing *l, const struct listing_op *op,
                            struct isa_errors *errors)
{
    const char *at = l->text + op->at, *end = l->text + op->end;
    const char *space = field(at, end, "inlined_call_operand."), *shape, *index, *kind;
    struct listing_operand *o = &l->operand[l->operand_count];

    shape = field(at, end, "shape:");
    index = field(at, end, "index:");
    kind = field(at, end, "kind:");
    *o = (struct listing_operand){ .name = op->result, .line = op->line, .col = op->col };
    o->space = space ? space_of(space, end) : SPACE_UNKNOWN;
    o->reg = register_of(op->result);
    if (o->space == SPACE_UNKNOWN)
        return listing_error(errors, l->file, op->line, op->col, "an operand in a memory that is "
                             "not known (hbm, vmem, smem, sflag, <no memory space>)");
    if (o->reg < 0)
        return listing_error(errors, l->file, op->line, op->col, "operand \"%.80s\" names no "
                             "scalar register (s0..s%d)", op->result, ISA_SREG_COUNT - 1);
    if (!shape || !listing_parse_shape(shape, end, &o->shape))
        return listing_error(errors, l->file, op->line, op->col, "operand %.80s without a shape "
                             "such as \"shape: f32[8,128]\"", op->result);
    o->number = index ? (int)strtol(index, NULL, 10) : (int)l->operand_count;
    if (kind)
        set_kind(o, kind, end);
    for (uint32_t i = 0; i < l->operand_count; i++)
        if (l->operand[i].number == o->number)
            return listing_error(errors, l->file, op->line, op->col, "operand %d is already "
                                 "declared in line %d", o->number, l->operand[i].line);
    l->operand_count++;
    return 0;
}

/* "#allocation1 [shape = 'u32[72,128]{1,0:T(1,128)}', space=vmem, size = 0x9000, scoped, …]" */
int listing_declare_allocation(struct listing *l, const char *at, const char *end, int line,
                               struct isa_errors *errors)
{
    const char *name = at + 1, *space, *size;
    struct listing_allocation *a = &l->allocation[l->allocation_count];
    int64_t bytes = 0;

    for (at = name; at < end && (isalnum((unsigned char)*at) || *at == '_');)
        at++;
    space = field(at, end, "space=");
    size = field(at, end, "size =");
    size = size ? size : field(at, end, "size=");
    if (size)
        bytes = strtoll(size, NULL, 0);
    if (at == name || !space || bytes < 0 || bytes > UINT32_MAX)
        return listing_error(errors, l->file, line, 1, "expected an allocation such as "
                             "\"#allocation1 [shape = 'f32[8,128]', space=vmem, size = 0x1000]\"");
    *a = (struct listing_allocation){ .line = line, .col = 1, .is_declared = true };
    a->name = arena_printf(l->arena, "%.*s", (int)(at - name), name);
    a->space = space_of(space, end);
    a->bytes = a->space == SPACE_SFLAG ? div_up(bytes, WORD_BYTES) : bytes;
    if (a->space == SPACE_UNKNOWN || a->space == SPACE_VALUE)
        return listing_error(errors, l->file, line, 1, "allocation %.80s in a memory that is not "
                             "known (hbm, vmem, smem, sflag)", a->name);
    for (uint32_t i = 0; i < l->allocation_count; i++)
        if (strcmp(l->allocation[i].name, a->name) == 0)
            return listing_error(errors, l->file, line, 1, "allocation %.80s is already declared "
                                 "in line %d", a->name, l->allocation[i].line);
    l->allocation_count++;
    return 0;
}
