/* Converts one tensor of every element to another dtype. */
#include "data/dataset_impl.h"

struct convert {
    struct dataset dataset;
    int tensor;
    float divisor;
};

static void divide(float *to, const struct data_tensor *from, float divisor)
{
    int64_t count = data_spec_elems(&from->spec);
    float scaled[256];

    if (from->spec.dtype == DATA_F32)
        for (int64_t i = 0; i < count; i++)
            to[i] = ((const float *)from->data)[i] / divisor;
    if (from->spec.dtype == DATA_S32)
        for (int64_t i = 0; i < count; i++)
            to[i] = (float)((const int32_t *)from->data)[i] / divisor;
    if (from->spec.dtype == DATA_U8) {
        for (int i = 0; i < 256; i++)
            scaled[i] = (float)i / divisor;
        for (int64_t i = 0; i < count; i++)
            to[i] = scaled[((const uint8_t *)from->data)[i]];
    }
}

static void convert(const struct convert *c, struct data_element *x,
                    const struct data_tensor *from)
{
    struct data_spec s = from->spec;
    void *to;

    s.dtype = c->dataset.spec[c->tensor].dtype;
    to = element_put(x, c->tensor, &s);
    if (s.dtype == DATA_F32)
        divide(to, from, c->divisor);
    else
        for (int64_t i = data_spec_elems(&s) - 1; i >= 0; i--)
            ((int32_t *)to)[i] = ((const uint8_t *)from->data)[i];
}

static int convert_next(struct data_iterator *it, struct data_element **x, struct err *e)
{
    const struct convert *c = (const struct convert *)it->dataset;
    struct data_element *in;
    int status = data_iterator_next(it->input[0], &in, e);

    if (status <= 0)
        return status;
    *x = element_new(in->tensor_count);
    for (int i = 0; i < in->tensor_count; i++)
        if (i == c->tensor)
            convert(c, *x, &in->tensor[i]);
        else
            element_put_tensor(*x, i, &in->tensor[i]);
    element_release(in);
    return 1;
}

static const struct dataset_kind convert_kind = {
    .iterator_bytes = sizeof(struct data_iterator), .state = STATE_INPUTS,
    .next = convert_next, .skip = iterator_skip_input,
};

static struct convert *new_convert(struct dataset *in, int i, enum data_dtype to, struct err *e)
{
    bool can;
    struct convert *c;

    if (i < 0 || i >= in->tensor_count) {
        dataset_refuse(in, e, "to %s: tensor %d; an element has tensors 0..%d",
                       data_dtype_name(to), i, in->tensor_count - 1);
        return NULL;
    }
    can = in->spec[i].dtype == DATA_U8 || (to == DATA_F32 && in->spec[i].dtype != DATA_STRING);
    if (!can) {
        dataset_refuse(in, e, "to %s: tensor %d is %s, which cannot be converted",
                       data_dtype_name(to), i, data_dtype_name(in->spec[i].dtype));
        return NULL;
    }
    c = dataset_new(&convert_kind, sizeof(*c), &in, 1);
    c->tensor = i;
    c->dataset.spec[i].dtype = to;
    return c;
}

struct dataset *dataset_to_f32(struct dataset *in, int i, float divisor, struct err *e)
{
    struct convert *c = in ? new_convert(in, i, DATA_F32, e) : NULL;

    if (!c)
        return NULL;
    c->divisor = divisor;
    dataset_set_description(&c->dataset, "to f32(%d, / %g)", i, (double)divisor);
    return &c->dataset;
}

struct dataset *dataset_to_s32(struct dataset *in, int i, struct err *e)
{
    struct convert *c = in ? new_convert(in, i, DATA_S32, e) : NULL;

    if (!c)
        return NULL;
    dataset_set_description(&c->dataset, "to s32(%d)", i);
    return &c->dataset;
}
