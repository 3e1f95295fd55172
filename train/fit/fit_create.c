/*
 * Makes a fit, and checks which options go together and which replicas, stages and devices there
 * are.
 */
#include "train/fit/fit_impl.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "train/strategy/layer_devices.h"
#include "train/strategy/model_layouts.h"
#include "train/step/sharded_update.h"

#define INPUTS_MAX (DATA_TUPLE_MAX - FIT_OUTPUTS_MAX - 2)     /* beside labels, weights, mask */
#define KEPT_BYTES_MOST (16 << 20)      /* of variables that are kept without being asked */

int fit_metric_output(const struct fit *f, int metric)
{
    return f->options.metric_output ? f->options.metric_output[metric] : 0;
}

/* weights of classes need a class for each sample */
static int check_classes(const struct fit *f, struct err *e)
{
    const struct fit_options *o = &f->options;
    int64_t classes;

    if (!o->class_count)
        return 0;
    if (f->output_count > 1)
        return err_set(e, "model %s has %d outputs; weights of classes go with one", o->model->name,
                       f->output_count);
    if (o->has_weights)
        return err_set(e, "samples have weights of their own; weights of their classes do not go "
                       "beside them");
    if (f->label[0].rank > 1)
        return err_set(e, "labels have %d dimensions; weights of classes are of one class for each "
                       "sample", f->label[0].rank);
    classes = f->prediction[0].rank ? f->prediction[0].dim[f->prediction[0].rank - 1] : 1;
    if (classes > 1 && o->class_count > classes)        /* of one number any label may be a class */
        return err_set(e, "class %d has a weight, the model has %lld classes, 0 to %lld",
                       o->class_count - 1, (long long)classes, (long long)(classes - 1));
    for (int c = 0; c < o->class_count; c++)
        if (!isfinite(o->class_weight[c]))
            return err_set(e, "the weight of class %d is %g; it must be finite", c,
                           o->class_weight[c]);
    return 0;
}

static int check_output(struct fit *f, int i, struct err *e)
{
    const struct model *m = f->options.model;
    const struct model_node *n = &m->node[m->output[i]];
    struct err why;

    if (n->has_mask && loss_check_masked(&f->output[i].loss, &n->shape, &why))
        return err_set(e, "layer \"%s\", whose output is masked by mask_zero or Masking before it: "
                       "%s", m->layer[n->layer]->name, why.msg);
    f->prediction[i] = n->shape;
    f->label[i] = loss_label_shape(&f->output[i].loss, &f->prediction[i]);
    if (loss_is_sum(&f->output[i].loss) != loss_is_sum(&f->output[0].loss))
        return err_set(e, "model %s: one output's loss is a sum over samples, another's their mean; "
                       "all must be of one reduction", m->name);
    return loss_check(&f->output[i].loss, &f->label[i], &f->prediction[i], e);
}

static int check_shapes(struct fit *f, struct err *e)
{
    const struct fit_options *o = &f->options;
    const struct model *m = o->model;

    f->output_count = o->output ? o->output_count : 1;
    if (m->output_count != f->output_count || m->output_count > FIT_OUTPUTS_MAX)
        return err_set(e, "model %s has %d outputs, and losses are given for %d; there may be up to "
                       "%d", m->name, m->output_count, f->output_count, FIT_OUTPUTS_MAX);
    if (m->input_count < 1 || m->input_count > INPUTS_MAX)
        return err_set(e, "model %s has %d inputs; allowed are 1..%d", m->name, m->input_count,
                       INPUTS_MAX);
    for (int i = 0; i < f->output_count; i++) {
        f->output[i] = o->output ? o->output[i] : (struct fit_output){o->loss, 1.0};
        if (check_output(f, i, e) != 0)
            return -1;
    }
    if (check_classes(f, e))
        return -1;
    for (int i = 0; i < o->metric_count; i++) {
        int k = fit_metric_output(f, i);

        if (metric_check(&o->metric[i], &f->label[k], &f->prediction[k], e))
            return -1;
    }
    return 0;
}

