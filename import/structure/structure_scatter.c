/*
 * Scatters in the forms that the compiler knows: one array, combined by one operation. Several
 * arrays are taken apart where their results do not depend on each other. With any other
 * computation: where no place is met twice, what is there is gathered, combined over arrays and put
 * back; else updates go one after the other in a loop.
 */
#include "import/structure/structure_impl.h"

#include "import/structure/structure_scalar.h"

#include <string.h>

#define ARRAYS_MAX 8

struct scatter {
    struct hlo_builder *b;
    const struct hlo_instruction *from;
    const struct hlo_gather *g;
    int body, count;
    int array[ARRAYS_MAX], indices, update[ARRAYS_MAX];
    /* as the loop has them: [updates, numbers], [updates, window of the array's rank] */
    int64_t updates;
    int64_t window[STRUCTURE_RANK_MAX]; /* by dimension of the array; 1 where it is inserted */
    int number_of[STRUCTURE_RANK_MAX];  /* which of the index's numbers a dimension has; -1: 0 */
};

static bool has(struct hlo_ints list, int64_t x)
{
    for (int k = 0; k < list.count; k++)
        if (list.item[k] == x)
            return true;
    return false;
}

static int index_in(struct hlo_ints list, int64_t x)
{
    for (int k = 0; k < list.count; k++)
        if (list.item[k] == x)
            return k;
    return -1;
}

static bool is_known(enum hlo_opcode op)
{
    return op == OPCODE_ADD || op == OPCODE_MULTIPLY || op == OPCODE_MAXIMUM ||
           op == OPCODE_MINIMUM || op == OPCODE_AND || op == OPCODE_OR || op == OPCODE_PARAMETER;
}

int structure_one_operation(struct hlo_module *m, enum hlo_opcode op, enum hlo_element e)
{
    struct hlo_builder b = {.module = m};
    struct hlo_type t = hlo_scalar_type(e);
    int x, y;

    if (op != OPCODE_PARAMETER)
        return hlo_scalar_computation(m, op, e);
    b.computation = hlo_add_computation(m, "replace");
    x = hlo_parameter(&b, 0, &t);
    y = hlo_parameter(&b, 1, &t);
    (void)x;
    m->computation[b.computation].root = y;
    return b.computation;
}

static int scatter_one(struct scatter *s, enum hlo_opcode op, int array, int indices, int update)
{
    struct hlo_instruction i = *s->from;
    int body = structure_one_operation(s->b->module, op, hlo_type_of(s->b, array)->element);

    i.label = 0;
    i.type = hlo_type_of(s->b, array);
    i.detail = HLO_COPIED_DETAIL(&i);
    i.detail->computation = &body;
    i.operand = (int[]){array, indices, update};
    i.operand_count = 3;
    i.detail->sharding_count = 0;
    i.detail->control = (struct hlo_ints){0};
    return hlo_add(s->b->module, s->b->computation, &i);
}

static int result(struct scatter *s, const int *array)
{
    return hlo_type_is_tuple(s->from->type) ? hlo_tuple(s->b, s->count, array) : array[0];
}

/* a - b is a + -b */
static bool is_difference(const struct scatter *s, int k)
{
    const struct hlo_computation *c = &s->b->module->computation[s->body];
    const struct hlo_instruction *r = scalar_result(s->b->module, s->body, k);

    return r->op == OPCODE_SUBTRACT && c->instruction[r->operand[0]].op == OPCODE_PARAMETER &&
           c->instruction[r->operand[1]].op == OPCODE_PARAMETER &&
           c->instruction[r->operand[0]].index == k &&
           c->instruction[r->operand[1]].index == s->count + k;
}

static bool is_separate(const struct scatter *s)
{
    for (int k = 0; k < s->count; k++)
        if (!is_known(structure_combines(s->b->module, s->body, k)) && !is_difference(s, k))
            return false;
    return true;
}

static int scatter_separately(struct scatter *s)
{
    int made[ARRAYS_MAX];

    for (int k = 0; k < s->count; k++) {
        bool is_minus = is_difference(s, k);
        int update = is_minus ? hlo_unary(s->b, OPCODE_NEGATE, s->update[k]) : s->update[k];

        made[k] = scatter_one(s, is_minus ? OPCODE_ADD
                                          : structure_combines(s->b->module, s->body, k),
                              s->array[k], s->indices, update);
    }
    return result(s, made);
}

