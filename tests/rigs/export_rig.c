#include "tests/rigs/export_rig.h"

#include "tests/test.h"
#include "tests/rigs/toy.h"

#include <math.h>
#include <unistd.h>

const struct export_options export_everything = {.level = TRACE_BUNDLE, .core = -1};

static const char marking[] =
    ".note guarded\n"
    "{ s1 = smov 5 ;; p1 = scmp.eq.s32.totalorder 1, 2 }\n"
    "{ v0 = vld [vmem:0] ;; vtrace 7 }\n"
    "{ v1 = vadd.f32 v0, v0 }\n"
    "{ vst (p1) [vmem:8] v1 ;; s2 = smov (!p1) 3 }\n"
    "{ vrot.lane.b32.xlu0 v0, 1 ;; vpow2.f32 v1 }\n"
    "{ v2 = vpop.permute.xlu0 }\n"
    "{ v3 = vpop.eup }\n"
    "{ shalt }\n";

static void load(struct export_rig *x, int core, const char *path)
{
    char *text = toy_read_text(path);

    rig_load(&x->rig, core, text);
    free(text);
}

/* 07 finds its neighbour in SMEM */
static void join_ring(struct export_rig *x, int core, int count)
{
    const int32_t place[] = {core, count, (core + 1) % count, (core + count - 1) % count};
    struct err e;

    for (int i = 0; i < 4; i++)
        assert_int_equal(machine_smem_write(x->rig.m, core, 4 * i, &place[i], 4, &e), 0);
}

static void add_launch(struct export_rig *x)
{
    const struct machine *m = x->rig.m;
    struct export_sums *s = &x->sums;

    for (int core = 0; core < EXPORT_CORES; core++) {
        const struct core_counters *k = machine_counters(m, core);

        for (int unit = 0; unit < k->unit_count; unit++)
            s->busy[core][unit] += k->unit[unit].busy_cycles;
        for (int r = 0; r < STALL_COUNT; r++)
            s->stalls[core][r] += k->stall_cycles[r];
        s->bundles[core] += k->issue_cycles;
        s->copies[core] += k->dma_count;
        s->steps[core]++;
    }
    s->markers[7]++;
    for (int chip = 0; chip < EXPORT_CHIPS; chip++)
        s->hbm_bytes[chip] += machine_hbm_stats(m, chip)->read_bytes
                              + machine_hbm_stats(m, chip)->write_bytes;
    for (int link = 0; link < net_link_count(machine_net(m)); link++)
        s->link_bytes += net_link(machine_net(m), link)->payload_bytes;
}

void export_rig_open(struct export_rig *x, enum trace_level level)
{
    const struct ntrace_options o = {.level = level, .title = "rig"};
    struct ntrace_writer *w;
    struct err e;

    memset(x, 0, sizeof(*x));
    rig_open(&x->rig, "v3-8", NULL);
    for (int core = 0; core < 4; core++)
        load(x, core, "examples/07_two_core_exchange.tasm");
    for (int core = 4; core < 7; core++)
        load(x, core, "examples/03_double_buffered_matmul.tasm");
    rig_load(&x->rig, 7, marking);
    toy_make_folder(x->folder, sizeof(x->folder));
    snprintf(x->path, sizeof(x->path), "%s/rig.strace", x->folder);
    w = ntrace_writer_open(x->path, &o, &e);
    assert_non_null(w);
    machine_set_trace(x->rig.m, ntrace_writer_sink(w));
    for (int i = 0; i < EXPORT_LAUNCHES; i++) {
        for (int core = 0; core < 4; core++)
            join_ring(x, core, 4);
        ntrace_writer_name_launch(w, i ? "second" : "first \"one\"");
        if (rig_run(&x->rig) != 0)
            fail_msg("%s", x->rig.err.msg);
        add_launch(x);
    }
    machine_set_trace(x->rig.m, NULL);
    assert_int_equal(ntrace_writer_close(w, &e), 0);
    x->t = ntrace_open(x->path, &e);
    assert_non_null(x->t);
    assert_int_equal(ntrace_note_count(x->t), 0);
}

