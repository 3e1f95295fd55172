/*
 * Taint tracking over scalar registers and SMEM: each value has an origin, and origins of values
 * that an operation joins are joined (union-find).
 */
#include "sim/fastpath/origins.h"

#include "base/arena.h"

#include <string.h>

#define ITEMS_MAX (1 << 18)             /* per core */
#define BYTES_MAX (4 * MIB)             /* of contents per core */
#define WORDS_OF_DESCRIPTOR 16

/* of a register or word; larger numbers are 1 + an index of item */
enum { NOTHING = 0, AS_FOUND = -1 };

struct origins {
    struct origin {
        enum origin_kind { FROM_SMEM, FROM_HBM, FROM_COPY, FROM_VECTOR } kind;
        bool counts;
        int32_t joined;                 /* values of both went into one; itself: of no other */
        int64_t address, bytes;
        int64_t arrival;                /* FROM_COPY: number of its piece among all to SMEM */
        size_t data;                    /* where its contents stand below */
    } *item;
    size_t count, capacity;
    int64_t arrivals;                   /* of pieces in SMEM, so far */
    unsigned char *data;
    size_t data_bytes, data_capacity;
    int32_t entry_s[ISA_SREG_COUNT];
    int32_t scalar[S_CONST];            /* of registers and temporaries */
    int32_t *word;                      /* of SMEM */
    int64_t word_count;
    struct ranges written;              /* HBM bytes that the launch has written */
    bool is_lost, is_comparing, is_other;
    size_t next_late;                   /* comparing: item that is compared next, or a later one */
    uint8_t scalars[OP_COUNT];          /* bit per operand that is a scalar which is read */
    uint8_t rule[OP_COUNT];
};

enum rule {
    RULE_NONE,                          /* reads and writes no scalar */
    RULE_COUNTS,                        /* what it reads counts; a register it writes is known */
    RULE_FREE,                          /* what it reads does not count */
    RULE_RESULT,                        /* its result comes from what it reads */
    RULE_SELECT, RULE_LOAD, RULE_STORE, RULE_POP, RULE_VECTOR_ROWS, RULE_DESCRIPTOR, RULE_COPY
};

static enum rule rule_of(enum isa_opcode code)
{
    const struct isa_info *info = isa_info(code);
    bool has_scalars = isa_scalar_operands(code) || info->role[0] == 'e';

    if (info->format == ISA_FMT_DMA_DESC)
        return RULE_DESCRIPTOR;
    if (info->slot == SLOT_SCALAR && isa_touches(code) & ISA_SMEM)
        return info->reads & ISA_SMEM ? RULE_LOAD : RULE_STORE;
    if (info->reads & ISA_V2S)
        return RULE_POP;
    if (info->writes & ISA_IAR)
        return RULE_VECTOR_ROWS;
    if (code == OP_SELECT)
        return RULE_SELECT;
    if (code == OP_VSTV || info->writes & ISA_RNG)
        return RULE_FREE;
    switch (info->latency_class) {
    case CLASS_SALU: case CLASS_SMUL: case CLASS_SF32:
        return info->role[0] == 'e' ? RULE_RESULT : has_scalars ? RULE_COUNTS : RULE_NONE;
    default: return has_scalars ? RULE_COUNTS : RULE_NONE;
    }
}

struct origins *origins_create(const struct chip *chip)
{
    struct origins *o = mem_alloc(sizeof(*o));

    o->word_count = chip->smem_bytes / 4;
    o->word = mem_alloc((size_t)o->word_count * sizeof(*o->word));
    for (int i = 0; i < OP_COUNT; i++) {
        o->scalars[i] = isa_scalar_operands((enum isa_opcode)i);
        o->rule[i] = (uint8_t)rule_of((enum isa_opcode)i);
    }
    return o;
}

void origins_destroy(struct origins *o)
{
    if (!o)
        return;
    ranges_fini(&o->written);
    mem_free(o->item);
    mem_free(o->data);
    mem_free(o->word);
    mem_free(o);
}

