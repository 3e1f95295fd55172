/* Names an optimizer's rules and numbers, checks them, and adds its slots to the variable set. */
#include "keras/optimizer/optimizer.h"

#include <regex.h>

#include "base/text.h"
#include "base/units.h"
#include "keras/call/call.h"
#include "keras/call/number.h"
#include "keras/optimizer/optimizer_impl.h"

#include <assert.h>
#include <string.h>

#define CALL_ARGUMENTS_MAX 32
#define LOSS_SCALE_OPTIMIZER "LossScaleOptimizer"

static const struct hyperparameter hypers[HYPER_COUNT] = {
#define HYPER(id, name, kind, low, high, meaning) {name, kind, low, high, meaning},
#include "keras/optimizer/optimizers.def"
};

static const struct { const char *name, *meaning; } names[RULE_COUNT] = {
#define OPTIMIZER(id, name, meaning) {name, meaning},
#include "keras/optimizer/optimizers.def"
};

static const struct { enum optimizer_rule rule; enum hyper hyper; double value; } takes[] = {
#define TAKES(optimizer, hyper, value) {RULE_##optimizer, HYPER_##hyper, value},
#include "keras/optimizer/optimizers.def"
};

static const struct { enum hyper hyper; double value; } common[] = {
#define COMMON(hyper, value) {HYPER_##hyper, value},
#include "keras/optimizer/optimizers.def"
};