/* sizes of the windows and which number of an index says where they begin */
static void describe(struct scatter *s)
{
    struct hlo_type a = *hlo_type_of(s->b, s->array[0]), u = *hlo_type_of(s->b, s->update[0]);
    int next = 0;

    s->updates = 1;
    for (int d = 0; d < u.rank; d++)
        s->updates *= has(s->g->offset_dims, d) ? 1 : u.dim[d];
    for (int d = 0; d < a.rank; d++) {
        bool is_dropped = has(s->g->collapsed_dims, d) || has(s->g->operand_batching, d);

        s->window[d] = is_dropped ? 1 : u.dim[s->g->offset_dims.item[next++]];
        s->number_of[d] = index_in(s->g->start_index_map, d);
        if (has(s->g->operand_batching, d))
            s->number_of[d] = s->g->start_index_map.count + index_in(s->g->operand_batching, d);
    }
}

/* [updates, numbers]: the numbers of each index, then its places in batches */
static int flat_indices(struct scatter *s)
{
    struct hlo_builder *b = s->b;
    struct hlo_type t = *hlo_type_of(b, s->indices);
    int x = s->indices, vector = (int)s->g->index_vector_dim, count = 0;
    int column[STRUCTURE_RANK_MAX];
    int64_t order[STRUCTURE_RANK_MAX];

    for (int d = 0; d < t.rank; d++)
        if (d != vector)
            order[count++] = d;
    if (vector < t.rank) {
        order[count] = vector;
        x = hlo_transpose(b, x, order);
    }
    count = 1;
    column[0] = hlo_reshape(b, x, 2, (int64_t[]){s->updates, s->g->start_index_map.count});
    for (int k = 0; k < s->g->indices_batching.count; k++) {
        int64_t dim = s->g->indices_batching.item[k];
        struct hlo_type plain = t;
        int64_t sizes[STRUCTURE_RANK_MAX];

        plain.rank = 0;
        for (int d = 0; d < t.rank; d++)
            if (d != vector)
                sizes[plain.rank++] = t.dim[d];
        plain = hlo_array_type(b->module->arena, t.element, plain.rank, sizes);
        column[count++] = hlo_reshape(b, hlo_iota(b, &plain, (int)(dim - (dim > vector))), 2,
                                      (int64_t[]){s->updates, 1});
    }
    return hlo_concatenate(b, count, column, 1);
}

/* [updates, window] */
static int flat_updates(struct scatter *s, int x)
{
    struct hlo_type t = *hlo_type_of(s->b, x);
    int rank = hlo_type_of(s->b, s->array[0])->rank, count = 0;
    int64_t order[STRUCTURE_RANK_MAX], dim[STRUCTURE_RANK_MAX];

    for (int inner = 0; inner < 2; inner++)
        for (int d = 0; d < t.rank; d++)
            if (has(s->g->offset_dims, d) == (bool)inner)
                order[count++] = d;
    dim[0] = s->updates;
    for (int d = 0; d < rank; d++)
        dim[1 + d] = s->window[d];
    return hlo_reshape(s->b, hlo_transpose(s->b, x, order), 1 + rank, dim);
}

/* where the window of a row of indices begins, and whether it lies inside */
static int starts_of(struct scatter *s, struct hlo_builder *b, int row, const struct hlo_type *a,
                     int *start)
{
    struct hlo_type word = hlo_scalar_type(ELEMENT_S32), flag = hlo_scalar_type(ELEMENT_PRED);
    int inside = hlo_constant_int(b, &flag, 1), zero = hlo_constant_int(b, &word, 0);

    for (int d = 0; d < a->rank; d++) {
        int last = hlo_constant_int(b, &word, a->dim[d] - s->window[d]), n = s->number_of[d];

        start[d] = n < 0 ? zero : hlo_reshape(b, hlo_slice(b, row, (int64_t[]){0, n},
                                                           (int64_t[]){1, n + 1}, NULL), 0, NULL);
        inside = hlo_binary(b, OPCODE_AND, inside, hlo_compare(b, HLO_GE, start[d], zero));
        inside = hlo_binary(b, OPCODE_AND, inside, hlo_compare(b, HLO_LE, start[d], last));
    }
    return inside;
}

static int row_of(struct hlo_builder *b, int x, int number, int zero)
{
    struct hlo_type t = *hlo_type_of(b, x);
    int start[STRUCTURE_RANK_MAX];
    int64_t size[STRUCTURE_RANK_MAX];

    for (int d = 0; d < t.rank; d++) {
        start[d] = d == 0 ? number : zero;
        size[d] = d == 0 ? 1 : t.dim[d];
    }
    return hlo_dynamic_slice(b, x, start, size);
}