void origins_begin(struct origins *o, const struct core *c)
{
    o->count = o->data_bytes = 0;
    o->arrivals = 0;
    o->is_lost = o->is_comparing = o->is_other = false;
    o->written.count = 0;
    memcpy(o->entry_s, c->entry_s, sizeof(o->entry_s));
    memset(o->scalar, 0, sizeof(o->scalar));
    for (int64_t i = 0; i < o->word_count; i++)
        o->word[i] = AS_FOUND;
}

/* the first of those whose values went into one */
static int32_t first_of(struct origins *o, int32_t origin)
{
    int32_t i = origin - 1;

    while (o->item[i].joined != i)
        i = o->item[i].joined = o->item[o->item[i].joined].joined;
    return i;
}

static void let_count(struct origins *o, int32_t origin)
{
    if (origin != NOTHING && !o->is_lost)
        o->item[first_of(o, origin)].counts = true;
}

/* of a value that was worked out from both */
static int32_t join(struct origins *o, int32_t a, int32_t b)
{
    int32_t first, second;

    if (a == NOTHING || b == NOTHING || o->is_lost)
        return a == NOTHING ? b : a;
    first = first_of(o, a);
    second = first_of(o, b);
    if (first == second)
        return a;
    o->item[second].joined = first;
    o->item[first].counts |= o->item[second].counts;
    return a;
}

/* NOTHING where it is too much to keep: then all is lost */
static int32_t new_origin(struct origins *o, enum origin_kind kind, int64_t address, int64_t bytes)
{
    int32_t i = (int32_t)o->count;

    o->is_lost |= o->count == ITEMS_MAX || (int64_t)o->data_bytes + bytes > BYTES_MAX;
    if (o->is_lost)
        return NOTHING;
    MEM_ADD(o->item, o->count, o->capacity) = (struct origin){
        .joined = i, .address = address, .bytes = bytes, .data = o->data_bytes};
    o->item[i].kind = kind;
    o->data = mem_grow(o->data, &o->data_capacity, o->data_bytes + (size_t)bytes, 1);
    o->data_bytes += (size_t)bytes;
    return i + 1;
}

/* a word of SMEM is read; addresses that are none are a fault soon */
static int32_t origin_of_word(struct origins *o, const struct core *c, int64_t address)
{
    int64_t i = address / 4;

    if (address < 0 || i >= o->word_count)
        return NOTHING;
    if (o->word[i] == AS_FOUND) {
        o->word[i] = new_origin(o, FROM_SMEM, address, 4);
        if (!o->is_lost)
            memcpy(o->data + o->data_bytes - 4, c->smem + i * 4, 4);
    }
    return o->word[i];
}

static int32_t origin_of(const struct origins *o, const struct decoded_op *op, int index)
{
    return op->o[index] < S_CONST ? o->scalar[op->o[index]] : NOTHING;
}

static void let_operands_count(struct origins *o, const struct decoded_op *op, unsigned operands)
{
    for (; operands; operands &= operands - 1)
        let_count(o, origin_of(o, op, __builtin_ctz(operands)));
}

static int64_t address_at(struct origins *o, const struct core *c, const struct decoded_op *op,
                          int first)
{
    let_operands_count(o, op, 3u << first);
    return (int64_t)c->s[op->o[first]] + c->s[op->o[first + 1]];
}

static void follow_result(struct origins *o, const struct decoded_op *op)
{
    unsigned operands = o->scalars[op->code];
    int32_t origin = NOTHING;

    for (; operands; operands &= operands - 1)
        origin = join(o, origin, origin_of(o, op, __builtin_ctz(operands)));
    o->scalar[op->o[0]] = origin;
}

static void follow_descriptor(struct origins *o, const struct core *c, const struct decoded_op *op)
{
    int64_t at = address_at(o, c, op, 0);

    for (int i = 0; i < WORDS_OF_DESCRIPTOR; i++)
        let_count(o, origin_of_word(o, c, at + 4 * i));
}

