/* Shares a bundle's cycles among the lines that its operations are for. */
#include "report/view/line_share.h"

#define LINES_MAX ISA_BUNDLE_OP_MAX

/* may an operation make its bundle wait for this */
static bool may_wait(const struct isa_op *op, enum stall_reason r)
{
    const struct isa_info *info = isa_info((enum isa_opcode)op->code);

    switch (r) {
    case STALL_MXU: case STALL_STAGING: case STALL_RESULT: return info->unit == UNIT_MXU;
    case STALL_XLU: return info->unit == UNIT_XLU;
    case STALL_EUP: return info->unit == UNIT_EUP;
    case STALL_BANK: return info->slot == SLOT_LOAD || info->slot == SLOT_STORE;
    case STALL_STORE_LOAD: return info->slot == SLOT_LOAD;
    case STALL_HBM: case STALL_ICI: case STALL_SYNC: return info->slot == SLOT_MISC;
    case STALL_DMA_QUEUE: return info->slot == SLOT_DMA;
    default: return true;
    }
}

/* different lines of a bundle's operations, those that may wait for `r`; STALL_COUNT: all. Those of
 * no line count only where there are no others. */
static int lines_in(const struct isa_program *p, const int *line_of_op, const struct isa_bundle *b,
                    enum stall_reason r, int list[LINES_MAX])
{
    int count = 0;

    for (int pass = 0; pass < 2 && !count; pass++)
        for (uint32_t i = b->first_op; i < b->first_op + b->op_count; i++) {
            int line = line_of_op[i], k;

            if ((!line && !pass) || (r != STALL_COUNT && !may_wait(&p->op[i], r)))
                continue;
            for (k = 0; k < count && list[k] != line; k++)
                continue;
            if (k == count && count < LINES_MAX)
                list[count++] = line;
        }
    return count;
}

/* the bundle that an empty one lets time pass for: the next with operations */
static const struct isa_bundle *worked_for(const struct isa_program *p, uint32_t number)
{
    while (p->bundle[number].op_count == 0 && number + 1 < p->bundle_count)
        number++;
    return &p->bundle[number];
}

void line_share(const struct isa_program *p, const int *line_of_op, uint32_t number,
                const struct bundle_sums *of, struct line_sums *to)
{
    const struct isa_bundle *b = worked_for(p, number);
    int all[LINES_MAX], some[LINES_MAX], count = lines_in(p, line_of_op, b, STALL_COUNT, all);

    if (!count)
        all[count++] = 0;
    for (int i = 0; i < count; i++) {
        to[all[i]].issued += of->issued / count;
        to[all[i]].bytes += of->bytes / count;
    }
    for (int r = 0; r < STALL_COUNT; r++) {
        const int *list = some;
        int n = of->waited[r] > 0 ? lines_in(p, line_of_op, b, (enum stall_reason)r, some) : 0;

        if (!n) {
            list = all;
            n = count;
        }
        for (int i = 0; i < n; i++) {
            to[list[i]].stall[r] += of->waited[r] / n;
            to[list[i]].waited += of->waited[r] / n;
        }
    }
}
