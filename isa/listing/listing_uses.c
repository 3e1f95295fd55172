/*
 * What a listing tells of its operands and allocations by the way it uses
 * them: the memory they lie in, how far they reach, what a pointer counts.
 *
 * A value "%s58" carries its origin, an operand or allocation, through moves,
 * shifts and address additions to the accesses that it ends in.
 */
#include "isa/listing/listing_internal.h"

#include "base/hash.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLAG_GROUP 16                   /* flags of an allocation that is indexed */

enum origin_kind { ORIGIN_NONE, ORIGIN_OPERAND, ORIGIN_ALLOCATION };

struct origin {
    enum origin_kind kind;
    uint32_t index;
    bool is_granules;                   /* shifted left by 4: granules instead of rows */
    bool is_moved;                      /* by what is no constant */
    int64_t offset_bytes;               /* of flags: their number */
};

struct value {
    const char *name;
    struct origin origin;
    UT_hash_handle hh;
};

struct uses {
    struct listing *listing;
    struct value *values;               /* "%s58", "#allocation2" */
};

/* ---- operands as pieces of text ---- */

static const char *skip_group(const char *at, const char *end, char close)
{
    const char *found = memchr(at, close, (size_t)(end - at));

    return found ? found + 1 : end;
}

/* behind the mnemonic, its guard and decoration */
static const char *operands_start(const struct listing *l, const struct listing_op *op)
{
    const char *at = l->text + op->at, *end = l->text + op->end;

    if (op->result[0])
        at = skip_group(at, end, '=');
    while (at < end && isspace((unsigned char)*at))
        at++;
    at += strlen(op->mnemonic) < (size_t)(end - at) ? strlen(op->mnemonic) : (size_t)(end - at);
    for (;;) {
        while (at < end && (isspace((unsigned char)*at) || *at == ','))
            at++;
        if (at < end && *at == '(')
            at = skip_group(at, end, ')');
        else if (end - at > 7 && (memcmp(at, "[thread", 7) == 0 || isdigit((unsigned char)at[1]))
                 && *at == '[')
            at = skip_group(at, end, ']');
        else
            return at;
    }
}

static int split(const struct listing *l, const struct listing_op *op,
                 struct listing_piece out[PIECE_MAX])
{
    const char *at = operands_start(l, op), *end = l->text + op->end, *start = at;
    int depth = 0, count = 0;

    for (; at <= end && count < PIECE_MAX; at++) {
        if (at == end || (*at == ',' && depth == 0)) {
            if (at > start)
                out[count++] = (struct listing_piece){ start, (size_t)(at - start) };
            start = at + 1;
            continue;
        }
        depth += (*at == '[' || *at == '(') - (*at == ']' || *at == ')');
    }
    return count;
}

/* a number, "$0x18" or "512" or "%s9" for none; false when it is not all of the piece */
static bool constant(struct listing_piece p, int64_t *value)
{
    const char *at = p.start, *end = p.start + p.length;
    char *behind;

    while (at < end && (isspace((unsigned char)*at) || *at == '$'))
        at++;
    if (at == end || !isdigit((unsigned char)*at))
        return false;
    *value = strtoll(at, &behind, 0);
    while (behind < end && isspace((unsigned char)*behind))
        behind++;
    return behind >= end && *value >= 0 && *value <= UINT32_MAX;
}

/* the sum of "+ $0x8" terms behind `at`, up to a bracket */
static int64_t offsets(const char *at, const char *end)
{
    int64_t sum = 0;

    while (at < end && (isspace((unsigned char)*at) || *at == '+' || *at == '$'))
        at++;
    while (at < end && isdigit((unsigned char)*at)) {
        char *behind;
        int64_t one = strtoll(at, &behind, 0);

        if (one >= 0 && one <= UINT32_MAX)
            sum += one;
        for (at = behind; at < end && (isspace((unsigned char)*at) || *at == '+' || *at == '$');)
            at++;
    }
    return sum;
}

/* ---- origins ---- */

static struct listing_piece word_at(const char *at, const char *end)
{
    const char *start = at;