static void follow_store(struct origins *o, const struct core *c, const struct decoded_op *op)
{
    int64_t at = address_at(o, c, op, 0) / 4;

    if (at >= 0 && at < o->word_count)
        o->word[at] = origin_of(o, op, 2);
}

static void follow(struct origins *o, const struct core *c, const struct decoded_op *op)
{
    switch (op->code == OP_COUNT ? RULE_COPY : o->rule[op->code]) {
    case RULE_COUNTS:
        let_operands_count(o, op, o->scalars[op->code]);
        if (isa_info((enum isa_opcode)op->code)->role[0] == 'e')
            o->scalar[op->o[0]] = NOTHING;
        break;
    case RULE_RESULT: follow_result(o, op); break;
    case RULE_SELECT:
        o->scalar[op->o[0]] = join(o, origin_of(o, op, 2), origin_of(o, op, 3));
        break;
    case RULE_LOAD: o->scalar[op->o[0]] = origin_of_word(o, c, address_at(o, c, op, 1)); break;
    case RULE_STORE: follow_store(o, c, op); break;
    case RULE_POP: o->scalar[op->o[0]] = new_origin(o, FROM_VECTOR, 0, 0); break;
    case RULE_VECTOR_ROWS: o->is_lost = true; break;
    case RULE_DESCRIPTOR: follow_descriptor(o, c, op); break;
    case RULE_COPY:                     /* out of a temporary */
        if (op->exec == exec_copy_s)
            o->scalar[op->o[0]] = o->scalar[op->o[1]];
        break;
    default: break;
    }
}

void origins_bundle(struct origins *o, const struct core *c, const struct decoded_bundle *b)
{
    const struct decoded_op *op = &c->program->op[b->first_op];
    const uint8_t *list = decoded_execs(c->program, b);

    if (o->is_comparing)
        return;
    for (uint32_t i = 0; i < b->exec_count && !o->is_lost; i++)
        if (c->live >> list[i] & 1u)
            follow(o, c, &op[list[i]]);
}

/* HBM from the lowest to the highest byte that the copy writes: more counts as written */
static void note_written(struct origins *o, const struct dma *d)
{
    int64_t first = d->destination, end = first + d->run_bytes;

    for (int i = 0; i < DMA_LEVEL_MAX; i++) {
        int64_t reach = (d->level[i].count - 1) * d->level[i].destination_stride;

        *(reach < 0 ? &first : &end) += reach;
    }
    ranges_add(&o->written, first, end);
}

/* of a piece that has come to SMEM; from HBM that was not written yet it was there before */
static int32_t origin_of_piece(struct origins *o, const struct core *c, const struct dma *d,
                               int64_t from, const struct dma_piece *to)
{
    bool is_early = d->source_space == SPACE_HBM
                    && !ranges_find(&o->written, from, from + to->bytes);
    int32_t origin = new_origin(o, is_early ? FROM_HBM : FROM_COPY, is_early ? from : to->address,
                                to->bytes);

    if (origin == NOTHING)
        return NOTHING;
    o->item[origin - 1].arrival = o->arrivals;
    memcpy(o->data + o->item[origin - 1].data, c->smem + to->address, (size_t)to->bytes);
    return origin;
}

static void follow_piece(struct origins *o, const struct core *c, const struct dma *d,
                         int64_t from, const struct dma_piece *to)
{
    int32_t origin = o->is_lost ? NOTHING : origin_of_piece(o, c, d, from, to);

    for (int64_t i = to->address / 4; i < (to->address + to->bytes) / 4; i++)
        o->word[i] = origin;
}

