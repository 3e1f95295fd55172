/* Reads what a trace says of its run: chip and slice, launches, programs. */
#include "report/native_trace/ntrace_impl.h"

#include "isa/object.h"

#include <stdio.h>

static void *text_of_chunk(struct ntrace *t, struct ntrace_chunk *c, struct ntrace_loaded **l)
{
    *l = ntrace_use(t, c);
    return *l ? (*l)->data : NULL;
}

static struct ntrace_chunk *last_chunk(const struct ntrace *t, enum ntrace_chunk_kind kind,
                                       uint32_t stream)
{
    const struct ntrace_group *g = ntrace_group(t, kind, 0, stream);
    struct ntrace_chunk *last = NULL;

    for (size_t i = 0; g && i < g->count; i++)
        if (!last || g->chunk[i]->offset > last->offset)
            last = g->chunk[i];
    return last;
}

static int read_meta(struct ntrace *t, struct err *e)
{
    struct ntrace_chunk *c = last_chunk(t, CHUNK_META, 0);
    struct ntrace_loaded *l;
    char *text = c ? text_of_chunk(t, c, &l) : NULL;
    struct err why;
    int status;

    if (!text)
        return err_at(e, t->path, 0, 0, "the trace does not say what it is of: %s",
                      c ? "that part is damaged" : "nothing was recorded yet, or it was cut short");
    status = ntrace_meta_parse(text, c->head.bytes, &t->arena, &t->meta, &why);
    ntrace_unuse(t, l);
    if (status)
        return err_at(e, t->path, 0, 0, "%s", why.msg);
    if (t->meta.unknown[0])
        ntrace_add_note(t, "%s", t->meta.unknown);
    if (t->meta.has_other_opcodes)
        ntrace_add_note(t, "the trace was written with another table of operations: programs and "
                        "names of operations may be missing");
    memcpy(t->limits.stall, t->meta.stall, sizeof(t->limits.stall));
    t->has_meta = true;
    return 0;
}

/* ---- launches ---- */

static void take_launch(struct ntrace *t, struct ntrace_launch *to, size_t number, cycle_t start)
{
    struct ntrace_chunk *c = last_chunk(t, CHUNK_LAUNCH, (uint32_t)number);
    struct ntrace_launch_meta l = {0};
    struct ntrace_loaded *loaded;
    char *text = c ? text_of_chunk(t, c, &loaded) : NULL;

    *to = (struct ntrace_launch){.start = start, .cycles = -1, .name = "", .fault = ""};
    if (!text)
        return;
    if (ntrace_launch_parse(text, c->head.bytes, &t->arena, &l) == 0 && l.start >= start) {
        to->start = l.start;
        to->cycles = l.cycles;
        to->name = l.name;
        to->is_faulted = l.fault != NULL;
        to->fault = l.fault ? l.fault : "";
    }
    ntrace_unuse(t, loaded);
}

/* how far anything in the file goes */
static cycle_t last_cycle(const struct ntrace *t)
{
    cycle_t last = 0;

    for (size_t i = 0; i < t->group_count; i++)
        if (t->group[i].kind >= CHUNK_RECORDS)
            last = later(last, t->group[i].chunk[t->group[i].count - 1]->last_so_far);
    return last;
}

static void read_launches(struct ntrace *t)
{
    size_t groups = 0, count = 0;
    cycle_t start = 0;
    struct ntrace_launch *list;

    for (size_t i = 0; i < t->group_count; i++)
        groups += t->group[i].kind == CHUNK_LAUNCH;
    list = arena_array(&t->arena, groups + 1, sizeof(*list));
    for (; count < groups && ntrace_group(t, CHUNK_LAUNCH, 0, (int64_t)count); count++) {
        take_launch(t, &list[count], count, start);
        if (count)
            list[count - 1].cycles = list[count].start - list[count - 1].start;
        start = list[count].start + later(list[count].cycles, 0);
    }
    if (count && list[count - 1].cycles < 0)    /* still running, or not told */
        list[count - 1].cycles = later(last_cycle(t) - list[count - 1].start, 0);
    t->info.launch = list;
    t->info.launch_count = count;
    t->info.cycles = count ? list[count - 1].start + list[count - 1].cycles : last_cycle(t);
}

/* ---- programs ---- */

static void read_program(struct ntrace *t, uint32_t number, struct isa_program *p)
{
    struct ntrace_chunk *c = last_chunk(t, CHUNK_PROGRAM, number);
    struct ntrace_loaded *l = c ? ntrace_use(t, c) : NULL;
    struct err e = {.msg = "it is missing"};
    uint8_t *bytes;

    memset(p, 0, sizeof(*p));
    p->name = "";
    if (l) {
        bytes = arena_alloc(&t->arena, (size_t)c->head.bytes + 1);
        memcpy(bytes, l->data, c->head.bytes);
        if (isa_object_parse(bytes, c->head.bytes, t->path, &t->arena, p, &e) == 0)
            e.msg[0] = '\0';
        ntrace_unuse(t, l);
    }
    if (e.msg[0])
        ntrace_add_note(t, "program %u cannot be shown: %s", (unsigned)number, e.msg);
}