    while (at < end && (isalnum((unsigned char)*at) || *at == '_' || *at == '%' || *at == '.'))
        at++;
    return (struct listing_piece){ start, (size_t)(at - start) };
}

static struct value *find(struct uses *u, struct listing_piece name)
{
    struct value *v;

    HASH_FIND(hh, u->values, name.start, name.length, v);
    return v;
}

static void remember(struct uses *u, const char *name, struct origin origin)
{
    struct value *v = find(u, (struct listing_piece){ name, strlen(name) });

    if (!v) {
        v = arena_alloc(u->listing->arena, sizeof(*v));
        v->name = name;
        HASH_ADD_KEYPTR(hh, u->values, v->name, strlen(v->name), v);
    }
    v->origin = origin;
}

/* name: "#allocation2"; met for the first time, it gets its entry */
static struct origin allocation(struct uses *u, struct listing_piece name,
                                const struct listing_op *op)
{
    struct listing *l = u->listing;
    struct value *v = find(u, name);
    struct listing_allocation *a;
    char *copy;

    if (v)
        return v->origin;
    copy = arena_printf(l->arena, "%.*s", (int)name.length, name.start);
    a = &l->allocation[l->allocation_count];
    *a = (struct listing_allocation){ .name = copy + 1, .line = op->line, .col = op->col };
    remember(u, copy, (struct origin){ .kind = ORIGIN_ALLOCATION, .index = l->allocation_count });
    l->allocation_count++;
    return find(u, name)->origin;
}

/* the first value or allocation in a piece, with constants added to it in *offset */
static struct origin origin_of(struct uses *u, struct listing_piece p, const struct listing_op *op,
                               int64_t *offset)
{
    const char *end = p.start + p.length, *at = p.start;
    struct origin none = { .kind = ORIGIN_NONE };
    const struct value *v;
    struct listing_piece w;

    *offset = 0;
    while (at < end && *at != '%' && *at != '#')
        at++;
    if (at == end)
        return none;
    w = word_at(at + 1, end);
    w.start--;
    w.length++;
    *offset = offsets(w.start + w.length, end);
    if (*at == '#')
        return w.length > 1 ? allocation(u, w, op) : none;
    v = find(u, w);
    return v ? v->origin : none;
}

static void set_space(struct uses *u, struct origin o, enum listing_space space)
{
    struct listing_allocation *a;

    if (o.kind != ORIGIN_ALLOCATION || space == SPACE_UNKNOWN)
        return;
    a = &u->listing->allocation[o.index];
    if (a->space == SPACE_UNKNOWN)
        a->space = space;
}

static void set_reached(struct uses *u, struct origin o, int64_t bytes)
{
    int64_t *reached;

    if (o.kind == ORIGIN_NONE)
        return;
    if (o.kind == ORIGIN_ALLOCATION && u->listing->allocation[o.index].is_declared)
        return;
    if (o.kind == ORIGIN_OPERAND && o.is_moved)
        u->listing->operand[o.index].is_reached_further = true;
    reached = o.kind == ORIGIN_OPERAND ? &u->listing->operand[o.index].reached_bytes
                                       : &u->listing->allocation[o.index].bytes;
    if (bytes > *reached)
        *reached = bytes;
}

/* ---- operations ---- */

static bool begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static enum listing_space space_named(const char *name)
{
    static const struct { const char *name; enum listing_space space; } spaces[] = {
        { "hbm", SPACE_HBM }, { "vmem", SPACE_VMEM }, { "smem", SPACE_SMEM },
        { "sflag", SPACE_SFLAG },
    };

    for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++)
        if (begins(name, spaces[i].name))
            return spaces[i].space;
    return SPACE_UNKNOWN;
}

static const char *behind_dot(const char *mnemonic)
{
    const char *dot = strchr(mnemonic, '.');

    return dot ? dot + 1 : "";
}

