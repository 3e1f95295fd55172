/* The strategy on a machine: buffers in every core's HBM, one launch per step. */
#include "stack/strategy_impl.h"

#include <assert.h>
#include <math.h>

#include "stack/ring.h"

/* `tiles`: room for the buffer */
static int write_buffer(struct strategy *s, int replica, const struct compiled_buffer *b,
                        const void *dense, void *tiles, struct err *e)
{
    layout_pack(&b->layout, dense, tiles);
    return machine_hbm_write(s->machine, s->core[replica], b->hbm_address, tiles,
                             b->layout.bytes, e);
}

static int read_buffer(struct strategy *s, int replica, const struct compiled_buffer *b,
                       void *dense, struct err *e)
{
    if (machine_hbm_read(s->machine, s->core[replica], b->hbm_address, s->tiles, b->layout.bytes,
                         e))
        return -1;
    layout_unpack(&b->layout, s->tiles, dense);
    return 0;
}

static int64_t largest_buffer(const struct compiled *c, int64_t largest)
{
    for (int i = 0; i < c->parameter_count; i++)
        if (c->parameter[i].layout.bytes > largest)
            largest = c->parameter[i].layout.bytes;
    for (int i = 0; i < c->output_count; i++)
        if (c->output[i].layout.bytes > largest)
            largest = c->output[i].layout.bytes;
    return largest;
}

static int compile(struct strategy *s, struct arena *a, struct err *e)
{
    struct compile_options options = {.chip = machine_chip(s->machine),
                                      .replica_count = s->options.replica_count};

    if (compile_graph(&s->train.graph, &options, a, &s->train_program, e))
        return -1;
    options.share = &s->train_program;
    if (compile_graph(&s->eval.graph, &options, a, &s->eval_program, e))
        return -1;
    for (int i = 0; i < s->eval_program.parameter_count; i++) {
        int variable = s->variable_of_eval[i];

        assert(variable < 0 || s->eval_program.parameter[i].hbm_address ==
                                   s->train_program.parameter[variable].hbm_address);
    }
    return 0;
}

static int init_variables(struct strategy *s, uint64_t seed, struct err *e)
{
    const struct compiled *c = &s->train_program;

    for (int i = 0; i < c->parameter_count; i++) {
        if (!role_is_variable(s->train.parameter[i].role))
            continue;
        model_init_parameter(s->model, &s->train, i, seed, s->dense);
        for (int r = 0; r < s->options.replica_count; r++)
            if (write_buffer(s, r, &c->parameter[i], s->dense, s->tiles, e))
                return -1;
    }
    return 0;
}

int device_init(struct strategy *s, struct arena *a, uint64_t seed, struct err *e)
{
    int64_t largest;

    s->core = arena_array(a, (size_t)s->options.replica_count, sizeof(*s->core));
    ring_order(machine_slice(s->machine), s->core);
    if (compile(s, a, e))
        return -1;
    largest = largest_buffer(&s->eval_program, largest_buffer(&s->train_program, 0));
    s->tiles = arena_alloc(a, (size_t)largest);
    s->dense = arena_alloc(a, (size_t)largest);
    return init_variables(s, seed, e);
}

static int load(struct strategy *s, const struct compiled *c, struct err *e)
{
    if (s->loaded == c)
        return 0;
    for (int r = 0; r < s->options.replica_count; r++)
        if (machine_load(s->machine, s->core[r], &c->program, e))
            return -1;
    s->loaded = c;
    return 0;
}

static int write_ring(struct strategy *s, struct err *e)
{
    int count = s->options.replica_count;

    for (int r = 0; r < count; r++) {
        int32_t word[SMEM_ABI_BYTES / 4] = {
            [SMEM_REPLICA / 4] = r,
            [SMEM_REPLICA_COUNT / 4] = count,
            [SMEM_RING_NEXT / 4] = s->core[(r + 1) % count],
            [SMEM_RING_PREVIOUS / 4] = s->core[(r + count - 1) % count],
        };

        if (machine_smem_write(s->machine, s->core[r], 0, word, sizeof(word), e))
            return -1;
    }
    return 0;
}

/* What a step puts into HBM, replica by replica on the machine's threads. */
struct upload {
    struct strategy *strategy;
    const struct compiled *program;
    const struct model_graph *graph;
    const struct step_input *input;
    struct upload_result {
        int status;
        struct err e;
    } *result;                          /* per replica */
};

