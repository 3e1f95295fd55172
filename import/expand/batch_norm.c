/*
 * Batch norms as sums over all dimensions but that of features. Statistics are computed in f32,
 * the variance around the mean.
 */
#include "import/expand/site.h"

struct norm {
    struct expand_site *s;
    struct hlo_builder *b;
    struct hlo_type type;               /* of the input, in f32 */
    int64_t feature, count;             /* count: elements for each feature */
};

static struct norm norm_of(struct expand_site *s)
{
    struct norm n = {.s = s, .b = s->b, .feature = s->from->index};
    const struct hlo_type *t = expand_operand_type(s, 0);

    n.type = hlo_array_type(s->b->module->arena, ELEMENT_F32, t->rank, t->dim);
    n.count = t->dim[n.feature] ? hlo_type_elements(t) / t->dim[n.feature] : 0;
    return n;
}

static int spread(const struct norm *n, int x)
{
    return hlo_broadcast(n->b, x, n->type.rank, n->type.dim, &n->feature);
}

static int sum(const struct norm *n, int x)
{
    int64_t *dims = arena_array(n->b->module->arena, (size_t)n->type.rank + 1, sizeof(*dims));
    int count = 0, zero;

    for (int d = 0; d < n->type.rank; d++)
        if (d != n->feature)
            dims[count++] = d;
    if (count == 0)
        return x;
    zero = ar_scalar(n->b, ELEMENT_F32, 0);
    return hlo_reduce(n->b, x, zero, count, dims,
                      hlo_scalar_computation(n->b->module, OPCODE_ADD, ELEMENT_F32));
}

static int mean_of(const struct norm *n, int x)
{
    return ar_muln(n->b, sum(n, x), n->count ? 1.0 / (double)n->count : 0);
}

static int rsqrt_of(const struct norm *n, int variance)
{
    return ar_rsqrt(n->b, ar_addn(n->b, variance, hlo_detail(n->s->from)->epsilon));
}

/* (x - mean) rsqrt(variance + epsilon) scale + offset */
static int normalise(const struct norm *n, int x, int mean, int variance)
{
    struct hlo_builder *b = n->b;
    int factor = ar_mul(b, expand_to_f32(n->s, 1), rsqrt_of(n, variance));
    int centred = ar_sub(b, x, spread(n, mean));

    return ar_add(b, ar_mul(b, centred, spread(n, factor)), spread(n, expand_to_f32(n->s, 2)));
}

static int result_tuple(struct expand_site *s, const int *x)
{
    int part[3];

    for (int i = 0; i < 3; i++)
        part[i] = hlo_convert(s->b, x[i], s->from->type->part[i].element);
    return hlo_tuple(s->b, 3, part);
}

int expand_batch_norm_training(struct expand_site *s)
{
    struct norm n = norm_of(s);
    int x = expand_to_f32(s, 0), mean = mean_of(&n, x);
    int centred = ar_sub(s->b, x, spread(&n, mean));
    int variance = mean_of(&n, ar_mul(s->b, centred, centred));

    return result_tuple(s, (int[]){normalise(&n, x, mean, variance), mean, variance});
}

int expand_batch_norm_inference(struct expand_site *s)
{
    struct norm n = norm_of(s);

    int x = expand_to_f32(s, 0), mean = expand_to_f32(s, 3), variance = expand_to_f32(s, 4);

    return expand_from_f32(s, normalise(&n, x, mean, variance));
}

/* operands: input, scale, mean, variance, gradient of the output */
int expand_batch_norm_grad(struct expand_site *s)
{
    struct norm n = norm_of(s);
    struct hlo_builder *b = s->b;
    int gradient = expand_to_f32(s, 4), rsqrt = rsqrt_of(&n, expand_to_f32(s, 3));
    int unit = ar_mul(b, ar_sub(b, expand_to_f32(s, 0), spread(&n, expand_to_f32(s, 2))),
                      spread(&n, rsqrt));
    int offset = sum(&n, gradient), scale = sum(&n, ar_mul(b, gradient, unit));
    double share = n.count ? 1.0 / (double)n.count : 0;
    int rest = ar_sub(b, gradient, spread(&n, ar_muln(b, offset, share)));
    int factor = spread(&n, ar_mul(b, expand_to_f32(s, 1), rsqrt));

    rest = ar_sub(b, rest, ar_mul(b, unit, spread(&n, ar_muln(b, scale, share))));
    return result_tuple(s, (int[]){ar_mul(b, rest, factor), scale, offset});
}