/* moves, shifts and additions: the result has the origin of an operand */
static void flow(struct uses *u, const struct listing_op *op, const struct listing_piece *p,
                 int count)
{
    bool is_lea = begins(op->mnemonic, "scalar_lea."), is_pointer;
    struct origin o = { .kind = ORIGIN_NONE };
    int64_t number = 0, offset;
    enum listing_space space;

    is_pointer = begins(op->mnemonic, "int_to_ptr.");
    for (int i = 0; i < count && o.kind == ORIGIN_NONE; i++) {
        o = origin_of(u, p[i], op, &offset);
        if (o.kind == ORIGIN_NONE || offset == 0)
            continue;
        o.offset_bytes += offset * (o.is_granules ? GRANULE_BYTES : ROW_BYTES);
    }
    if (o.kind == ORIGIN_NONE)
        return;
    space = is_lea || is_pointer ? space_named(behind_dot(op->mnemonic)) : SPACE_UNKNOWN;
    set_space(u, o, space);
    if (is_lea && space == SPACE_SFLAG)
        set_reached(u, o, FLAG_GROUP);
    if (begins(op->mnemonic, "sshll")) {
        o.is_granules |= count == 2 && constant(p[1], &number) && number == 4;
    } else if (count > 1) {
        if (!constant(p[1], &number) && !constant(p[0], &number))
            o.is_moved = true;
        else if (is_lea || begins(op->mnemonic, "sadd"))
            o.offset_bytes += number * (is_lea || o.is_granules ? GRANULE_BYTES : ROW_BYTES);
    }
    remember(u, op->result, o);
}

/* "dma.hbm_to_vmem src, size, dst, flag…" */
static void copy(struct uses *u, const struct listing_op *op, const struct listing_piece *p,
                 int count)
{
    const char *to = strstr(op->mnemonic, "_to_");
    int64_t granules = 0, offset;

    if (count > 1)
        constant(p[1], &granules);
    for (int i = 0; i < count; i++) {
        struct origin o = origin_of(u, p[i], op, &offset);

        o.is_moved |= granules == 0 || count > 4;       /* with strides it reaches further */
        if (o.kind == ORIGIN_NONE || i == 1)
            continue;
        if (i >= 3 || !to) {
            if (o.kind == ORIGIN_ALLOCATION && memchr(p[i].start, '#', p[i].length)) {
                set_space(u, o, SPACE_SFLAG);
                set_reached(u, o, offset + 1);
            }
            continue;
        }
        set_space(u, o, space_named(i == 0 ? behind_dot(op->mnemonic) : to + 4));
        set_reached(u, o, o.offset_bytes + granules * GRANULE_BYTES);
        if (o.kind == ORIGIN_OPERAND && !o.is_granules)
            u->listing->operand[o.index].counts_granules = true;
    }
}

static void flag(struct uses *u, const struct listing_op *op, const struct listing_piece *p,
                 int count)
{
    int64_t offset;
    struct origin o;

    if (count == 0)
        return;
    o = origin_of(u, p[0], op, &offset);
    set_space(u, o, SPACE_SFLAG);
    if (o.kind == ORIGIN_ALLOCATION && u->listing->allocation[o.index].space == SPACE_SFLAG)
        set_reached(u, o, offset + 1);
}

/* "#allocation9_spill + $0x4" in a piece as a key of its own, NULL where there is none */
static const char *spill_key(struct uses *u, struct listing_piece p)
{
    const char *end = p.start + p.length, *at = memchr(p.start, '#', p.length), *behind;

    behind = at ? memchr(at, ']', (size_t)(end - at)) : NULL;
    if (!behind || !listing_find(at, behind, "_spill"))
        return NULL;
    return arena_printf(u->listing->arena, "in %.*s", (int)(behind - at), at);
}

/* A pointer keeps its origin in SMEM: "sst [smem:[#x_spill]] %s5_s5", "%s9_s1 = sld [smem:…]". */
static void spill(struct uses *u, const struct listing_op *op, const struct listing_piece *p,
                  int count)
{
    const char *key = count ? spill_key(u, p[0]) : NULL, *end, *at;
    const struct value *v;

    if (!key)
        return;
    if (op->result[0] && begins(op->mnemonic, "sld")) {
        v = find(u, (struct listing_piece){ key, strlen(key) });
        if (v && v->origin.kind != ORIGIN_NONE)
            remember(u, op->result, v->origin);
        return;
    }
    end = p[count - 1].start + p[count - 1].length;
    for (at = end; at > p[0].start && *at != '%' && *at != ']'; at--)
        ;
    v = *at == '%' ? find(u, (struct listing_piece){ at, 1 + word_at(at + 1, end).length }) : NULL;
    remember(u, key, v ? v->origin : (struct origin){ .kind = ORIGIN_NONE });
}

