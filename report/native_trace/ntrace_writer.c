/*
 * The sink that writes a trace: it hands a launch's records to their streams, and closes the file
 * with totals and index.
 */
#include "report/native_trace/ntrace_sums.h"
#include "report/native_trace/ntrace_writer_impl.h"

#include "base/text.h"
#include "sim/time/clock.h"

#include <assert.h>
#include <stdio.h>

static const char *const level_names[TRACE_LEVEL_COUNT] = {"step", "op", "bundle", "slot"};

const char *trace_level_name(enum trace_level level) { return level_names[level]; }

int trace_level_parse(const char *name, enum trace_level *level, struct err *e)
{
    for (int i = 0; i < TRACE_LEVEL_COUNT; i++)
        if (strcmp(name, level_names[i]) == 0) {
            *level = (enum trace_level)i;
            return 0;
        }
    return err_set(e, "no trace level \"%.40s\"%s; there are step, op, bundle, slot", name,
                   text_did_you_mean(name, level_names, TRACE_LEVEL_COUNT).text);
}

/* ---- launches ---- */

static void write_text(struct ntrace_writer *w, enum ntrace_chunk_kind kind, uint32_t stream,
                       char *text, size_t size)
{
    struct ntrace_chunk_head head = {.kind = (uint8_t)kind, .stream = stream, .count = 1};

    ntrace_out_chunk(&w->out, &head, text, size);
    mem_free(text);
}

static void write_launch(struct ntrace_writer *w, cycle_t cycles, const char *fault)
{
    struct ntrace_launch_meta l = {.number = w->launch_count,
                                   .start = w->launch_start,
                                   .cycles = cycles,
                                   .name = w->next_name,
                                   .fault = fault};
    size_t size;
    char *text = ntrace_launch_print(&l, &size);

    write_text(w, CHUNK_LAUNCH, (uint32_t)w->launch_count, text, size);
}

static struct ntrace_other_out *make_others(struct ntrace_writer *w, int count,
                                            enum ntrace_chunk_kind kind)
{
    struct ntrace_other_out *o = arena_array(&w->arena, (size_t)count + 1, sizeof(*o));

    for (int i = 0; i < count; i++)
        ntrace_other_out_init(&o[i], kind, i);
    return o;
}

/* every stream has the same share of the limit, so that what is kept depends on no order */
static int64_t stream_limit(const struct ntrace_writer *w)
{
    int64_t streams = 2 * (int64_t)w->core_count;

    if (w->options.record_limit == 0)
        return INT64_MAX;
    if (w->options.level >= TRACE_BUNDLE)
        streams += w->chip_count + w->link_count;
    return later(w->options.record_limit / streams, 1);
}

static void first_launch(struct ntrace_writer *w, const struct machine *m)
{
    size_t size;
    char *text = ntrace_meta_print(m, &w->options, &size);

    write_text(w, CHUNK_META, 0, text, size);
    w->clock_mhz = machine_chip(m)->chip_clock_mhz;
    w->core_count = machine_core_count(m);
    w->chip_count = machine_slice(m)->chip_count;
    w->link_count = machine_net(m) ? net_link_count(machine_net(m)) : 0;
    w->stream_limit = stream_limit(w);
    w->core = arena_array(&w->arena, (size_t)w->core_count, sizeof(*w->core));
    for (int i = 0; i < w->core_count; i++)
        ntrace_core_out_init(&w->core[i], w, i);
    w->dma = make_others(w, w->core_count, CHUNK_DMAS);
    w->hbm = make_others(w, w->chip_count, CHUNK_HBM);
    w->link = make_others(w, w->link_count, CHUNK_LINKS);
}