static void read_ops(struct ntrace *t, uint32_t number, const struct isa_program *p,
                     struct trace_op *to)
{
    struct ntrace_chunk *c = last_chunk(t, CHUNK_OPS, number);
    struct ntrace_loaded *l = c ? ntrace_use(t, c) : NULL;
    struct ntrace_cursor in = {0};

    if (l)
        in = (struct ntrace_cursor){.at = l->data, .end = l->data + c->head.bytes};
    for (uint32_t i = 0; i < p->op_count; i++) {
        ntrace_get_varint(&in);         /* its code is the program's */
        to[i].code = p->op[i].code;
        to[i].track = (int16_t)ntrace_get_within(&in, (int64_t)ntrace_get_varint(&in), 0,
                                                 MACHINE_UNIT_MAX - 1);
        to[i].busy_cycles =
            (uint32_t)ntrace_get_within(&in, (int64_t)ntrace_get_varint(&in), 0, INT32_MAX);
        if (in.is_bad)
            to[i] = (struct trace_op){.code = p->op[i].code};
    }
    if (p->op_count && in.is_bad)
        ntrace_add_note(t, "the table of operations of program %u is damaged: its units seem idle",
                        (unsigned)number);
    if (l)
        ntrace_unuse(t, l);
}

static void move_branches(struct isa_op *op, uint32_t by)
{
    const struct isa_info *info = isa_info((enum isa_opcode)op->code);

    for (int i = 0; i < op->operand_count; i++)
        if (info->role[i] == 'L' && op->operand[i].kind == OPERAND_IMM)
            op->operand[i].value += (int32_t)by;
}

/* `p` behind what `to` has */
static void append(struct isa_program *to, const struct isa_program *p)
{
    for (uint32_t i = 0; i < p->op_count; i++) {
        to->op[to->op_count + i] = p->op[i];
        move_branches(&to->op[to->op_count + i], to->bundle_count);
    }
    for (uint32_t i = 0; i < p->bundle_count; i++) {
        struct isa_bundle *b = &to->bundle[to->bundle_count + i];

        *b = p->bundle[i];
        b->first_op += to->op_count;
        b->note += b->note ? to->note_count : 0;
    }
    for (uint32_t i = 0; i < p->symbol_count; i++) {
        to->symbol[to->symbol_count + i] = p->symbol[i];
        to->symbol[to->symbol_count + i].bundle += to->bundle_count;
    }
    for (uint32_t i = 0; i < p->note_count; i++)
        to->note[to->note_count + i] = p->note[i];
    to->op_count += p->op_count;
    to->bundle_count += p->bundle_count;
    to->symbol_count += p->symbol_count;
    to->note_count += p->note_count;
}

static void join(struct ntrace *t, struct ntrace_merged_program *m, const struct isa_program *part)
{
    size_t ops = 0, bundles = 0, symbols = 0, notes = 0;
    struct isa_program *p = &m->program;

    for (size_t i = 0; i < m->count; i++) {
        ops += part[i].op_count;
        bundles += part[i].bundle_count;
        symbols += part[i].symbol_count;
        notes += part[i].note_count;
    }
    *p = (struct isa_program){.name = part[0].name};
    p->op = arena_array(&t->arena, ops + 1, sizeof(*p->op));
    p->bundle = arena_array(&t->arena, bundles + 1, sizeof(*p->bundle));
    p->symbol = arena_array(&t->arena, symbols + 1, sizeof(*p->symbol));
    p->note = arena_array(&t->arena, notes + 1, sizeof(*p->note));
    m->op = arena_array(&t->arena, ops + 1, sizeof(*m->op));
    for (size_t i = 0; i < m->count; i++) {
        read_ops(t, m->list[i], &part[i], m->op + p->op_count);
        append(p, &part[i]);
    }
}

static struct ntrace_merged_program *merged(struct ntrace *t, const uint32_t *list, size_t count)
{
    struct ntrace_merged_program *m;
    struct isa_program *part;

    for (size_t i = 0; i < t->merged_count; i++)
        if (t->merged[i]->count == count
            && memcmp(t->merged[i]->list, list, count * sizeof(*list)) == 0)
            return t->merged[i];
    m = arena_alloc(&t->arena, sizeof(*m));
    m->list = arena_array(&t->arena, count, sizeof(*m->list));
    m->count = count;
    memcpy(m->list, list, count * sizeof(*list));
    part = arena_array(&t->arena, count, sizeof(*part));
    for (size_t i = 0; i < count; i++)
        read_program(t, list[i], &part[i]);
    join(t, m, part);
    ntrace_tally_prepare(&m->tally, &m->program, m->op, &t->arena);
    MEM_ADD(t->merged, t->merged_count, t->merged_capacity) = m;
    return m;
}

#define PROGRAMS_MOST 64                /* of one core */

