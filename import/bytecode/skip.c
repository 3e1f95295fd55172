/*
 * Regions passed over, for who reads them later: where one ends, how many operations it has, and
 * which values from around it its operations use.
 */
#include "import/bytecode/ir.h"

struct passed {
    struct ir_reader *ir;
    size_t around;                      /* values that are made around the region */
    size_t *used, used_count, capacity; /* which of them it uses, in order of the first use */
    size_t ops;
    bool is_apart;                      /* within an isolated region, whose values are its own */
    int depth;
};

/* What is known of how values are used is of no use here. */
void ir_skip_use_lists(struct bytecode_stream *s, size_t values)
{
    size_t count = values > 1 ? bytecode_count(s, "lists of uses") : 1;

    for (size_t i = 0; i < count && !bytecode_is_failed(s); i++) {
        bool is_pairs;
        uint64_t uses;

        if (values > 1)
            bytecode_varint(s);
        uses = bytecode_flagged(s, &is_pairs);
        for (uint64_t k = 0; k < uses && !bytecode_is_failed(s); k++)
            bytecode_varint(s);
    }
}

struct bytecode_stream ir_section_of_regions(struct bytecode_stream *s, const char *op)
{
    uint8_t id = bytecode_byte(s);
    uint64_t bytes = bytecode_varint(s);

    if (id & 0x80)
        bytecode_align(s, bytecode_varint(s));
    if ((id & 0x7f) != 4)
        bytecode_fail(s, "section %d where the regions of %s must be", id & 0x7f, op);
    return bytecode_part(s, bytes, "regions");
}

/* Each is counted once: who has been is marked in its slot. */
static void use(struct passed *p, struct bytecode_stream *s, size_t i)
{
    if (p->is_apart || i >= p->around || bytecode_is_failed(s))
        return;
    if (!p->ir->scope->slot[i])
        bytecode_fail(s, "value %zu is used before it is made", i);
    else if (!(p->ir->scope->slot[i] & IR_IS_USED))
        MEM_ADD(p->used, p->used_count, p->capacity) = i;
    p->ir->scope->slot[i] |= IR_IS_USED;
}

static void pass_arguments(const struct passed *p, struct bytecode_stream *s)
{
    int version = p->ir->r->file.version;
    size_t count = bytecode_count(s, "arguments");

    for (size_t i = 0; i < count && !bytecode_is_failed(s); i++) {
        bool has_location = true;

        if (version >= 4)
            bytecode_flagged(s, &has_location);
        else
            bytecode_varint(s);
        if (has_location)
            bytecode_varint(s);
    }
    if (version >= 3 && bytecode_byte(s))
        ir_skip_use_lists(s, count);
}

static void pass_op(struct passed *p, struct bytecode_stream *s);

static void pass_region(struct passed *p, struct bytecode_stream *s)
{
    size_t blocks = bytecode_count(s, "blocks");
    bool has_arguments;
    uint64_t count;

    if (blocks > 1)
        bytecode_fail(s, "a region of %zu blocks: programs have one", blocks);
    if (blocks != 1 || bytecode_is_failed(s))
        return;
    bytecode_varint(s);                 /* of values: they are counted by who reads it */
    count = bytecode_flagged(s, &has_arguments);
    if (has_arguments)
        pass_arguments(p, s);
    for (uint64_t i = 0; i < count && !bytecode_is_failed(s); i++)
        pass_op(p, s);
}

static void pass_regions(struct passed *p, struct bytecode_stream *s)
{
    bool is_isolated, was_apart = p->is_apart;
    uint64_t count = bytecode_flagged(s, &is_isolated);

    if (p->depth >= HLO_NESTING_MAX)
        bytecode_fail(s, "regions within regions, more than %d deep", HLO_NESTING_MAX);
    if (is_isolated && p->ir->r->file.version >= 2) {
        ir_section_of_regions(s, "an operation");
        return;
    }
    p->depth++;
    p->is_apart |= is_isolated;
    for (uint64_t i = 0; i < count && !bytecode_is_failed(s); i++)
        pass_region(p, s);
    p->is_apart = was_apart;
    p->depth--;
}

static void pass_op(struct passed *p, struct bytecode_stream *s)
{
    size_t results = 0, operands = 0;
    uint8_t mask;

    p->ops++;
    bytecode_varint(s);                 /* its name */
    mask = bytecode_byte(s);
    bytecode_varint(s);                 /* where the author wrote it */
    if (mask & IR_HAS_ATTRS)
        bytecode_varint(s);
    if (mask & IR_HAS_PROPERTIES)
        bytecode_varint(s);
    if (mask & IR_HAS_RESULTS)
        results = bytecode_count(s, "results");
    for (size_t i = 0; i < results && !bytecode_is_failed(s); i++)
        bytecode_varint(s);
    if (mask & IR_HAS_OPERANDS)
        operands = bytecode_count(s, "operands");
    for (size_t i = 0; i < operands && !bytecode_is_failed(s); i++)
        use(p, s, (size_t)bytecode_varint(s));
    if (mask & IR_HAS_SUCCESSORS)
        bytecode_fail(s, "an operation goes on in another block, which programs do not have");
    if (mask & IR_HAS_USE_LISTS)
        ir_skip_use_lists(s, results);
    if (mask & IR_HAS_REGIONS)
        pass_regions(p, s);
}

size_t ir_pass_region(struct ir_reader *ir, struct bytecode_stream *s,
                      const struct mlir_value *const **used, size_t *used_count)
{
    struct passed p = {.ir = ir, .around = ir->scope->count, .depth = ir->depth};
    const struct mlir_value **value;

    pass_region(&p, s);
    for (size_t k = 0; k < p.used_count; k++)
        ir->scope->slot[p.used[k]] &= ~IR_IS_USED;
    value = arena_array(ir->r->arena, p.used_count, sizeof(const struct mlir_value *));
    for (size_t k = 0; k < p.used_count; k++)
        value[k] = ir_value_again(ir, p.used[k]);
    mem_free(p.used);
    *used = value;
    *used_count = p.used_count;
    return p.ops;
}
