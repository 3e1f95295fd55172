/* `systole report` prints the tables of a run again, from its folder or its trace. */
#include "base/text.h"
#include "base/units.h"
#include "cli/commands/cli.h"
#include "report/tables/op_tree.h"
#include "report/tables/saved.h"

#include <argp.h>
#include <string.h>

#define ROWS_SHOWN 20                   /* of a table, where none is asked for by name */

enum { KEY_JSON = 256, KEY_CSV, KEY_MARKDOWN, KEY_SECTION, KEY_TOP, KEY_SORT };

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
    int format;                         /* 0, KEY_JSON, KEY_CSV or KEY_MARKDOWN */
    int64_t top;                        /* 0: all rows */
};

static const struct argp_option options[] = {
    {"section", KEY_SECTION, "NAME", 0,
     "only this: steps, ops, layers, units, stalls, hbm, links, memory, energy, energy_ops or "
     "counters", 0},
    {"top", KEY_TOP, "N", 0, "print only the first N rows of each table", 0},
    {"sort", KEY_SORT, "COLUMN", 0,
     "order of the section's rows, largest first: self_time_pct, wasted_cycles…", 0},
    {"csv", KEY_CSV, NULL, 0, "print all columns of the section as CSV", 1},
    {"json", KEY_JSON, NULL, 0, "print all columns as JSON", 1},
    {"md", KEY_MARKDOWN, NULL, 0, "print tables in Markdown", 1},
    {0},
};

static const struct section *find_section(const char *name, struct argp_state *state)
{
    const char *names[COUNT_OF(sections)];
    char hint[80];

    for (size_t i = 0; i < COUNT_OF(sections); i++) {
        names[i] = sections[i].name;
        if (strcmp(name, names[i]) == 0)
            return &sections[i];
    }
    argp_error(state, "no section \"%s\"%s; there are steps, ops, layers, units, stalls, hbm, "
               "links, memory, energy, energy_ops, counters", name,
               text_did_you_mean(name, names, COUNT_OF(names), hint, sizeof(hint)));
    return NULL;
}

static void check_together(const struct arguments *args, struct argp_state *state)
{
    if (!args->path)
        argp_error(state, "which run? (a folder that --out left, or a .strace)");
    if (args->format == KEY_CSV && !args->section)
        argp_error(state, "--csv has one header: which table? (--section ops)");
    if (args->sort && !args->section)
        argp_error(state, "--sort needs a table: which? (--section ops)");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct arguments *args = state->input;

    switch (key) {
    case KEY_JSON: case KEY_CSV: case KEY_MARKDOWN:
        if (args->format && args->format != key)
            argp_error(state, "--json, --csv and --md do not go together");
        args->format = key;
        return 0;
    case KEY_SECTION: args->section = find_section(arg, state); return 0;
    case KEY_SORT: args->sort = arg; return 0;
    case KEY_TOP:
        if (text_parse_int(arg, 1, 1000000, &args->top))
            argp_error(state, "--top is \"%s\", allowed are whole numbers in 1..1000000", arg);
        return 0;
    case ARGP_KEY_ARG:
        if (args->path)
            argp_error(state, "one run is enough: %s, %s", args->path, arg);
        args->path = arg;
        return 0;
    case ARGP_KEY_END: check_together(args, state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp parser = {
    options, parse_option, "RUN",
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
    "  systole report out --section memory --csv > memory.csv",
    NULL, NULL, NULL,
};

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
    char hint[120];

    for (int i = 0; i < args->section->table_count; i++) {
        enum table_id id = args->section->table[i];
        int column = table_find_column(id, args->sort);

        if (column >= 0) {
            table_sort(&s->table[id], (enum table_column)column);
            return 0;
        }
        for (int c = 0; c < COLUMN_COUNT; c++)
            if (column_info((enum table_column)c)->table == id)
                names[count++] = column_info((enum table_column)c)->name;
    }
    return err_set(e, "--sort: section %s has no column \"%s\"%s; docs/report.md lists them",
                   args->section->name, args->sort,
                   text_did_you_mean(args->sort, names, count, hint, sizeof(hint)));
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
    return id == TABLE_OPS && !args->format && !args->sort;
}

static void print_table(const struct arguments *args, const struct table *t)
{
    if (args->format == KEY_MARKDOWN)
        table_print_markdown(t, stdout);
    else if (is_tree(args, t->id))
        op_tree_print(t, (size_t)args->top, stdout);
    else
        table_print_text(t, stdout);
    if (args->format != KEY_MARKDOWN)
        putchar('\n');
}

/* the whole report has the first rows of long tables, and says how many there are */
static void print_shortened(const struct arguments *args, const struct section *section,
                            struct table *t)
{
    size_t count = t->row_count;

    if (args->section || args->top || args->format || is_tree(args, t->id)
        || count <= ROWS_SHOWN) {
        print_table(args, t);
        return;
    }
    table_truncate(t, ROWS_SHOWN);
    table_print_text(t, stdout);
    printf("  and %zu more: --section %s\n\n", count - ROWS_SHOWN, section->name);
}

static void print_tables(const struct arguments *args, struct saved *s)
{
    printf("%s%s\n", args->format == KEY_MARKDOWN ? "# " : "", s->heading);
    if (*s->note)
        printf("%s\n", s->note);
    putchar('\n');
    for (size_t i = 0; i < COUNT_OF(sections); i++)
        for (int j = 0; j < sections[i].table_count; j++) {
            enum table_id id = sections[i].table[j];

            /* asked for by name: say that there is nothing, too */
            if (is_wanted(args, id)
                && (s->table[id].row_count > 0 || (args->section && j == 0)))
                print_shortened(args, &sections[i], &s->table[id]);
        }
}

static int report(const struct arguments *args, struct arena *a, struct err *e)
{
    struct saved s;

    if (saved_open(&s, args->path, a, e) || (args->sort && sort_tables(args, &s, e)))
        return -1;
    for (int i = 0; args->top && i < TABLE_COUNT; i++)
        if (!is_tree(args, (enum table_id)i))
            table_truncate(&s.table[i], (size_t)args->top);
    if (args->format == KEY_JSON)
        return print_json(args, &s, e);
    if (args->format == KEY_CSV)
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

    argp_parse(&parser, argc, argv, 0, NULL, &args);
    arena_init(&a);
    status = report(&args, &a, &e) ? cli_fail(&e) : 0;
    arena_fini(&a);
    return status;
}
