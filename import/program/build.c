/* Instructions by their operands: the types of results follow from them. */
#include "import/program/build.h"

#include <assert.h>

/* operations have few dimensions; what a file brings is checked before it gets here */
enum { RANK_MAX = 64 };

static struct hlo_computation *computation_of(const struct hlo_builder *b)
{
    return &b->module->computation[b->computation];
}

const struct hlo_type *hlo_type_of(const struct hlo_builder *b, int instruction)
{
    assert(instruction >= 0 && instruction < computation_of(b)->count);
    return computation_of(b)->instruction[instruction].type;
}

static int add(struct hlo_builder *b, struct hlo_instruction i, int count, const int *operand)
{
    i.operand_count = count;
    i.operand = operand;
    i.place = b->place;
    i.line = b->line;
    i.col = hlo_column(b->col);
    return hlo_add(b->module, b->computation, &i);
}

/* the type of x without its layout, which belongs to one array in one place */
static struct hlo_type type_like(const struct hlo_builder *b, int x)
{
    struct hlo_type t = *hlo_type_of(b, x);

    t.layout = NULL;
    return t;
}

static struct hlo_type with_element(struct hlo_type t, enum hlo_element e)
{
    t.element = e;
    return t;
}

int hlo_parameter(struct hlo_builder *b, int number, const struct hlo_type *t)
{
    return add(b, (struct hlo_instruction){ .op = OPCODE_PARAMETER, .type = t, .index = number },
               0, NULL);
}

int hlo_constant_literal(struct hlo_builder *b, const struct hlo_literal *l)
{
    return add(b, (struct hlo_instruction){ .op = OPCODE_CONSTANT, .type = &l->type, .literal = l },
               0, NULL);
}

int hlo_constant(struct hlo_builder *b, const struct hlo_type *t, double value)
{
    return hlo_constant_literal(b, hlo_literal_splat(b->module->arena, t, value));
}

int hlo_constant_int(struct hlo_builder *b, const struct hlo_type *t, int64_t value)
{
    return hlo_constant_literal(b, hlo_literal_splat_int(b->module->arena, t, value));
}

int hlo_iota(struct hlo_builder *b, const struct hlo_type *t, int dim)
{
    assert(dim >= 0 && dim < t->rank);
    return add(b, (struct hlo_instruction){ .op = OPCODE_IOTA, .type = t, .index = dim }, 0, NULL);
}

int hlo_unary(struct hlo_builder *b, enum hlo_opcode op, int x)
{
    struct hlo_type t = type_like(b, x);

    if (op == OPCODE_IS_FINITE)
        t.element = ELEMENT_PRED;
    return add(b, (struct hlo_instruction){ .op = op, .type = &t}, 1, &x);
}

int hlo_binary(struct hlo_builder *b, enum hlo_opcode op, int x, int y)
{
    assert(hlo_type_equal(hlo_type_of(b, x), hlo_type_of(b, y)));
    return add(b, (struct hlo_instruction){ .op = op, .type = HLO_TYPE(type_like(b, x))}, 2,
               (int[]){ x, y });
}

int hlo_compare(struct hlo_builder *b, enum hlo_direction d, int x, int y)
{
    assert(hlo_type_equal(hlo_type_of(b, x), hlo_type_of(b, y)));
    return add(
        b,
        (struct hlo_instruction){.op = OPCODE_COMPARE,
                                 .direction = d,
                                 .type = HLO_TYPE(with_element(type_like(b, x), ELEMENT_PRED))},
        2, (int[]){x, y});
}

int hlo_select(struct hlo_builder *b, int pred, int x, int y)
{
    assert(hlo_type_equal(hlo_type_of(b, x), hlo_type_of(b, y)));
    return add(b, (struct hlo_instruction){.op = OPCODE_SELECT, .type = HLO_TYPE(type_like(b, x))},
               3, (int[]){pred, x, y});
}

int hlo_clamp(struct hlo_builder *b, int low, int x, int high)
{
    return add(b, (struct hlo_instruction){.op = OPCODE_CLAMP, .type = HLO_TYPE(type_like(b, x))},
               3, (int[]){low, x, high});
}

int hlo_convert(struct hlo_builder *b, int x, enum hlo_element e)
{
    if (hlo_type_of(b, x)->element == e)
        return x;
    return add(b,
               (struct hlo_instruction){.op = OPCODE_CONVERT,
                                        .type = HLO_TYPE(with_element(type_like(b, x), e))},
               1, &x);
}

int hlo_bitcast_convert(struct hlo_builder *b, int x, enum hlo_element e)
{
    if (hlo_type_of(b, x)->element == e)
        return x;
    assert(hlo_element_bits(hlo_type_of(b, x)->element) == hlo_element_bits(e));
    return add(b,
               (struct hlo_instruction){.op = OPCODE_BITCAST_CONVERT,
                                        .type = HLO_TYPE(with_element(type_like(b, x), e))},
               1, &x);
}

int hlo_complex(struct hlo_builder *b, int real, int imaginary)
{
    struct hlo_type t = type_like(b, real);

    assert(hlo_type_equal(&t, hlo_type_of(b, imaginary)));
    t.element = t.element == ELEMENT_F64 ? ELEMENT_C128 : ELEMENT_C64;
    return add(b, (struct hlo_instruction){ .op = OPCODE_COMPLEX, .type = &t}, 2,
               (int[]){ real, imaginary });
}

static int part(struct hlo_builder *b, enum hlo_opcode op, int x)
{
    struct hlo_type t = type_like(b, x);

    if (hlo_element_is_complex(t.element))
        t.element = t.element == ELEMENT_C128 ? ELEMENT_F64 : ELEMENT_F32;
    return add(b, (struct hlo_instruction){ .op = op, .type = &t}, 1, &x);
}

