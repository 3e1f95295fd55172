/*
 * The programs of a trace: each distinct one is written once, as an object file
 * with its table of operations. Bundles of a core are numbered through all
 * programs that it has run, in the order in which they came.
 */
#include "report/native_trace/ntrace_writer_impl.h"

#include "isa/object.h"
#include "sim/observe/inspect.h"

#include <assert.h>

static uint32_t crc_of_bundles(const struct isa_program *p)
{
    return ntrace_crc_of(p->bundle, p->bundle_count * sizeof(*p->bundle));
}

static bool is_where_seen(const struct ntrace_written_program *w, const struct isa_program *p)
{
    return w->seen == p && w->seen_copy.bundle == p->bundle && w->seen_copy.op == p->op
           && w->seen_copy.op_count == p->op_count
           && w->seen_copy.bundle_count == p->bundle_count && w->seen_crc == crc_of_bundles(p);
}

static void see(struct ntrace_written_program *w, const struct isa_program *p)
{
    w->seen = p;
    w->seen_copy = *p;
    w->seen_crc = crc_of_bundles(p);
}

static void write_ops(struct ntrace_writer *w, const struct ntrace_written_program *p)
{
    struct ntrace_chunk_head head = {.kind = CHUNK_OPS, .stream = (uint32_t)w->program_count,
                                     .count = p->program.op_count};
    struct ntrace_buf b = {0};

    for (uint32_t i = 0; i < p->program.op_count; i++) {
        const struct trace_op *op = &p->tally.op[i];

        ntrace_buf_reserve(&b, 3 * VARINT_MAX);
        ntrace_put_varint(&b, op->code);
        ntrace_put_varint(&b, (uint64_t)op->track);
        ntrace_put_varint(&b, op->busy_cycles);
    }
    ntrace_out_chunk(&w->out, &head, b.data, b.size);
    mem_free(b.data);
}

/* takes over `object` */
static struct ntrace_written_program *add(struct ntrace_writer *w, const struct machine *m,
                                          const struct isa_program *p, uint8_t *object,
                                          size_t bytes)
{
    struct ntrace_chunk_head head = {.kind = CHUNK_PROGRAM, .stream = (uint32_t)w->program_count,
                                     .count = p->bundle_count};
    struct ntrace_written_program *n = arena_alloc(&w->arena, sizeof(*n));
    struct err e;
    int status;

    n->object = object;
    n->object_bytes = bytes;
    status = isa_object_parse(object, bytes, "program", &w->arena, &n->program, &e);
    assert(status == 0);
    ntrace_tally_prepare(&n->tally, &n->program, trace_op_table(m, p, &w->arena), &w->arena);
    ntrace_out_chunk(&w->out, &head, object, bytes);
    write_ops(w, n);
    MEM_ADD(w->program, w->program_count, w->program_capacity) = n;
    return n;
}

static struct ntrace_written_program *find(struct ntrace_writer *w, const struct machine *m,
                                           const struct isa_program *p)
{
    struct ntrace_written_program *found = NULL;
    uint8_t *object;
    size_t bytes, i;

    for (i = 0; i < w->program_count; i++)
        if (is_where_seen(w->program[i], p))
            return w->program[i];
    object = isa_object_bytes(p, &bytes);
    for (i = 0; i < w->program_count && !found; i++)
        if (w->program[i]->object_bytes == bytes
            && memcmp(w->program[i]->object, object, bytes) == 0)
            found = w->program[i];
    if (found)
        mem_free(object);
    else
        found = add(w, m, p, object, bytes);
    see(found, p);
    return found;
}

static uint32_t number_of(const struct ntrace_writer *w, const struct ntrace_written_program *p)
{
    uint32_t i = 0;

    while (w->program[i] != p)
        i++;
    return i;
}

/* true when this core has not run it before */
static bool give(struct ntrace_writer *w, struct ntrace_core_out *c,
                 struct ntrace_written_program *p)
{
    uint32_t number = number_of(w, p);
    size_t i;

    c->program = p;
    c->first_bundle = c->first_note = 0;
    for (i = 0; i < c->program_count && c->program_list[i] != number; i++) {
        c->first_bundle += w->program[c->program_list[i]]->program.bundle_count;
        c->first_note += w->program[c->program_list[i]]->program.note_count;
    }
    if (i < c->program_count)
        return false;
    MEM_ADD(c->program_list, c->program_count, c->program_capacity) = number;
    return true;
}

static void write_cores(struct ntrace_writer *w)
{
    struct ntrace_chunk_head head = {.kind = CHUNK_CORES, .count = (uint32_t)w->core_count};
    struct ntrace_buf b = {0};

    for (int i = 0; i < w->core_count; i++) {
        const struct ntrace_core_out *c = &w->core[i];

        ntrace_buf_reserve(&b, (c->program_count + 1) * VARINT_MAX);
        ntrace_put_varint(&b, c->program_count);
        for (size_t j = 0; j < c->program_count; j++)
            ntrace_put_varint(&b, c->program_list[j]);
    }
    ntrace_out_chunk(&w->out, &head, b.data, b.size);
    mem_free(b.data);
}

void ntrace_writer_take_programs(struct ntrace_writer *w, const struct machine *m)
{
    const struct isa_program *last = NULL;
    struct ntrace_written_program *found = NULL;
    bool is_new = !w->has_begun;

    for (int i = 0; i < w->core_count; i++) {
        const struct isa_program *p = machine_program(m, i);

        w->core[i].program = NULL;
        if (!p)
            continue;
        if (p != last)
            found = find(w, m, p);
        last = p;
        is_new |= give(w, &w->core[i], found);
    }
    if (is_new)
        write_cores(w);
}
