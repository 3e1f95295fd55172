/*
 * The profiles of XProf and TensorBoard. A plane's length stands before it, so
 * the events of one plane are held in memory, packed; planes follow each other.
 * Names of lines are XProf's where it has one: docs/traces.md.
 */
#include "report/export/export_xspace.h"

#include "base/outfile.h"

#include "report/view/hlo_category.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { SPACE_PLANE = 1, PLANE_LINE = 3, PLANE_EVENT_METADATA = 4, PLANE_STAT_METADATA = 5,
       LINE_EVENT = 4 };

/* ids of event metadata: a name for each use it has in a plane */
enum use { USE_PLAIN, USE_OP, USE_COUNTER, USE_COUNT };

static int64_t metadata_id(uint32_t name, enum use use)
{
    return (int64_t)name * USE_COUNT + (int64_t)use + 1;
}

/* ----- stats */

static const char *const stat_names[XSTAT_COUNT] = {
#define XSTAT(id, name) name,
#include "report/export/export_xstats.def"
};

static void put_stat_metadata(struct export_xspace *w, int64_t id, const char *name)
{
    XStatMetadataEntry entry = XSTAT_METADATA_ENTRY__INIT;
    XStatMetadata value = XSTAT_METADATA__INIT;

    value.id = entry.key = id;
    value.name = (char *)name;
    entry.value = &value;
    export_pb_append_field(&w->metadata, PLANE_STAT_METADATA, &entry.base);
}

static int64_t stat_id(struct export_xspace *w, enum export_xstat stat)
{
    if (!w->has_stat[stat])
        put_stat_metadata(w, (int64_t)stat + 1, stat_names[stat]);
    w->has_stat[stat] = true;
    return (int64_t)stat + 1;
}

static int64_t key_id(struct export_xspace *w, enum export_key key)
{
    int64_t id = XSTAT_COUNT + (int64_t)key + 1;

    if (key == KEY_STEP || key == KEY_PROGRAM || key == KEY_BYTES)      /* one of the fixed ones */
        return stat_id(w, key == KEY_STEP ? XSTAT_GROUP_ID
                          : key == KEY_PROGRAM ? XSTAT_PROGRAM_ID : XSTAT_BYTES_ACCESSED);
    if (!w->has_key[key])
        put_stat_metadata(w, id, export_key_xprof(key));
    w->has_key[key] = true;
    return id;
}

/* a text is the name of a stat metadata, which the stat refers to */
static uint64_t text_id(struct export_xspace *w, uint32_t text)
{
    int64_t id = (int64_t)XSTAT_COUNT + (int64_t)KEY_COUNT + 1 + (int64_t)text;

    w->has_text = mem_grow(w->has_text, &w->text_capacity, (size_t)text + 1, 1);
    if (!w->has_text[text])
        put_stat_metadata(w, id, export_text(w->r->names, text));
    w->has_text[text] = 1;
    return (uint64_t)id;
}

static XStat *add_stat(struct export_xspace *w, struct export_xstats *s, enum export_xstat stat)
{
    XStat *to = s->list[s->count] = &s->item[s->count];

    xstat__init(to);
    to->metadata_id = stat_id(w, stat);
    s->count++;
    return to;
}

void export_xspace_add_int(struct export_xspace *w, struct export_xstats *s, enum export_xstat stat,
                           int64_t value)
{
    XStat *to = add_stat(w, s, stat);

    to->value_case = XSTAT__VALUE_INT64_VALUE;
    to->int64_value = value;
}

void export_xspace_add_uint(struct export_xspace *w, struct export_xstats *s,
                            enum export_xstat stat, uint64_t value)
{
    XStat *to = add_stat(w, s, stat);

    to->value_case = XSTAT__VALUE_UINT64_VALUE;
    to->uint64_value = value;
}