/* "[vmem:base + offset] ss:$n sm:$m" or "[smem:…]" somewhere in a piece */
static void access_in(struct uses *u, const struct listing_op *op, struct listing_piece p)
{
    const char *end = p.start + p.length, *at, *attribute;
    int64_t offset, stride = 1, mask = 0xff, rows = 0;
    struct origin o;

    at = listing_find(p.start, end, "smem:");
    if (at) {
        o = origin_of(u, (struct listing_piece){ at, (size_t)(end - at) }, op, &offset);
        set_space(u, o, SPACE_SMEM);
        set_reached(u, o, offset + 4);
        return;
    }
    at = listing_find(p.start, end, "vmem:");
    if (!at)
        return;
    o = origin_of(u, (struct listing_piece){ at, (size_t)(end - at) }, op, &offset);
    attribute = listing_find(at, end, "ss:$");
    if (attribute)
        stride = strtoll(attribute + 4, NULL, 0);
    attribute = listing_find(at, end, "sm:$");
    if (attribute)
        mask = strtoll(attribute + 4, NULL, 0);
    for (int i = 0; i < 8; i++)
        if ((mask >> i & 1) && stride >= 0 && stride <= 64)
            rows = i * stride + 1;
    set_space(u, o, SPACE_VMEM);
    set_reached(u, o, o.offset_bytes + (offset + rows) * ROW_BYTES);
}

static bool carries_address(const char *mnemonic)
{
    static const char *const prefixes[] = { "smov", "sadd", "sshll", "scalar_lea.", "scalar_select",
                                            "int_to_ptr.", "sphi" };

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (begins(mnemonic, prefixes[i]))
            return true;
    return false;
}

static void use(struct uses *u, const struct listing_op *op)
{
    struct listing_piece p[PIECE_MAX];
    int count = split(u->listing, op, p);
    int64_t offset;

    if (carries_address(op->mnemonic) && op->result[0])
        flow(u, op, p, count);
    else if (begins(op->mnemonic, "dma.") && !begins(op->mnemonic, "dma.done"))
        copy(u, op, p, count);
    else if (op->slot == SLOT_MISC)
        flag(u, op, p, count);
    else if (begins(op->mnemonic, "sst") || begins(op->mnemonic, "sld"))
        spill(u, op, p, count);
    for (int i = 0; i < count; i++) {
        access_in(u, op, p[i]);
        origin_of(u, p[i], op, &offset);        /* every allocation gets its entry */
    }
}

/* Pointers whose use does not tell count like those whose use does. */
static void settle_pointers(struct listing *l)
{
    bool any = false;

    for (uint32_t i = 0; i < l->operand_count; i++)
        any |= l->operand[i].counts_granules;
    for (uint32_t i = 0; i < l->operand_count; i++)
        if (l->operand[i].reached_bytes == 0)
            l->operand[i].counts_granules = any;
}

void listing_find_uses(struct listing *l)
{
    struct uses u = { .listing = l };

    for (uint32_t i = 0; i < l->allocation_count; i++)
        remember(&u, arena_printf(l->arena, "#%s", l->allocation[i].name),
                 (struct origin){ .kind = ORIGIN_ALLOCATION, .index = i });
    for (uint32_t i = 0; i < l->operand_count; i++)
        remember(&u, l->operand[i].name, (struct origin){ .kind = ORIGIN_OPERAND, .index = i });
    for (uint32_t i = 0; i < l->op_count; i++)
        use(&u, &l->op[i]);
    for (uint32_t i = 0; i < l->allocation_count; i++)
        if (l->allocation[i].space == SPACE_UNKNOWN)
            l->allocation[i].space = SPACE_VMEM;
    settle_pointers(l);
    HASH_CLEAR(hh, u.values);
}