static void read_cores(struct ntrace *t)
{
    struct ntrace_chunk *c = last_chunk(t, CHUNK_CORES, 0);
    struct ntrace_loaded *l = c ? ntrace_use(t, c) : NULL;
    uint32_t list[PROGRAMS_MOST];
    struct ntrace_cursor in;

    t->of_core = arena_array(&t->arena, (size_t)t->meta.core_count + 1, sizeof(*t->of_core));
    if (!l) {
        ntrace_add_note(t, "which programs the cores ran is not known");
        return;
    }
    in = (struct ntrace_cursor){.at = l->data, .end = l->data + c->head.bytes};
    for (int i = 0; i < t->meta.core_count && !in.is_bad; i++) {
        size_t count =
            (size_t)ntrace_get_within(&in, (int64_t)ntrace_get_varint(&in), 0, PROGRAMS_MOST);

        for (size_t j = 0; j < count; j++)
            list[j] =
                (uint32_t)ntrace_get_within(&in, (int64_t)ntrace_get_varint(&in), 0, UINT32_MAX);
        if (count && !in.is_bad)
            t->of_core[i] = merged(t, list, count);
    }
    ntrace_unuse(t, l);
}

/* ---- all together ---- */

static void read_totals(struct ntrace *t)
{
    struct ntrace_chunk *c = last_chunk(t, CHUNK_TOTALS, 0);
    struct ntrace_loaded *l = c ? ntrace_use(t, c) : NULL;

    if (l) {
        t->has_totals = ntrace_totals_parse((char *)l->data, c->head.bytes, &t->totals) == 0;
        ntrace_unuse(t, l);
    }
    t->info.record_count = t->totals.kept;
    t->info.left_out_count = t->totals.core + t->totals.dma + t->totals.hbm + t->totals.link;
}

static void read_stats(struct ntrace *t)
{
    struct ntrace_chunk *c = last_chunk(t, CHUNK_STATS, 0);
    struct ntrace_loaded *l = c ? ntrace_use(t, c) : NULL;
    char *text;

    t->info.stats_json = "";
    if (!l)
        return;
    text = arena_alloc(&t->arena, (size_t)c->head.bytes + 1);
    memcpy(text, l->data, c->head.bytes);
    t->info.stats_json = text;
    ntrace_unuse(t, l);
}

static void read_listing(struct ntrace *t)
{
    struct ntrace_chunk *c = last_chunk(t, CHUNK_LISTING, 0);
    struct ntrace_loaded *l = c && !t->info.listing ? ntrace_use(t, c) : NULL;
    struct ntrace_listing *listing;

    if (!l)
        return;
    listing = arena_alloc(&t->arena, sizeof(*listing));
    if (ntrace_listing_parse((const char *)l->data, c->head.bytes, &t->arena, listing) == 0)
        t->info.listing = listing;
    ntrace_unuse(t, l);
}

int ntrace_describe(struct ntrace *t, struct err *e)
{
    struct ntrace_info *i = &t->info;
    const struct ntrace_meta *m = &t->meta;

    if (!t->has_meta && read_meta(t, e))
        return -1;
    read_launches(t);
    read_cores(t);
    read_totals(t);
    read_stats(t);
    read_listing(t);
    i->level = m->level;
    i->title = m->title;
    i->command = m->command;
    i->chip = &m->chip;
    i->slice = &m->slice;
    i->core_count = m->core_count;
    i->chip_count = m->chip_count;
    i->link_count = m->link_count;
    i->unit_count = m->unit_count;
    i->channel_count = m->channel_count;
    i->bank_count = m->bank_count;
    i->window_first = m->window_first;
    i->window_end = m->window_end ? m->window_end : i->cycles;
    return 0;
}

const struct ntrace_info *ntrace_info(const struct ntrace *t) { return &t->info; }

bool ntrace_has_suffix(const char *path)
{
    static const char suffix[] = ".strace";
    size_t length = strlen(path), own = sizeof(suffix) - 1;

    return length > own && strcmp(path + length - own, suffix) == 0;
}

static const struct ntrace_merged_program *of_core(const struct ntrace *t, int core)
{
    return core >= 0 && core < t->meta.core_count ? t->of_core[core] : NULL;
}

const struct isa_program *ntrace_program(const struct ntrace *t, int core)
{
    const struct ntrace_merged_program *m = of_core(t, core);

    return m && m->program.bundle_count ? &m->program : NULL;
}

const struct trace_op *ntrace_op_table(const struct ntrace *t, int core)
{
    return ntrace_program(t, core) ? of_core(t, core)->op : NULL;
}

const char *ntrace_unit_name(const struct ntrace *t, int unit)
{
    return unit >= 0 && unit < MACHINE_UNIT_MAX ? t->meta.unit_name[unit] : "";
}

void ntrace_link_ends(const struct ntrace *t, int link, int *from, int *to)
{
    bool is_link = link >= 0 && link < t->meta.link_count;

    *from = is_link ? t->meta.link_ends[2 * link] : 0;
    *to = is_link ? t->meta.link_ends[2 * link + 1] : 0;
}