void export_xspace_add_double(struct export_xspace *w, struct export_xstats *s,
                              enum export_xstat stat, double value)
{
    XStat *to = add_stat(w, s, stat);

    to->value_case = XSTAT__VALUE_DOUBLE_VALUE;
    to->double_value = value;
}

void export_xspace_add_text(struct export_xspace *w, struct export_xstats *s,
                            enum export_xstat stat, const char *text)
{
    XStat *to = add_stat(w, s, stat);

    to->value_case = XSTAT__VALUE_STR_VALUE;
    to->str_value = (char *)text;
}

static void add_args(struct export_xspace *w, struct export_xstats *s,
                     const struct export_slice *slice)
{
    for (int i = 0; i < slice->arg_count; i++) {
        const struct export_arg *arg = &slice->arg[i];
        XStat *to = s->list[s->count] = &s->item[s->count];

        xstat__init(to);
        to->metadata_id = key_id(w, arg->key);
        to->value_case = arg->text ? XSTAT__VALUE_REF_VALUE : XSTAT__VALUE_INT64_VALUE;
        if (arg->text)
            to->ref_value = text_id(w, arg->text);
        else
            to->int64_value = arg->value;
        s->count++;
    }
}

/* ----- event metadata */

static void put_metadata(struct export_xspace *w, int64_t id, const char *name,
                         const char *display_name, struct export_xstats *s)
{
    XEventMetadataEntry entry = XEVENT_METADATA_ENTRY__INIT;
    XEventMetadata value = XEVENT_METADATA__INIT;

    value.id = entry.key = id;
    value.name = (char *)name;
    value.display_name = (char *)display_name;
    value.n_stats = s ? s->count : 0;
    value.stats = s ? s->list : NULL;
    entry.value = &value;
    export_pb_append_field(&w->metadata, PLANE_EVENT_METADATA, &entry.base);
}

/* metadata of operations waits for the end of the plane, when their sums are known */
static int64_t event_id(struct export_xspace *w, uint32_t name, enum use use)
{
    uint8_t bit = (uint8_t)(1u << use);

    w->has_name = mem_grow(w->has_name, &w->name_capacity, (size_t)name + 1, 1);
    if (use != USE_OP && !(w->has_name[name] & bit))
        put_metadata(w, metadata_id(name, use), export_text(w->r->names, name), "", NULL);
    w->has_name[name] |= bit;
    return metadata_id(name, use);
}

/* ----- operations: what one of them costs */

static struct export_xop *op_of(struct export_xspace *w, uint32_t note)
{
    w->op = mem_grow(w->op, &w->op_capacity, (size_t)note + 1, sizeof(*w->op));
    return &w->op[note];
}

static void sum_op(struct export_xspace *w, const struct export_track *t,
                   const struct export_slice *s)
{
    struct export_xop *op = op_of(w, s->note);

    if (t->kind == EXPORT_OPS) {
        op->name = s->name;
        op->count++;
    } else if (t->kind == EXPORT_COPIES && s->touches_hbm) {
        *(s->is_write ? &op->write_bytes : &op->read_bytes) += s->bytes;
    } else if (t->kind == EXPORT_UNIT && s->op) {
        const struct isa_program *p = ntrace_program(w->r->t, t->process->index);
        struct matrix_op m = matrix_op_of_isa(&p->op[s->op - 1]);
        int64_t size = w->r->info->chip->mxu_size;

        if (m.kind == MATRIX_MULTIPLY)
            op->flops += 2 * matrix_rows(m.type) * size * size;
    }
}

/* bytes of HBM, read and written, in the message that XProf expects in a stat */
static size_t pack_breakdown(const struct export_xop *op, uint8_t *to)
{
    MemoryAccessed part[2] = {MEMORY_ACCESSED__INIT, MEMORY_ACCESSED__INIT};
    MemoryAccessed *parts[2] = {&part[0], &part[1]};
    MemoryAccessBreakdown m = MEMORY_ACCESS_BREAKDOWN__INIT;

    for (int i = 0; i < 2; i++) {
        part[i].operation_type = i + 1;
        part[i].memory_space = 1;
        part[i].bytes_accessed = (uint64_t)((i ? op->write_bytes : op->read_bytes) / op->count);
    }
    m.n_memory_accessed = 2;
    m.memory_accessed = parts;
    return memory_access_breakdown__pack(&m, to);
}