void export_rig_close(struct export_rig *x)
{
    ntrace_close(x->t);
    toy_remove_folder(x->folder);
    rig_close(&x->rig);
}

char *export_rig_write(struct export_rig *x, const char *format, const struct export_options *o,
                       struct export_result *result, char *path, size_t path_bytes)
{
    struct err e;
    const struct export_format *f = export_format_named(format, &e);

    assert_non_null(f);
    snprintf(path, path_bytes, "%s/t%s", x->folder, f->suffix);
    if (export_write(x->t, f, o, path, result, &e))
        fail_msg("%s", e.msg);
    return path;
}

int64_t export_rig_cycles(const struct export_rig *x, double ps)
{
    return llround(ps * (double)x->rig.chip.chip_clock_mhz * 1e-6);
}

/* "valu #1" is a lane of "valu" */
static bool is_track(const char *track, const char *name)
{
    size_t length = strlen(name);

    return strncmp(track, name, length) == 0 && (!track[length] || track[length] == ' ');
}

static int find_stall(const char *name)
{
    int r = 0;

    while (r < STALL_COUNT && strcmp(stall_name((enum stall_reason)r), name) != 0)
        r++;
    assert_true(r < STALL_COUNT);
    return r;
}

static void add_to_core(struct export_sums *s, const struct export_rig *x, int core,
                        const char *track, const char *name, int64_t cycles)
{
    if (is_track(track, "stalls"))
        s->stalls[core][find_stall(name)] += cycles;
    else if (is_track(track, "bundles"))
        s->bundles[core] += cycles;
    else if (is_track(track, "copies"))
        s->copies[core]++;
    else if (is_track(track, "markers"))
        s->markers[core]++;
    else if (is_track(track, "steps"))
        s->steps[core]++;
    for (int unit = 0; unit < ntrace_info(x->t)->unit_count; unit++)
        if (is_track(track, ntrace_unit_name(x->t, unit)))
            s->busy[core][unit] += cycles;
}

void export_sums_add(struct export_sums *s, const struct export_rig *x, const char *process,
                     const char *track, const char *name, int64_t cycles, int64_t bytes)
{
    int index;

    if (sscanf(process, "core %d", &index) == 1)
        add_to_core(s, x, index, track, name, cycles);
    else if (sscanf(process, "HBM of chip %d", &index) == 1)
        s->hbm_bytes[index] += bytes;
    else if (strcmp(process, "links between chips") == 0)
        s->link_bytes += bytes;
    else
        fail_msg("an unknown process: %s", process);
}

void export_sums_assert(const struct export_sums *seen, const struct export_sums *wanted)
{
    for (int core = 0; core < EXPORT_CORES; core++) {
        for (int unit = 0; unit < MACHINE_UNIT_MAX; unit++)
            if (unit != 6)              /* dma: its copies are a track of their own */
                assert_int_equal(seen->busy[core][unit], wanted->busy[core][unit]);
        for (int r = 0; r < STALL_COUNT; r++)
            assert_int_equal(seen->stalls[core][r], wanted->stalls[core][r]);
        assert_int_equal(seen->bundles[core], wanted->bundles[core]);
        assert_int_equal(seen->copies[core], wanted->copies[core]);
        assert_int_equal(seen->markers[core], wanted->markers[core]);
        assert_int_equal(seen->steps[core], wanted->steps[core]);
    }
    for (int chip = 0; chip < EXPORT_CHIPS; chip++)
        assert_int_equal(seen->hbm_bytes[chip], wanted->hbm_bytes[chip]);
    assert_int_equal(seen->link_bytes, wanted->link_bytes);
    assert_true(wanted->link_bytes > 0 && wanted->hbm_bytes[0] > 0);
}