/* Replica r gets rows r * local_batch and on of what belongs to the batch. */
static const void *batch_rows(const struct upload *u, int replica, enum model_role role)
{
    const struct step_input *in = u->input;
    int64_t row = replica * u->strategy->options.local_batch;

    switch (role) {
    case ROLE_X: return in->x + row * u->strategy->model->input_elems;
    case ROLE_LABELS: return in->labels + row;
    case ROLE_WEIGHTS: return in->weights + row;
    default: return NULL;
    }
}

static void upload_replica(void *context, int replica)
{
    const struct upload *u = context;
    const struct compiled *c = u->program;
    struct upload_result *result = &u->result[replica];

    result->status = 0;
    for (int i = 0; i < c->parameter_count && result->status == 0; i++) {
        const void *from = batch_rows(u, replica, u->graph->parameter[i].role);
        void *tiles;

        if (!from)
            continue;
        tiles = mem_alloc((size_t)c->parameter[i].layout.bytes);
        result->status = write_buffer(u->strategy, replica, &c->parameter[i], from, tiles,
                                      &result->e);
        mem_free(tiles);
    }
}

static int upload(struct strategy *s, const struct compiled *c, const struct model_graph *mg,
                  const struct step_input *in, struct err *e)
{
    int count = s->options.replica_count, status = 0;
    struct upload u = {s, c, mg, in, mem_alloc((size_t)count * sizeof(*u.result))};

    machine_parallel(s->machine, count, upload_replica, &u);
    for (int r = 0; r < count && status == 0; r++) {
        status = u.result[r].status;
        if (status)
            *e = u.result[r].e;
    }
    mem_free(u.result);
    return status;
}

static int download(struct strategy *s, const struct compiled *c, const struct model_graph *mg,
                    struct step_result *r, struct err *e)
{
    for (int i = 0; i < s->options.replica_count; i++) {
        float loss, correct;

        if (read_buffer(s, i, &c->output[mg->loss_output], &loss, e) ||
            read_buffer(s, i, &c->output[mg->correct_output], &correct, e))
            return -1;
        r->loss_sum += (double)loss;
        r->correct += llround((double)correct);
    }
    return 0;
}

static int launch(struct strategy *s, const struct compiled *c, struct step_result *r,
                  struct err *e)
{
    if (load(s, c, e) || write_ring(s, e) || machine_run(s->machine, e))
        return -1;
    r->cycles = machine_mode(s->machine) == MODE_FUNCTIONAL ? 0 : machine_cycles(s->machine);
    if (c == &s->train_program) {
        assert(s->step_cycles == 0 || s->step_cycles == r->cycles);
        s->step_cycles = r->cycles;
    }
    return 0;
}

int device_step(struct strategy *s, const struct step_input *in, struct step_result *r,
                struct err *e)
{
    const struct model_graph *mg = in->weights ? &s->eval : &s->train;
    const struct compiled *c = in->weights ? &s->eval_program : &s->train_program;

    if (upload(s, c, mg, in, e) || launch(s, c, r, e))
        return -1;
    return download(s, c, mg, r, e);
}

/* Copies all variables of all replicas, packed, from HBM to `kept` or back. */
static int copy_variables(struct strategy *s, char *kept, bool is_restore, struct err *e)
{
    const struct compiled *c = &s->train_program;

    for (int r = 0; r < s->options.replica_count; r++)
        for (int i = 0; i < c->parameter_count; i++) {
            const struct compiled_buffer *b = &c->parameter[i];
            int status;

            if (!role_is_variable(s->train.parameter[i].role))
                continue;
            if (is_restore)
                status = machine_hbm_write(s->machine, s->core[r], b->hbm_address, kept,
                                           b->layout.bytes, e);
            else
                status = machine_hbm_read(s->machine, s->core[r], b->hbm_address, kept,
                                          b->layout.bytes, e);
            if (status)
                return -1;
            kept += b->layout.bytes;
        }
    return 0;
}

int device_replay(struct strategy *s, struct step_result *r, struct err *e)
{
    const struct compiled *c = &s->train_program;
    int64_t bytes = 0;
    char *kept;
    int status;

    for (int i = 0; i < c->parameter_count; i++)
        bytes += c->parameter[i].layout.bytes;
    kept = mem_alloc((size_t)(bytes * s->options.replica_count));
    status = copy_variables(s, kept, false, e);
    if (!status)
        status = launch(s, c, r, e);
    if (!status)
        status = download(s, c, &s->train, r, e);
    if (!status)
        status = copy_variables(s, kept, true, e);
    mem_free(kept);
    return status;
}

int device_read_parameter(struct strategy *s, int replica, int parameter, float *to,
                          struct err *e)
{
    return read_buffer(s, replica, &s->train_program.parameter[parameter], to, e);
}