static void put_op_metadata(struct export_xspace *w, uint32_t note)
{
    const struct export_xop *op = &w->op[note];
    const char *name = export_text(w->r->names, op->name);
    struct export_xstats s = {.count = 0};
    uint8_t breakdown[128];
    XStat *to;

    export_xspace_add_text(w, &s, XSTAT_HLO_CATEGORY,
                           hlo_category(note ? name : NULL, op->flops > 0));
    export_xspace_add_text(w, &s, XSTAT_TF_OP, name);
    export_xspace_add_int(w, &s, XSTAT_PROGRAM_ID,
                          export_program_id(w->r->programs, w->process->index));
    export_xspace_add_int(w, &s, XSTAT_SYMBOL_ID, (int64_t)note + 1);
    if (w->r->options.level >= TRACE_BUNDLE) {
        export_xspace_add_int(w, &s, XSTAT_FLOPS, op->flops / op->count);
        export_xspace_add_int(w, &s, XSTAT_MODEL_FLOPS, op->flops / op->count);
    }
    export_xspace_add_int(w, &s, XSTAT_BYTES_ACCESSED,
                          (op->read_bytes + op->write_bytes) / op->count);
    to = add_stat(w, &s, XSTAT_BREAKDOWN);
    to->value_case = XSTAT__VALUE_BYTES_VALUE;
    to->bytes_value.data = breakdown;
    to->bytes_value.len = pack_breakdown(op, breakdown);
    put_metadata(w, metadata_id(op->name, USE_OP), name, name, &s);
}

/* ----- lines */

static struct export_xline *find_line(struct export_xspace *w, const char *name)
{
    for (size_t i = 0; i < w->line_count; i++)
        if (strcmp(w->line[i].name, name) == 0)
            return &w->line[i];
    return NULL;
}

static struct export_xline *add_line(struct export_xspace *w, const char *name)
{
    w->line = mem_grow(w->line, &w->line_capacity, w->line_count + 1, sizeof(*w->line));
    snprintf(w->line[w->line_count].name, sizeof(w->line[0].name), "%s", name);
    return &w->line[w->line_count++];
}

static void put_track(void *context, const struct export_track *t)
{
    struct export_xspace *w = context;
    bool is_shared = t->kind == EXPORT_COUNTER && t->process->kind != EXPORT_ICI;
    struct export_xline *line;
    char name[64];

    export_xspace_line_name(t, name, sizeof(name));
    line = is_shared ? find_line(w, name) : NULL;
    if (!line)
        line = add_line(w, name);
    w->line_of = mem_grow(w->line_of, &w->line_of_capacity, (size_t)t->id + 1,
                          sizeof(*w->line_of));
    w->line_of[t->id] = (size_t)(line - w->line);
}

static void put_event(struct export_xspace *w, const struct export_track *t, XEvent *e)
{
    struct export_xline *line = &w->line[w->line_of[t->id]];
    ps_t end = e->offset_ps + e->duration_ps;

    export_pb_append_field(&line->events, LINE_EVENT, &e->base);
    line->end_ps = end > line->end_ps ? end : line->end_ps;
}

