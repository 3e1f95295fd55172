/* `systole report` prints the tables of a run again, from its folder or its trace. */
#include "base/text.h"
#include "base/units.h"
#include "cli/commands/cli.h"
#include "cli/common/out_folder.h"
#include "cli/common/options.h"
#include "report/tables/op_tree.h"
#include "report/tables/saved.h"

#include <string.h>

#define ROWS_SHOWN 20                   /* of a table, where none is asked for by name */

/* a section of the command line is a table or two */
static const struct section {
    const char *name;
    enum table_id table[2];
    int table_count;
} sections[] = {
    {"steps", {TABLE_BREAKDOWN, TABLE_EPOCHS}, 2},
    {"ops", {TABLE_OPS}, 1},
    {"collectives", {TABLE_COLLECTIVES}, 1},
    {"layers", {TABLE_LAYERS}, 1},
    {"units", {TABLE_UNITS}, 1},
    {"stalls", {TABLE_STALLS}, 1},
    {"hbm", {TABLE_HBM}, 1},
    {"links", {TABLE_LINKS}, 1},
    {"memory", {TABLE_MEMORY}, 1},
    {"energy", {TABLE_ENERGY}, 1},
    {"energy_ops", {TABLE_ENERGY_OPS}, 1},
    {"counters", {TABLE_COUNTERS}, 1},
};

struct arguments {
    const char *path, *sort;
    const struct section *section;      /* NULL: all */
    bool is_json, is_csv, is_markdown;
    int64_t top;                        /* 0: all rows */
};

#define AT(member) CLI_AT(struct arguments, member)

static int parse_section(const struct cli_option *o, const char *text, void *values, struct err *e)
{
    const char *names[COUNT_OF(sections)];
    struct arguments *args = values;

    (void)o;
    for (size_t i = 0; i < COUNT_OF(sections); i++) {
        names[i] = sections[i].name;
        if (strcmp(text, names[i]) == 0) {
            args->section = &sections[i];
            return 0;
        }
    }
    return err_set(e, "no section \"%s\"%s; there are steps, ops, layers, units, stalls, hbm, "
                   "links, memory, energy, energy_ops, counters", text,
                   text_did_you_mean(text, names, COUNT_OF(names)).text);
}

static const struct cli_option options[] = {
    {"section", 0, "NAME",
     "only this: steps, ops, layers, units, stalls, hbm, links, memory, energy, energy_ops or "
     "counters", 1, CLI_OTHER, .parse = parse_section},
    {"top", 0, "N", "only the first N rows of each table", 1, CLI_WHOLE, AT(top), .lo = 1,
     .hi = 1000000},
    {"sort", 0, "COLUMN",
     "order of the section's rows, largest first: self_time_pct, wasted_cycles…", 1, CLI_TEXT,
     AT(sort)},
    {"csv", 0, NULL, "all columns of the section as CSV", 2, CLI_FLAG, AT(is_csv)},
    {"json", 0, NULL, "all columns as JSON", 2, CLI_FLAG, AT(is_json)},
    {"md", 0, NULL, "tables in Markdown", 2, CLI_FLAG, AT(is_markdown)},
    {0}};

static int check(void *values, struct err *e)
{
    const struct arguments *args = values;

    if (args->is_json + args->is_csv + args->is_markdown > 1)
        return err_set(e, "--json, --csv and --md do not go together");
    if (args->is_csv && !args->section)
        return err_set(e, "--csv has one header: which table? (--section ops)");
    if (args->sort && !args->section)
        return err_set(e, "--sort needs a table: which? (--section ops)");
    return 0;
}

static const struct cli_syntax syntax = {
    .own = {.row = options, .check = check}, .noun = "run",
    .noun_at = offsetof(struct arguments, path), .noun_hint = CLI_RUN_HINT, .args_doc = "RUN",
    .doc =
    "Prints the tables of a run: where the time of a step went, source operations, layers, units, "
    "stalls, HBM, links, memory, energy, counters.\v"
    "RUN is a folder that --out left, a stats.json, or a .strace. docs/report.md defines every "
    "column. Without options everything is printed as text, with the columns that matter most; "
    "--csv and --json have all columns. Source operations stand below their category; --sort "
    "wasted_cycles puts first what loses most against the resource that bounds it.\n\n"
    "Examples:\n"
    "  systole train examples/mnist_mlp.json --steps 2 --out out\n"
    "  systole report out\n"
    "  systole report out --section ops --sort wasted_cycles --top 5\n"
    "  systole report out --section memory --csv > memory.csv"};