/* how its variables lie on logical devices */
static int lay_out(struct fit *f, struct err *e)
{
    const struct fit_options *o = &f->options;
    struct mesh one = {1, {{"replicas", 1}}};
    const struct mesh *mesh = o->on ? strategy_mesh(o->on) : o->strategy.mesh;

    if (!o->layouts)
        return 0;
    if (o->layer_devices)
        return err_set(e, "%s: layouts of a model whose layers are on devices; a replica is cut "
                       "one way only", o->layouts);
    return model_layouts_set(o->model, mesh ? mesh : &one, o->layouts, &f->arena, e);
}

static int build(struct fit *f, struct err *e)
{
    const struct fit_options *o = &f->options;
    int *trainable, count = 0, status;

    if (model_build(o->model, f->set, e) || check_shapes(f, e) || lay_out(f, e))
        return -1;
    trainable = arena_array(&f->arena, (size_t)f->set->count + 1, sizeof(*trainable));
    for (int v = o->model->first_variable;
         v < o->model->first_variable + o->model->variable_count; v++)
        if (f->set->variable[v].is_trainable)
            trainable[count++] = v;
    status = optimizer_build(o->optimizer, f->set, trainable, count, e);
    if (status == 0 && o->shards_state)
        sharded_update_choose(o->optimizer, f->replicas);
    if (status == 0 && o->shards_state && o->micro_batches <= 1 && o->stages <= 1)
        sharded_update_hold_parts(o->optimizer);
    for (int i = 0; i < o->metric_count && status == 0; i++) {
        status = metric_check_name(&o->metric[i], f->set, e);
        if (status == 0)
            metric_build(&o->metric[i], f->set, &f->prediction[fit_metric_output(f, i)]);
    }
    return status;
}

/* on a machine each replica has a core for each of its stages */
static int most_one(int stages) { return stages > 1 ? stages : 1; }

static int check_stages(const struct fit *f, struct err *e)
{
    const struct fit_options *o = &f->options;
    int micro = most_one(o->micro_batches);

    if (o->stages == 0)
        return o->stage_cuts ? err_set(e, "%s: the number of stages is missing", o->stage_cuts) : 0;
    if (o->on && strategy_machine(o->on) && strategy_stage_count(o->on) != o->stages)
        return err_set(e, "a model in %d stages on a strategy of %d", o->stages,
                       strategy_stage_count(o->on));
    if (f->local_batch % micro)
        return err_set(e, "the %" PRId64 " samples of each replica cannot be cut into %d micro "
                       "batches", f->local_batch, micro);
    return 0;
}

/* how many devices a replica has for its layers, and what each layer is on */
static int choose_devices(struct fit *f, struct err *e)
{
    const struct fit_options *o = &f->options;
    int each = o->on ? strategy_device_count(o->on) / strategy_replica_count(o->on) : 1;

    f->devices = 1;
    if (!o->layer_devices)
        return 0;
    if (o->stages)
        return err_set(e, "%s: layers on devices, of a model in %d stages; a replica is cut one "
                       "way only", o->layer_devices, o->stages);
    if (layer_devices_count(o->layer_devices, &f->devices, e))
        return -1;
    if (o->on && (strategy_machine(o->on) || each > 1))     /* one host does for any number */
        f->devices = each;
    return layer_devices_set(o->model, o->layer_devices, f->devices, e);
}

/* when the model is built: its layers' stages, which the strategy has to know */
static int choose_stages(struct fit *f, struct err *e)
{
    const struct fit_options *o = &f->options;
    struct machine *machine = o->strategy.machine;
    struct model_stages_options how = {
        .count = o->stages, .cuts = o->stage_cuts, .chip = machine ? machine_chip(machine) : NULL,
        .micro_batch = f->local_batch / most_one(o->micro_batches)};

    if (o->stages == 0)
        return 0;
    f->options.strategy.stages = &f->stages.stages;
    if (model_stages_choose(o->model, &how, &f->arena, &f->stages, e))
        return -1;
    if (o->on)
        strategy_set_stages(o->on, &f->stages.stages);
    return 0;
}

