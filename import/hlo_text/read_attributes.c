/* Attributes of an instruction by their table, computations and instructions that they name. */
#include "import/hlo_text/reader.h"

#include "base/text.h"

#include <string.h>

int hlo_read_kind_callee_first(struct hlo_reader *r, struct hlo_reading *g, void *field)
{
    (void)field;
    return hlo_read_callee(r, &g->callee[0]);
}

int hlo_read_kind_callee_second(struct hlo_reader *r, struct hlo_reading *g, void *field)
{
    (void)field;
    return hlo_read_callee(r, &g->callee[1]);
}

int hlo_read_kind_callee_also(struct hlo_reader *r, struct hlo_reading *g, void *field)
{
    return hlo_read_kind_callee_first(r, g, field);
}

int hlo_read_kind_callees(struct hlo_reader *r, struct hlo_reading *g, void *field)
{
    struct hlo_scan *s = &r->scan;
    int *callee = NULL, status;
    size_t capacity = 0;
    int count = 0;

    status = hlo_scan_want(s, '{');
    while (status == 0 && !hlo_scan_take(s, '}')) {
        int one = -1;

        status = (count > 0 && hlo_scan_want(s, ',')) || hlo_read_callee(r, &one) ? -1 : 0;
        MEM_ADD(callee, count, capacity) = one;
    }
    *(const int **)field = hlo_pool_copy(&r->pool, callee, (size_t)count, sizeof(*callee));
    g->f.d.computation_count = count;
    mem_free(callee);
    return status;
}

int hlo_read_kind_branches(struct hlo_reader *r, struct hlo_reading *g, void *field)
{
    return hlo_read_kind_callees(r, g, field);
}

int hlo_read_kind_branch_true(struct hlo_reader *r, struct hlo_reading *g, void *field)
{
    g->f.d.is_predicated = true;
    return hlo_read_kind_callee_first(r, g, field);
}

int hlo_read_kind_branch_false(struct hlo_reader *r, struct hlo_reading *g, void *field)
{
    g->f.d.is_predicated = true;
    return hlo_read_kind_callee_second(r, g, field);
}

int hlo_read_kind_control(struct hlo_reader *r, struct hlo_reading *g, void *field)
{
    struct hlo_scan *s = &r->scan;
    int count = 0;

    (void)g;
    if (hlo_scan_want(s, '{'))
        return -1;
    while (!hlo_scan_take(s, '}')) {
        struct hlo_span name;
        int found;

        if ((count > 0 && hlo_scan_want(s, ',')) || hlo_scan_name(s, &name, "an instruction"))
            return -1;
        found = hlo_names_find(&r->instructions[r->computation_depth], name.at, name.length);
        if (found < 0)
            return hlo_scan_error(s, name.at, "no instruction above is named %.*s",
                                  name.length < 80 ? (int)name.length : 80, name.at);
        *hlo_read_add_int(r, &count) = found;
    }
    *(struct hlo_ints *)field = hlo_read_keep_ints(r, r->ints, count);
    return 0;
}

static int (*const readers[HLO_KINDS])(struct hlo_reader *, struct hlo_reading *, void *) = {
#define KIND(ID, id) [HLO_KIND_##ID] = hlo_read_kind_##id,
#include "import/hlo_text/attribute_kinds.def"
};

static int read_other(struct hlo_reader *r, struct hlo_reading *g, struct hlo_span name)
{
    struct hlo_pair pair = {.key = hlo_read_keep(r, name)};

    if (hlo_read_verbatim(r, &pair.value))
        return -1;
    MEM_ADD(g->other, g->f.d.other.count, g->other_capacity) = pair;
    return 0;
}

static int read_attribute(struct hlo_reader *r, struct hlo_reading *g)
{
    struct hlo_scan *s = &r->scan;
    struct hlo_span name;
    int row;

    if (!hlo_scan_take_ident(s, &name))
        return hlo_scan_unexpected(s, "the name of an attribute");
    if (hlo_scan_want(s, '='))
        return -1;
    row = hlo_attribute_find(g->f.i.op, name.at, name.length);
    if (row < 0)
        return read_other(r, g, name);
    if (g->seen[row])
        return hlo_scan_error(s, name.at, "the attribute %s stands twice",
                              hlo_attributes[row].name);
    g->seen[row] = 1;
    return readers[hlo_attributes[row].kind](r, g, (char *)&g->f + hlo_attributes[row].offset);
}

static int check_required(struct hlo_reader *r, const struct hlo_reading *g)
{
    for (int row = 0; row < HLO_ATTRIBUTE_COUNT; row++) {
        if (!g->seen[row] && hlo_attributes[row].need == HLO_NEED_REQUIRED
            && hlo_attribute_is_owned(row, g->f.i.op))
            return hlo_scan_error(&r->scan, g->at, "%s needs the attribute %s",
                                  hlo_opcode_name(g->f.i.op), hlo_attributes[row].name);
    }
    return 0;
}

struct hlo_detail *hlo_read_keep_detail(struct hlo_reader *r, const struct hlo_detail *d)
{
    return hlo_keep_detail(r->module, d);
}

/* The instruction refers to what it has; lists of computations by role become one. */
static void tie(struct hlo_reader *r, struct hlo_reading *g)
{
    unsigned has = hlo_opcode_attributes(g->f.i.op);
    int roles = g->callee[1] >= 0 ? 2 : g->callee[0] >= 0 ? 1 : 0;

    if (has & HLO_HAS_GATHER)
        g->f.d.gather = hlo_pool_copy(&r->pool, &g->f.gather, 1, sizeof(g->f.gather));
    if (has & HLO_HAS_DOT)
        g->f.d.dot = hlo_pool_copy(&r->pool, &g->f.dot, 1, sizeof(g->f.dot));
    if (has & HLO_HAS_CONV)
        g->f.d.conv = hlo_pool_copy(&r->pool, &g->f.conv, 1, sizeof(g->f.conv));
    if (has & HLO_HAS_GROUPS)
        g->f.d.groups = hlo_pool_copy(&r->pool, &g->f.groups, 1, sizeof(g->f.groups));
    if (roles) {
        g->f.d.computation = hlo_pool_copy(&r->pool, g->callee, (size_t)roles, sizeof(int));
        g->f.d.computation_count = roles;
    }
    if (g->f.d.other.count)
        g->f.d.other.item =
            hlo_pool_copy(&r->pool, g->other, (size_t)g->f.d.other.count, sizeof(*g->other));
}

int hlo_read_attributes(struct hlo_reader *r, struct hlo_reading *g)
{
    int status = 0;

    g->callee[0] = g->callee[1] = -1;
    g->f.conv.feature_groups = g->f.conv.batch_groups = 1;
    g->f.d.is_largest = g->f.i.op == OPCODE_TOPK;
    while (status == 0 && !g->is_nested && hlo_scan_take(&r->scan, ','))
        status = read_attribute(r, g);
    if (status == 0)
        status = check_required(r, g);
    if (status == 0 && g->f.d.is_predicated && (g->callee[0] < 0 || g->callee[1] < 0))
        status = hlo_scan_error(&r->scan, g->at,
                                "conditional needs both true_computation and false_computation");
    if (status == 0)
        tie(r, g);
    mem_free(g->other);
    g->other = NULL;
    return status;
}
