/*
 * Any lines are commands of the debugger or give an error, and whatever they
 * do, the launch ends at the cycle at which it ends without them. Files are
 * not touched.
 */
#include "cli/debug/debug.h"
#include "isa/asm.h"
#include "tests/rigs/chip_set.h"
#include "tests/rigs/round_trip.h"

#include <string.h>

#define LINES_MAX 40                    /* a session is not endless: goto may replay the launch */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char text[] =
    "start:\n{ s0 = smov 3 ;; v1 = vlaneseq }\n"
    "{ dma.hbm_to_vmem /*src=*/0, /*size_in_granules=*/64, /*dst=*/0x20, "
    "/*dst_syncflagno=*/[sflag:3] }\n"
    "loop:\n{ s0 = ssub.s32 s0, 1 ;; v2 = vadd.s32 v1, v1 }\n"
    "{ p0 = scmp.gt.s32.totalorder s0, 0 ;; vst [vmem:s0 + 16] v2 }\n"
    "{ sbr.rel (p0) target = loop }\n{ s1 = sadd.s32 s1, 10 }\n"
    "{ vmatpush.msra.mxu0 v1 ;; vpow2.f32 v2 }\n{ vmatmul.f32.vlgmr.msra.gmra.mxu0 v1 }\n"
    "end:\n{ dma.done.wait [sflag:3], 64 }\n{ vsyncset [sflag:3], 0 ;; vm2 = vcmask 0xffc00 }\n"
    "{ sst [smem:0x40], s1 ;; v3 = vld [vmem:18] }\n{ v4 = vpop.f32.mrf.mxu0 }\n"
    "{ v5 = vpop.eup }\n{ shalt }\n";

struct bench {
    struct arena arena;
    struct isa_program program;
    struct machine *m;
    FILE *out;
    cycle_t cycles;                     /* of a launch that nobody looks at */
};

static void open_bench(struct bench *b)
{
    struct machine_options options = {.thread_count = 1, .simd = "c", .cycle_limit = 100000};
    struct isa_errors errors = {.count = 0};
    struct slice slice;
    struct chip chip;
    struct err e;

    arena_init(&b->arena);
    b->out = fopen("/dev/null", "w");
    if (!b->out || slice_parse(&slice, "tiny", &e)
        || chip_load_builtin(&chip, "tiny", NULL, &b->arena, &e)
        || chip_set(&chip, "core.branch_delay_bundles=1", NULL, &b->arena, &e)
        || isa_assemble(text, strlen(text), "input", &b->arena, &b->program, &errors))
        fuzz_fail("the bench cannot be made", "");
    b->m = machine_create(&slice, &chip, &options, &e);
    if (!b->m || machine_load(b->m, 0, &b->program, &e) || machine_run(b->m, &e))
        fuzz_fail("the bench does not run", "");
    b->cycles = machine_cycles(b->m);
}

static void run_lines(struct debugger *d, const char *data, size_t size)
{
    char line[DEBUG_LINE_MAX + 20];
    struct err e;

    for (int i = 0; i < LINES_MAX && size > 0 && !d->quits; i++) {
        const char *end = memchr(data, '\n', size);
        size_t length = end ? (size_t)(end - data) : size;

        snprintf(line, sizeof(line), "%.*s", (int)(length < sizeof(line) ? length : sizeof(line)),
                 data);
        e.msg[0] = '\0';
        if (debug_execute(d, line, &e) && e.msg[0] == '\0')
            fuzz_fail("a command is refused without a message", line);
        length += end != NULL;
        data += length;
        size -= length;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct debugger d;
    static struct bench b;
    struct err e;

    if (!b.m)
        open_bench(&b);
    debug_open(&d, b.m, &(struct debug_options){.out = b.out, .repeats = true, .title = "fuzz"});
    run_lines(&d, (const char *)data, size);
    if (!debug_has_ended(&d) && debug_execute(&d, "finish", &e))
        fuzz_fail("the launch does not end", e.msg);
    if (d.status != MACHINE_HALTED || d.cycle != b.cycles)
        fuzz_fail("looking changes when the launch ends", "");
    debug_close(&d);
    rewind(b.out);
    return 0;
}