static const struct slot_kind slots[] = {
#define SLOT(optimizer, name, part, initial, needs) \
    {RULE_##optimizer, name, PART_##part, HYPER_##initial, HYPER_##needs},
#include "keras/optimizer/optimizers.def"
};

const char *optimizer_name(enum optimizer_rule rule)
{
    return names[rule].name;
}

const char *optimizer_hyper_name(enum hyper h)
{
    return hypers[h].name;
}

static bool is_common(enum hyper h)
{
    for (size_t i = 0; i < COUNT_OF(common); i++)
        if (common[i].hyper == h)
            return true;
    return false;
}

bool optimizer_takes(enum optimizer_rule rule, enum hyper h)
{
    for (size_t i = 0; i < COUNT_OF(takes); i++)
        if (takes[i].rule == rule && takes[i].hyper == h)
            return true;
    return is_common(h);
}

int optimizer_find(const char *name, enum optimizer_rule *rule, struct err *e)
{
    const char *candidate[RULE_COUNT];

    for (int i = 0; i < RULE_COUNT; i++) {
        candidate[i] = names[i].name;
        if (number_same_name(name, names[i].name)) {
            *rule = (enum optimizer_rule)i;
            return 0;
        }
    }
    return err_set(e, "no optimizer \"%.40s\"%s", name,
                   text_did_you_mean(name, candidate, RULE_COUNT).text);
}

void optimizer_init(struct optimizer *o, enum optimizer_rule rule)
{
    memset(o, 0, sizeof(*o));
    o->rule = rule;
    for (size_t i = 0; i < COUNT_OF(common); i++)
        o->hyper[common[i].hyper] = common[i].value;
    for (size_t i = 0; i < COUNT_OF(takes); i++)
        if (takes[i].rule == rule)
            o->hyper[takes[i].hyper] = takes[i].value;
}

static int check(const struct optimizer *o, enum hyper h, double value, struct err *e)
{
    return number_check(&hypers[h], optimizer_name(o->rule), value, e);
}

/* in the order of Keras's arguments */
static size_t list_hypers(enum optimizer_rule rule, enum hyper list[HYPER_COUNT])
{
    size_t count = 0;

    for (size_t i = 0; i < COUNT_OF(takes); i++)
        if (takes[i].rule == rule)
            list[count++] = takes[i].hyper;
    for (size_t i = 0, own = count; i < COUNT_OF(common); i++) {
        bool is_own = false;

        for (size_t k = 0; k < own; k++)
            is_own |= list[k] == common[i].hyper;
        if (!is_own)
            list[count++] = common[i].hyper;
    }
    return count;
}

/* names of the rule's arguments, NULL behind them */
static size_t list_names(enum optimizer_rule rule, const char *list[CALL_ARGUMENTS_MAX])
{
    enum hyper h[HYPER_COUNT];
    size_t count = list_hypers(rule, h);

    assert(count < CALL_ARGUMENTS_MAX);
    for (size_t i = 0; i < count; i++)
        list[i] = hypers[h[i]].name;
    list[count] = NULL;
    return count;
}

/* -1: the rule has none of this name */
static int find_hyper(const struct optimizer *o, const char *name, enum hyper *h, struct err *e)
{
    const char *candidate[CALL_ARGUMENTS_MAX];

    for (int i = 0; i < HYPER_COUNT; i++)
        if (strcmp(name, hypers[i].name) == 0 && optimizer_takes(o->rule, (enum hyper)i)) {
            *h = (enum hyper)i;
            return 0;
        }
    return err_set(e, "%s has no \"%.40s\"%s", optimizer_name(o->rule), name,
                   text_did_you_mean(name, candidate, list_names(o->rule, candidate)).text);
}

int optimizer_set(struct optimizer *o, const char *name, double value, struct err *e)
{
    enum hyper h = HYPER_LEARNING_RATE;

    if (find_hyper(o, name, &h, e) || check(o, h, value, e))
        return -1;
    o->hyper[h] = value;
    return 0;
}

static int check_together(const struct optimizer *o, struct err *e)
{
    static const enum hyper clips[] = {HYPER_CLIPNORM, HYPER_GLOBAL_CLIPNORM, HYPER_CLIPVALUE};
    const char *first = NULL;

    for (int h = 0; h < HYPER_COUNT; h++)
        if (optimizer_takes(o->rule, (enum hyper)h) &&
            check(o, (enum hyper)h, o->hyper[h], e))
            return -1;
    for (size_t i = 0; i < COUNT_OF(clips); i++) {
        if (o->hyper[clips[i]] == 0)
            continue;
        if (first)
            return err_set(e, "%s: %s and %s are both set, only one kind of clipping is allowed",
                           optimizer_name(o->rule), first, hypers[clips[i]].name);
        first = hypers[clips[i]].name;
    }
    return schedule_check(&o->schedule, e);
}

static bool is_free(struct optimizer *o, const char *name)
{
    if (variable_find(o->set, name) >= 0)
        o->taken = name;
    return !o->taken;
}

static int add_slot(struct optimizer *o, int variable, const char *suffix,
                    const struct shape *shape, double initial)
{
    const struct variable *v = &o->set->variable[variable];
    struct initializer begin = initializer_standard(INITIALIZER_CONSTANT);
    struct variable slot = {.name = arena_printf(o->set->arena, "%s/%s", v->name, suffix),
                            .shape = *shape, .of = variable, .shard_dim = -1};

    begin.a = initial;
    slot.initializer = begin;
    if (shape_equal(shape, &v->shape)) {        /* cut and laid out as its variable is */
        slot.sharding = v->sharding;
        slot.joins_last = v->joins_last;
    }
    return is_free(o, slot.name) ? variable_add(o->set, &slot) : -1;
}

static bool is_named(const char *name, const char *const *parts, int count)
{
    for (int i = 0; i < count; i++)
        if (strstr(name, parts[i]))
            return true;
    return false;
}

/* false: the variable has no such part */
static bool part_of(enum slot_part part, const struct optimizer_variable *of, struct shape *shape)
{
    int rank = shape->rank;

    if (part == PART_ADAM)
        return of->uses_adam;

    if (part == PART_ALL)
        return true;
    if (rank < 2 || part == PART_VECTOR)
        return rank < 2 && part == PART_VECTOR;
    if (part == PART_COLUMNS)
        shape->dim[rank - 2] = shape->dim[rank - 1];
    shape->rank--;
    return true;
}

static void add_own_slots(struct optimizer *o, struct optimizer_variable *of)
{
    int k = 0;

    for (size_t i = 0; i < COUNT_OF(slots); i++) {
        struct shape shape = o->set->variable[of->variable].shape;
        enum hyper initial = slots[i].initial, needs = slots[i].needs;

        if (slots[i].rule != o->rule)
            continue;
        assert(k < OPTIMIZER_SLOTS_MAX);
        of->slot[k] = -1;
        if ((needs == HYPER_NONE || o->hyper[needs] != 0) && part_of(slots[i].part, of, &shape))
            of->slot[k] = add_slot(o, of->variable, slots[i].name, &shape,
                                   initial == HYPER_NONE ? 0 : o->hyper[initial]);
        k++;
    }
    for (; k < OPTIMIZER_SLOTS_MAX; k++)
        of->slot[k] = -1;
}

static bool is_found(const char *name, const char *expression, int how)
{
    regex_t pattern;
    bool is;

    if (regcomp(&pattern, expression, REG_EXTENDED | REG_NOSUB | how))
        return false;
    is = regexec(&pattern, name, 0, NULL, 0) == 0;
    regfree(&pattern);
    return is;
}

/* does Muon leave it to Adam? */
static bool is_for_adam(const struct optimizer *o, const char *name, int rank)
{
    bool is_excluded = rank != 2 || (o->hyper[HYPER_EXCLUDE_EMBEDDINGS] != 0 &&
                                     is_found(name, "embedding", REG_ICASE));

    for (int i = 0; i < o->no_muon_count; i++)
        is_excluded |= is_found(name, o->no_muon[i], 0);
    return is_excluded;
}

static void add_variable(struct optimizer *o, struct optimizer_variable *of, int variable)
{
    const char *name = o->set->variable[variable].name;
    struct shape shape = o->set->variable[variable].shape;

    of->variable = variable;
    of->accumulated = of->average = -1;
    of->decays = !is_named(name, o->no_decay, o->no_decay_count);
    of->adapts = !is_named(name, o->no_adaptation, o->no_adaptation_count);
    of->uses_adam = o->rule == RULE_MUON && is_for_adam(o, name, shape.rank);
    add_own_slots(o, of);
    if (o->hyper[HYPER_GRADIENT_ACCUMULATION_STEPS] > 1 && !o->accumulates_in_launch)
        of->accumulated = add_slot(o, variable, "accumulated", &shape, 0);
    if (o->hyper[HYPER_USE_EMA] != 0)
        of->average = add_slot(o, variable, "average", &shape, 0);
}

static int add_scalar(struct optimizer *o, const char *name, enum graph_dtype dtype,
                      double initial)
{
    struct shape scalar = shape_scalar(dtype);
    struct initializer begin = initializer_standard(INITIALIZER_CONSTANT);

    begin.a = initial;
    name = arena_printf(o->set->arena, "%s%s", o->scope ? o->scope : "", name);
    return is_free(o, name) ? variable_add_state(o->set, name, &scalar, &begin) : -1;
}

int optimizer_build(struct optimizer *o, struct variable_set *set, const int *trainable,
                    int count, struct err *e)
{
    if (check_together(o, e))
        return -1;
    o->set = set;
    o->count = count;
    o->of = arena_array(set->arena, (size_t)count + 1, sizeof(*o->of));
    o->learning_rate = o->product = -1;
    o->taken = NULL;
    o->iterations = add_scalar(o, "iterations", DTYPE_S32, 0);
    if (o->schedule.kind == SCHEDULE_NONE)
        o->learning_rate = add_scalar(o, "learning_rate", DTYPE_F32,
                                      o->hyper[HYPER_LEARNING_RATE]);
    o->dynamic_scale = o->step_counter = -1;
    if (o->has_dynamic_scale) {
        o->step_counter = add_scalar(o, "step_counter", DTYPE_S32, 0);
        o->dynamic_scale = add_scalar(o, "dynamic_scale", DTYPE_F32,
                                      o->hyper[HYPER_INITIAL_SCALE]);
    }
    if (o->rule == RULE_MUON) {         /* those of Adam in it */
        o->hyper[HYPER_BETA_1] = o->hyper[HYPER_ADAM_BETA_1];
        o->hyper[HYPER_BETA_2] = o->hyper[HYPER_ADAM_BETA_2];
    }
    if (o->rule == RULE_NADAM)
        o->product = add_scalar(o, "momentum_product", DTYPE_F32, 1);
    for (int i = 0; i < count; i++)
        add_variable(o, &o->of[i], trainable[i]);
    if (o->taken)
        return err_set(e, "optimizer %s: there is a variable \"%s\" already; a second optimizer "
                       "needs a name and variables of its own", optimizer_name(o->rule), o->taken);
    return 0;
}

static void list_slots(const struct optimizer_variable *of, int slot[OPTIMIZER_SLOTS_MAX + 2])
{
    slot[0] = of->accumulated;
    slot[1] = of->average;
    memcpy(slot + 2, of->slot, sizeof(of->slot));
}

int optimizer_sharded_along(const struct optimizer *o, int i)
{
    int slot[OPTIMIZER_SLOTS_MAX + 2];

    list_slots(&o->of[i], slot);
    for (size_t k = 0; k < COUNT_OF(slot); k++)
        if (slot[k] >= 0)
            return o->set->variable[slot[k]].shard_dim;
    return -1;
}

int optimizer_shard(struct optimizer *o, int i, int dim, int replica_count, struct err *e)
{
    const struct optimizer_variable *of = &o->of[i];
    const struct variable *v = &o->set->variable[of->variable];
    int slot[OPTIMIZER_SLOTS_MAX + 2];

    if (optimizer_rules[o->rule].needs_whole)
        return err_set(e, "%s: %s's slots cannot be in parts, it looks at whole variables",
                       v->name, optimizer_name(o->rule));
    if (v->constraint.kind != CONSTRAINT_NONE)
        return err_set(e, "%s: its slots cannot be in parts, for its constraint goes over all of "
                       "it", v->name);
    if (dim < 0 || dim >= v->shape.rank || v->shape.dim[dim] % replica_count != 0) {
        char text[96];

        return err_set(e, "%s: dimension %d of %s is not divisible by %d replicas", v->name, dim,
                       shape_print(&v->shape, text, sizeof(text)), replica_count);
    }
    list_slots(of, slot);
    for (size_t k = 0; k < COUNT_OF(slot); k++)
        if (slot[k] >= 0)
            o->set->variable[slot[k]].shard_dim = dim;
    return 0;
}

/* ----- for help texts */

static void print_arguments(enum optimizer_rule rule, FILE *to)
{
    const char *between = "";

    for (size_t i = 0; i < COUNT_OF(takes); i++) {
        const struct hyperparameter *n = &hypers[takes[i].hyper];

        if (takes[i].rule != rule)
            continue;
        if (n->kind == FLAG)
            fprintf(to, "%s%s=%s", between, n->name, takes[i].value != 0 ? "True" : "False");
        else
            fprintf(to, "%s%s=%.10g", between, n->name, takes[i].value);
        between = ", ";
    }
}

void optimizer_print_list(FILE *to)
{
    char range[64];

    for (int r = 0; r < RULE_COUNT; r++) {
        fprintf(to, "%s(", names[r].name);
        print_arguments((enum optimizer_rule)r, to);
        fprintf(to, ")\n    %s\n", names[r].meaning);
    }
    fprintf(to, "\nEach also has");
    for (size_t i = 0; i < COUNT_OF(common); i++)
        fprintf(to, "%s %s", i ? "," : "", hypers[common[i].hyper].name);
    fprintf(to, "\n\n");
    for (int h = 0; h < HYPER_COUNT; h++)
        fprintf(to, "%-27s  %-30s  %s\n", hypers[h].name,
                number_range(&hypers[h], range, sizeof(range)), hypers[h].meaning);
}

/* ----- from JSON */

static int read_parts(const json_t *list, const char *key, const char *const **parts, int *count,
                      struct arena *a, struct err *e)
{
    const char **copy = arena_array(a, json_array_size(list) + 1, sizeof(*copy));
    bool is_list = json_is_array(list);

    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));

        is_list &= text && *text;
        copy[i] = arena_strdup(a, text ? text : "");
    }
    if (!is_list)
        return err_set(e, "%s is to be a list of parts of names, like ['bias']", key);
    *parts = copy;
    *count = (int)json_array_size(list);
    return 0;
}

