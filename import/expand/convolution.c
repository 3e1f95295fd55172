/*
 * Convolutions that no kernel takes, at each place of the window a product of matrices: those of
 * integers of more than 8 bits, which products have in all widths, and those along more than three
 * dimensions, as moments of patches have them.
 */
#include "import/expand/conv_steps.h"
#include "import/expand/site.h"

enum { PLACES_MAX = 1024, SPACE_MAX = 3 };     /* SPACE_MAX: of kernels, stack/hlo/graph.h */

/* products of floats are added up in f32 */
static enum hlo_element sum_element(enum hlo_element e)
{
    return hlo_element_is_float(e) ? ELEMENT_F32 : e;
}

static enum hlo_precision precision_of(const struct hlo_instruction *i)
{
    return i->precision[0] > i->precision[1] ? i->precision[0] : i->precision[1];
}

/* of groups, [groups, batch, space .., out of a group] */
static int product_at(struct conv_steps *s, int64_t place)
{
    int64_t dim[CONV_RANKS] = {s->batch, s->groups, s->in}, batch_x = 1, batch_y = 0, both = 2;
    const struct hlo_dot dot = {.lhs_batch = {1, &batch_x}, .rhs_batch = {1, &batch_y},
                                .lhs_contract = {1, &both}, .rhs_contract = {1, &both}};
    int x = conv_steps_input(s, place), y = conv_steps_kernel(s, place);

    for (int d = 0; d < s->space; d++)
        dim[3 + d] = s->result[2 + d];
    x = hlo_reshape(s->b, x, 3 + s->space, dim);
    y = hlo_reshape(s->b, y, 3, (int64_t[]){s->groups, s->out / s->groups, s->in});
    return hlo_dot(s->b, x, y, arena_copy(s->b->module->arena, &dot, 1, sizeof(dot)),
                   sum_element(ar_element(s->b, x)), precision_of(s->from));
}

/* to [batch, out, space ..] */
static int groups_to_features(struct conv_steps *s, int sum)
{
    int64_t order[CONV_RANKS] = {1, 0, s->space + 2};

    for (int d = 0; d < s->space; d++)
        order[3 + d] = 2 + d;
    return hlo_reshape(s->b, hlo_transpose(s->b, sum, order), s->space + 2, s->result);
}

static bool is_wide_integer(enum hlo_element e)
{
    return hlo_element_is_integer(e) && hlo_element_bits(e) > 8;
}

/* of one group of the batch; -1: of more dimensions than there are */
static int convolved(struct expand_site *s, const struct hlo_instruction *from, const int *operand)
{
    struct conv_steps steps;
    int sum = -1;

    if (!conv_steps_begin(&steps, s->b, from, operand))
        return -1;
    for (int64_t place = 0; place < steps.places; place++) {
        int product = product_at(&steps, place);

        sum = sum < 0 ? product : ar_add(s->b, sum, product);
    }
    sum = hlo_convert(s->b, sum, from->type->element);
    return conv_steps_end(&steps, groups_to_features(&steps, sum));
}

/* part `k` of `parts` of a dimension */
static int part_of(struct hlo_builder *b, int x, int64_t dim, int64_t k, int64_t parts)
{
    int64_t length = hlo_type_of(b, x)->dim[dim] / parts;

    return hlo_slice_dim(b, x, (int)dim, k * length, (k + 1) * length);
}

/* each group of the batch by the features that are its own */
static int batch_groups(struct expand_site *s, const int *operand)
{
    struct arena *a = s->b->module->arena;
    struct hlo_conv *conv = arena_copy(a, hlo_detail(s->from)->conv, 1, sizeof(*conv));
    struct hlo_instruction from = *s->from;
    int64_t parts = conv->batch_groups;
    int64_t *dim = arena_copy(a, from.type->dim, (size_t)from.type->rank, sizeof(*dim));
    int *made = arena_array(a, (size_t)parts, sizeof(*made));

    conv->batch_groups = 1;
    dim[conv->out_feature] /= parts;
    hlo_own_detail(a, &from)->conv = conv;
    from.type = HLO_TYPE(hlo_array_type(a, from.type->element, from.type->rank, dim));
    for (int64_t k = 0; k < parts; k++) {
        int input = part_of(s->b, operand[0], conv->in_batch, k, parts);
        int kernel = part_of(s->b, operand[1], conv->kernel_out, k, parts);

        made[k] = convolved(s, &from, (int[]){input, kernel});
        if (made[k] < 0)
            return -1;
    }
    return hlo_concatenate(s->b, (int)parts, made, (int)conv->out_feature);
}

/* a result of floats: operands that are as exact, multiplied whole */
static int as_floats(struct expand_site *s)
{
    struct hlo_instruction made = *s->from;
    int operand[2];

    for (int k = 0; k < 2; k++) {
        operand[k] = hlo_convert(s->b, s->operand[k], made.type->element);
        made.precision[k] = HLO_PRECISION_HIGHEST;
    }
    return hlo_copy_instruction(s->b, &made, operand);
}

static bool is_deep(const struct hlo_instruction *i)
{
    enum hlo_element e = i->type->element;

    return hlo_detail(i)->window_count > SPACE_MAX && (e == ELEMENT_F32 || e == ELEMENT_BF16);
}

static int by_places(struct expand_site *s, const int *operand)
{
    int64_t places = 1;
    int made;

    for (int d = 0; d < hlo_detail(s->from)->window_count; d++) {
        places *= hlo_detail(s->from)->window[d].size;
        if (places > PLACES_MAX)
            return expand_refuse(s, "a window of more than %d places of %s", PLACES_MAX,
                                 hlo_element_name(s->from->type->element));
    }
    made = hlo_detail(s->from)->conv->batch_groups > 1 ? batch_groups(s, operand)
                                                       : convolved(s, s->from, operand);
    return made < 0 ? EXPAND_KEEP : made;
}

int expand_convolution(struct expand_site *s)
{
    enum hlo_element e = s->from->type->element;
    int operand[2];

    if (!is_wide_integer(expand_operand_type(s, 0)->element) &&
        !is_wide_integer(expand_operand_type(s, 1)->element))
        return is_deep(s->from) ? by_places(s, s->operand) : EXPAND_KEEP;
    if (!hlo_element_is_integer(e))
        return hlo_element_is_float(e) ? as_floats(s) : EXPAND_KEEP;
    for (int k = 0; k < 2; k++)
        operand[k] = hlo_convert(s->b, s->operand[k], e);
    return by_places(s, operand);
}
