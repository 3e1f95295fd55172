/*
 * Kernels: what turns one node of an optimised graph into code.
 *
 * After fusion each node of the graph that does work is one kernel: a fusion,
 * or an operation by itself, which is handed over as a fusion of one. A kernel
 * reads its operands and writes its results in HBM or, where the memory pass
 * has put them there, in VMEM. It is compiled on its own into a *segment*:
 * bundles with branches inside the segment only, no shalt. stack/module/link.h joins
 * segments to a program.
 *
 * At the start of a segment all flags of the job are 0, no copy is under way that
 * touches what it works on, and all FIFOs are empty, and so it must be at its end.
 * (A part of a sum over replicas leaves copies under way, on flags and in SMEM that
 * no other kernel has meanwhile: docs/collectives.md, Beside other kernels.) Registers hold
 * anything. SMEM words below SMEM_ABI_BYTES (stack/backend/abi.h) are the
 * launcher's; `smem` of the job is scratch.
 *
 * Megacore. Of two cores each makes a part of the results; the code of both is
 * compiled apart, with core 0's tiling, and nothing orders them but the barriers
 * between kernels. A core that has nothing to do gets a segment without bundles.
 *
 * Tilings. How a kernel is cut is a list of numbers whose meaning is the
 * kernel's own. `tilings` of a kind gives the candidates that fit, cheapest first by
 * the kernel's cost model; the first is used unless the job has one (auto-tune,
 * Pallas block sizes). Which kind makes a body says stack/kernels/registry.h.
 */
#ifndef STACK_KERNEL_H
#define STACK_KERNEL_H
#include "base/arena.h"
#include "base/err.h"
#include "isa/isa.h"
#include "sim/chip/chip.h"
#include "stack/hlo/array.h"
#include "stack/hlo/graph.h"
#include "stack/backend/vcode.h"

#define TILING_MAX 10
#define KERNEL_VMEM_BYTES (32 << 20)   /* at most, for windows and scratch; arrays lie behind */

/* xla: as XLA does it on the machine; best: as well as we can */
enum codegen { CODEGEN_XLA, CODEGEN_BEST };

struct tiling {
    int count;
    int64_t size[TILING_MAX];
    int64_t predicted_cycles;           /* by the cost model, copies and all */
};

/* Those that run the program, each on a core of the slice. */
struct kernel_devices {
    const struct slice *slice;
    int count;
    const int32_t *core;                /* by device; NULL: the core of the same number */
};

/* What kernels between devices have beside, the same on all cores. */
struct kernel_sums {
    enum graph_op op;                   /* ALL_REDUCE, SEND */
    struct kernel_devices devices;
    const struct array *table;          /* in HBM: its operations, core by core, theirs to fill */
    const struct array *zeros;          /* of a permute, for who gets nothing; or NULL */
    int communicator;                   /* collectives of equal groups or pairs have a number */
    int first_flag;                     /* its flags, which no kernel that may run elsewhere has */
    /* what it takes to run it beside others; NULL: it cannot */
    const struct kernel_spread_times *spread;
    bool is_spread;                     /* that is how it is done */
    int bucket;                         /* the plan's buffer, whose size depends on that */
    int64_t stage_bytes;                /* at most so much waits to be added then, about */
    const int *cut;                     /* its list is carried out in parts, which end before */
    int cut_count;                      /* these operations, with other kernels between */
    int part;                           /* this kernel's, from 0 on */
    int64_t part_cycles;                /* predicted, where there are several */
};

/*
 * The devices of a program, for a kernel that sends to others by itself, or asks for its number, which
 * stands in SMEM (SMEM_REPLICA). The kernel's flags, SMEM and VMEM are at the same places on all of
 * them; before the first thing that reaches another one, all meet by flags of their own.
 */
struct kernel_peers {
    int count;
    const struct array *cores;          /* in HBM: the core of each; NULL: its number times */
    int cores_each;                     /* this */
    int first_flag, flag_count;         /* that nothing else has: a round of the meeting each */
};

/*
 * A loop that the kernel runs in. Rounds are counted in a word of SMEM, from `rounds` down to 1; the
 * loop of the program has run first + each * (rounds - word) times before.
 */