/* a snapshot that is taken up on the way: what was told before is told again */
static void begin(void *context, const struct trace_launch *l)
{
    struct ntrace_writer *w = context;

    w->is_told_again = w->is_in_launch;
    for (int i = 0; i < w->core_count && w->is_in_launch; i++)
        w->core[i].known_until = w->core[i].now;
    if (w->is_in_launch)
        return;
    w->is_in_launch = true;
    if (!w->has_begun)
        first_launch(w, l->machine);
    ntrace_writer_take_programs(w, l->machine);
    w->has_begun = true;
    w->launch_start_ps = clock_edge_ps(w->clock_mhz, w->launch_start);
    for (int i = 0; i < w->core_count; i++)
        ntrace_core_out_begin(&w->core[i], &w->out, w->launch_start + l->resumed_at);
    write_launch(w, -1, NULL);
}

static struct ntrace_totals_meta totals_of(const struct ntrace_writer *w)
{
    struct ntrace_totals_meta t = {0};

    for (int i = 0; i < w->core_count; i++) {
        t.kept += w->core[i].quota.kept + w->dma[i].quota.kept;
        t.core += w->core[i].quota.left_out;
        t.dma += w->dma[i].quota.left_out;
    }
    for (int i = 0; i < w->chip_count; i++) {
        t.kept += w->hbm[i].quota.kept;
        t.hbm += w->hbm[i].quota.left_out;
    }
    for (int i = 0; i < w->link_count; i++) {
        t.kept += w->link[i].quota.kept;
        t.link += w->link[i].quota.left_out;
    }
    return t;
}

static void write_totals(struct ntrace_writer *w)
{
    struct ntrace_totals_meta t = totals_of(w);
    size_t size;
    char *text = ntrace_totals_print(&t, &size);

    write_text(w, CHUNK_TOTALS, 0, text, size);
}

static void flush_others(struct ntrace_writer *w, struct ntrace_other_out *o, int count,
                         bool is_end)
{
    for (int i = 0; i < count; i++)
        ntrace_other_out_flush(&o[i], &w->out, is_end);
}

static void flush_streams(struct ntrace_writer *w, bool is_end)
{
    for (int i = 0; i < w->core_count; i++)
        ntrace_core_out_flush(&w->core[i], &w->out, is_end);
    flush_others(w, w->dma, w->core_count, is_end);
    flush_others(w, w->hbm, w->chip_count, is_end);
    flush_others(w, w->link, w->link_count, is_end);
}

static void end(void *context, const struct machine *m)
{
    struct ntrace_writer *w = context;
    const struct fault *f = machine_fault(m);
    cycle_t cycles = machine_cycles(m);

    for (int i = 0; i < w->core_count; i++) {
        if (w->options.level == TRACE_STEP)
            ntrace_core_out_launch(&w->core[i], &w->out, machine_counters(m, i));
        else
            ntrace_core_out_end(&w->core[i], &w->out, w->launch_start + cycles);
    }
    if (w->options.level == TRACE_STEP)
        ntrace_other_out_launch(w, m);
    write_launch(w, cycles, f->kind == FAULT_NONE ? NULL : f->msg);
    w->is_in_launch = w->is_told_again = false;
    w->launch_count++;
    w->launch_start += cycles;
    w->next_name = "";
}

/* ---- records ---- */

static void core_records(void *context, int core, const struct trace_record *r, size_t count)
{
    struct ntrace_writer *w = context;
    struct ntrace_core_out *c = &w->core[core];
    struct trace_record shifted;

    if (w->options.level == TRACE_STEP) {
        c->quota.left_out += (int64_t)count;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        shifted = (struct trace_record){
            .at = r[i].at + w->launch_start, .value = r[i].value, .bundle = r[i].bundle,
            .kind = r[i].kind, .reason = r[i].reason, .op = r[i].op, .mask = r[i].mask,
            .stride = r[i].stride};
        ntrace_core_out_record(c, &w->out, &shifted);
    }
}

static void core_repeat(void *context, int core, const struct trace_repeat *r)
{
    struct ntrace_writer *w = context;
    struct trace_repeat shifted = *r;

    if (w->options.level == TRACE_STEP) {
        w->core[core].quota.left_out++;
        return;
    }
    shifted.at += w->launch_start;
    ntrace_core_out_repeat(&w->core[core], &w->out, &shifted);
}