/* Keras 2's decay: lr / (1 + decay t), which Keras 3 has as a schedule */
static int read_decay(struct optimizer *o, const json_t *value, struct err *e)
{
    double decay = json_number_value(value);

    if (json_is_null(value) || decay == 0)
        return 0;
    if (!(decay > 0))
        return err_set(e, "%s: decay is no number from 0 up", optimizer_name(o->rule));
    o->decay = decay;
    return 0;
}

/* what files of Keras 2 say besides the numbers */
static bool is_ignored(const char *key)
{
    return strcmp(key, "name") == 0 || strcmp(key, "is_legacy_optimizer") == 0 ||
           strcmp(key, "jit_compile") == 0;
}

/* None turns off what every optimizer has; what the rule itself takes is a number */
static int read_value(struct optimizer *o, const char *key, const json_t *value, struct arena *a,
                      struct err *e)
{
    enum hyper h = HYPER_LEARNING_RATE;
    char range[64];

    if (is_ignored(key))
        return 0;
    if (strcmp(key, "decay") == 0)
        return read_decay(o, value, e);
    if (strcmp(key, "lr") == 0)
        key = "learning_rate";
    if (o->rule == RULE_MUON && strcmp(key, "exclude_layers") == 0)
        return json_is_null(value) ? 0 : read_parts(value, key, &o->no_muon, &o->no_muon_count, a,
                                                    e);
    if (strcmp(key, "exclude_from_weight_decay") == 0)
        return read_parts(value, key, &o->no_decay, &o->no_decay_count, a, e);
    if (o->rule == RULE_LARS && strcmp(key, "exclude_from_layer_adaptation") == 0)
        return read_parts(value, key, &o->no_adaptation, &o->no_adaptation_count, a, e);
    if (find_hyper(o, key, &h, e))
        return -1;
    if (h == HYPER_LEARNING_RATE && json_is_object(value))
        return schedule_from_json(&o->schedule, value, a, e);
    if (json_is_null(value)) {
        if (h == HYPER_EPSILON)         /* Keras 2's: the standard one */
            return 0;
        if (!is_common(h) && h != HYPER_RMS_RATE && h != HYPER_ADAM_WEIGHT_DECAY)
            return err_set(e, "%s: %s is None, allowed are %s", optimizer_name(o->rule), key,
                           number_range(&hypers[h], range, sizeof(range)));
        o->hyper[h] = 0;
        return 0;
    }
    return number_read(&hypers[h], optimizer_name(o->rule), value, &o->hyper[h], e);
}

