/* What of a program cannot be run on cores, all of it at once, with lines. */
#include "cli/hlo/hlo.h"

#include "base/table.h"
#include "base/units.h"
#include "import/lower/lower.h"
#include "import/program/build.h"
#include "import/shard/shard.h"
#include "import/structure/structure_message.h"

#include <stdio.h>

static int keep(struct hlo_rewrite *r, struct hlo_builder *b, const struct hlo_instruction *from,
                const int *operand)
{
    (void)r, (void)b, (void)from, (void)operand;
    return -1;
}

/* a program of several devices as one of them has it: that is what runs */
static int find_cut(const struct hlo_module *m, struct arena *a, struct lower_refusals *r,
                    struct err *e)
{
    const struct shard_options options = {0};
    struct lower_settings settings = {
        .device_count = (int)(m->replica_count * m->partition_count)};
    struct shard_boundary boundary;
    struct hlo_module cut;
    int status;

    if (!shard_is_wanted(m))
        return lower_unsupported(m, &settings, a, r, e);
    if (shard_program(m, &options, &cut, a, &boundary, e))
        return -1;
    settings.device_count = (int)(m->replica_count * boundary.partitions);
    status = lower_unsupported(&cut, &settings, a, r, e);
    hlo_module_fini(&cut);
    return status;
}

/* the module stays as it was read, for it is shown so */
static int find(const struct hlo_module *m, struct arena *a, struct lower_refusals *r, struct err *e)
{
    struct hlo_rewrite copy = {.visit = keep};
    struct hlo_module own;
    int status;

    if (!structure_has_messages(m))
        return find_cut(m, a, r, e);
    if (hlo_rewrite_module(m, &own, a, &copy, e))
        return -1;
    status = structure_messages(&own, e) ? -1 : find_cut(&own, a, r, e);
    hlo_module_fini(&own);
    return status;
}

int hlo_print_refused(const struct hlo_module *m, struct arena *a, struct err *e)
{
    static const struct table_field fields[] = {
        {TABLE_SHOWN(INT, NULL, "line")}, {TABLE_SHOWN(TEXT, NULL, "instruction")},
        {TABLE_SHOWN(TEXT, NULL, "operation")}, {TABLE_SHOWN(TEXT, NULL, "why"), .is_whole_text = true},
        {TABLE_SHOWN(TEXT, NULL, "from")}};
    struct lower_refusals refused;
    struct table t;

    if (find(m, a, &refused, e))
        return -1;
    if (refused.count == 0) {
        printf("\nall of it can be run on cores\n");
        return 0;
    }
    printf("\n%d place%s cannot be run on cores\n", refused.count, refused.count == 1 ? "" : "s");
    table_begin_count(&t, fields, COUNT_OF(fields), NULL);
    for (int i = 0; i < refused.count; i++) {
        const struct lower_refusal *r = &refused.item[i];

        TABLE_ROW(&t, r->line ? cell_int(r->line) : cell_none(), cell_text(r->instruction),
                  cell_text(r->opcode), cell_text(r->reason),
                  cell_text(*r->source ? r->source : NULL));
    }
    table_print_text(&t, stdout);
    table_end(&t);
    return refused.count;
}

int hlo_refused_to_json(const struct hlo_module *m, struct arena *a, json_t *to, struct err *e)
{
    struct lower_refusals refused;
    json_t *list = json_array();

    if (find(m, a, &refused, e)) {
        json_decref(list);
        return -1;
    }
    for (int i = 0; i < refused.count; i++) {
        const struct lower_refusal *r = &refused.item[i];

        json_array_append_new(list, json_pack("{s:i, s:s, s:s, s:s}", "line", r->line, "instruction",
                                              r->instruction, "operation", r->opcode, "why",
                                              r->reason));
    }
    json_object_set_new(to, "refused", list);
    return 0;
}
