/* What a program takes and gives, and of which operations it consists. */
#include "cli/hlo/hlo.h"

#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "import/program/count.h"
#include "import/structure/structure_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_SHOWN = 30, TYPE_BYTES = 160 };

struct hlo_counts hlo_counts_of(const struct hlo_module *m)
{
    struct hlo_counts counts = {.instructions = 0};

    for (int c = 0; c < m->computation_count; c++) {
        for (int i = 0; i < m->computation[c].count; i++)
            counts.by_opcode[m->computation[c].instruction[i].op]++;
        counts.instructions += m->computation[c].count;
    }
    return counts;
}

static const struct hlo_computation *entry_of(const struct hlo_module *m)
{
    return m->entry >= 0 ? &m->computation[m->entry] : NULL;
}

/* "model.py:12" */
static const char *place_of(const struct hlo_place *p, struct arena *a)
{
    if (!p->file)
        return p->op_name;
    return p->line ? arena_printf(a, "%s:%d", p->file, p->line) : p->file;
}

static const struct table_field array_fields[] = {
    {TABLE_SHOWN(INT, NULL, "#")}, {TABLE_SHOWN(TEXT, NULL, "name")},
    {TABLE_SHOWN(TEXT, NULL, "type")}, {TABLE_SHOWN(INT, NULL, "bytes")},
    {TABLE_SHOWN(TEXT, NULL, "sharding")}, {TABLE_SHOWN(TEXT, NULL, "from")}};

static void add_array(struct table *t, int number, const char *name, const struct hlo_type *type,
                      const struct hlo_instruction *i)
{
    char text[TYPE_BYTES];

    TABLE_ROW(t, cell_int(number), cell_text(name),
              cell_text(arena_strdup(t->arena, hlo_type_print(type, text, sizeof(text)))),
              cell_int((int64_t)hlo_type_bytes(type)),
              cell_text(hlo_detail(i)->sharding_count ? hlo_detail(i)->sharding[0].text : NULL),
              cell_text(place_of(hlo_place_of(i), t->arena)));
}

static void print_parameters(const struct hlo_computation *entry, bool whole)
{
    int shown = whole || entry->parameter_count < ROWS_SHOWN ? entry->parameter_count : ROWS_SHOWN;
    struct table t;

    printf("\n%d parameter%s\n", entry->parameter_count, entry->parameter_count == 1 ? "" : "s");
    if (!shown)
        return;
    table_begin_count(&t, array_fields, COUNT_OF(array_fields), NULL);
    for (int p = 0; p < shown; p++) {
        const struct hlo_instruction *i = &entry->instruction[entry->parameter[p]];

        add_array(&t, p, hlo_name_in(t.arena, i), i->type, i);
    }
    table_print_text(&t, stdout);
    table_end(&t);
    if (shown < entry->parameter_count)
        printf("  and %d more (--whole)\n", entry->parameter_count - shown);
}

static void print_results(const struct hlo_computation *entry, bool whole)
{
    const struct hlo_instruction *root = &entry->instruction[entry->root];
    int leaves = hlo_type_leaves(root->type);
    int shown = whole || leaves < ROWS_SHOWN ? leaves : ROWS_SHOWN;
    struct table t;

    printf("\n%d result%s\n", leaves, leaves == 1 ? "" : "s");
    table_begin_count(&t, array_fields, COUNT_OF(array_fields), NULL);
    for (int r = 0; r < shown; r++) {
        const struct hlo_instruction *i = root->op == OPCODE_TUPLE && leaves == root->operand_count
                                              ? &entry->instruction[root->operand[r]] : root;

        add_array(&t, r, hlo_name_in(t.arena, i), hlo_type_leaf(root->type, r), i);
    }
    table_print_text(&t, stdout);
    table_end(&t);
    if (shown < leaves)
        printf("  and %d more (--whole)\n", leaves - shown);
}

/* what it and its host exchange while it runs, by the numbers that systole exec counts */
static void print_queues(const struct hlo_module *m)
{
    static const struct table_field fields[] = {
        {TABLE_SHOWN(TEXT, NULL, "#")}, {TABLE_SHOWN(TEXT, NULL, "by")},
        {TABLE_SHOWN(TEXT, NULL, "type")}, {TABLE_SHOWN(INT, NULL, "uses")},
        {TABLE_SHOWN(TEXT, NULL, "first")}};
    struct structure_queues q;
    struct arena a;
    struct table t;

    arena_init(&a);
    structure_find_queues(m, &a, &q);
    if (q.count) {
        printf("\n%d queue%s between program and host\n", q.count, q.count == 1 ? "" : "s");
        table_begin_count(&t, fields, COUNT_OF(fields), NULL);
        for (int k = 0; k < q.count; k++) {
            for (int n = 0; n < q.item[k].leaves; n++) {
                char text[TYPE_BYTES];

                TABLE_ROW(&t, cell_text(arena_printf(t.arena, "%s.%d", q.item[k].goes_in ? "infeed"
                                                     : "outfeed", q.item[k].first + n)),
                          cell_text(structure_queue_name(q.item[k].kind)),
                          cell_text(arena_strdup(t.arena, hlo_type_print(
                              hlo_type_leaf(&q.item[k].type, n), text, sizeof(text)))),
                          q.item[k].uses >= 0 ? cell_int(q.item[k].uses) : cell_none(),
                          cell_text(hlo_name_in(t.arena, q.item[k].at)));
            }
        }
        table_print_text(&t, stdout);
        table_end(&t);
    }
    arena_fini(&a);
}

