/*
 * Inside `systole hlo`: what a program is, without running it.
 *
 * hlo_summary.c tells what it takes, gives and consists of, hlo_exchanged.c what its devices
 * exchange, hlo_refused.c what cannot be run and where, hlo_diff.c in what two programs differ.
 */
#ifndef CLI_HLO_H
#define CLI_HLO_H
#include "import/program/program.h"

#include <jansson.h>

/* how often each opcode stands in all computations */
struct hlo_counts {
    int64_t by_opcode[OPCODE_COUNT], instructions;
};
struct hlo_counts hlo_counts_of(const struct hlo_module *m);

/* parameters, results, operations, costs; `whole`: all rows of long tables */
void hlo_print_summary(const struct hlo_module *m, bool whole);
void hlo_summary_to_json(const struct hlo_module *m, json_t *to);

/* What keeps it from running on cores: a table with lines. The number of such places; -1: error. */
int hlo_print_refused(const struct hlo_module *m, struct arena *a, struct err *e);
int hlo_refused_to_json(const struct hlo_module *m, struct arena *a, json_t *to, struct err *e);

/* What the devices of a program for several exchange once it is cut for them; nothing for one. */
int hlo_print_exchanged(const struct hlo_module *m, struct arena *a, struct err *e);

/*
 * Instructions of the two entries and what they call, matched by what they do: opcode, type,
 * attributes and operands, whatever they are called. The number of differences.
 */
int hlo_print_diff(const struct hlo_module *a, const struct hlo_module *b);
#endif
