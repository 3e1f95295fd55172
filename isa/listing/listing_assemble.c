/*
 * From a listing to a program: the assembler reads each operation for itself,
 * and what it cannot read becomes a stand-in.
 */
#include "isa/listing/listing_internal.h"

#include "base/hash.h"
#include "isa/asm_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A mnemonic that is not known, and the words for it, which are costly to find. */
struct stranger {
    const char *mnemonic, *reason;
    UT_hash_handle hh;
};

struct assembly {
    struct listing *listing;
    const struct isa_limits *limits;
    struct assembler as;
    struct stranger *strangers;
    struct isa_op *op;                  /* of listing operation i at op[i] */
};

static int stand_in(const struct listing_op *op)
{
    static const int codes[SLOT_COUNT] = {
        [SLOT_SCALAR] = OP_STAND_IN_SCALAR, [SLOT_VALU] = OP_STAND_IN_VALU,
        [SLOT_EUP] = OP_STAND_IN_EUP, [SLOT_LOAD] = OP_STAND_IN_LOAD,
        [SLOT_STORE] = OP_STAND_IN_STORE, [SLOT_PUSH] = OP_STAND_IN_PUSH,
        [SLOT_POP] = OP_STAND_IN_POP, [SLOT_MISC] = OP_STAND_IN_MISC,
        [SLOT_DMA] = OP_STAND_IN_DMA,
    };

    return codes[op->slot];
}

/* the allocations are names to the assembler */
static void define_names(struct assembly *s)
{
    const struct listing *l = s->listing;

    s->as.name = arena_array(l->arena, l->allocation_count + 1, sizeof(*s->as.name));
    s->as.name_count = l->allocation_count;
    for (uint32_t i = 0; i < l->allocation_count; i++)
        s->as.name[i] = (struct asm_name){ .name = l->allocation[i].name,
                                             .value = l->allocation[i].value };
}

/* the index of the bundle with that number, -1 for none */
static int64_t bundle_index(const struct listing *l, int64_t number)
{
    uint32_t first = 0, end = l->bundle_count;

    while (first < end) {
        uint32_t middle = first + (end - first) / 2;

        if (l->bundle_number[middle] < number)
            first = middle + 1;
        else
            end = middle;
    }
    return first < l->bundle_count && l->bundle_number[first] == number ? (int64_t)first : -1;
}

/* Branches name bundles by number; the program counts them. */
static bool set_target(struct assembly *s, struct listing_op *from, struct isa_op *op)
{
    int64_t target = bundle_index(s->listing, op->operand[0].value);

    if (target < 0) {
        from->reason = arena_printf(s->listing->arena, "no bundle %d in the listing",
                                    (int)op->operand[0].value);
        return false;
    }
    op->operand[0].value = (int32_t)target;
    return true;
}

static void fail(struct assembly *s, struct listing_op *from, const char *why)
{
    from->reason = arena_strdup(s->listing->arena, why);
    from->code = -1;
}

/* true where the mnemonic has been met before and is not known */
static bool is_stranger(struct assembly *s, struct listing_op *from)
{
    const struct stranger *met;

    HASH_FIND_STR(s->strangers, from->mnemonic, met);
    if (met) {
        from->reason = met->reason;
        from->code = -1;
    }
    return met != NULL;
}

static void note_stranger(struct assembly *s, const struct listing_op *from)
{
    struct stranger *met;

    if (strncmp(from->reason, "unknown operation", 17) != 0)
        return;
    met = arena_alloc(s->listing->arena, sizeof(*met));
    met->mnemonic = from->mnemonic;
    met->reason = from->reason;
    HASH_ADD_KEYPTR(hh, s->strangers, met->mnemonic, strlen(met->mnemonic), met);
}

static void read_op(struct assembly *s, struct listing_op *from, struct isa_op *op)
{
    struct assembler *as = &s->as;
    struct isa_program one = { .name = s->listing->file, .bundle_count = s->listing->bundle_count };
    struct err e;

    if (is_stranger(s, from))
        return;
    as->errors->count = 0;
    as->op_count = 0;
    as->use_count = 0;
    as->scan = (struct scan){ .text = s->listing->text, .pos = from->at, .end = from->end,
                              .line_start = from->at - (size_t)(from->col - 1),
                              .line = from->line };
    as->last = as->scan;
    if (asm_operation(as) || as->errors->count) {
        fail(s, from, as->errors->count ? as->errors->err[0].msg : "not an operation");
        note_stranger(s, from);
        return;
    }
    if (asm_char(as) >= 0 || as->use_count) {
        fail(s, from, as->use_count ? "a branch to a name" : "more than its operands");
        return;
    }
    *op = as->op[0];
    from->code = op->code;
    if (op->code == OP_SBR && !set_target(s, from, op))
        from->code = -1;
    else if (isa_check_op(&one, op, s->limits, &e))
        fail(s, from, e.msg);
}

