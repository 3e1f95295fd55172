/* systole hlo: programs of HLO and StableHLO, looked at without running them. */
#include "cli/commands/cli.h"

#include "cli/common/fail.h"
#include "cli/common/options.h"
#include "cli/hlo/hlo.h"
#include "import/hlo_proto/hlo_proto.h"
#include "import/hlo_text/hlo_text.h"
#include "import/mlir/mlir.h"
#include "import/program/extract.h"
#include "import/read/read.h"
#include "import/stablehlo/stablehlo.h"

#include <stdio.h>

enum print_form { PRINT_HLO, PRINT_SHORT, PRINT_STABLEHLO, PRINT_GENERIC, PRINT_PROTO,
                  PRINT_NOTHING };

struct arguments {
    const char *file, *other, *cut;
    enum print_form print;
    bool whole, no_metadata, is_json;
};

#define AT(member) CLI_AT(struct arguments, member)

static const struct cli_option options[] = {
    {"print", 'p', "FORM", "print the program: hlo, short (no %%, no types in heads), stablehlo, "
     "generic (StableHLO in MLIR's general form), or proto (HloModuleProto, bytes)", 1, CLI_CHOICE, AT(print),
     .words = "hlo|short|stablehlo|generic|proto"},
    {"no-metadata", 0, NULL, "likewise, without what the author's program called it", 1, CLI_FLAG,
     AT(no_metadata)},
    {"diff", 0, "FILE", "tell in what the two programs differ; exit status 1 where they do", 2,
     CLI_TEXT, AT(other)},
    {"cut", 'c', "NAME", "of the program only this computation or instruction, with what it calls",
     2, CLI_TEXT, AT(cut)},
    {"whole", 0, NULL, "all rows of long tables", 3, CLI_FLAG, AT(whole)},
    {"json", 0, NULL, "print the summary as JSON", 3, CLI_FLAG, AT(is_json)},
    {0}};

static const char doc[] =
    "Show a program of HLO or StableHLO, text or bytes, gzipped or not: parameters, results, "
    "operations, and what of it cannot be run on cores.\v"
    "Examples:\n"
    "  systole hlo step.mlirbc\n"
    "  systole hlo step.mlirbc --print hlo > step.hlo\n"
    "  systole hlo step.mlirbc --cut fusion.7 --print hlo > fusion.hlo\n"
    "  systole hlo before.hlo --diff after.hlo";

static const struct cli_syntax syntax = {
    .own = {options, NULL, NULL}, .noun = "file", .noun_at = offsetof(struct arguments, file),
    .noun_hint = "(HLO or StableHLO, text or bytes)", .args_doc = "FILE", .doc = doc};

/* a text that its origin has cut has no entry; that is told, and what is whole is shown */
static void tell_cut(const struct hlo_module *m, const struct err *e)
{
    char text[700];

    if (m->entry < 0 && *e->msg)
        fprintf(stderr, "systole: %s\n", err_format(e, text, sizeof(text)));
}

static int show(const struct arguments *o, const struct hlo_module *m, struct arena *a,
                struct err *e)
{
    json_t *root;
    int status = 0;

    if (!o->is_json) {
        hlo_print_summary(m, o->whole);
        if (m->entry < 0)
            return 0;
        if (hlo_verify(m, e))           /* what follows takes types as they are written */
            return -1;
        return hlo_print_exchanged(m, a, e) || hlo_print_refused(m, a, e) < 0 ? -1 : 0;
    }
    if (m->entry >= 0 && hlo_verify(m, e))
        return -1;
    root = json_object();
    hlo_summary_to_json(m, root);
    if (m->entry >= 0)
        status = hlo_refused_to_json(m, a, root, e);
    if (status == 0) {
        json_dumpf(root, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
        printf("\n");
    }
    json_decref(root);
    return status;
}

static int diff(const struct arguments *o, const struct hlo_module *m, struct arena *a,
                struct err *e)
{
    struct hlo_module *other = program_read(o->other, a, e);
    int differences;

    if (!other)
        return -1;
    differences = hlo_print_diff(m, other);
    program_free(other);
    return differences ? 1 : 0;
}

static int print_proto(const struct hlo_module *m, struct err *e)
{
    unsigned char *bytes;
    size_t count;

    if (hlo_proto_write(m, &bytes, &count, e))
        return -1;
    fwrite(bytes, 1, count, stdout);    /* what cannot be written is told as the program ends */
    mem_free(bytes);
    return 0;
}

static int print(const struct arguments *o, const struct hlo_module *m, struct err *e)
{
    const struct hlo_text_options text = {.is_short = o->print == PRINT_SHORT,
                                          .no_metadata = o->no_metadata};
    const struct mlir_print_options mlir = {.is_general = o->print == PRINT_GENERIC,
                                            .no_locations = o->no_metadata};

    if (o->print == PRINT_PROTO)
        return print_proto(m, e);
    if (o->print >= PRINT_STABLEHLO)
        return stablehlo_print(m, stdout, &mlir, e);
    hlo_text_print(m, stdout, &text);
    return 0;
}

static int run_on(const struct arguments *o, const struct hlo_module *m, struct arena *a,
                  struct err *e)
{
    if (o->other)
        return diff(o, m, a, e);
    return o->print != PRINT_NOTHING ? print(o, m, e) : show(o, m, a, e);
}

static int run(const struct arguments *o, struct arena *a, struct err *e)
{
    struct hlo_module *m = program_read(o->file, a, e), part;
    int status;

    if (!m)
        return -1;
    tell_cut(m, e);
    if (o->cut) {
        status = hlo_extract(m, o->cut, a, &part, e);
        if (status == 0) {
            status = run_on(o, &part, a, e);
            hlo_module_fini(&part);
        }
    } else {
        status = run_on(o, m, a, e);
    }
    program_free(m);
    return status;
}

int cmd_hlo(int argc, char **argv)
{
    struct arguments o = {.print = PRINT_NOTHING};
    struct arena a;
    struct err e = {0};
    int status;

    cli_parse(&syntax, argc, argv, &o);
    arena_init(&a);
    status = run(&o, &a, &e);
    if (status < 0)
        status = cli_fail(&e);
    arena_fini(&a);
    return status;
}
