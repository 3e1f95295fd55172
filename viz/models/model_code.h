/*
 * The program as lines, and how often each bundle issued and waited in a
 * interval of the run.
 *
 * Counting goes over records, a repeat being counted once and multiplied. It
 * is done piece by piece, so that a panel stays quick while a long run is
 * counted.
 */
#ifndef VIZ_MODEL_CODE_H
#define VIZ_MODEL_CODE_H
#include "isa/slots.h"
#include "report/native_trace/ntrace.h"

struct code_counts {
    uint32_t bundle_count;
    int64_t *issued;                    /* by bundle */
    cycle_t (*waited)[STALL_COUNT];     /* by bundle and reason */
    cycle_t from, done, end;            /* counted from..done of from..end */
    cycle_t issue_cycles, wait_cycles;  /* sums */
    cycle_t most_cycles;                /* of one bundle, issued and waited */
    uint32_t reasons;                   /* bit by enum stall_reason: somebody waited for it */
};
void code_counts_init(struct code_counts *c, uint32_t bundle_count);
void code_counts_fini(struct code_counts *c);
void code_counts_restart(struct code_counts *c, cycle_t from, cycle_t end);
/* goes on for about `budget` cycles and records, repeats aside; true when all are counted */
bool code_counts_advance(struct code_counts *c, struct ntrace *run, int core, int64_t budget);

cycle_t code_waited(const struct code_counts *c, uint32_t bundle);      /* all reasons */
static inline cycle_t code_cycles(const struct code_counts *c, uint32_t bundle)
{
    return c->issued[bundle] + code_waited(c, bundle);
}

/* A line of the listing: a source operation begins, a label, a bundle. */
enum code_line_kind { CODE_NOTE, CODE_LABEL, CODE_BUNDLE };
struct code_line {
    enum code_line_kind kind;
    uint32_t bundle;
    uint32_t index;                     /* of the note or the symbol */
};
struct code_lines {
    struct code_line *line;
    size_t count, capacity;
    size_t *of_bundle;                  /* line of each bundle */
};
void code_lines_init(struct code_lines *l, const struct isa_program *p);
void code_lines_fini(struct code_lines *l);

/* "{ v0 = vld [vmem:s0] ;; … }", cut to the buffer; returns buf */
char *code_print_bundle(const struct isa_program *p, uint32_t bundle, char *buf, size_t bytes);

/* The slots of a bundle, for a grid: `taken` of `count` of each kind that the chip has. */
struct code_slot {
    enum isa_slot slot;
    int count, taken;
};
int code_slots(const struct isa_program *p, uint32_t bundle, const struct isa_slots *slots,
               struct code_slot to[SLOT_COUNT]);

/* the bundle that issued or waited last at `cycle`; false where none did */
bool code_bundle_at(struct ntrace *run, int core, cycle_t cycle, uint32_t *bundle);

/*
 * Bundles whose text fits the regular expression (POSIX extended, upper and
 * lower case alike): is_hit[bundle] set. Returns their count, -1 with *e set for
 * an expression that is none.
 */
int64_t code_search(const struct isa_program *p, const char *expression, bool *is_hit,
                    struct err *e);
#endif