static void put_slice(void *context, const struct export_track *t, const struct export_slice *s)
{
    struct export_xspace *w = context;
    XEvent e = XEVENT__INIT;
    struct export_xstats stats = {.count = 0};
    char module[300];
    uint32_t name = s->name;

    if (t->process->kind == EXPORT_CORE)
        sum_op(w, t, s);
    if (t->kind == EXPORT_MODULES) {
        snprintf(module, sizeof(module), "%.200s(%d)", export_text(w->r->names, name),
                 export_program_id(w->r->programs, t->process->index));
        name = export_name(w->r->names, module);
        export_xspace_add_int(w, &stats, XSTAT_RUN_ID, s->launch + 1);
    }
    e.metadata_id = event_id(w, name, t->kind == EXPORT_OPS ? USE_OP : USE_PLAIN);
    e.offset_ps = s->start_ps;
    e.duration_ps = s->end_ps - s->start_ps;
    add_args(w, &stats, s);
    if (t->kind == EXPORT_OPS || t->kind == EXPORT_COPIES)
        export_xspace_add_int(w, &stats, XSTAT_GROUP_ID, s->launch + 1);
    if (s->flow)                        /* direction 1 in, 2 out; then 56 bits of number */
        export_xspace_add_uint(w, &stats, XSTAT_FLOW, (s->ends_flow ? 1u : 2u) | s->flow << 2);
    e.n_stats = stats.count;
    e.stats = stats.list;
    put_event(w, t, &e);
    w->r->result.event_count++;
}

static void put_sample(void *context, const struct export_track *t, cycle_t at, double value)
{
    struct export_xspace *w = context;
    struct export_xstats stats = {.count = 0};
    XEvent e = XEVENT__INIT;
    char name[128];

    snprintf(name, sizeof(name), "%s (%s)", t->name, t->unit);
    e.metadata_id = event_id(w, export_name(w->r->names, name), USE_COUNTER);
    e.offset_ps = export_ps(w->r, at);
    export_xspace_add_double(w, &stats, XSTAT_COUNTER_VALUE, value);
    e.n_stats = stats.count;
    e.stats = stats.list;
    put_event(w, t, &e);
    w->r->result.sample_count++;
}

/* ----- planes */

static void begin_plane(void *context, const struct export_process *p)
{
    struct export_xspace *w = context;

    w->process = p;
    w->line_count = 0;
}

static void forget_plane(struct export_xspace *w)
{
    for (size_t i = 0; i < w->line_count; i++) {
        export_pb_free(&w->line[i].events);
        w->line[i] = (struct export_xline){0};
    }
    w->line_count = 0;
    w->metadata.count = 0;
    memset(w->has_stat, 0, sizeof(w->has_stat));
    memset(w->has_key, 0, sizeof(w->has_key));
    if (w->has_name)
        memset(w->has_name, 0, w->name_capacity);
    if (w->has_text)
        memset(w->has_text, 0, w->text_capacity);
    if (w->op)
        memset(w->op, 0, w->op_capacity * sizeof(*w->op));
}

static void put_line_head(const struct export_xline *line, size_t index, struct export_pb_bytes *to)
{
    XLine head = XLINE__INIT;

    to->count = 0;
    head.id = (int64_t)index + 1;
    head.name = (char *)line->name;
    head.duration_ps = line->end_ps;
    export_pb_append(to, &head.base);
}

/* heads of lines are packed twice: for the plane's length, and when it is written */
static void write_plane(struct export_xspace *w, struct export_pb_bytes *plane)
{
    struct export_pb_bytes head = {0}, length = {0}, line = {0};
    size_t bytes = plane->count + w->metadata.count;

    for (size_t i = 0; i < w->line_count; i++) {
        put_line_head(&w->line[i], i, &line);
        length.count = 0;
        export_pb_append_head(&length, PLANE_LINE, line.count + w->line[i].events.count);
        bytes += length.count + line.count + w->line[i].events.count;
    }
    export_pb_append_head(&head, SPACE_PLANE, bytes);
    w->bytes += (int64_t)(head.count + bytes);
    export_pb_flush(&head, w->to);
    export_pb_flush(plane, w->to);
    for (size_t i = 0; i < w->line_count; i++) {
        put_line_head(&w->line[i], i, &line);
        export_pb_append_head(&head, PLANE_LINE, line.count + w->line[i].events.count);
        export_pb_flush(&head, w->to);
        export_pb_flush(&line, w->to);
        export_pb_flush(&w->line[i].events, w->to);
    }
    export_pb_flush(&w->metadata, w->to);
    export_pb_free(&head);
    export_pb_free(&length);
    export_pb_free(&line);
}

