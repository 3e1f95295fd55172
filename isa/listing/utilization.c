/*
 * Counts units used per bundle of a listing by a table of rules, to compare with the compiler's
 * own count.
 */
#include "isa/listing/utilization.h"

#include "base/units.h"

#include <string.h>

/*
 * What an operation of a slot and unit counts: `column` in bundles
 * b + first .. b + last of its own bundle b, for a unit with a number once per
 * unit, however many pushes overlap. The first row that fits holds.
 */
static const struct rule {
    int slot, unit;                     /* -1: any */
    const char *prefix;                 /* of the mnemonic */
    int column, first, last;            /* column -1: nothing */
} rules[] = {
    { SLOT_POP,    -1,          "",        -1,           0, 0 },
    { -1,          UNIT_MXU,    "vmatmul", COLUMN_MXU,   1, 4 },
    { -1,          UNIT_MXU,    "",        -1,           0, 0 },
    { -1,          UNIT_XLU,    "",        COLUMN_XLU,   1, 4 },
    { -1,          UNIT_DMA,    "",        COLUMN_SALU,  0, 0 },
    { SLOT_SCALAR, -1,          "",        COLUMN_SALU,  0, 0 },
    { SLOT_EUP,    -1,          "",        COLUMN_VALU,  0, 0 },    /* and see below */
    { SLOT_VALU,   -1,          "",        COLUMN_VALU,  0, 0 },
    { SLOT_LOAD,   -1,          "",        COLUMN_LOAD,  0, 0 },
    { SLOT_STORE,  -1,          "",        COLUMN_STORE, 0, 0 },
    { SLOT_MISC,   -1,          "",        COLUMN_LOAD,  0, 0 },
};
static const struct rule eup_rule = { SLOT_EUP, -1, "", COLUMN_EUP, 1, 1 };

static const struct rule *rule_of(const struct listing_op *op)
{
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        const struct rule *r = &rules[i];

        if ((r->slot < 0 || r->slot == op->slot) && (r->unit < 0 || r->unit == op->unit) &&
            strncmp(op->mnemonic, r->prefix, strlen(r->prefix)) == 0)
            return r;
    }
    return NULL;
}

/* bundles that the units of a column are busy up to, exclusive */
struct busy {
    uint32_t end[COLUMN_COUNT][ISA_UNIT_MAX];
};

static void apply(const struct rule *r, const struct listing_op *op, struct busy *busy,
                  struct utilization_row *rows, uint32_t row_count)
{
    uint32_t from = op->bundle + (uint32_t)r->first, end = op->bundle + (uint32_t)r->last + 1;

    if (r->last > 0) {
        uint32_t *busy_end = &busy->end[r->column][op->unit_index];

        if (from < *busy_end)
            from = *busy_end;
        if (end > *busy_end)
            *busy_end = end;
    }
    for (; from < end && from < row_count; from++)
        rows[from].count[r->column]++;
}

struct utilization_row *utilization_count(const struct listing *l, struct arena *a)
{
    struct utilization_row *rows = arena_array(a, l->bundle_count, sizeof(*rows));
    struct busy busy = { { { 0 } } };

    for (uint32_t i = 0; i < l->op_count; i++) {
        const struct listing_op *op = &l->op[i];
        const struct rule *r = op->is_nothing ? NULL : rule_of(op);

        if (!r || r->column < 0)
            continue;
        apply(r, op, &busy, rows, l->bundle_count);
        if (op->slot == SLOT_EUP)
            apply(&eup_rule, op, &busy, rows, l->bundle_count);
    }
    return rows;
}

void utilization_print(const struct utilization_row *capacity, const struct utilization_row *row,
                       uint32_t row_count, FILE *to)
{
    static const char *const heads[COLUMN_COUNT] = { "MXU", "XLU", "VALU", "EUP", "LOAD", "STORE",
                                                     "SALU" };

    fprintf(to, "== CAPACTIY:\n");      /* the compiler's spelling */
    for (int i = 0; i < COLUMN_COUNT; i++)
        fprintf(to, "%5s%s", heads[i], i + 1 < COLUMN_COUNT ? "|" : "\n");
    for (int i = 0; i < COLUMN_COUNT; i++)
        fprintf(to, "%5d%s", capacity->count[i], i + 1 < COLUMN_COUNT ? " " : "\n");
    fprintf(to, "== UTILIZATION:\n");
    for (uint32_t i = 0; i < row_count; i++)
        for (int j = 0; j < COLUMN_COUNT; j++)
            fprintf(to, "%d%c", row[i].count[j], j + 1 < COLUMN_COUNT ? ' ' : '\n');
}
