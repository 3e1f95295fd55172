/*
 * Operations with a computation of scalars: all parts of their arrays go in behind each other, and a
 * computation around the old one puts its scalars together and takes its results apart.
 *
 * Sums keep single arrays, which the compiler does faster: complex ones of real and imaginary parts
 * by themselves, integers of 64 bits of pieces of 16 bits, as long as fewer than 2^16 are added.
 * Sums and products of narrow integers are those of the wider type, wrapped once at the end.
 */
#include "import/types/narrow.h"
#include "import/types/repr.h"
#include "import/types/words.h"

static enum hlo_element element_of(const struct hlo_type *t) { return t->element; }

static int parts_of(enum hlo_element e)
{
    enum hlo_element element;
    int parts;

    expand_form_of(e, &element, &parts);
    return parts;
}

static bool is_indices(const struct expand_site *s, int operand)
{
    return s->from->op == OPCODE_SCATTER && operand == s->from->operand_count / 2;
}

static int result_count(const struct expand_site *s)
{
    return hlo_type_is_tuple(s->from->type) ? s->from->type->part_count : 1;
}

static const struct hlo_type *result_type(const struct expand_site *s, int k)
{
    return hlo_type_is_tuple(s->from->type) ? &s->from->type->part[k] : s->from->type;
}

/* nothing becomes several arrays: only types change */
static int copy_single(struct expand_site *s)
{
    struct expand_site own = *s;
    int *operand = arena_array(s->b->module->arena, (size_t)s->from->operand_count + 1, sizeof(int));

    for (int k = 0; k < s->from->operand_count; k++)
        operand[k] = is_indices(s, k) ? repr_index(s, k) : s->operand[k];
    own.operand = operand;
    return repr_copy(&own);
}

static bool has_pairs(const struct expand_site *s)
{
    for (int k = 0; k < s->from->operand_count; k++)
        if (!is_indices(s, k) && parts_of(expand_operand_type(s, k)->element) > 1)
            return true;
    return false;
}

static bool has_narrow(const struct expand_site *s)
{
    for (int k = 0; k < s->from->operand_count; k++)
        if (!is_indices(s, k) && repr_form(expand_operand_type(s, k)->element) == EXPAND_WIDE)
            return true;
    return false;
}

/* the body's only operation on its two parameters; OPCODE_COUNT: it has others */
static enum hlo_opcode body_operation(const struct expand_site *s)
{
    const struct hlo_computation *c = &s->old->computation[hlo_detail(s->from)->computation[0]];
    const struct hlo_instruction *root = &c->instruction[c->root];

    if (root->operand_count != 2 || c->parameter_count != 2 || root->operand[0] == root->operand[1]
        || c->instruction[root->operand[0]].op != OPCODE_PARAMETER
        || c->instruction[root->operand[1]].op != OPCODE_PARAMETER)
        return OPCODE_COUNT;
    return root->op;
}

/* the operation over `arrays`, with other starts, of a type and with `op` of scalars as its body */
static int plain(struct expand_site *s, enum hlo_opcode op, enum hlo_element e, const int *operand)
{
    struct hlo_instruction i = *s->from;
    int body = hlo_scalar_computation(s->b->module, op, e);
    const struct hlo_type *t = result_type(s, 0);

    i.label = 0;
    i.type = HLO_TYPE(hlo_array_type(s->b->module->arena, e, t->rank, t->dim));
    i.detail = HLO_COPIED_DETAIL(&i);
    i.detail->computation = &body;
    return hlo_copy_instruction(s->b, &i, operand);
}

static int plain_sum(struct expand_site *s, enum hlo_element e, const int *operand)
{
    return plain(s, OPCODE_ADD, e, operand);
}

