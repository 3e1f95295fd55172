/*
 * The options of a command as a table: what each is called, what --help says of it, which values
 * it takes and where they go. A table is of one struct. It may have parts, tables of structs that
 * lie in it, so what several commands take (a chip, the engine, a trace) is written once and has
 * one spelling, one meaning and one help text.
 *
 * Groups order the help: a command's own rows are of groups 1 to 7, Engine 8, Trace 9.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H
#include "base/arena.h"
#include "base/err.h"
#include "sim/chip/chip.h"

#include <stdbool.h>
#include <stddef.h>

#define CLI_LIST_MAX 64

/* an option that may be given more than once */
struct cli_list {
    const char *item[CLI_LIST_MAX];
    int count;
};

enum cli_kind {
    CLI_END,                            /* of a table */
    CLI_HEADING,                        /* its `doc` stands above the rows of its group */
    CLI_FLAG,                           /* bool: true */
    CLI_TEXT,                           /* const char *, not empty */
    CLI_LIST,                           /* struct cli_list */
    CLI_WHOLE,                          /* int or int64_t: a whole number in lo..hi */
    CLI_BYTES,                          /* int64_t: a size in lo..hi, "64K", "256M" */
    CLI_CHOICE,                         /* int, enum or bool: which of the `words`, "xla|best" */
    CLI_OTHER                           /* `parse` reads it; without `arg`: a flag, text is "" */
};

struct cli_option {
    const char *name;                   /* without "--"; NULL: only a letter */
    int letter;                         /* 0: none */
    const char *arg, *doc;              /* "%s" in doc, once: the value that stands there before */
    int group;
    enum cli_kind kind;
    size_t at, bytes;                   /* CLI_AT */
    int64_t lo, hi;
    const char *words;
    bool is_arg_optional;               /* "--view" or "--view=SOCKET" */
    int (*parse)(const struct cli_option *o, const char *text, void *values, struct err *e);
};
#define CLI_AT(type, member) \
    .at = offsetof(type, member), .bytes = sizeof(((type *)NULL)->member)

struct cli_options {
    const struct cli_option *row;       /* up to CLI_END; NULL: none */
    const struct cli_part *part;        /* up to one without options; NULL: none */
    int (*check)(void *values, struct err *e);  /* what does not go together; after all of them */
};

struct cli_part {
    const struct cli_options *options;
    size_t at;
};

/* A command: its options, and what stands between them. */
struct cli_syntax {
    struct cli_options own;
    const char *args_doc, *doc;         /* as argp's */
    /* the one argument: "program", where it goes, and, where it must be there, what could be */
    const char *noun;
    size_t noun_at;
    const char *noun_hint;              /* "": it must be there; NULL: it need not */
    /* or: takes each of several; or: the first and all behind it */
    int (*argument)(void *values, const char *text, struct err *e);
    void (*rest)(void *values, char **argv, int count);
    char *(*filter)(int key, const char *text, void *input);            /* argp's help_filter */
};

/* Reads the command line into `values`, which hold the defaults; a wrong one ends the program. */
void cli_parse(const struct cli_syntax *s, int argc, char **argv, void *values);
/* the value of one row, of the struct that its table is of */
int cli_read_value(const struct cli_option *o, const char *text, void *values, struct err *e);
/* the value of one option, as "--name=text" sets it; -1 with the options that there are */
int cli_set_option(const struct cli_options *o, const char *name, const char *text, void *values,
                   struct err *e);
/* a command kept as text: its words between spaces, which are cut off one by one */
int cli_read_words(const struct cli_syntax *s, char *text, void *values, struct err *e);
/* the options of a table and its parts, with their arguments (NULL: none) */
void cli_walk_options(const struct cli_options *o,
                      void (*fn)(void *context, const char *name, const char *arg), void *context);

/* noun_hint of commands about a run that is over */
#define CLI_RUN_HINT "(a folder that --out left, or a .strace)"

/* ----- rows that several tables have */

#define CLI_ROW_SET(type, member, group) \
    {"set", 'S', "SECTION.KEY=VALUE", \
     "change one chip parameter (systole chips lists them); may be repeated", group, CLI_LIST, \
     CLI_AT(type, member)}
#define CLI_ROW_TPU(type, member, group) \
    {"tpu", 't', "NAME", "chip, or slice of chips as the cloud names it (default: %s)", group, \
     CLI_TEXT, CLI_AT(type, member)}
#define CLI_ROW_CODEGEN(type, member, group) \
    {"codegen", 0, "POLICY", \
     "xla: as XLA would compile it; best: as well as we can (default: %s)", \
     group, CLI_CHOICE, CLI_AT(type, member), .words = "xla|best"}
#define CLI_ROW_SEED(type, member, group, doc) \
    {"seed", 0, "N", doc " (default: %s)", group, CLI_WHOLE, CLI_AT(type, member), .hi = INT64_MAX}
#define CLI_ROW_THREADS(type, member, group) \
    {"threads", 0, "N", "host threads (default: 1); never changes a result or a cycle", group, \
     CLI_WHOLE, CLI_AT(type, member), .lo = 1, .hi = 256}
#define CLI_ROW_SIMD(type, member, group) \
    {"simd", 0, "PATH", \
     "auto, c, avx2, avx512 or avx512bf16; never changes a result or a cycle", group, CLI_TEXT, \
     CLI_AT(type, member)}
#define CLI_ROW_OUT(type, member, group) \
    {"out", 0, "DIR", "leave a report, statistics and tables in this folder", group, CLI_TEXT, \
     CLI_AT(type, member)}
#define CLI_ROW_CSV(type, member, group) \
    {"csv", 0, "FILE", "write the rows as CSV", group, CLI_TEXT, \
     CLI_AT(type, member)}
#define CLI_ROW_JSON(type, member, group) \
    {"json", 0, "FILE", "write all figures as JSON", group, CLI_TEXT, CLI_AT(type, member)}

/* --tpu and --set: the chip that a command is about */
struct cli_target {
    const char *tpu;
    struct cli_list set;
};
extern const struct cli_options cli_target_options;

/* what the target names; `origins` as in chip_load_builtin */
int cli_load_slice(const struct cli_target *t, struct slice *slice, struct chip *chip,
                   struct chip_origin *origins, struct arena *a, struct err *e);
int cli_set_params(const struct cli_list *set, struct chip *chip, struct chip_origin *origins,
                   struct arena *a, struct err *e);
/* A program for more devices than the target has, `most`: the error names a slice that fits; -1. */
int cli_refuse_devices(const struct cli_target *t, int devices, int most, int cores_each,
                       struct err *e);
/* Ends a program's mistake with the chip it was held against, which may be a default; -1. */
int cli_add_chip(const struct cli_target *t, struct err *e);
#endif
