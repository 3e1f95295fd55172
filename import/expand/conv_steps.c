/* Slices of a convolution's operands, one place of the window after the other. */
#include "import/expand/conv_steps.h"

static int arrange(struct conv_steps *s, int x, int64_t first, int64_t second,
                   const struct hlo_ints *space)
{
    int64_t order[CONV_RANKS] = {first, second};

    for (int d = 0; d < s->space; d++)
        order[2 + d] = space->item[d];
    return hlo_transpose(s->b, x, order);
}

static int padded(struct conv_steps *s, int x)
{
    int64_t low[CONV_RANKS] = {0}, high[CONV_RANKS] = {0}, interior[CONV_RANKS] = {0};
    struct hlo_type number = hlo_scalar_type(ar_element(s->b, x));

    for (int d = 0; d < s->space; d++) {
        low[2 + d] = hlo_detail(s->from)->window[d].pad_low;
        high[2 + d] = hlo_detail(s->from)->window[d].pad_high;
        interior[2 + d] = hlo_detail(s->from)->window[d].base_dilation - 1;
    }
    return hlo_pad(s->b, x, hlo_constant(s->b, &number, 0), low, high, interior);
}

bool conv_steps_begin(struct conv_steps *s, struct hlo_builder *b,
                      const struct hlo_instruction *from, const int *operand)
{
    const struct hlo_conv *conv = hlo_detail(from)->conv;
    const struct hlo_type x = *hlo_type_of(b, operand[0]), y = *hlo_type_of(b, operand[1]);

    *s = (struct conv_steps){
        .b = b, .from = from, .space = hlo_detail(from)->window_count, .places = 1};
    if (s->space + 3 > CONV_RANKS || conv->batch_groups > 1 || hlo_type_elements(from->type) == 0)
        return false;
    s->batch = x.dim[conv->in_batch];
    s->in = y.dim[conv->kernel_in];
    s->out = y.dim[conv->kernel_out];
    s->groups = conv->feature_groups > 1 ? conv->feature_groups : 1;
    s->result[0] = s->batch;
    s->result[1] = s->out;
    for (int d = 0; d < s->space; d++) {
        s->result[2 + d] = from->type->dim[conv->out_spatial.item[d]];
        s->places *= hlo_detail(from)->window[d].size;
    }
    s->input = padded(s, arrange(s, operand[0], conv->in_batch, conv->in_feature,
                                 &conv->in_spatial));
    s->kernel = arrange(s, operand[1], conv->kernel_out, conv->kernel_in, &conv->kernel_spatial);
    return true;
}

static void coordinates(const struct conv_steps *s, int64_t place, int64_t *at)
{
    for (int d = s->space - 1; d >= 0; d--) {
        at[d] = place % hlo_detail(s->from)->window[d].size;
        place /= hlo_detail(s->from)->window[d].size;
    }
}

int conv_steps_input(struct conv_steps *s, int64_t place)
{
    int64_t start[CONV_RANKS] = {0}, limit[CONV_RANKS] = {s->batch, s->groups * s->in};
    int64_t stride[CONV_RANKS] = {1, 1}, at[CONV_RANKS];

    coordinates(s, place, at);
    for (int d = 0; d < s->space; d++) {
        const struct hlo_window *w = &hlo_detail(s->from)->window[d];

        start[2 + d] = at[d] * w->window_dilation;
        limit[2 + d] = start[2 + d] + (s->result[2 + d] - 1) * w->stride + 1;
        stride[2 + d] = w->stride;
    }
    return hlo_slice(s->b, s->input, start, limit, stride);
}

int conv_steps_kernel(struct conv_steps *s, int64_t place)
{
    int64_t start[CONV_RANKS] = {0}, limit[CONV_RANKS] = {s->out, s->in}, at[CONV_RANKS];
    int x;

    coordinates(s, place, at);
    for (int d = 0; d < s->space; d++) {
        const struct hlo_window *w = &hlo_detail(s->from)->window[d];

        start[2 + d] = w->is_reversed ? w->size - 1 - at[d] : at[d];
        limit[2 + d] = start[2 + d] + 1;
    }
    x = hlo_slice(s->b, s->kernel, start, limit, NULL);
    return hlo_reshape(s->b, x, 2, (int64_t[]){s->out, s->in});
}

int conv_steps_end(struct conv_steps *s, int sum)
{
    const struct hlo_conv *conv = hlo_detail(s->from)->conv;
    int64_t back[CONV_RANKS];

    back[conv->out_batch] = 0;
    back[conv->out_feature] = 1;
    for (int d = 0; d < s->space; d++)
        back[conv->out_spatial.item[d]] = 2 + d;
    return hlo_transpose(s->b, sum, back);
}