struct kernel_loop {
    int64_t smem;                       /* byte address of the word; -1: it is in round 0 */
    int64_t rounds, first, each;
    bool is_assumed;                    /* the rounds, which its condition decides */
    const struct kernel_loop *outer;    /* the one around it, or NULL */
};

struct collective_table;
struct kernel_spread_times;

struct kernel_job {
    const struct chip *chip;
    enum codegen codegen;
    const char *name, *source;          /* of the node, for notes */
    const struct graph *body;           /* what it computes: parameters are operands */
    int operand_count, result_count;
    const struct array *const *operand, *const *result;
    int64_t vmem_row, vmem_rows;        /* scratch and windows, in rows of 512 bytes */
    int first_flag, flag_count;
    int64_t smem, smem_bytes;           /* scratch, byte address */
    int core, core_count;               /* megacore: this core's part of the work; else 0 of 1 */
    const struct kernel_loop *loop;     /* the innermost around it, or NULL */
    const struct tiling *tiling;        /* NULL: the cheapest */
    const struct kernel_sums *sums;     /* NULL: there is one device */
    const struct kernel_peers *peers;   /* NULL: it neither reaches others nor asks for its number */
    struct memo *memo;                  /* of code that like kernels have in common, or NULL */
    FILE *llo;                          /* virtual-register code is printed there, or NULL */
};

struct kernel_cost {                    /* of a tiling, in core cycles, for reports and checks */
    int64_t compute_cycles, copy_cycles, fixed_cycles, total_cycles;
    int64_t hbm_bytes, flops;           /* of that core */
    int64_t issued_flops;               /* with whole arrays; 0: unknown */
    int64_t vmem_rows;                  /* windows and scratch */
    int64_t steps;                      /* rounds of the pipeline */
    bool is_idle;                       /* the other core does all of it */
};

/* What a kernel that a program brings keeps in VMEM, for who asks where it went. */
enum kernel_buffer_kind { BUFFER_WINDOW, BUFFER_SCRATCH, BUFFER_VECTOR, BUFFER_SPILLS };
struct kernel_buffer {
    enum kernel_buffer_kind kind;
    const char *name;                   /* the argument's, or what the vector is */
    int copies;                         /* of a window: 2 where the next block comes meanwhile */
    int64_t row, rows;                  /* all copies of it */
    int origin;                         /* as in struct isa_op; 0: there all the time */
    bool does_not_fit;                  /* that is why there is no code */
};

struct segment {
    struct isa_program program;         /* branch targets count from its first bundle */
    struct vcode_stats stats;
    struct kernel_cost cost;
    struct tiling tiling;               /* used */
    /* what the host writes into each core's HBM before the first launch; NULL: nothing */
    const struct collective_table *table;
    const struct kernel_buffer *buffer; /* of kernels that a program brings; not kept in files */
    int buffer_count;
};

struct kernel_kind {
    const char *name;                   /* "loop" */
    const char *category;               /* XProf's hlo_category, "loop fusion" */
    /* 0 if it makes such bodies on this chip, else -1 with the reason */
    int (*check_supported)(const struct graph *body, const struct chip *chip, struct err *e);
    /*
     * fitting tilings, cheapest first; their number, at most `max`, 0 if none fits. With a `max`
     * of 1 it may be any that fits: who wants to know whether there is one asks so.
     */
    int (*tilings)(const struct kernel_job *job, struct tiling *list, int max);
    int (*cost)(const struct kernel_job *job, const struct tiling *t, struct kernel_cost *out);
    int (*emit)(const struct kernel_job *job, const struct tiling *t, struct arena *a,
                struct segment *out, struct err *e);
    bool is_for_one_core;               /* megacore: core 0 does all of it */
    bool takes_cmem;                    /* arrays that its windows copy may lie in CMEM */
    bool takes_all_vmem;                /* its blocks are the program's choice, not limited to
                                         * KERNEL_VMEM_BYTES: no arrays lie in VMEM then */
};

/*
 * For kinds: code to a segment, printed if the job asks for it; `spill` rows lie free for
 * spill_tiles tiles (vcode_compile_segment).
 */
int kernel_finish(const struct kernel_job *job, const struct vcode *c, int64_t spill_row,
                  int64_t spill_tiles, struct arena *a, struct segment *out, struct err *e);
/* of kinds that make bundles by themselves: prints them if the job asks for it */
void kernel_print_bundles(const struct kernel_job *job, const struct isa_program *p);
#endif
