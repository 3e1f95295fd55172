#include "tests/rigs/debug_rig.h"

#include "cli/debug/debug_expr.h"
#include "tests/test.h"

/* four times round; then a wait for the copy */
const char debug_rig_text[] =
    "start:\n"
    "{ s0 = smov 4 ;; v1 = vlaneseq }\n"                                            /* 0 */
    "{ dma.hbm_to_vmem /*src=*/0, /*size_in_granules=*/64, /*dst=*/0x20, "
    "/*dst_syncflagno=*/[sflag:3] }\n"                                              /* 1 */
    "loop:\n"
    "{ s0 = ssub.s32 s0, 1 ;; v2 = vadd.s32 v1, v1 }\n"                             /* 2 */
    "{ p0 = scmp.gt.s32.totalorder s0, 0 ;; vst [vmem:s0 + 16] v2 }\n"              /* 3 */
    "{ sbr.rel (p0) target = loop }\n"                                              /* 4 */
    "{ s1 = sadd.s32 s1, 10 }\n"                                                    /* 5 */
    "end:\n"
    "{ dma.done.wait [sflag:3], 64 }\n"                                             /* 6 */
    "{ vsyncset [sflag:3], 0 ;; vm2 = vcmask 0xffc00 }\n"                           /* 7 */
    "{ sst [smem:0x40], s1 ;; v3 = vld [vmem:18] }\n"                               /* 8 */
    "{ v4 = vmov 1.5 }\n"                                                           /* 9 */
    "{ vpow2.f32 v4 }\n"                                                            /* 10 */
    "{ v5 = vpop.eup }\n"                                                           /* 11 */
    "{ s2 = sld [smem:0x40] ;; v6 = vadd.f32 (!p0) v5, v4 }\n"                      /* 12 */
    "{ shalt }\n";                                                                  /* 13 */

const struct rig_options debug_rig_options = {
    .set = {"core.branch_delay_bundles=1", "dma.read_ns=4000"}};

void debug_rig_open(struct debug_rig *r, const char *slice, const char *text, int cores)
{
    debug_rig_open_with(r, slice, text, cores, NULL);
}

void debug_rig_open_with(struct debug_rig *r, const char *slice, const char *text, int cores,
                         const struct rig_options *options)
{
    struct debug_options debug = {.title = "test.tasm"};

    memset(r, 0, sizeof(*r));
    rig_open(&r->rig, slice, options ? options : &debug_rig_options);
    for (int i = 0; i < cores; i++)
        rig_load(&r->rig, i, text);
    r->out = open_memstream(&r->said, &r->said_bytes);
    assert_non_null(r->out);
    debug.out = r->out;
    debug_open(&r->d, r->rig.m, &debug);
}

void debug_rig_close(struct debug_rig *r)
{
    debug_close(&r->d);
    fclose(r->out);
    free(r->said);
    rig_close(&r->rig);
}

int debug_rig_try(struct debug_rig *r, const char *command)
{
    rewind(r->out);                     /* the next command writes over the last */
    r->e.msg[0] = '\0';
    int status = debug_execute(&r->d, command, &r->e);
    fputc('\0', r->out);
    fflush(r->out);
    return status;
}

const char *debug_rig_say(struct debug_rig *r, const char *command)
{
    if (debug_rig_try(r, command))
        fail_msg("%s: %s", command, r->e.msg);
    return r->said;
}

void assert_says(struct debug_rig *r, const char *command, const char *const *parts)
{
    const char *at = debug_rig_say(r, command);

    for (; *parts; parts++) {
        at = strstr(at, *parts);
        if (!at)
            fail_msg("%s does not say (there) \"%s\" but\n%s", command, *parts, r->said);
        at += strlen(*parts);
    }
}

void assert_wrong(struct debug_rig *r, const char *command, const char *part)
{
    if (debug_rig_try(r, command) == 0)
        fail_msg("%s is taken and says\n%s", command, r->said);
    if (!strstr(r->e.msg, part))
        fail_msg("%s is refused with \"%s\", not \"%s\"", command, r->e.msg, part);
}

int64_t debug_rig_value(struct debug_rig *r, const char *expression)
{
    struct debug_value v;
    struct err e;

    if (debug_evaluate(r->d.m, r->d.core, r->d.cycle, expression, &v, &e))
        fail_msg("%s: %s", expression, e.msg);
    assert_false(v.is_float);
    return v.i;
}

cycle_t debug_rig_plain_cycles(void)
{
    struct rig plain;
    cycle_t cycles;

    rig_open(&plain, "tiny", &debug_rig_options);
    cycles = rig_cycles(&plain, debug_rig_text);
    rig_close(&plain);
    return cycles;
}
