/*
 * What the reports see of a launch: plain numbers, gathered once.
 *
 * view_of_step is the only place of report/ that asks a machine; everything
 * else works on a struct report_view, which a test can fill by hand. Pointers
 * are borrowed from the machine and from the arena given.
 */
#ifndef REPORT_VIEW_H
#define REPORT_VIEW_H
#include "base/arena.h"
#include "report/energy/energy.h"
#include "report/view/run.h"

struct view_bundle {
    int64_t count;                      /* times it issued */
    cycle_t stall_cycles;               /* waited for that */
    struct bundle_copies copies;
};

struct report_view {
    const struct chip *chip;
    const struct slice *slice;
    enum run_mode mode;                 /* functional: no cycle in here means anything */
    const char *title;
    const struct isa_program *program;  /* of every core that ran; may be NULL */
    int64_t model_flops;                /* per core; 0 = unknown */
    int64_t parameter_bytes;            /* all-reduced per core; 0 = none */
    int64_t input_bytes;                /* sent by the host before each launch, all cores */
    cycle_t cycles;
    int core_count;
    const struct core_counters **core;
    int active_count;                   /* cores that issued something: means are over these */
    int chip_count, active_chip_count;
    const struct hbm_stats **hbm;       /* by chip */
    int link_count;                     /* directed links; 0 for a single chip */
    const struct net_link_stats **link;
    bool has_copies_left;               /* some copy is not complete at the end of the launch */
    int64_t memory_bytes[MEMORY_COUNT]; /* of a core */
    /* one core in detail, by bundle and operation of its program: the first that ran */
    int ops_core;                       /* -1: none, the next three are NULL */
    const struct isa_program *ops_program;
    const struct view_bundle *bundle;
    const int64_t *executed;            /* by operation, guards passed */
    /* as in struct report_step */
    int64_t issued_flops;
    const struct report_source *source;
    const struct report_layer *layer;
    const struct report_buffer *buffer;
    size_t source_count, layer_count, buffer_count;
    const struct energy *energy;        /* of the launch; NULL in functional mode */
    const struct energy_costs *energy_costs;    /* of the chip; NULL likewise */
};

/* `s->machine` is not NULL and has run. */
void view_of_step(const struct report_step *s, struct arena *a, struct report_view *v);

/* false for a core without a program, which idles and is left out of means */
bool view_is_active(const struct report_view *v, int core);

/* Stall reasons in the groups that people think in; docs/report.md says why. */
enum view_group {
    GROUP_NONE, GROUP_MXU, GROUP_VECTOR, GROUP_HBM, GROUP_ICI, GROUP_OTHER,
    GROUP_COUNT
};

enum view_group view_stall_group(enum stall_reason r);
const char *view_group_name(enum view_group g);

/* sums over the cores; of a unit over the active ones */
void view_sum_unit(const struct report_view *v, int unit, struct unit_counters *sum);
cycle_t view_stall_cycles(const struct report_view *v, enum stall_reason r);
cycle_t view_group_cycles(const struct report_view *v, enum view_group g);
cycle_t view_core_group_cycles(const struct core_counters *c, enum view_group g);

double view_seconds(const struct report_view *v);
double view_device_us(const struct report_view *v);     /* cycles and launch.program_ns */
double view_input_us(const struct report_view *v);      /* input_bytes over the chips' host links */
double view_host_us(const struct report_view *v);       /* device, input and dispatch in turn */
int64_t view_ps(const struct chip *chip, cycle_t cycles);       /* rounded down */
double view_percent(double part, double whole);                 /* 0 of 0 is 0 */
int64_t view_mean(const struct report_view *v, double sum);     /* over the active cores */

double view_hbm_use(const struct report_view *v, int chip);     /* busy share of the buses, 0..1 */
double view_link_use(const struct report_view *v, int link);    /* 0..1 */
int view_busiest_link(const struct report_view *v);             /* -1 without links */
#endif