struct counted { enum hlo_opcode op; int64_t count; };

/* the most frequent first */
static int by_count(const void *a, const void *b)
{
    const struct counted *x = a, *y = b;

    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return (int)x->op - (int)y->op;
}

static void print_operations(const struct hlo_module *m)
{
    struct hlo_counts counts = hlo_counts_of(m);
    struct counted order[OPCODE_COUNT];
    int used = 0, col = 0;

    for (int op = 0; op < OPCODE_COUNT; op++) {
        if (counts.by_opcode[op])
            order[used++] = (struct counted){(enum hlo_opcode)op, counts.by_opcode[op]};
    }
    qsort(order, (size_t)used, sizeof(*order), by_count);
    printf("\n%s instructions of %d operations in %d computations\n",
           text_thousands(counts.instructions).text, used, m->computation_count);
    for (int k = 0; k < used; k++) {
        char text[80];
        int width = snprintf(text, sizeof(text), "%lld %s", (long long)order[k].count,
                             hlo_opcode_name(order[k].op));

        if (col && col + width > 96) {
            printf("\n");
            col = 0;
        }
        printf("%s%s", col ? ", " : "  ", text);
        col += width + 2;
    }
    printf("\n");
}

/* what one run costs, as far as types and known loops tell */
static struct hlo_cost cost_of(const struct hlo_module *m)
{
    struct hlo_cost cost = {0};
    struct arena a;
    struct err e;

    arena_init(&a);
    if (m->entry >= 0 && hlo_verify(m, &e) == 0)
        cost = hlo_count_computations(m, &a)[m->entry];
    arena_fini(&a);
    return cost;
}

static void print_cost(const struct hlo_module *m)
{
    struct hlo_cost cost = cost_of(m);

    if (cost.operations == 0)
        return;
    printf("\n%.4g flops, %.4g transcendentals, %.4g bytes read and written by operations", cost.flops,
           cost.transcendentals, cost.bytes);
    if (cost.collective_bytes > 0)
        printf(", %.4g by collectives", cost.collective_bytes);
    if (cost.unknown_loops > 0)
        printf(";\n  loops that do not say how often they run, %.0f of them, are counted once",
               cost.unknown_loops);
    printf("\n");
}

void hlo_print_summary(const struct hlo_module *m, bool whole)
{
    const struct hlo_computation *entry = entry_of(m);

    printf("%s: ", m->name);
    if (m->replica_count > 1)
        printf("%lld replicas, ", (long long)m->replica_count);
    printf("%lld device%s%s\n", (long long)m->partition_count, m->partition_count == 1 ? "" : "s",
           m->is_scheduled ? ", scheduled" : "");
    if (entry) {
        print_parameters(entry, whole);
        print_results(entry, whole);
        print_queues(m);
    } else {
        printf("\nno entry computation; whole computations:\n");
        for (int c = 0; c < m->computation_count; c++)
            printf("  %s, %d instructions\n", m->computation[c].name, m->computation[c].count);
    }
    print_operations(m);
    print_cost(m);
}

static json_t *array_to_json(const char *name, const struct hlo_type *t)
{
    char text[TYPE_BYTES];

    return json_pack("{s:s, s:s, s:I}", "name", name, "type", hlo_type_print(t, text, sizeof(text)),
                     "bytes", (json_int_t)hlo_type_bytes(t));
}

void hlo_summary_to_json(const struct hlo_module *m, json_t *to)
{
    const struct hlo_computation *entry = entry_of(m);
    struct hlo_counts counts = hlo_counts_of(m);
    struct hlo_cost cost = cost_of(m);
    json_t *parameters = json_array(), *results = json_array(), *operations = json_object();

    for (int p = 0; entry && p < entry->parameter_count; p++)
        json_array_append_new(parameters,
                              array_to_json(hlo_name(&entry->instruction[entry->parameter[p]]),
                                            entry->instruction[entry->parameter[p]].type));
    for (int r = 0; entry && r < hlo_type_leaves(entry->instruction[entry->root].type); r++)
        json_array_append_new(
            results, array_to_json(hlo_name(&entry->instruction[entry->root]),
                                   hlo_type_leaf(entry->instruction[entry->root].type, r)));
    for (int op = 0; op < OPCODE_COUNT; op++) {
        if (counts.by_opcode[op])
            json_object_set_new(operations, hlo_opcode_name((enum hlo_opcode)op),
                                json_integer(counts.by_opcode[op]));
    }
    json_object_set_new(to, "name", json_string(m->name));
    json_object_set_new(to, "replicas", json_integer(m->replica_count));
    json_object_set_new(to, "partitions", json_integer(m->partition_count));
    json_object_set_new(to, "instructions", json_integer(counts.instructions));
    json_object_set_new(to, "flops", json_real(cost.flops));
    json_object_set_new(to, "transcendentals", json_real(cost.transcendentals));
    json_object_set_new(to, "bytes", json_real(cost.bytes));
    json_object_set_new(to, "collective_bytes", json_real(cost.collective_bytes));
    json_object_set_new(to, "unknown_loops", json_real(cost.unknown_loops));
    json_object_set_new(to, "parameters", parameters);
    json_object_set_new(to, "results", results);
    json_object_set_new(to, "operations", operations);
}
