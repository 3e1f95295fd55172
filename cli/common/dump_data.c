/*
 * Converts the operands of a listing between .npy files and the layout that the listing gives them
 * in memory.
 */
#include "cli/common/dump_data.h"

#include "base/floats.h"
#include "base/outfile.h"
#include "base/rng.h"
#include "base/units.h"
#include "data/npy.h"
#include "isa/file.h"

#include <stdio.h>
#include <string.h>

#define IMAGE_BYTES_MAX GIB
#define GENERATED_ELEMS_MAX (1LL << 26)
#define SHAPE_CHARS 160

/* How elements of a type are made up, and which .npy type holds them. */
static const struct element_kind {
    const char *type, *npy;
    uint32_t keep, set;                 /* bits of a random word kept and set */
} element_kinds[] = {
    {"f32", "f4", 0, 0}, {"bf16", "u2", 0, 0}, {"s32", "i4", 15, 0}, {"u32", "u4", 15, 0},
    {"f16", "f2", 0x83ff, 0x3800}, {"s16", "i2", 15, 0}, {"u16", "u2", 15, 0},
    {"s8", "i1", 15, 0}, {"u8", "u1", 15, 0}, {"pred", "b1", 1, 0}, {"s4", "i1", 7, 0},
    {"u4", "u1", 15, 0}, {"f8e5m2", "u1", 0x83, 0x38}, {"f8e4m3fn", "u1", 0x87, 0x30},
    {"f8e4m3b11fnuz", "u1", 0x87, 0x50},
};

static const struct element_kind *kind_of(const struct listing_shape *s)
{
    for (size_t i = 0; i < COUNT_OF(element_kinds); i++)
        if (strcmp(s->type, element_kinds[i].type) == 0)
            return &element_kinds[i];
    return NULL;                        /* only operands of a known type get here */
}

static bool is_bf16(const struct listing_shape *s)
{
    return strcmp(s->type, "bf16") == 0;
}

/* ---- elements in an array's memory ---- */

static void put(const struct listing_operand *o, uint8_t *image, int64_t index, uint32_t bits)
{
    int64_t at = listing_element_bit(&o->layout, &o->shape, index);

    if (o->shape.elem_bits < 8)
        image[at / 8] = (uint8_t)(image[at / 8] | (bits & 15u) << at % 8);
    else
        memcpy(image + at / 8, &bits, (size_t)o->shape.elem_bits / 8);
}

static uint32_t get(const struct listing_operand *o, const uint8_t *image, int64_t index)
{
    int64_t at = listing_element_bit(&o->layout, &o->shape, index);
    uint32_t bits = 0;

    if (o->shape.elem_bits < 8)
        return (unsigned)image[at / 8] >> at % 8 & 15u;
    memcpy(&bits, image + at / 8, (size_t)o->shape.elem_bits / 8);
    return bits;
}

static uint32_t generated(const struct listing_shape *s, struct rng *r)
{
    const struct element_kind *k = kind_of(s);

    if (k->keep)
        return ((uint32_t)(rng_next(r) >> 32) & k->keep) | k->set;
    if (is_bf16(s))
        return bf16_from_f32(rng_uniform(r, -1.0f, 1.0f));
    return f32_bits(rng_uniform(r, -1.0f, 1.0f));
}

static void generate(const struct listing_operand *o, int64_t seed, uint8_t *image)
{
    int64_t count = listing_elem_count(&o->shape);
    struct rng r;

    rng_init(&r, (uint64_t)seed * 1000003u + (uint64_t)o->number);
    if (count > GENERATED_ELEMS_MAX || !o->is_input)
        return;
    for (int64_t i = 0; i < count; i++)
        put(o, image, i, generated(&o->shape, &r));
}

/* ---- files ---- */

static int check_shape(const struct listing_operand *o, const struct npy_array *array,
                       const char *path, struct err *e)
{
    struct listing_shape found = {.rank = array->rank, .elem_bits = 32};
    char is[SHAPE_CHARS], wanted[SHAPE_CHARS];
    bool is_same = array->rank == o->shape.rank;

    if (array->rank > LISTING_RANK_MAX)
        return err_at(e, path, 0, 0, "%d dimensions, at most %d are allowed", array->rank,
                      LISTING_RANK_MAX);
    snprintf(found.type, sizeof(found.type), "%s", array->type);
    for (int i = 0; i < array->rank; i++) {
        found.side[i] = array->side[i];
        is_same = is_same && array->side[i] == o->shape.side[i];
    }
    listing_print_shape(&found, NULL, is, sizeof(is));
    listing_print_shape(&o->shape, NULL, wanted, sizeof(wanted));
    if (!is_same)
        return err_at(e, path, 0, 0, "%s; operand %d is %s", is, o->number, wanted);
    if ((array->type[0] == 'f') != (kind_of(&o->shape)->npy[0] == 'f') &&
        !(is_bf16(&o->shape) && array->type[0] == 'f'))
        return err_at(e, path, 0, 0, "%s; operand %d is %s, which takes elements of type %s%s",
                      is, o->number, wanted, kind_of(&o->shape)->npy,
                      is_bf16(&o->shape) ? " or f4" : "");
    return 0;
}

static void copy_in(const struct listing_operand *o, const struct npy_array *array,
                    uint8_t *image)
{
    int64_t count = listing_elem_count(&o->shape);
    bool rounds = is_bf16(&o->shape) && array->elem_bytes == 4;

    for (int64_t i = 0; i < count; i++) {
        uint32_t bits = 0;

        memcpy(&bits, (const uint8_t *)array->data + i * array->elem_bytes,
               (size_t)array->elem_bytes);
        put(o, image, i, rounds ? bf16_from_f32_bits(bits) : bits);
    }
}