/* what a narrow integer's bits are at the end, those above them have no part in */
static bool is_of_low_bits(const struct expand_site *s)
{
    enum hlo_element e = expand_operand_type(s, 0)->element;
    enum hlo_opcode op = s->from->op, body;

    if ((op != OPCODE_REDUCE && op != OPCODE_REDUCE_WINDOW && op != OPCODE_SCATTER &&
         op != OPCODE_ALL_REDUCE && op != OPCODE_REDUCE_SCATTER) ||
        hlo_type_is_tuple(s->from->type) || repr_form(e) != EXPAND_WIDE ||
        !hlo_element_is_integer(e))
        return false;
    body = body_operation(s);
    return body == OPCODE_ADD || body == OPCODE_MULTIPLY;
}

static int wrapped_at_the_end(struct expand_site *s)
{
    enum hlo_element e = expand_operand_type(s, 0)->element, wide;
    int operand[3], parts;

    for (int k = 0; k < s->from->operand_count; k++)
        operand[k] = is_indices(s, k) ? repr_index(s, k) : s->operand[k];
    expand_form_of(e, &wide, &parts);
    return narrow_keep(s->b, plain(s, body_operation(s), wide, operand), e);
}

static int complex_sum(struct expand_site *s)
{
    struct repr_value x[3], sum = {.count = 2};
    int operand[3];

    for (int k = 0; k < s->from->operand_count; k++)
        if (!is_indices(s, k))
            x[k] = repr_operand(s, k);
    for (int p = 0; p < 2; p++) {
        for (int k = 0; k < s->from->operand_count; k++)
            operand[k] = is_indices(s, k) ? repr_index(s, k) : x[k].part[p];
        sum.part[p] = plain_sum(s, ELEMENT_F32, operand);
    }
    return repr_make(s->b, sum);
}

/* how many elements go into one sum, at most */
static int64_t added_count(const struct expand_site *s)
{
    const struct hlo_type *t = expand_operand_type(s, 0);
    int64_t count = 1;

    if (s->from->op == OPCODE_REDUCE) {
        for (int i = 0; i < hlo_detail(s->from)->dims.count; i++)
            count *= t->dim[hlo_detail(s->from)->dims.item[i]];
        return count;
    }
    for (int i = 0; i < hlo_detail(s->from)->window_count; i++)
        count *= hlo_detail(s->from)->window[i].size;
    return count;
}

/* the start is a constant 0: windows have it in their padding, too */
static bool starts_at_zero(const struct expand_site *s)
{
    const struct hlo_computation *c = &s->old->computation[s->b->computation];
    const struct hlo_instruction *i = &c->instruction[s->from->operand[1]];

    return i->op == OPCODE_CONSTANT && i->literal && i->literal->data
           && hlo_element_load_int(i->type->element, i->literal->data) == 0;
}

/* no sum leaves 32 bits: the low words alone */
static int short_sum(struct expand_site *s)
{
    int operand[2];

    for (int k = 0; k < 2; k++)
        operand[k] = hlo_bitcast_convert(s->b, repr_operand(s, k).part[0], ELEMENT_S32);
    return repr_make(s->b, words_from_32(s->b, plain_sum(s, ELEMENT_S32, operand)));
}

/* of a reduction, its windows, or of what devices have */
static int words_sum(struct expand_site *s)
{
    struct hlo_builder *b = s->b;
    struct repr_value x = repr_operand(s, 0), init, low, high;
    int sum[4], zero = ar_scalar(b, ELEMENT_U32, 0);

    for (int p = 0; p < 4; p++) {
        int half = x.part[p / 2];

        half = p % 2 ? ar_shri(b, half, 16) : ar_andi(b, half, 0xffff);
        sum[p] = plain_sum(s, ELEMENT_U32, (int[]){half, zero});
    }
    low = words_make(sum[0], ar_int(b, sum[0], 0));
    high.part[0] = ar_shli(b, sum[1], 16);
    high.part[1] = ar_shri(b, sum[1], 16);
    low = words_add(b, low, high);
    low.part[1] = ar_add(b, low.part[1], ar_add(b, sum[2], ar_shli(b, sum[3], 16)));
    if (s->from->operand_count == 1)
        return repr_make(b, low);
    init = repr_operand(s, 1);
    for (int p = 0; p < 2; p++)
        init.part[p] = ar_spread(b, init.part[p], low.part[p]);
    return repr_make(b, words_add(b, low, init));
}

