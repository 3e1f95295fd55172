/*
 * Convolutions of integers that the matrix unit does not take, of more than 8 bits: at each place of
 * the window a product of matrices, which integers of all widths have.
 */
#include "import/expand/conv_steps.h"
#include "import/expand/site.h"

enum { PLACES_MAX = 1024 };

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
                   ar_element(s->b, x), HLO_PRECISION_DEFAULT);
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

int expand_convolution(struct expand_site *s)
{
    struct conv_steps steps;
    enum hlo_element e = s->from->type.element;
    int operand[2], sum = -1;

    if (!hlo_element_is_integer(e) || (!is_wide_integer(expand_operand_type(s, 0)->element) &&
                                       !is_wide_integer(expand_operand_type(s, 1)->element)))
        return EXPAND_KEEP;
    for (int k = 0; k < 2; k++)
        operand[k] = hlo_convert(s->b, s->operand[k], e);
    if (!conv_steps_begin(&steps, s->b, s->from, operand))
        return EXPAND_KEEP;
    if (steps.places > PLACES_MAX)
        return expand_refuse(s, "a window of more than %d places of %s", PLACES_MAX,
                             hlo_element_name(e));
    for (int64_t place = 0; place < steps.places; place++) {
        int product = product_at(&steps, place);

        sum = sum < 0 ? product : ar_add(s->b, sum, product);
    }
    return conv_steps_end(&steps, groups_to_features(&steps, sum));
}
