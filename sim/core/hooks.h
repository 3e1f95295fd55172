/*
 * Who listens to a core, and to the machine around it: one table of functions, by listener.
 *
 * The core and the machine know that somebody may listen, not who. A listener's part of the table
 * may be called where its pointer in struct core (checks, memo, recorder, hbm_log, log, origins,
 * replay, watch) is not NULL; so what nobody listens to costs a look at that pointer, in loops
 * where it always has. The parts of races and of tracing belong to the machine: races where
 * machine_options.check_races is set, tracing always. Whoever makes a machine gives all its cores
 * the same table, whole (sim/launch/hooks.c); it never changes.
 *
 * Listeners change no value and no cycle, but for those whose business it is: memo and replay go
 * on elsewhere, and checks end a core by a fault.
 */
#ifndef SIM_HOOKS_H
#define SIM_HOOKS_H
#include "sim/core/core.h"

struct machine;

/* What a core does on behalf of an operation or a copy, and what is timed apart from it. */
enum core_work { CORE_MULTIPLIES, CORE_COPIES };

struct core_hooks {
    struct {
        /* before an access is made, before a copy is issued: both false after a fault */
        bool (*touch)(struct core *c, const struct decoded_op *o, enum memory_space space,
                      int64_t first, int64_t bytes, bool is_write);
        bool (*issue)(struct core *c, const struct decoded_op *o, struct dma *d);
        /* the contents of a copy have reached a memory of this core */
        void (*arrived)(struct core *c, const struct dma *d);
        void (*host_write)(struct checks *k, enum memory_space space, int64_t first,
                           int64_t bytes);
    } checks;
    struct {                            /* serial phase: sim/check/race.h has the words */
        void (*arrive)(struct machine *m, struct core *from, const struct dma *d);
        void (*complete)(struct machine *m, const struct core *from, const struct dma *d,
                         bool is_sent);
        void (*learn)(struct machine *m, struct core *c, int32_t flag, int64_t value);
        void (*overwrite)(struct core *c, int32_t flag);
    } race;
    struct {
        /* a branch in front of bundle `end` has led back to where pc is; afterwards the core may
         * be iterations further on */
        void (*visit)(struct core *c, uint32_t end);
    } memo;
    struct {                            /* sim/observe/record.h says when */
        void (*stall)(struct core *c, const struct issue_time *t, cycle_t at);
        void (*live)(struct core *c, const struct decoded_bundle *b, cycle_t at);
        void (*mark)(struct core *c, int32_t marker);
        void (*accesses)(struct core *c, const struct decoded_bundle *b, cycle_t at);
        void (*jump)(struct core *c);
        void (*halt)(struct core *c);
    } recorder;
    struct {
        /* before net_take: whose message, and of which of its copies; UINT32_MAX: of none */
        void (*names_sender)(struct machine *m, int core, uint32_t dma);
        /* a copy of `c` is complete */
        void (*tells_copy)(struct machine *m, const struct core *c, const struct dma *d);
    } tracing;
    struct {
        /* what timing mode's copies do with the core's HBM, in their order */
        void (*read)(struct hbm_log *g, const struct core *c, int64_t address, int64_t bytes);
        void (*write)(struct hbm_log *g, const struct core *c, int64_t address, int64_t bytes);
        void (*unknown)(struct hbm_log *g, int64_t address, int64_t bytes);
        void (*give_up)(struct hbm_log *g);
    } hbm_log;
    struct {
        /* what the core asks and is told: a flag that is read, a question that is settled, copies
         * that are issued and complete, the marker in front of a kernel (NULL: another marker) */
        void (*read)(struct launch_log *l, int32_t value);
        void (*answer)(struct launch_log *l, const struct core *c);
        void (*issue)(struct launch_log *l, const struct core *c, const struct dma *d);
        void (*done)(struct launch_log *l, int from, int to, const struct dma *d);
        void (*kernel)(struct launch_log *l, const struct core *c,
                       const struct decoded_kernel *kernel);
    } log;
    struct {
        /* before the operations of a bundle execute; when the contents of a copy are visible */
        void (*bundle)(struct origins *o, const struct core *c, const struct decoded_bundle *b);
        void (*arrive)(struct origins *o, const struct core *c, const struct dma *d);
    } origins;
    struct {
        /* the issue loop of a launch that is repeated; a copy is issued; a kernel is entered */
        void (*run)(struct core *c);
        void (*issue)(struct core *c, const struct dma *d);
        void (*kernel)(struct core *c, const struct decoded_kernel *kernel);
    } replay;
    struct {
        /* around core_run; in place of the loop over the operations of a bundle */
        void (*core_begin)(struct core *c);
        void (*core_end)(struct core *c);
        void (*execute)(struct core *c, const struct decoded_bundle *b, const uint8_t *list,
                        uint32_t count);
        /* around some work: what begin returns goes to end */
        int (*work_begin)(struct core *c, enum core_work work);
        void (*work_end)(struct core *c, int before);
        /* around host access to memories, where the machine is watched */
        void (*transfer_begin)(struct machine *m);
        void (*transfer_end)(struct machine *m);
    } watch;
};
#endif
