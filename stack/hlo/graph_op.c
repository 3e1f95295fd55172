/* Tells what is known of an operation by itself, from the columns of hlo_ops.def. */
#include "stack/hlo/graph_shape_impl.h"

#include <assert.h>

#define F32_OR_WORDS (WORDS | TYPE(DTYPE_F32))

/* the table's short names */
enum {
    EXPENSIVE = TRAIT_EXPENSIVE, SLOPE = TRAIT_SLOPE, RATIONAL = TRAIT_RATIONAL,
    KEEPS_BF16 = TRAIT_KEEPS_BF16, FLAT = TRAIT_FLAT, SAME_BITS = TRAIT_SAME_BITS
};
enum {
    SHAPE = ATTRIBUTE_SHAPE, TYPE = ATTRIBUTE_TYPE, PARAMETER_INDEX = ATTRIBUTE_PARAMETER_INDEX,
    VALUE = ATTRIBUTE_VALUE, LITERAL = ATTRIBUTE_LITERAL, DIM = ATTRIBUTE_DIM,
    DIMS = ATTRIBUTE_DIMS, PRODUCT = ATTRIBUTE_PRODUCT, PRECISION = ATTRIBUTE_PRECISION,
    DIRECTION = ATTRIBUTE_DIRECTION, REDUCE_KIND = ATTRIBUTE_REDUCE_KIND,
    REDUCE_MASK = ATTRIBUTE_REDUCE_MASK, LIMITS = ATTRIBUTE_LIMITS, PADDING = ATTRIBUTE_PADDING,
    SIZES = ATTRIBUTE_SIZES, WINDOW = ATTRIBUTE_WINDOW, LABELS = ATTRIBUTE_LABELS,
    WHERE = ATTRIBUTE_WHERE, GROUPS = ATTRIBUTE_GROUPS, PAIRS = ATTRIBUTE_PAIRS,
    MESSAGE = ATTRIBUTE_MESSAGE, COUNT = ATTRIBUTE_COUNT, CALLED = ATTRIBUTE_CALLED,
    ATTENTION = ATTRIBUTE_ATTENTION, EDGE = ATTRIBUTE_EDGE, MOSAIC = ATTRIBUTE_MOSAIC,
    TRIPS = ATTRIBUTE_TRIPS
};

static const struct {
    const char *name;
    int arity;
    enum graph_op_kind kind;
    unsigned types, traits, attributes;
    int cost;
} ops[] = {
#define HLO(id, text, operands, group, types, again, traits, attributes, meaning) \
    {text, operands, KIND_##group, types, traits, attributes, again},
#include "stack/hlo/hlo_ops.def"
};

const char *graph_op_name(enum graph_op op)
{
    assert(op < HLO_COUNT);
    return ops[op].name;
}

enum graph_op_kind graph_op_kind(enum graph_op op)
{
    assert(op < HLO_COUNT);
    return ops[op].kind;
}

int graph_op_arity(enum graph_op op)
{
    assert(op < HLO_COUNT);
    return ops[op].arity;
}

bool graph_op_is_elementwise(enum graph_op op)
{
    enum graph_op_kind kind = graph_op_kind(op);

    return kind == KIND_UNARY || kind == KIND_BINARY || kind == KIND_OTHER;
}

unsigned graph_op_types(enum graph_op op)
{
    assert(op < HLO_COUNT);
    return ops[op].types;
}

unsigned graph_op_traits(enum graph_op op)
{
    assert(op < HLO_COUNT);
    return ops[op].traits;
}

unsigned graph_op_attributes(enum graph_op op)
{
    assert(op < HLO_COUNT);
    return ops[op].attributes;
}

int graph_op_cost(enum graph_op op)
{
    assert(op < HLO_COUNT);
    return ops[op].cost;
}