int hlo_real(struct hlo_builder *b, int x) { return part(b, OPCODE_REAL, x); }
int hlo_imaginary(struct hlo_builder *b, int x) { return part(b, OPCODE_IMAG, x); }

int hlo_tuple(struct hlo_builder *b, int count, const int *x)
{
    struct hlo_type *part = mem_alloc(((size_t)count + 1) * sizeof(*part));
    struct hlo_type t = {.element = ELEMENT_TUPLE, .part_count = count, .part = part};
    int made;

    for (int i = 0; i < count; i++)
        part[i] = *hlo_type_of(b, x[i]);
    made = add(b, (struct hlo_instruction){.op = OPCODE_TUPLE, .type = &t}, count, x);
    mem_free(part);
    return made;
}

int hlo_tuple_element(struct hlo_builder *b, int tuple, int index)
{
    const struct hlo_type *t = hlo_type_of(b, tuple);

    assert(hlo_type_is_tuple(t) && index >= 0 && index < t->part_count);
    return add(b, (struct hlo_instruction){ .op = OPCODE_GET_TUPLE_ELEMENT, .index = index,
                                            .type = &t->part[index]}, 1, &tuple);
}

/* the type of what a computation gives back */
static struct hlo_type result_of(const struct hlo_builder *b, int computation)
{
    const struct hlo_computation *c = &b->module->computation[computation];

    return *c->instruction[c->root].type;
}

int hlo_call(struct hlo_builder *b, int computation, int count, const int *x)
{
    return add(
        b,
        (struct hlo_instruction){
            .op = OPCODE_CALL,
            .type = HLO_TYPE(result_of(b, computation)),
            .detail = &(struct hlo_detail){.computation_count = 1, .computation = &computation}},
        count, x);
}

int hlo_while(struct hlo_builder *b, int state, int body, int condition)
{
    return add(b,
               (struct hlo_instruction){
                   .op = OPCODE_WHILE,
                   .type = hlo_type_of(b, state),
                   .detail = &(struct hlo_detail){.computation_count = 2,
                                                  .computation = (int[]){body, condition}}},
               1, &state);
}

int hlo_reduce(struct hlo_builder *b, int x, int init, int count, const int64_t *dims, int body)
{
    const struct hlo_type *t = hlo_type_of(b, x);
    int64_t kept[RANK_MAX];
    struct hlo_type type;
    int rank = 0;

    for (int d = 0; d < t->rank; d++) {
        bool is_reduced = false;

        for (int i = 0; i < count; i++)
            is_reduced = is_reduced || dims[i] == d;
        if (!is_reduced)
            kept[rank++] = t->dim[d];
    }
    type = (struct hlo_type){.element = t->element, .rank = rank, .dim = kept};
    return add(b,
               (struct hlo_instruction){.op = OPCODE_REDUCE,
                                        .type = &type,
                                        .detail = &(struct hlo_detail){.dims = {count, dims},
                                                                       .computation_count = 1,
                                                                       .computation = &body}},
               2, (int[]){x, init});
}

int hlo_dot(struct hlo_builder *b, int x, int y, const struct hlo_dot *d, enum hlo_element e,
            enum hlo_precision p)
{
    const struct hlo_type *lhs = hlo_type_of(b, x), *rhs = hlo_type_of(b, y);
    int64_t dim[RANK_MAX];
    struct hlo_type type;
    int rank = 0;

    for (int i = 0; i < d->lhs_batch.count; i++)
        dim[rank++] = lhs->dim[d->lhs_batch.item[i]];
    for (int side = 0; side < 2; side++) {
        const struct hlo_type *t = side ? rhs : lhs;
        struct hlo_ints batch = side ? d->rhs_batch : d->lhs_batch;
        struct hlo_ints contract = side ? d->rhs_contract : d->lhs_contract;

        for (int k = 0; k < t->rank; k++) {
            bool is_free = true;

            for (int i = 0; i < batch.count; i++)
                is_free = is_free && batch.item[i] != k;
            for (int i = 0; i < contract.count; i++)
                is_free = is_free && contract.item[i] != k;
            if (is_free)
                dim[rank++] = t->dim[k];
        }
    }
    type = (struct hlo_type){.element = e, .rank = rank, .dim = dim};
    return add(b,
               (struct hlo_instruction){.op = OPCODE_DOT,
                                        .precision = {p, p},
                                        .type = &type,
                                        .detail = &(struct hlo_detail){.dot = d}},
               2, (int[]){x, y});
}

int hlo_scalar_computation(struct hlo_module *m, enum hlo_opcode op, enum hlo_element e)
{
    struct hlo_builder b = { .module = m };
    struct hlo_type t = hlo_scalar_type(e);
    const char *name = arena_printf(m->arena, "scalar.%s.%s", hlo_opcode_name(op),
                                    hlo_element_name(e));
    int x, y;

    for (int c = 0; c < m->computation_count; c++) {
        const struct hlo_computation *known = &m->computation[c];

        if (known->count == 3 && known->instruction[known->root].op == op &&
            hlo_type_equal(known->instruction[known->root].type, &t) &&
            known->parameter_count == 2 && known->instruction[0].op == OPCODE_PARAMETER &&
            known->instruction[0].index == 0 && known->root == 2 &&
            known->instruction[2].operand[0] == 0 && known->instruction[2].operand[1] == 1)
            return c;
    }
    b.computation = hlo_add_computation(m, name);
    x = hlo_parameter(&b, 0, &t);
    y = hlo_parameter(&b, 1, &t);
    hlo_binary(&b, op, x, y);
    return b.computation;
}