/* Known operations take their slot from the table. */
static void take_over(struct listing_op *from, const struct isa_op *op)
{
    const struct isa_info *info = isa_info((enum isa_opcode)op->code);

    from->slot = (uint8_t)info->slot;
    from->unit = (uint8_t)info->unit;
    from->unit_index = op->unit_index;
}

static void add_bundle(struct isa_program *p, int line)
{
    p->bundle[p->bundle_count++] = (struct isa_bundle){ .first_op = p->op_count,
                                                        .line = (uint32_t)line };
}

static void add_op(struct isa_program *p, struct listing_op *from, const struct isa_op *op)
{
    struct isa_bundle *b = &p->bundle[p->bundle_count - 1];

    if (b->op_count == ISA_BUNDLE_OP_MAX) {
        from->reason = "more operations than a bundle can hold; it is left out";
        return;
    }
    from->op = p->op_count;
    p->op[p->op_count] = *op;
    if (from->reason)
        p->op[p->op_count] = (struct isa_op){ .code = (uint16_t)stand_in(from),
                                              .pred = ISA_PRED_ALWAYS };
    p->op_count++;
    b->op_count++;
}

/* an operand that the listing hands over later than at entry */
static bool is_late_operand(const struct listing *l, const struct listing_op *from,
                            struct isa_op *op)
{
    if (from->bundle == 0 || strncmp(from->mnemonic, "inlined_call_operand", 20) != 0)
        return false;
    for (uint32_t i = 0; i < l->operand_count; i++) {
        const struct listing_operand *o = &l->operand[i];

        if (strcmp(o->name, from->result) != 0)
            continue;
        *op = (struct isa_op){ .code = OP_SMOV, .pred = ISA_PRED_ALWAYS, .operand_count = 2 };
        op->operand[0] = (struct isa_operand){ .kind = OPERAND_REG, .value = o->reg };
        op->operand[1] = (struct isa_operand){ .kind = OPERAND_IMM, .value = o->value };
        return true;
    }
    return false;
}

static void hand_over(struct assembly *s)
{
    struct listing *l = s->listing;
    struct isa_program *p = &l->program;
    struct isa_op halt = { .code = OP_SHALT, .pred = ISA_PRED_ALWAYS };
    uint32_t i = 0;

    p->name = arena_strdup(l->arena, l->file);
    p->op = arena_array(l->arena, l->op_count + 1, sizeof(*p->op));
    p->bundle = arena_array(l->arena, l->bundle_count + 1, sizeof(*p->bundle));
    for (uint32_t bundle = 0; bundle < l->bundle_count; bundle++) {
        add_bundle(p, l->bundle_line[bundle]);
        for (; i < l->op_count && l->op[i].bundle == bundle; i++) {
            if (!l->op[i].is_nothing || is_late_operand(l, &l->op[i], &s->op[i]))
                add_op(p, &l->op[i], &s->op[i]);
            l->unknown_count += l->op[i].reason != NULL;
        }
    }
    add_bundle(p, l->bundle_line[l->bundle_count - 1]);
    p->op[p->op_count++] = halt;
    p->bundle[p->bundle_count - 1].op_count = 1;
}

void listing_assemble(struct listing *l, const struct isa_limits *limits)
{
    struct isa_errors errors = { .count = 0 };
    struct assembly s = { .listing = l, .limits = limits,
                          .as = { .file = l->file, .arena = l->arena, .errors = &errors } };

    s.op = arena_array(l->arena, l->op_count + 1, sizeof(*s.op));
    define_names(&s);
    for (uint32_t i = 0; i < l->op_count; i++) {
        if (l->op[i].is_nothing)
            continue;
        read_op(&s, &l->op[i], &s.op[i]);
        if (!l->op[i].reason)
            take_over(&l->op[i], &s.op[i]);
    }
    listing_drop_partners(l);
    hand_over(&s);
    listing_bound_delay(l);
    mem_free(s.as.op);
    mem_free(s.as.use);
    HASH_CLEAR(hh, s.strangers);
}
