#include "tests/rigs/mlp.h"

#include <string.h>

void mlp_init(struct mlp *m, struct machine *machine, int64_t inputs, int64_t batch)
{
    struct shape sample = shape_make(DTYPE_F32, 1, &inputs);

    memset(m, 0, sizeof(*m));
    arena_init(&m->arena);
    variable_set_init(&m->set, &m->arena);
    model_init(&m->model, &m->arena, "mlp");
    model_input(&m->model, "x", &sample);
    optimizer_init(&m->optimizer, RULE_ADAM);
    m->accuracy = metric_standard(METRIC_SPARSE_CATEGORICAL_ACCURACY);
    m->options = (struct fit_options){
        .model = &m->model, .loss = loss_standard(LOSS_SPARSE_CATEGORICAL_CROSSENTROPY),
        .metric = &m->accuracy, .metric_count = 1, .optimizer = &m->optimizer,
        .strategy = {.machine = machine, .set = &m->set, .seed = 1}, .batch = batch};
}

struct layer *mlp_add(struct mlp *m, const char *name, int64_t units, enum activation_kind a)
{
    struct layer *l = model_layer(&m->model, LAYER_DENSE, name);

    l->c.units = units;
    l->c.activation = activation_standard(a);
    return model_add(&m->model, l, &m->err) < 0 ? NULL : l;
}

int mlp_start(struct mlp *m)
{
    m->fit = fit_create(&m->options, &m->err);
    return m->fit ? fit_compile(m->fit, &m->err) : -1;
}

int mlp_step(struct mlp *m, const float *x, const int32_t *label, double *loss,
             struct strategy_run *run)
{
    struct strategy_program *p = fit_program(m->fit, 1, &m->err);
    int replicas = strategy_replica_count(fit_strategy(m->fit)), status;
    int64_t rows = m->options.batch / replicas;
    int64_t inputs = shape_elems(&m->model.node[0].shape);
    const void **input = mem_alloc((size_t)replicas * 2 * sizeof(*input));
    void **result = mem_alloc((size_t)replicas * sizeof(*result));
    float *part = mem_alloc((size_t)replicas * sizeof(*part));

    for (int r = 0; r < replicas; r++) {
        input[2 * r] = x + r * rows * inputs;
        input[2 * r + 1] = label + r * rows;
        result[r] = &part[r];
    }
    status = strategy_run(fit_strategy(m->fit), p, input, result, run, &m->err);
    *loss = 0;
    for (int r = 0; r < replicas; r++)
        *loss += (double)part[r];
    mem_free(input);
    mem_free(result);
    mem_free(part);
    return status;
}

void mlp_fini(struct mlp *m)
{
    fit_destroy(m->fit);
    model_fini(&m->model);
    variable_set_fini(&m->set);
    arena_fini(&m->arena);
}

void mlp_init_small(struct mlp *m, struct machine *machine)
{
    mlp_init(m, machine, MLP_INPUTS, MLP_BATCH);
    mlp_add(m, "dense", 16, ACTIVATION_RELU);
    mlp_add(m, "dense_1", 10, ACTIVATION_SOFTMAX);
}

void mlp_small_batch(float *x, int32_t *label)
{
    for (int i = 0; i < MLP_BATCH * MLP_INPUTS; i++)
        x[i] = (float)(i * 37 % 101) / 101.0f;
    for (int i = 0; i < MLP_BATCH; i++)
        label[i] = i % 10;
}
