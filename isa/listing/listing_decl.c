/* Reads what a listing declares: the kernel's operands, and allocations in full dumps. */
#include "isa/listing/listing_internal.h"

#include "base/text.h"
#include "base/units.h"

#include <ctype.h>
#include <limits.h>
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

/* "may-alias: {0,2}" behind its other fields: the operands that share its buffer */
static void set_alias(const struct listing *l, struct listing_operand *o, const char *at,
                      const char *end)
{
    at = field(at, end, "may-alias: {");
    while (at && at < end && isdigit((unsigned char)*at)) {
        char *behind;
        long number = strtol(at, &behind, 10);

        for (uint32_t i = 0; i < l->operand_count; i++)
            if (l->operand[i].number == number && l->operand[i].space == o->space)
                o->alias = (int32_t)i;
        for (at = behind; at < end && (*at == ',' || *at == ' ');)
            at++;
    }
}

/* "inlined_call_operand.hbm [shape: f32[8,128], index: 0, kind: input, shape index: {}]" */
void listing_declare_operand(struct listing *l, struct listing_op *op)
{
    const char *at = l->text + op->at, *end = l->text + op->end;
    const char *space = field(at, end, "inlined_call_operand."), *shape, *index, *kind;
    struct listing_operand *o = &l->operand[l->operand_count];
    long number;

    if (l->operand_count == LISTING_OPERAND_MAX) {
        op->reason = "an operand behind the 1024 that a kernel may have";
        return;
    }
    shape = field(at, end, "shape:");
    index = field(at, end, "index:");
    kind = field(at, end, "kind:");
    *o = (struct listing_operand){ .name = op->result, .line = op->line, .col = op->col,
                                   .alias = -1 };
    o->space = space ? space_of(space, end) : SPACE_UNKNOWN;
    o->reg = register_of(op->result);
    if (o->reg < 0) {
        op->reason = "an operand without a scalar register";
        return;
    }
    if (o->space == SPACE_UNKNOWN)
        op->reason = "an operand in a memory that is not known; it stays 0";
    if (!shape || !listing_parse_shape(shape, end, &o->shape)) {
        memset(&o->shape, 0, sizeof(o->shape));
        snprintf(o->shape.type, sizeof(o->shape.type), "?");
        op->reason = "an operand without a shape such as f32[8,128]";
    }
    number = index ? strtol(index, NULL, 10) : (long)l->operand_count;
    if (number < 0 || number > INT_MAX) {
        op->reason = "an operand whose index is not in 0..2147483647";
        return;
    }
    o->number = (int)number;
    if (kind)
        set_kind(o, kind, end);
    set_alias(l, o, at, end);
    l->operand_count++;
}

/* "#allocation1 [shape = 'u32[72,128]{1,0:T(1,128)}', space=vmem, size = 0x9000, scoped, …]" */
int listing_declare_allocation(struct listing *l, const char *at, const char *end, int line,
                               struct isa_errors *errors)
{
    const char *name = at + 1, *space, *size, *offset;
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
        return 0;                       /* a memory of another kind: its uses tell */
    if (listing_find(at, end, "fixed_abs") && (offset = field(at, end, "offset = ")) != NULL) {
        a->is_fixed = true;
        a->address = strtoll(offset, NULL, 0) & UINT32_MAX;
    }
    for (uint32_t i = 0; i < l->allocation_count; i++)
        if (strcmp(l->allocation[i].name, a->name) == 0)
            return listing_error(errors, l->file, line, 1, "allocation %.80s is already declared "
                                 "in line %d", a->name, l->allocation[i].line);
    l->allocation_count++;
    return 0;
}