static void compare_piece(struct origins *o, const struct core *c, const struct dma_piece *to)
{
    const struct origin *x = NULL;

    for (; o->next_late < o->count; o->next_late++) {
        x = &o->item[o->next_late];
        if (x->kind == FROM_COPY && x->arrival >= o->arrivals)
            break;
    }
    if (o->next_late < o->count && x->arrival == o->arrivals)
        o->is_other |= memcmp(c->smem + to->address, o->data + x->data, (size_t)to->bytes) != 0;
}

static void arrive_in_smem(struct origins *o, const struct core *c, const struct dma *d)
{
    struct dma_piece from, to;

    for (int64_t done = 0; done < d->bytes; done += to.bytes, o->arrivals++) {
        from = dma_piece(d, false, done, d->bytes - done);
        to = dma_piece(d, true, done, from.bytes);
        if (o->is_comparing)
            compare_piece(o, c, &to);
        else
            follow_piece(o, c, d, from.address, &to);
    }
}

void origins_arrive(struct origins *o, const struct core *c, const struct dma *d)
{
    if (d->destination_space == SPACE_HBM && !o->is_comparing)
        note_written(o, d);
    else if (d->destination_space == SPACE_SMEM)
        arrive_in_smem(o, c, d);
}

bool origins_end(struct origins *o)
{
    size_t kept = 0;

    for (size_t i = 0; i < o->count; i++)
        o->item[i].counts = o->item[first_of(o, (int32_t)i + 1)].counts;
    for (size_t i = 0; i < o->count; i++) {
        if (!o->item[i].counts)
            continue;
        o->is_lost |= o->item[i].kind == FROM_VECTOR;
        o->item[kept++] = o->item[i];
    }
    o->count = kept;
    return !o->is_lost;
}

bool origins_has_late(const struct origins *o)
{
    for (size_t i = 0; i < o->count; i++)
        if (o->item[i].kind == FROM_COPY)
            return true;
    return false;
}

int64_t origins_arrivals(const struct origins *o)
{
    return o->arrivals;
}

bool origins_count_late(const struct origins *o, int64_t first_piece, int64_t pieces)
{
    for (size_t i = 0; i < o->count; i++)
        if (o->item[i].kind == FROM_COPY && o->item[i].arrival >= first_piece
            && o->item[i].arrival < first_piece + pieces)
            return true;
    return false;
}

void origins_skip(struct origins *o, int64_t pieces)
{
    o->arrivals += pieces;
}

int64_t origins_written_bytes(const struct origins *o, int64_t page_bytes)
{
    int64_t bytes = 0;

    for (size_t i = 0; i < o->written.count; i++)
        bytes += ((o->written.item[i].end - 1) / page_bytes - o->written.item[i].first / page_bytes
                  + 1) * page_bytes;
    return bytes;
}

void origins_compare(struct origins *o)
{
    o->is_comparing = true;
    o->is_other = false;
    o->arrivals = 0;
    o->next_late = 0;
}

bool origins_differ(const struct origins *o)
{
    return o->is_comparing && o->is_other;
}

static bool is_same(const struct origins *o, const struct origin *x, const struct core *c)
{
    const unsigned char *kept = o->data + x->data;
    unsigned char now[4096];
    int64_t part;

    if (x->kind == FROM_COPY)
        return true;                    /* that shows when it arrives */
    if (x->kind == FROM_SMEM)
        return memcmp(c->smem + x->address, kept, (size_t)x->bytes) == 0;
    for (int64_t done = 0; done < x->bytes; done += part) {
        part = x->bytes - done;
        part = part < (int64_t)sizeof(now) ? part : (int64_t)sizeof(now);
        hbm_store_read(c->hbm, x->address + done, now, (size_t)part);
        if (memcmp(now, kept + done, (size_t)part) != 0)
            return false;
    }
    return true;
}

bool origins_are_same(const struct origins *o, const struct core *c)
{
    if (memcmp(o->entry_s, c->entry_s, sizeof(o->entry_s)) != 0)
        return false;
    for (size_t i = 0; i < o->count; i++)
        if (!is_same(o, &o->item[i], c))
            return false;
    return true;
}