/*
 * Number of part p of the old parameter n: behind all parts of those before it; in a comparison of
 * sort both sides of a part stand next to each other.
 */
static int parameter_number(const struct hlo_computation *c, bool is_sort, int n, int p)
{
    int number = 0;

    for (int k = 0; k < (is_sort ? n / 2 * 2 : n); k++)
        number += parts_of(c->instruction[c->parameter[k]].type->element);
    return is_sort ? number + 2 * p + n % 2 : number + p;
}

/* parameters of the flat computation, put together as those of the old one: its operands */
static void flat_parameters(struct hlo_builder *b, const struct hlo_computation *old, bool is_sort,
                            int *operand)
{
    struct arena *a = b->module->arena;
    int count = old->parameter_count, total = 0, *flat;
    struct hlo_type *type;

    for (int n = 0; n < count; n++)
        total += parts_of(old->instruction[old->parameter[n]].type->element);
    flat = arena_array(a, (size_t)total + 1, sizeof(*flat));
    type = arena_array(a, (size_t)total + 1, sizeof(*type));
    for (int n = 0; n < count; n++) {
        enum hlo_element element;
        int parts;

        expand_form_of(old->instruction[old->parameter[n]].type->element, &element, &parts);
        for (int p = 0; p < parts; p++)
            type[parameter_number(old, is_sort, n, p)] = hlo_scalar_type(element);
    }
    for (int k = 0; k < total; k++)
        flat[k] = hlo_parameter(b, k, &type[k]);
    for (int n = 0; n < count; n++) {
        struct repr_value v = {.count =
                                   parts_of(old->instruction[old->parameter[n]].type->element)};

        for (int p = 0; p < v.count; p++)
            v.part[p] = flat[parameter_number(old, is_sort, n, p)];
        operand[n] = repr_make(b, v);
    }
}

/* leaves of a value, tuples in tuples, one behind the other */
static int flat_leaves(struct hlo_builder *b, int x, int count, int *leaf)
{
    struct hlo_type t = *hlo_type_of(b, x);

    if (!hlo_type_is_tuple(&t)) {
        leaf[count] = x;
        return count + 1;
    }
    for (int k = 0; k < t.part_count; k++)
        count = flat_leaves(b, hlo_tuple_element(b, x, k), count, leaf);
    return count;
}

static int flat_body(struct expand_site *s)
{
    struct hlo_module *m = s->b->module;
    const struct hlo_computation *old = &s->old->computation[hlo_detail(s->from)->computation[0]];
    struct hlo_builder b = *s->b;
    int *operand = arena_array(m->arena, (size_t)old->parameter_count + 1, sizeof(int)), *leaf;
    int body, count;
    struct hlo_type t;

    b.computation = hlo_add_computation(m, "scalars");
    flat_parameters(&b, old, s->from->op == OPCODE_SORT, operand);
    body = hlo_inline(&b, hlo_detail(s->from)->computation[0], operand);
    t = *hlo_type_of(&b, body);
    leaf = arena_array(m->arena, (size_t)hlo_type_leaves(&t) + 1, sizeof(int));
    count = flat_leaves(&b, body, 0, leaf);
    m->computation[b.computation].root = count == 1 ? leaf[0] : hlo_tuple(&b, count, leaf);
    return b.computation;
}

/* results of the flat operation as those of the old one */
static int nest_results(struct expand_site *s, int all)
{
    int count = result_count(s), next = 0;
    int *result = arena_array(s->b->module->arena, (size_t)count + 1, sizeof(int));

    if (!hlo_type_is_tuple(s->from->type))
        return all;
    for (int k = 0; k < count; k++) {
        struct repr_value v = {.count = parts_of(result_type(s, k)->element)};

        for (int p = 0; p < v.count; p++)
            v.part[p] = hlo_tuple_element(s->b, all, next++);
        result[k] = repr_make(s->b, v);
    }
    return hlo_tuple(s->b, count, result);
}