/* what one round does to the arrays; state: round, indices, arrays, updates */
static int round_body(struct scatter *s, const struct hlo_type *state)
{
    struct hlo_builder own = *s->b, *b = &own;
    struct hlo_type word = hlo_scalar_type(ELEMENT_S32), a = state->part[2];
    int start[STRUCTURE_RANK_MAX], part[2 + 2 * ARRAYS_MAX], argument[2 * ARRAYS_MAX];
    int made[ARRAYS_MAX], whole, zero, inside;

    own.computation = hlo_add_computation(b->module, "scatter.round");
    whole = hlo_parameter(b, 0, state);
    for (int k = 0; k < state->part_count; k++)
        part[k] = hlo_tuple_element(b, whole, k);
    zero = hlo_constant_int(b, &word, 0);
    inside = starts_of(s, b, row_of(b, part[1], part[0], zero), &a, start);
    for (int k = 0; k < s->count; k++) {
        argument[k] = hlo_dynamic_slice(b, part[2 + k], start, s->window);
        argument[s->count + k] = hlo_reshape(b, row_of(b, part[2 + s->count + k], part[0], zero),
                                             a.rank, s->window);
    }
    structure_lift(b, s->body, argument, made, s->count);
    for (int k = 0; k < s->count; k++) {
        struct hlo_type t = *hlo_type_of(b, made[k]);

        made[k] = hlo_select(b, hlo_splat(b, inside, &t), made[k], argument[k]);
        part[2 + k] = hlo_dynamic_update_slice(b, part[2 + k], made[k], start);
    }
    part[0] = hlo_binary(b, OPCODE_ADD, part[0], hlo_constant_int(b, &word, 1));
    hlo_tuple(b, state->part_count, part);
    return own.computation;
}

static int round_condition(struct scatter *s, const struct hlo_type *state)
{
    struct hlo_builder own = *s->b, *b = &own;
    struct hlo_type word = hlo_scalar_type(ELEMENT_S32);
    int whole, number;

    own.computation = hlo_add_computation(b->module, "scatter.rounds");
    whole = hlo_parameter(b, 0, state);
    number = hlo_tuple_element(b, whole, 0);
    hlo_compare(b, HLO_LT, number, hlo_constant_int(b, &word, s->updates));
    return own.computation;
}

static int scatter_in_rounds(struct scatter *s)
{
    struct hlo_type word = hlo_scalar_type(ELEMENT_S32), state;
    int part[2 + 2 * ARRAYS_MAX], tuple, body, loop, made[ARRAYS_MAX];

    describe(s);
    part[0] = hlo_constant_int(s->b, &word, 0);
    part[1] = flat_indices(s);
    for (int k = 0; k < s->count; k++) {
        part[2 + k] = s->array[k];
        part[2 + s->count + k] = flat_updates(s, s->update[k]);
    }
    tuple = hlo_tuple(s->b, 2 + 2 * s->count, part);
    state = *hlo_type_of(s->b, tuple);
    body = round_body(s, &state);
    loop = hlo_while(s->b, tuple, body, round_condition(s, &state));
    structure_set_trips(s->b, loop, s->updates);
    for (int k = 0; k < s->count; k++)
        made[k] = hlo_tuple_element(s->b, loop, 2 + k);
    return result(s, made);
}

/* no place is met twice: gather, combine, put back. Windows outside are dropped by the scatter. */
static int scatter_at_once(struct scatter *s)
{
    int argument[2 * ARRAYS_MAX], made[ARRAYS_MAX];

    describe(s);
    for (int k = 0; k < s->count; k++) {
        argument[k] = hlo_gather(s->b, s->array[k], s->indices, s->g, s->window);
        argument[s->count + k] = s->update[k];
    }
    structure_lift(s->b, s->body, argument, made, s->count);
    for (int k = 0; k < s->count; k++)
        made[k] = scatter_one(s, OPCODE_PARAMETER, s->array[k], s->indices, made[k]);
    return result(s, made);
}

int structure_scatter(struct hlo_rewrite *rewrite, struct hlo_builder *b,
                      const struct hlo_instruction *from, const int *operand)
{
    struct scatter s = {.b = b,
                        .from = from,
                        .g = hlo_detail(from)->gather,
                        .body = hlo_detail(from)->computation[0],
                        .count = from->operand_count / 2};

    (void)rewrite;
    if (s.count > ARRAYS_MAX || s.count < 1)
        return -1;
    s.indices = operand[s.count];
    for (int k = 0; k < s.count; k++) {
        s.array[k] = operand[k];
        s.update[k] = operand[s.count + 1 + k];
    }
    if (hlo_type_elements(hlo_type_of(b, s.update[0])) == 0)
        return result(&s, s.array);
    if (s.count == 1 && is_known(structure_combines(b->module, s.body, 0)))
        return -1;
    if (is_separate(&s))
        return scatter_separately(&s);
    if (!structure_can_lift(b->module, s.body) || hlo_type_of(b, s.indices)->element != ELEMENT_S32)
        return -1;
    return s.g->is_unique ? scatter_at_once(&s) : scatter_in_rounds(&s);
}