static int read_config(struct optimizer *o, json_t *call, struct arena *a, struct err *e)
{
    const char *list[CALL_ARGUMENTS_MAX], *key;
    json_t *config = json_object_get(call, "config"), *value;

    list_names(o->rule, list);
    if (call_name_args(call, list, e))
        return -1;
    json_object_foreach(config, key, value)
        if (read_value(o, key, value, a, e))
            return -1;
    if (o->decay > 0 && o->schedule.kind != SCHEDULE_NONE)
        return err_set(e, "%s: decay does not go beside a schedule", optimizer_name(o->rule));
    if (o->decay > 0) {
        schedule_init(&o->schedule, SCHEDULE_INVERSE_TIME_DECAY);
        o->schedule.number[SCHEDULE_INITIAL] = o->hyper[HYPER_LEARNING_RATE];
        o->schedule.number[SCHEDULE_DECAY_STEPS] = 1;
        o->schedule.number[SCHEDULE_DECAY_RATE] = o->decay;
    }
    return check_together(o, e);
}

/* LossScaleOptimizer(inner, initial_scale, dynamic_growth_steps): the inner one, scaled */
static int read_scaled(struct optimizer *o, json_t *call, struct arena *a, struct err *e)
{
    static const char *const arguments[] = {"inner_optimizer", "initial_scale",
                                            "dynamic_growth_steps", "name", NULL};
    static const enum hyper numbers[] = {HYPER_INITIAL_SCALE, HYPER_DYNAMIC_GROWTH_STEPS};
    const json_t *config = json_object_get(call, "config"), *inner;

    if (call_name_args(call, arguments, e) || call_check_names(call, arguments, e))
        return -1;
    inner = json_object_get(config, arguments[0]);
    if (!inner || optimizer_from_json(o, inner, a, e))
        return inner ? -1 : err_set(e, "%s needs inner_optimizer", LOSS_SCALE_OPTIMIZER);
    if (o->has_dynamic_scale)
        return err_set(e, "%s in another one", LOSS_SCALE_OPTIMIZER);
    o->has_dynamic_scale = true;
    o->hyper[HYPER_LOSS_SCALE_FACTOR] = 0;
    o->hyper[HYPER_INITIAL_SCALE] = 32768;
    o->hyper[HYPER_DYNAMIC_GROWTH_STEPS] = 2000;
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        const json_t *v = json_object_get(config, arguments[i + 1]);

        if (v && number_read(&hypers[numbers[i]], LOSS_SCALE_OPTIMIZER, v, &o->hyper[numbers[i]],
                             e))
            return -1;
    }
    return 0;
}

int optimizer_from_json(struct optimizer *o, const json_t *call, struct arena *a, struct err *e)
{
    const char *name = json_string_value(json_object_get(call, "class_name"));
    enum optimizer_rule rule = RULE_SGD;
    json_t *copy;
    int status;

    if (json_is_string(call))
        name = json_string_value(call);
    if (!name || (json_is_object(call) && !json_is_object(json_object_get(call, "config"))))
        return err_set(e, "an optimizer needs \"class_name\" and \"config\"");
    if (json_is_object(call) && number_same_name(name, LOSS_SCALE_OPTIMIZER)) {
        copy = json_deep_copy(call);
        status = read_scaled(o, copy, a, e);
        json_decref(copy);
        return status;
    }
    if (optimizer_find(name, &rule, e))
        return -1;
    optimizer_init(o, rule);
    if (json_is_string(call))
        return 0;
    copy = json_deep_copy(call);
    status = read_config(o, copy, a, e);
    json_decref(copy);
    return status;
}

int optimizer_parse(struct optimizer *o, const char *text, struct arena *a, struct err *e)
{
    json_t *call;
    int status = call_parse(text, &call, e);

    if (status == 0)
        status = optimizer_from_json(o, call, a, e);
    json_decref(call);
    return status;
}