static int flat_operation(struct expand_site *s)
{
    struct arena *a = s->b->module->arena;
    struct hlo_instruction i = *s->from;
    size_t room = (size_t)s->from->operand_count * REPR_PARTS_MAX + 1;
    int *operand = arena_array(a, room, sizeof(int)), total = 0, results = 0, body;
    struct hlo_type *type = arena_array(a, room, sizeof(*type));

    for (int k = 0; k < s->from->operand_count; k++) {
        struct repr_value v;

        if (is_indices(s, k)) {
            operand[total++] = repr_index(s, k);
            continue;
        }
        v = repr_operand(s, k);
        for (int p = 0; p < v.count; p++)
            operand[total++] = v.part[p];
    }
    for (int k = 0; k < result_count(s); k++) {
        const struct hlo_type *t = result_type(s, k);
        enum hlo_element element;
        int parts;

        expand_form_of(element_of(t), &element, &parts);
        for (int p = 0; p < parts; p++)
            type[results++] = hlo_array_type(a, element, t->rank, t->dim);
    }
    body = flat_body(s);
    i.detail = HLO_COPIED_DETAIL(&i);
    i.detail->computation = &body;
    i.operand_count = total;
    i.type = HLO_TYPE(results == 1 ? type[0] : hlo_tuple_type(a, results, type));
    return nest_results(s, hlo_copy_instruction(s->b, &i, operand));
}

/* several arrays that devices combine: each by itself */
static int each_by_itself(struct expand_site *s)
{
    int count = s->from->operand_count;
    int *result = arena_array(s->b->module->arena, (size_t)count + 1, sizeof(int));

    for (int k = 0; k < count; k++) {
        struct hlo_instruction own = *s->from;
        struct expand_site single = *s;

        own.label = 0;
        own.operand_count = 1;
        own.operand = &s->from->operand[k];
        own.type = &s->from->type->part[k];
        single.from = &own;
        single.operand = &s->operand[k];
        result[k] = repr_region(&single);
        if (result[k] < 0)
            return result[k];
    }
    return hlo_tuple(s->b, count, result);
}

int repr_region(struct expand_site *s)
{
    enum hlo_element e = expand_operand_type(s, 0)->element;
    bool is_single = !hlo_type_is_tuple(s->from->type);
    bool is_sum, is_window;
    bool is_collective = s->from->op == OPCODE_ALL_REDUCE || s->from->op == OPCODE_REDUCE_SCATTER;

    if (is_collective && !is_single && (has_pairs(s) || has_narrow(s)))
        return each_by_itself(s);
    if (is_of_low_bits(s))
        return wrapped_at_the_end(s);
    if (!has_pairs(s))
        return copy_single(s);
    is_window = s->from->op == OPCODE_REDUCE
                || (s->from->op == OPCODE_REDUCE_WINDOW && starts_at_zero(s));
    is_sum = is_single && hlo_detail(s->from)->computation_count == 1 && s->from->op != OPCODE_SORT
             && s->from->op != OPCODE_MAP && body_operation(s) == OPCODE_ADD;
    if (is_sum && repr_form(e) == EXPAND_COMPLEX)
        return complex_sum(s);
    if (is_sum && repr_form(e) == EXPAND_WORDS && s->from->op == OPCODE_REDUCE
        && repr_result_fits(s))
        return short_sum(s);
    if (is_sum && repr_form(e) == EXPAND_WORDS
        && (is_collective || (is_window && added_count(s) < 65536)))
        return words_sum(s);
    if (is_collective || s->from->op == OPCODE_SELECT_AND_SCATTER || s->from->op == OPCODE_SCAN
        || s->from->op == OPCODE_TOPK)
        return expand_refuse(s, "nothing expands it for %s", hlo_element_name(e));
    return flat_operation(s);
}
