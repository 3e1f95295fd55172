/*
 * Regions that say the same are one computation: a program sums in very many places, and each of
 * its reductions brings the same addition along.
 *
 * What a region says is kept as the SHA-256 of its signature: operations, attributes, types,
 * operands by their number in the region, and where the author wrote them, which is printed again.
 * Large regions, those that use values from around them and those with regions of their own have
 * none.
 */
#include "import/stablehlo/from.h"

#include <string.h>

#define OPERATIONS_MAX 32
#define DATA_MAX 64u                    /* bytes of a constant */

struct signature {
    struct sha256 hash;
    const struct mlir_value *value[4 * OPERATIONS_MAX];
    int value_count;
    bool is_none;
};

static void put(struct signature *to, uint64_t word)
{
    sha256_add(&to->hash, &word, sizeof(word));
}

static void put_bytes(struct signature *to, const void *data, size_t bytes)
{
    put(to, bytes);
    sha256_add(&to->hash, data, bytes);
}

static void put_name(struct signature *to, const char *name)
{
    put_bytes(to, name ? name : "", name ? strlen(name) : 0);
}

static void put_type(struct signature *to, const struct mlir_type *t)
{
    put(to, t ? (uint64_t)t->kind : UINT64_MAX);
    if (!t)
        return;
    if (t->kind == MLIR_SCALAR) {
        put(to, (uint64_t)t->element);
        put_bytes(to, t->text.data, t->text.bytes);
    } else if (t->kind == MLIR_TENSOR && t->is_ranked && !t->encoding) {
        put_bytes(to, t->dim, (size_t)t->rank * sizeof(*t->dim));
        put_type(to, t->item);
    } else {
        to->is_none = true;
    }
}

/* Where one place is said twice, as texts may, it counts as two. */
static void put_place(struct signature *to, const struct mlir_attr *location)
{
    bool is_place = location && location->location == MLIR_LOCATION_PLACE;

    put(to, (uint64_t)(uintptr_t)(is_place ? location->data : location));
}

static void put_attr(struct signature *to, const struct mlir_attr *a);

static void put_pairs(struct signature *to, const struct mlir_named *named, int count)
{
    put(to, (uint64_t)count);
    for (int k = 0; k < count; k++) {
        put_name(to, named[k].name);
        put_attr(to, named[k].attr);
    }
}

static void put_elements(struct signature *to, const struct mlir_attr *a)
{
    int64_t count = mlir_type_elements(a->type);
    size_t each = mlir_type_element_bytes(a->type);

    if (!a->data || count < 0 || each == 0 || (uint64_t)count > DATA_MAX / each) {
        to->is_none = true;
        return;
    }
    put(to, a->is_splat);
    put_bytes(to, a->data, a->is_splat ? each : each * (size_t)count);
}

static void put_attr(struct signature *to, const struct mlir_attr *a)
{
    put(to, (uint64_t)a->kind);
    put_name(to, a->kind == MLIR_ENUM || a->kind == MLIR_DIALECT ? a->name : NULL);
    put_type(to, a->type);
    switch (a->kind) {
    case MLIR_UNIT:
    case MLIR_TYPE: break;
    case MLIR_BOOL:
    case MLIR_INTEGER: put(to, (uint64_t)a->integer); break;
    case MLIR_FLOAT: put_bytes(to, &a->number, sizeof(a->number)); break;
    case MLIR_STRING:
    case MLIR_SYMBOL:
    case MLIR_ENUM:
    case MLIR_RAW: put_bytes(to, a->text.data, a->text.bytes); break;
    case MLIR_DIALECT:
        put_bytes(to, a->text.data, a->text.bytes);
        put_pairs(to, a->named, a->count);
        break;
    case MLIR_DICTIONARY: put_pairs(to, a->named, a->count); break;
    case MLIR_ARRAY:
        put(to, (uint64_t)a->count);
        for (int k = 0; k < a->count; k++)
            put_attr(to, a->item[k]);
        break;
    case MLIR_INTS: put_bytes(to, a->ints, (size_t)a->count * sizeof(*a->ints)); break;
    case MLIR_DENSE: put_elements(to, a); break;
    default: to->is_none = true;
    }
}

static void add_value(struct signature *to, const struct mlir_value *v)
{
    if (to->value_count == (int)(sizeof(to->value) / sizeof(to->value[0])))
        to->is_none = true;
    else
        to->value[to->value_count++] = v;
    put_type(to, v->type);
}

static void put_operand(struct signature *to, const struct mlir_value *v)
{
    for (int k = 0; k < to->value_count; k++) {
        if (to->value[k]->id == v->id) {
            put(to, (uint64_t)k);
            return;
        }
    }
    to->is_none = true;
}

static void put_op(struct signature *to, const struct mlir_op *op)
{
    put_name(to, op->name);
    put_place(to, op->location);
    put(to, (uint64_t)(uintptr_t)op->place);
    put_pairs(to, op->attr, op->attr_count);
    put(to, (uint64_t)op->operand_count);
    for (int k = 0; k < op->operand_count; k++)
        put_operand(to, op->operand[k]);
    put(to, (uint64_t)op->result_count);
    for (int k = 0; k < op->result_count; k++)
        add_value(to, &op->result[k]);
    to->is_none |= op->region_count > 0;
}

/* the entry of this digest, or where it would be put */
static struct from_signature *place_of(const struct from_signatures *all,
                                       const unsigned char digest[SHA256_BYTES])
{
    size_t at;

    memcpy(&at, digest, sizeof(at));
    at &= all->capacity - 1;
    while (all->entry[at].is_there &&
           memcmp(all->entry[at].digest, digest, SHA256_BYTES) != 0)
        at = (at + 1) & (all->capacity - 1);
    return &all->entry[at];
}

static void grow(struct from_signatures *all)
{
    struct from_signatures grown = {.capacity = all->capacity ? 2 * all->capacity : 16,
                                    .count = all->count};

    grown.entry = mem_alloc(grown.capacity * sizeof(*grown.entry));
    for (size_t k = 0; k < all->capacity; k++)
        if (all->entry[k].is_there)
            *place_of(&grown, all->entry[k].digest) = all->entry[k];
    mem_free(all->entry);
    *all = grown;
}

static int *computation_of(struct from *f, const unsigned char digest[SHA256_BYTES])
{
    struct from_signature *known;

    if (f->same.count >= f->same.capacity / 4 * 3)
        grow(&f->same);
    known = place_of(&f->same, digest);
    if (!known->is_there) {
        *known = (struct from_signature){.is_there = true, .computation = -1};
        memcpy(known->digest, digest, SHA256_BYTES);
        f->same.count++;
    }
    return &known->computation;
}

int *from_same_region(struct from *f, const struct mlir_region *g, const char *name)
{
    const struct mlir_block *b = &g->block[0];
    struct signature to = {.value_count = 0};
    unsigned char digest[SHA256_BYTES];

    if (b->later || b->op_count > OPERATIONS_MAX)
        return NULL;
    sha256_begin(&to.hash);
    put_name(&to, name);
    put(&to, (uint64_t)b->argument_count);
    for (int k = 0; k < b->argument_count && !to.is_none; k++) {
        add_value(&to, &b->argument[k]);
        put_place(&to, b->argument[k].location);
    }
    for (int k = 0; k < b->op_count && !to.is_none; k++)
        put_op(&to, b->op[k]);
    if (to.is_none)
        return NULL;
    sha256_end(&to.hash, digest);
    return computation_of(f, digest);
}

void from_forget_regions(struct from *f)
{
    mem_free(f->same.entry);
    f->same = (struct from_signatures){.entry = NULL};
}
