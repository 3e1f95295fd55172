/* Softmax regression as a step of one's own, which 5_custom_loop and 6_steps_per_call train. */
#ifndef EXAMPLES_LINEAR_H
#define EXAMPLES_LINEAR_H
#include "examples/tpu_guide/common.h"

struct linear {
    sy_variable *kernel, *bias;
    sy_variable *right, *seen;          /* counted by each replica, added up when read */
};

static inline void make_linear(struct linear *l, sy_strategy *s)
{
    sy_variable_options count = {.is_state = true, .sync = SY_ON_READ, .aggregation = SY_SUM};

    must(sy_variable_create(s, "kernel", SY_F32, sy_dims(784, 10),
                            &(sy_variable_options){.initializer = "glorot_uniform"}, &l->kernel));
    must(sy_variable_create(s, "bias", SY_F32, sy_dims(10), NULL, &l->bias));
    must(sy_variable_create(s, "right", SY_F32, sy_scalar(), &count, &l->right));
    must(sy_variable_create(s, "seen", SY_F32, sy_scalar(), &count, &l->seen));
}

/* images [n, 784] and labels [n] of one replica; the mean loss of its samples */
static inline sy_status linear_step(sy_context *c, const sy_tensor *in, int inputs,
                                    sy_tensor *out, int outputs, void *user)
{
    struct linear *l = user;
    sy_tensor kernel = sy_read(c, l->kernel), bias = sy_read(c, l->bias);
    sy_tensor w[2] = {kernel, bias}, gradient[2];
    sy_tensor logits = sy_add(c, sy_matmul(c, in[0], w[0], NULL), w[1]);
    sy_tensor p = sy_activation(c, "log_softmax", logits);
    sy_tensor picked = sy_reduce_sum(c, sy_multiply(c, p, sy_one_hot(c, in[1], 10)), 1);
    sy_tensor loss = sy_negate(c, sy_reduce_mean(c, picked, SY_NO_AXIS));
    sy_tensor hit = sy_compare(c, "==", sy_argmax(c, logits, 1), in[1]), right;

    (void)inputs, (void)outputs;
    if (sy_gradients(c, loss, w, 2, gradient) != SY_OK)
        return SY_ERROR;
    for (int i = 0; i < 2; i++) {
        sy_tensor mean = sy_all_reduce(c, SY_MEAN, gradient[i]);

        sy_assign(c, i ? l->bias : l->kernel, sy_subtract(c, w[i], sy_scale(c, mean, 0.5)));
    }
    hit = sy_cast(c, hit, SY_F32);
    right = sy_read(c, l->right);
    sy_assign(c, l->right, sy_add(c, right, sy_reduce_sum(c, hit, SY_NO_AXIS)));
    sy_assign(c, l->seen, sy_shift(c, sy_read(c, l->seen),
                                   (double)sy_tensor_shape(c, hit).dim[0]));
    out[0] = loss;
    return SY_OK;
}

static inline void print_accuracy(const struct linear *l)
{
    float right, seen;

    must(sy_variable_read(l->right, &right, sizeof(right)));
    must(sy_variable_read(l->seen, &seen, sizeof(seen)));
    printf("%.0f of %.0f images right while training, %.1f %%\n", (double)right, (double)seen,
           100.0 * (double)right / (double)seen);
}
#endif