static bool is_wanted(const struct arguments *args, enum table_id table)
{
    if (!args->section)
        return true;
    for (int i = 0; i < args->section->table_count; i++)
        if (args->section->table[i] == table)
            return true;
    return false;
}

/* the column, of the first table of the section that has it */
static int sort_tables(const struct arguments *args, struct saved *s, struct err *e)
{
    const char *names[COLUMN_COUNT];
    size_t count = 0;

    for (int i = 0; i < args->section->table_count; i++) {
        enum table_id id = args->section->table[i];
        int column = table_find_column(id, args->sort);

        if (column >= 0) {
            table_sort(&s->table[id], column);
            return 0;
        }
        for (int c = 0; c < COLUMN_COUNT; c++)
            if (column_table(c) == id)
                names[count++] = column_info(c)->name;
    }
    return err_set(e, "--sort: section %s has no column \"%s\"%s; docs/report.md lists them",
                   args->section->name, args->sort,
                   text_did_you_mean(args->sort, names, count).text);
}

/* ---- output ---- */

static int print_json(const struct arguments *args, const struct saved *s, struct err *e)
{
    json_t *root = json_object(), *tables = json_object();
    int status;

    json_object_set_new(root, "format", json_string("systole-report"));
    json_object_set_new(root, "version", json_integer(1));
    json_object_set_new(root, "path", json_string(s->path));
    json_object_set_new(root, "heading", json_string(s->heading));
    json_object_set_new(root, "note", json_string(s->note));
    for (int i = 0; i < TABLE_COUNT; i++)
        if (is_wanted(args, (enum table_id)i))
            json_object_set_new(tables, table_info((enum table_id)i)->name,
                                table_make_json(&s->table[i]));
    json_object_set_new(root, "tables", tables);
    status = json_dumpf(root, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
    json_decref(root);
    putchar('\n');
    return status ? err_set(e, "the report cannot be written") : 0;
}

/* as text and without an order of its own */
static bool is_tree(const struct arguments *args, enum table_id id)
{
    return id == TABLE_OPS && !args->is_markdown && !args->sort;
}

static void print_table(const struct arguments *args, enum table_id id, const struct table *t)
{
    if (args->is_markdown)
        table_print_markdown(t, stdout);
    else if (is_tree(args, id))
        op_tree_print(t, (size_t)args->top, stdout);
    else
        table_print_text(t, stdout);
    if (!args->is_markdown)
        putchar('\n');
}

/* the whole report has the first rows of long tables, and says how many there are */
static void print_shortened(const struct arguments *args, const struct section *section,
                            enum table_id id, struct table *t)
{
    size_t count = t->row_count;

    if (args->section || args->top || args->is_markdown || is_tree(args, id)
        || count <= ROWS_SHOWN) {
        print_table(args, id, t);
        return;
    }
    table_truncate(t, ROWS_SHOWN);
    table_print_text(t, stdout);
    printf("  and %zu more: --section %s\n\n", count - ROWS_SHOWN, section->name);
}

static void print_tables(const struct arguments *args, struct saved *s)
{
    printf("%s%s\n", args->is_markdown ? "# " : "", s->heading);
    if (*s->note)
        printf("%s\n", s->note);
    putchar('\n');
    for (size_t i = 0; i < COUNT_OF(sections); i++)
        for (int j = 0; j < sections[i].table_count; j++) {
            enum table_id id = sections[i].table[j];

            /* asked for by name: say that there is nothing, too */
            if (is_wanted(args, id)
                && (s->table[id].row_count > 0 || (args->section && j == 0)))
                print_shortened(args, &sections[i], id, &s->table[id]);
        }
}

static int report(const struct arguments *args, struct arena *a, struct err *e)
{
    struct saved s;

    if (saved_open(&s, out_folder_run(args->path, a), a, e) || (args->sort && sort_tables(args, &s, e)))
        return -1;
    for (int i = 0; args->top && i < TABLE_COUNT; i++)
        if (!is_tree(args, (enum table_id)i))
            table_truncate(&s.table[i], (size_t)args->top);
    if (args->is_json)
        return print_json(args, &s, e);
    if (args->is_csv)
        table_print_csv(&s.table[args->section->table[0]], stdout);
    else
        print_tables(args, &s);
    return 0;
}

int cmd_report(int argc, char **argv)
{
    struct arguments args = {0};
    struct arena a;
    struct err e;
    int status;

    cli_parse(&syntax, argc, argv, &args);
    arena_init(&a);
    status = report(&args, &a, &e) ? cli_fail(&e) : 0;
    arena_fini(&a);
    return status;
}
