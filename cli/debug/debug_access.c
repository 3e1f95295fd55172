/*
 * What the operations of a bundle touch in VMEM, CMEM and SMEM, from the
 * registers as they are in front of it. Copies are looked at when they have
 * started: machine_copy_touches.
 */
#include "cli/debug/debug.h"

#include <string.h>

#define ROW_BYTES 512

/* operands by position; -1: it has none */
struct access_form {
    enum memory memory;
    bool is_write, is_access;
    int address, stride, sublanes, index_register;
};

static int operand_of(const struct isa_info *info, char role)
{
    const char *at = memchr(info->role, role, info->operand_count);

    return at ? (int)(at - info->role) : -1;
}

/* what has an address: loads, stores, and the copy whose descriptor is in SMEM */
static struct access_form form_of(enum isa_opcode code)
{
    const struct isa_info *info = isa_info(code);
    uint32_t touches = isa_touches(code);
    int address = operand_of(info, 'B');

    return (struct access_form){
        .memory = touches & ISA_SMEM ? MEMORY_SMEM : touches & ISA_VMEM ? MEMORY_VMEM : MEMORY_CMEM,
        .is_write = info->slot != SLOT_DMA && info->writes & (ISA_VMEM | ISA_SMEM),
        .is_access = address >= 0, .address = address, .stride = operand_of(info, 'T'),
        .sublanes = operand_of(info, 'M'),
        .index_register = info->reads & ISA_IAR ? info->choice_first : -1};
}

bool debug_guard_holds(const struct debugger *d, int core, const struct isa_op *op)
{
    return op->pred == ISA_PRED_ALWAYS
           || machine_predicate(d->m, core, op->pred) != (op->pred_is_negated != 0);
}

static int64_t value_of(const struct debugger *d, int core, const struct isa_operand *o)
{
    if (o->kind == OPERAND_REG)
        return machine_scalar(d->m, core, o->value);
    return o->kind == OPERAND_IMM ? o->value : 0;
}

static void add_rows(const struct debugger *d, int core, const struct isa_op *op,
                     const struct access_form *form, int64_t row, struct debug_access *a)
{
    uint32_t sublanes = (uint32_t)op->operand[form->sublanes].value;

    a->bytes = ROW_BYTES;
    for (int i = 0; i < 8; i++) {
        int64_t offset = form->index_register >= 0
                         ? machine_index_rows(d->m, core,
                                              op->operand[form->index_register].value)[i]
                         : i * (int64_t)op->operand[form->stride].value;

        if (sublanes >> i & 1u)
            a->first[a->count++] = (row + offset) * ROW_BYTES;
    }
}

static void add_access(const struct debugger *d, int core, const struct isa_op *op,
                       const struct access_form *form, struct debug_access *a)
{
    int64_t address = value_of(d, core, &op->operand[form->address])
                      + value_of(d, core, &op->operand[form->address + 1]);

    a->memory = form->memory;
    a->is_write = form->is_write;
    if (form->sublanes >= 0) {
        add_rows(d, core, op, form, address, a);
        return;
    }
    a->first[a->count++] = address;
    a->bytes = op->code == OP_DMA_GENERAL ? 64 : 4;
}

int debug_accesses(const struct debugger *d, int core, uint32_t bundle,
                   struct debug_access access[DEBUG_ACCESS_MAX])
{
    const struct isa_program *p = machine_program(d->m, core);
    int count = 0;

    for (uint32_t i = 0; bundle < p->bundle_count && i < p->bundle[bundle].op_count; i++) {
        uint32_t number = p->bundle[bundle].first_op + i;
        const struct isa_op *op = &p->op[number];
        struct access_form form = form_of((enum isa_opcode)op->code);

        if (!form.is_access || !debug_guard_holds(d, core, op)
            || count == DEBUG_ACCESS_MAX)
            continue;
        access[count] = (struct debug_access){.op = number};
        add_access(d, core, op, &form, &access[count++]);
    }
    return count;
}

void debug_print_access(const struct debug_access *a, FILE *to)
{
    bool is_rows = a->bytes == ROW_BYTES;
    int i = 0, last;

    fprintf(to, "%s %s %s", a->is_write ? "writes" : "reads", memory_name(a->memory),
            is_rows ? "rows" : "byte");
    if (!is_rows)
        fprintf(to, " 0x%llx", (unsigned long long)a->first[0]);
    for (; is_rows && i < a->count; i = last + 1) {
        for (last = i; last + 1 < a->count && a->first[last + 1] == a->first[last] + a->bytes;)
            last++;
        fprintf(to, "%s %lld", i ? "," : "", (long long)(a->first[i] / ROW_BYTES));
        if (last > i)
            fprintf(to, "..%lld", (long long)(a->first[last] / ROW_BYTES));
    }
}
