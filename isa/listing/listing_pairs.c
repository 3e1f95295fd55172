/*
 * A push and its pops, a copy and the waits for it: where one of them is not
 * known, the others cannot do their work and become stand-ins with it.
 */
#include "isa/listing/listing_internal.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

struct named {
    const char *name;                   /* "%22" of a push */
    struct listing_op *op;
    UT_hash_handle hh;
};

static bool begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static void drop(struct listing *l, struct listing_op *op, const struct listing_op *with)
{
    if (op->reason)
        return;
    op->reason = arena_printf(l->arena, "belongs to %.80s in line %d", with->mnemonic, with->line);
    op->code = -1;
}

/* "%22" at the end of a pop names its push */
static const char *source_of(const struct listing_op *op)
{
    const char *at = strrchr(op->text, '%');

    return at && strstr(op->text, op->mnemonic) < at ? at : "";
}

static void drop_named(struct listing *l)
{
    struct named *pushes = NULL, *n;

    for (uint32_t i = 0; i < l->op_count; i++) {
        struct listing_op *op = &l->op[i];

        if (op->result[0] && (op->slot == SLOT_PUSH || op->slot == SLOT_EUP)) {
            HASH_FIND_STR(pushes, op->result, n);
            if (!n) {
                n = arena_alloc(l->arena, sizeof(*n));
                n->name = op->result;
                HASH_ADD_KEYPTR(hh, pushes, n->name, strlen(n->name), n);
            }
            n->op = op;
        } else if (op->slot == SLOT_POP) {
            HASH_FIND_STR(pushes, source_of(op), n);
            if (n && n->op->reason)
                drop(l, op, n->op);
            else if (n && op->reason)
                drop(l, n->op, op);
        }
    }
    HASH_CLEAR(hh, pushes);
}

/* Pops that name no push: of a transpose, of a matrix unit. */
enum { GROUP_XPOSE, GROUP_MXU, GROUP_COUNT };

static int group_of(const struct listing_op *op)
{
    if (begins(op->mnemonic, "vxpose") || begins(op->mnemonic, "vpop.trf"))
        return GROUP_XPOSE;
    if (op->unit == UNIT_MXU && !begins(op->mnemonic, "vmatpush") &&
        !begins(op->mnemonic, "vmatprep.subr"))
        return GROUP_MXU;
    return -1;
}

static void drop_groups(struct listing *l)
{
    const struct listing_op *unknown[GROUP_COUNT][ISA_UNIT_MAX] = { { NULL } };

    for (uint32_t i = 0; i < l->op_count; i++) {
        const struct listing_op *op = &l->op[i];
        int group = group_of(op);

        if (group >= 0 && op->reason && !unknown[group][op->unit_index])
            unknown[group][op->unit_index] = op;
    }
    for (uint32_t i = 0; i < l->op_count; i++) {
        int group = group_of(&l->op[i]);

        if (group >= 0 && unknown[group][l->op[i].unit_index])
            drop(l, &l->op[i], unknown[group][l->op[i].unit_index]);
    }
}

static bool names(const char *text, const char *allocation)
{
    size_t length = strlen(allocation);

    for (const char *at = strchr(text, '#'); at; at = strchr(at + 1, '#'))
        if (strncmp(at + 1, allocation, length) == 0 && (at[length + 1] == ']' ||
                                                         at[length + 1] == ' '))
            return true;
    return false;
}

/* waits, and the subtractions behind them: a negative number as the compiler prints it */
static bool takes_from_flag(const struct listing_op *op)
{
    const char *comma = strrchr(op->text, ',');

    if (begins(op->mnemonic, "dma.done") || begins(op->mnemonic, "vwait"))
        return true;
    return begins(op->mnemonic, "vsyncadd") && comma && strtoll(comma + 1, NULL, 0) > INT32_MAX;
}

/* by the first unknown copy that raises each flag: a listing may have very many of either */
static void drop_waits(struct listing *l)
{
    const struct listing_op **copy = arena_array(l->arena, l->allocation_count, sizeof(*copy));

    for (uint32_t i = 0; i < l->op_count; i++) {
        if (l->op[i].unit != UNIT_DMA || !l->op[i].reason)
            continue;
        for (uint32_t j = 0; j < l->allocation_count; j++)
            if (!copy[j] && l->allocation[j].space == SPACE_SFLAG &&
                names(l->op[i].text, l->allocation[j].name))
                copy[j] = &l->op[i];
    }
    for (uint32_t i = 0; i < l->op_count; i++) {
        if (!takes_from_flag(&l->op[i]))
            continue;
        for (uint32_t j = 0; j < l->allocation_count; j++)
            if (copy[j] && names(l->op[i].text, l->allocation[j].name))
                drop(l, &l->op[i], copy[j]);
    }
}

void listing_drop_partners(struct listing *l)
{
    drop_named(l);
    drop_groups(l);
    drop_waits(l);
}