static int count_replicas(struct fit *f, struct err *e)
{
    const struct strategy_options *s = &f->options.strategy;
    int cores = s->machine ? machine_slice(s->machine)->core_count : 0, stages = f->options.stages;

    if (stages < 0 || (cores && stages && (stages > cores || cores % stages)))
        return err_set(e, "%d stages on %d cores; each replica needs as many cores as there are "
                       "stages, and the slice a whole number of replicas", stages, cores);
    if (cores && !f->options.on && cores % f->devices)
        return err_set(e, "%d logical devices on %d cores; each replica needs as many cores as it "
                       "has devices, and the slice a whole number of replicas", f->devices, cores);
    f->replicas = f->options.on    ? strategy_replica_count(f->options.on)
                  : s->replica_count ? s->replica_count
                  : s->mesh          ? s->mesh->axis[0].size
                  : s->machine ? cores / most_one(f->options.stages) / f->devices
                               : 1;
    if (f->replicas < 1 || f->batch < 1)
        return err_set(e, "a batch of %" PRId64 " on %d replicas; both must be at least 1",
                       f->batch, f->replicas);
    f->local_batch = f->batch / f->replicas;
    if (s->machine && !f->options.on && f->devices > 1) {
        f->mesh = (struct mesh){2, {{"replicas", f->replicas}, {"devices", f->devices}}};
        f->options.strategy.mesh = &f->mesh;
    }
    return strategy_check_batch(f->batch, f->replicas, e);
}

static int64_t variable_bytes(const struct variable_set *set)
{
    int64_t bytes = 0;

    for (int v = 0; v < set->count; v++)
        bytes += shape_elems(&set->variable[v].shape) * 4;
    return bytes;
}

struct fit *fit_create(const struct fit_options *o, struct err *e)
{
    struct fit *f = mem_alloc(sizeof(*f));

    f->options = *o;
    f->set = o->strategy.set;
    f->batch = o->batch;
    arena_init(&f->arena);
    f->metric = arena_array(&f->arena, (size_t)o->metric_count + 1, sizeof(*f->metric));
    f->validation = arena_array(&f->arena, (size_t)o->metric_count + 1, sizeof(*f->validation));
    if (o->host)
        host_loop_init(&f->host, o->host);
    if (choose_devices(f, e) == 0 && count_replicas(f, e) == 0 && check_stages(f, e) == 0 &&
        build(f, e) == 0 && choose_stages(f, e) == 0)
        f->strategy = o->on ? o->on : strategy_create(&f->options.strategy, e);
    if (!f->strategy) {
        fit_destroy(f);
        return NULL;
    }
    f->keeps = o->checks_numerics || variable_bytes(f->set) <= KEPT_BYTES_MOST;
    return f;
}

struct loss fit_loss(const struct model *m, int output, enum loss_kind kind)
{
    int last = m->output_count ? m->output[output] : model_last_call(m);
    const struct layer *l = m->layer[m->node[last].layer];
    struct loss loss = loss_standard(kind);

    loss.with.from_logits = l->kind == LAYER_DENSE && l->c.activation.kind == ACTIVATION_LINEAR &&
                       strstr(loss_name(kind), "crossentropy");
    return loss;
}

int fit_trace(const struct fit_options *o, bool is_training, struct trace *t, struct err *e)
{
    struct fit f = {.options = *o, .set = o->strategy.set, .batch = o->batch};
    int status;

    arena_init(&f.arena);
    status = choose_devices(&f, e) || count_replicas(&f, e) || build(&f, e) ? -1 : 0;
    if (status == 0)
        status = is_training ? fit_trace_step(&f, t, e) : fit_trace_evaluation(&f, t, e);
    arena_fini(&f.arena);
    return status;
}

void fit_destroy(struct fit *f)
{
    if (!f)
        return;
    strategy_snapshot_free(f->before);
    if (!f->options.on)
        strategy_destroy(f->strategy);
    mem_free(f->kept);
    arena_fini(&f->arena);
    mem_free(f);
}