static void end_plane(void *context, const struct export_process *p)
{
    struct export_xspace *w = context;
    struct export_pb_bytes plane = {0};

    for (uint32_t note = 0; note < w->op_capacity; note++)
        if (w->op[note].count)
            put_op_metadata(w, note);
    export_xspace_describe_plane(w, p, &plane);
    if (w->line_count)                  /* a plane without events is dropped by readers */
        write_plane(w, &plane);
    export_pb_free(&plane);
    forget_plane(w);
}

/* when the profile began and ended, ns: readers look for that in a plane of its own */
static void put_task_environment(struct export_xspace *w)
{
    const struct export_run *r = w->r;
    const double ns = 1e3 / (double)r->info->chip->chip_clock_mhz;
    struct export_pb_bytes body = {0};
    struct export_xstats stats = {.count = 0};
    XPlane plane = XPLANE__INIT;

    export_xspace_add_uint(w, &stats, XSTAT_PROFILE_START,
                           (uint64_t)((double)r->options.first * ns));
    export_xspace_add_uint(w, &stats, XSTAT_PROFILE_STOP, (uint64_t)((double)r->end * ns));
    plane.name = (char *)"Task Environment";
    plane.n_stats = stats.count;
    plane.stats = stats.list;
    export_pb_append(&body, &plane.base);
    write_plane(w, &body);
    export_pb_free(&body);
    forget_plane(w);
}

/* ----- the file */

static void put_space(struct export_xspace *w)
{
    const struct export_run *r = w->r;
    XSpace space = XSPACE__INIT;
    struct export_pb_bytes b = {0};
    char *hostname = (char *)"systole", text[300], *warning = text;

    space.n_hostnames = 1;
    space.hostnames = &hostname;
    if (r->result.left_out_cycles) {
        snprintf(text, sizeof(text), "%" PRId64 " cycles from cycle %" PRId64 " on, with %" PRId64
                 " bundles, were left out by the limit of events", r->result.left_out_cycles,
                 r->end, r->result.left_out_bundles);
        space.n_warnings = 1;
        space.warnings = &warning;
    }
    export_pb_append(&b, &space.base);
    export_pb_flush(&b, w->to);
    export_pb_free(&b);
}

static int check_size(const struct export_xspace *w, struct err *e)
{
    if (w->bytes <= INT32_MAX)
        return 0;
    return err_set(e, "%s would have %" PRId64 " bytes, readers of XSpace take 2147483647; a "
                   "window, a limit of events or a coarser level makes it smaller", w->r->path,
                   w->bytes);
}

int export_write_xspace(struct export_run *r, FILE *to, struct err *e)
{
    struct export_xspace *w = mem_alloc(sizeof(*w));
    const struct export_sink sink = {
        .context = w, .nests = true, .wants_flows = true, .begin = begin_plane,
        .track = put_track, .slice = put_slice, .sample = put_sample, .end = end_plane};
    int status;

    *w = (struct export_xspace){.r = r, .to = to};
    errno = 0;
    export_walk(r, &sink);
    put_task_environment(w);
    put_space(w);
    status = ferror(to) ? err_set(e, "cannot write %s: %s", r->path,
                                  strerror(outfile_code(to))) : check_size(w, e);
    export_pb_free(&w->metadata);
    mem_free(w->line);
    mem_free(w->line_of);
    mem_free(w->op);
    mem_free(w->has_name);
    mem_free(w->has_text);
    mem_free(w);
    return status;
}