static void dma(void *context, int core, const struct trace_dma *d)
{
    struct ntrace_writer *w = context;
    struct trace_dma shifted = *d;

    shifted.issued_at += w->launch_start;
    shifted.started_at += w->launch_start;
    shifted.done_at += w->launch_start;
    shifted.bundle += w->core[core].first_bundle;
    ntrace_other_out_dma(w, &w->dma[core], &shifted);
}

static void hbm(void *context, int chip, const struct trace_hbm *h)
{
    struct ntrace_writer *w = context;
    struct trace_hbm shifted = *h;

    shifted.asked_at += w->launch_start_ps;
    shifted.data_at += w->launch_start_ps;
    shifted.end_at += w->launch_start_ps;
    ntrace_other_out_hbm(w, &w->hbm[chip], &shifted);
}

static void link_use(void *context, int link, const struct trace_link *l)
{
    struct ntrace_writer *w = context;
    struct trace_link shifted = *l;

    shifted.start += w->launch_start_ps;
    shifted.end += w->launch_start_ps;
    ntrace_other_out_link(w, &w->link[link], &shifted);
}

/* ---- the file ---- */

struct ntrace_writer *ntrace_writer_open(const char *path, const struct ntrace_options *o,
                                         struct err *e)
{
    struct ntrace_writer *w = mem_alloc(sizeof(*w));

    if (ntrace_out_open(&w->out, path, e)) {
        mem_free(w);
        return NULL;
    }
    arena_init(&w->arena);
    w->options = *o;
    w->options.title = arena_strdup(&w->arena, o->title ? o->title : "");
    w->options.command = arena_strdup(&w->arena, o->command ? o->command : "");
    w->next_name = "";
    w->sink = (struct trace_sink){.context = w, .wants_access = o->level >= TRACE_SLOT,
                                  .begin = begin, .core = core_records, .repeat = core_repeat,
                                  .dma = dma, .hbm = hbm, .link = link_use, .end = end};
    return w;
}

const struct trace_sink *ntrace_writer_sink(struct ntrace_writer *w) { return &w->sink; }

void ntrace_writer_name_launch(struct ntrace_writer *w, const char *name)
{
    w->next_name = arena_strdup(&w->arena, name);
}

int ntrace_writer_flush(struct ntrace_writer *w, struct err *e)
{
    flush_streams(w, false);
    write_totals(w);
    return ntrace_out_check(&w->out, e);
}

void ntrace_writer_put_stats(struct ntrace_writer *w, const char *json)
{
    mem_free(w->stats);
    w->stats = mem_alloc(strlen(json) + 1);
    strcpy(w->stats, json);
}

void ntrace_writer_put_listing(struct ntrace_writer *w, const struct ntrace_listing *l)
{
    char *text = ntrace_listing_print(l);

    if (text)
        write_text(w, CHUNK_LISTING, 0, text, strlen(text));
}

static void release(struct ntrace_other_out *o, int count)
{
    for (int i = 0; i < count; i++)
        ntrace_other_out_fini(&o[i]);
}

int ntrace_writer_close(struct ntrace_writer *w, struct err *e)
{
    int status;

    flush_streams(w, true);
    if (w->stats)
        write_text(w, CHUNK_STATS, 0, w->stats, strlen(w->stats));
    write_totals(w);
    status = ntrace_out_close(&w->out, e);
    for (int i = 0; i < w->core_count; i++)
        ntrace_core_out_fini(&w->core[i]);
    release(w->dma, w->core_count);
    release(w->hbm, w->chip_count);
    release(w->link, w->link_count);
    for (size_t i = 0; i < w->program_count; i++)
        mem_free(w->program[i]->object);
    mem_free(w->program);
    arena_fini(&w->arena);
    mem_free(w);
    return status;
}