static int load(const struct listing_operand *o, const char *path, uint8_t *image, struct err *e)
{
    struct npy_array array;
    struct arena a;
    uint8_t *bytes;
    size_t size;
    int status;

    arena_init(&a);
    status = isa_file_read(path, &a, &bytes, &size, e);
    if (status == 0)
        status = npy_parse_array(bytes, size, path, &array, e);
    if (status == 0)
        status = check_shape(o, &array, path, e);
    if (status == 0)
        status = npy_take(&array, is_bf16(&o->shape) && array.type[0] == 'f'
                                      ? "f4" : kind_of(&o->shape)->npy, path, &a, e);
    if (status == 0)
        copy_in(o, &array, image);
    arena_fini(&a);
    return status;
}

/* ---- memories ---- */

static int write_image(struct machine *m, struct listing_operand *o, const uint8_t *image,
                       struct err *e)
{
    switch (o->space) {
    case SPACE_HBM: return machine_hbm_write(m, 0, o->address, image, o->layout.bytes, e);
    case SPACE_VMEM: return machine_vmem_write(m, 0, o->address, image, o->layout.bytes, e);
    case SPACE_SMEM: return machine_smem_write(m, 0, o->address, image, o->layout.bytes, e);
    case SPACE_VALUE: o->value = (int32_t)get(o, image, 0); return 0;
    default: return 0;                  /* a flag starts at zero */
    }
}

static int read_image(struct machine *m, const struct listing_operand *o, uint8_t *image,
                      struct err *e)
{
    switch (o->space) {
    case SPACE_HBM: return machine_hbm_read(m, 0, o->address, image, o->layout.bytes, e);
    case SPACE_VMEM: return machine_vmem_read(m, 0, o->address, image, o->layout.bytes, e);
    default: return machine_smem_read(m, 0, o->address, image, o->layout.bytes, e);
    }
}

static bool can_hold(const struct listing_operand *o)
{
    return o->shape.elem_bits && o->space != SPACE_SFLAG && o->space != SPACE_UNKNOWN;
}

int dump_data_fill(struct machine *m, const struct listing *l, struct listing_operand *o,
                   const char *path, int64_t seed, struct err *e)
{
    uint8_t *image;
    int status = 0;

    if (path && !can_hold(o))
        return err_at(e, l->file, o->line, o->col, "operand %d cannot be filled: %s", o->number,
                      o->space == SPACE_SFLAG ? "it is a sync flag" :
                      "its shape or memory is not known");
    if (!path && (!o->is_input || !can_hold(o) || o->layout.bytes > IMAGE_BYTES_MAX ||
                  listing_elem_count(&o->shape) == 0))
        return 0;
    if (o->layout.bytes > IMAGE_BYTES_MAX)
        return err_at(e, l->file, o->line, o->col, "operand %d takes %lld bytes; files of at most "
                      "%lld can be loaded", o->number, (long long)o->layout.bytes,
                      (long long)IMAGE_BYTES_MAX);
    image = mem_alloc((size_t)o->layout.bytes + 4);
    if (path)
        status = load(o, path, image, e);
    else
        generate(o, seed, image);
    if (status == 0)
        status = write_image(m, o, image, e);
    mem_free(image);
    return status;
}

int dump_data_check_result(const struct listing *l, const struct listing_operand *o,
                           const char *path, struct err *e)
{
    if (!o->is_output || o->space == SPACE_VALUE || !can_hold(o))
        return err_at(e, l->file, o->line, o->col, "operand %d is no output", o->number);
    if (o->layout.bytes > IMAGE_BYTES_MAX)
        return err_at(e, l->file, o->line, o->col, "operand %d takes %lld bytes; results of at "
                      "most %lld can be written", o->number, (long long)o->layout.bytes,
                      (long long)IMAGE_BYTES_MAX);
    return outfile_check(path, e);
}

static int write_elements(const struct listing_operand *o, const uint8_t *image, const char *path,
                          struct err *e)
{
    const char *type = is_bf16(&o->shape) ? "f4" : kind_of(&o->shape)->npy;
    struct npy_array array = {.elem_bytes = type[1] - '0', .rank = o->shape.rank};
    int64_t count = listing_elem_count(&o->shape);
    uint8_t *data = mem_alloc((size_t)(count * array.elem_bytes) + 4);
    int status;

    snprintf(array.type, sizeof(array.type), "%s", type);
    memcpy(array.side, o->shape.side, sizeof(o->shape.side));
    array.data = data;
    for (int64_t i = 0; i < count; i++) {
        uint32_t bits = get(o, image, i);

        if (is_bf16(&o->shape))
            bits <<= 16;
        if (strcmp(o->shape.type, "s4") == 0 && bits > 7)
            bits |= 0xf0;
        memcpy(data + i * array.elem_bytes, &bits, (size_t)array.elem_bytes);
    }
    status = npy_write_array(path, &array, e);
    mem_free(data);
    return status;
}

int dump_data_write_result(struct machine *m, const struct listing_operand *o, const char *path,
                           struct err *e)
{
    uint8_t *image = mem_alloc((size_t)o->layout.bytes + 4);
    int status = read_image(m, o, image, e);

    if (status == 0)
        status = write_elements(o, image, path, e);
    mem_free(image);
    return status;
}
