/*
 * Immediates of a program, each once: scalars, and tiles that hold a value in
 * every word.
 */
#include "sim/core/core.h"
#include "sim/core/decode.h"

#include <string.h>

static void pool_init(struct decode_pool *p, uint32_t most, struct arena *a)
{
    uint32_t size = 16;

    while (size < 2 * most)
        size *= 2;
    p->slot = arena_array(a, size, sizeof(*p->slot));
    p->mask = size - 1;
}

/* the slot where `value` stands or belongs; value_at tells the value of constant i */
static uint32_t *pool_slot(const struct decode_pool *p, const struct decoded_program *d,
                           bool is_tile, int32_t value)
{
    uint32_t at = ((uint32_t)value * 2654435761u >> 7) & p->mask;

    for (;; at = (at + 1) & p->mask) {
        uint32_t index = p->slot[at];

        if (index == 0)
            return &p->slot[at];
        if ((is_tile ? (int32_t)d->tile[index - 1][0] : d->scalar[index - 1]) == value)
            return &p->slot[at];
    }
}

int32_t decode_scalar(struct decoder *d, int32_t value)
{
    uint32_t *slot = pool_slot(&d->scalars, d->program, false, value);

    if (*slot == 0) {
        d->program->scalar[d->program->scalar_count] = value;
        *slot = ++d->program->scalar_count;
    }
    return (int32_t)(S_CONST + *slot - 1);
}

int32_t decode_tile(struct decoder *d, int32_t value)
{
    uint32_t *slot = pool_slot(&d->tiles, d->program, true, value);

    if (*slot == 0) {
        uint32_t *tile = d->program->tile[d->program->tile_count];

        for (int i = 0; i < SIMD_TILE_WORDS; i++)
            tile[i] = (uint32_t)value;
        *slot = ++d->program->tile_count;
    }
    return (int32_t)(V_CONST + *slot - 1);
}

/* the word of an immediate vector operand: packed logic repeats it for each value */
int32_t decode_vector_immediate(const struct isa_op *op, int index)
{
    uint32_t value = (uint32_t)op->operand[index].value;

    if (op->code != OP_VLOGIC_PACKED)
        return (int32_t)value;
    if (op->operand[4].value == 0)      /* u16; else u8 */
        return (int32_t)((value & 0xffffu) * 0x00010001u);
    return (int32_t)((value & 0xffu) * 0x01010101u);
}

/* how many constants there can be at most */
static void count_constants(const struct isa_program *p, uint32_t *scalars, uint32_t *tiles)
{
    uint32_t i;

    *scalars = *tiles = 0;
    for (i = 0; i < p->op_count; i++)
        for (int j = 0; j < p->op[i].operand_count; j++) {
            char role = isa_info(p->op[i].code)->role[j];

            if (p->op[i].operand[j].kind == OPERAND_REG)
                continue;
            if (role == 'V')
                (*tiles)++;
            else if (strchr("SBOFZ", role))
                (*scalars)++;
        }
}

/* a tile is large, so the pool is sized by the constants that differ */
static uint32_t count_distinct_tiles(const struct isa_program *p, struct decode_pool *pool,
                                     uint32_t most, struct arena *a)
{
    int32_t *seen = arena_array(a, most + 1, sizeof(*seen));
    struct decoded_program values = {.scalar = seen};
    uint32_t count = 0, i;

    for (i = 0; i < p->op_count; i++)
        for (int j = 0; j < p->op[i].operand_count; j++) {
            const struct isa_operand *o = &p->op[i].operand[j];
            uint32_t *slot;
            int32_t value;

            if (o->kind == OPERAND_REG || isa_info(p->op[i].code)->role[j] != 'V')
                continue;
            value = decode_vector_immediate(&p->op[i], j);
            slot = pool_slot(pool, &values, false, value);
            if (*slot == 0) {
                seen[count] = value;
                *slot = ++count;
            }
        }
    memset(pool->slot, 0, ((size_t)pool->mask + 1) * sizeof(*pool->slot));
    return count;
}

void decode_constants_init(struct decoder *d, const struct isa_program *p)
{
    struct decoded_program *out = d->program;
    uint32_t scalars, tiles;

    count_constants(p, &scalars, &tiles);
    pool_init(&d->scalars, scalars, &out->arena);
    pool_init(&d->tiles, tiles, &out->arena);
    out->scalar = arena_array(&out->arena, scalars, sizeof(*out->scalar));
    out->tile = arena_array(&out->arena, count_distinct_tiles(p, &d->tiles, tiles, &out->arena),
                            sizeof(*out->tile));
}
