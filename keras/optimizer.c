#include "keras/optimizer.h"

#include "base/text.h"
#include "base/units.h"
#include "keras/optimizer_impl.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <string.h>

enum hyper_kind { REAL, WHOLE, FLAG };

static const struct {
    const char *name;
    enum hyper_kind kind;
    double low, high;
} hypers[HYPER_COUNT] = {
#define HYPER(id, name, kind, low, high, meaning) {name, kind, low, high},
#include "keras/optimizers.def"
};

static const struct { const char *name, *meaning; } names[RULE_COUNT] = {
#define OPTIMIZER(id, name, meaning) {name, meaning},
#include "keras/optimizers.def"
};

static const struct { enum optimizer_rule rule; enum hyper hyper; double value; } takes[] = {
#define TAKES(optimizer, hyper, value) {RULE_##optimizer, HYPER_##hyper, value},
#include "keras/optimizers.def"
};

static const struct { enum hyper hyper; double value; } common[] = {
#define COMMON(hyper, value) {HYPER_##hyper, value},
#include "keras/optimizers.def"
};

static const struct slot_kind slots[] = {
#define SLOT(optimizer, name, part, initial, needs) \
    {RULE_##optimizer, name, PART_##part, HYPER_##initial, HYPER_##needs},
#include "keras/optimizers.def"
};

const char *optimizer_name(enum optimizer_rule rule)
{
    return names[rule].name;
}

const char *optimizer_meaning(enum optimizer_rule rule)
{
    return names[rule].meaning;
}

const char *hyper_name(enum hyper h)
{
    return hypers[h].name;
}

bool optimizer_takes(enum optimizer_rule rule, enum hyper h)
{
    for (size_t i = 0; i < COUNT_OF(takes); i++)
        if (takes[i].rule == rule && takes[i].hyper == h)
            return true;
    for (size_t i = 0; i < COUNT_OF(common); i++)
        if (common[i].hyper == h)
            return true;
    return false;
}

static bool same_letters(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
    return *a == *b;
}

int optimizer_find(const char *name, enum optimizer_rule *rule, struct err *e)
{
    const char *candidate[RULE_COUNT];
    char near[96];

    for (int i = 0; i < RULE_COUNT; i++) {
        candidate[i] = names[i].name;
        if (same_letters(name, names[i].name)) {
            *rule = (enum optimizer_rule)i;
            return 0;
        }
    }
    return err_set(e, "no optimizer \"%.40s\"%s", name,
                   text_did_you_mean(name, candidate, RULE_COUNT, near, sizeof(near)));
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

static int check_range(const struct optimizer *o, enum hyper h, double value, struct err *e)
{
    bool is_whole = hypers[h].kind != REAL;

    if (value >= hypers[h].low && value <= hypers[h].high && (!is_whole || value == floor(value)))
        return 0;
    return err_set(e, "%s: %s is %g, allowed are %s%g..%g", optimizer_name(o->rule),
                   hypers[h].name, value, is_whole ? "whole numbers in " : "", hypers[h].low,
                   hypers[h].high);
}

int optimizer_set(struct optimizer *o, const char *name, double value, struct err *e)
{
    const char *candidate[HYPER_COUNT];
    size_t count = 0;
    char near[96];

    for (int h = 0; h < HYPER_COUNT; h++) {
        if (!optimizer_takes(o->rule, (enum hyper)h))
            continue;
        candidate[count++] = hypers[h].name;
        if (strcmp(name, hypers[h].name) != 0)
            continue;
        if (check_range(o, (enum hyper)h, value, e))
            return -1;
        o->hyper[h] = value;
        return 0;
    }
    return err_set(e, "%s has no \"%.40s\"%s", optimizer_name(o->rule), name,
                   text_did_you_mean(name, candidate, count, near, sizeof(near)));
}

static int check_together(const struct optimizer *o, struct err *e)
{
    static const enum hyper clips[] = {HYPER_CLIPNORM, HYPER_GLOBAL_CLIPNORM, HYPER_CLIPVALUE};
    const char *first = NULL;

    for (int h = 0; h < HYPER_COUNT; h++)
        if (optimizer_takes(o->rule, (enum hyper)h) &&
            check_range(o, (enum hyper)h, o->hyper[h], e))
            return -1;
    for (size_t i = 0; i < COUNT_OF(clips); i++) {
        if (o->hyper[clips[i]] == 0)
            continue;
        if (first)
            return err_set(e, "%s: %s and %s are both set, only one kind of clipping is allowed",
                           optimizer_name(o->rule), first, hypers[clips[i]].name);
        first = hypers[clips[i]].name;
    }
    return 0;
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
    if (shape_equal(shape, &v->shape))  /* cut as its variable is */
        slot.sharding = v->sharding;
    return variable_add(o->set, &slot);
}

static bool is_named(const char *name, const char *const *parts, int count)
{
    for (int i = 0; i < count; i++)
        if (strstr(name, parts[i]))
            return true;
    return false;
}

static void add_variable(struct optimizer *o, struct optimizer_variable *of, int variable)
{
    struct shape shape = o->set->variable[variable].shape;
    int k = 0;

    of->variable = variable;
    of->accumulated = of->average = -1;
    for (int i = 0; i < OPTIMIZER_SLOTS_MAX; i++)
        of->slot[i] = -1;
    for (size_t i = 0; i < COUNT_OF(slots); i++) {
        if (slots[i].rule != o->rule)
            continue;
        assert(k < OPTIMIZER_SLOTS_MAX);
        if (slots[i].needs == HYPER_NONE || o->hyper[slots[i].needs] != 0)
            of->slot[k] = add_slot(o, variable, slots[i].name, &shape,
                                   slots[i].initial == HYPER_NONE ? 0
                                                                  : o->hyper[slots[i].initial]);
        k++;
    }
    if (o->hyper[HYPER_GRADIENT_ACCUMULATION_STEPS] > 1 && !o->accumulates_in_launch)
        of->accumulated = add_slot(o, variable, "accumulated", &shape, 0);
    if (o->hyper[HYPER_USE_EMA] != 0)
        of->average = add_slot(o, variable, "average", &shape, 0);
    of->decays = !is_named(o->set->variable[variable].name, o->no_decay, o->no_decay_count);
}

int optimizer_build(struct optimizer *o, struct variable_set *set, const int *trainable,
                    int count, struct err *e)
{
    struct shape counter = shape_scalar(DTYPE_S32), scalar = shape_scalar(DTYPE_F32);
    struct initializer zero = initializer_standard(INITIALIZER_ZEROS);
    struct initializer rate = initializer_standard(INITIALIZER_CONSTANT);

    if (check_together(o, e))
        return -1;
    o->set = set;
    o->count = count;
    o->of = arena_array(set->arena, (size_t)count + 1, sizeof(*o->of));
    rate.a = o->hyper[HYPER_LEARNING_RATE];
    o->iterations = variable_add_state(set, "iterations", &counter, &zero);
    o->learning_rate = variable_add_state(set, "learning_rate", &scalar, &rate);
    for (int i = 0; i < count; i++)
        add_variable(o, &o->of[i], trainable[i]);
    return 0;
}

int optimizer_shard(struct optimizer *o, int i, int replica_count, struct err *e)
{
    const struct optimizer_variable *of = &o->of[i];
    const struct variable *v = &o->set->variable[of->variable];
    int slot[OPTIMIZER_SLOTS_MAX + 2] = {of->accumulated, of->average};

    if (v->shape.rank == 0 || v->shape.dim[0] % replica_count != 0) {
        char text[96];

        return err_set(e, "%s: the rows of %s are not divisible by %d replicas", v->name,
                       shape_print(&v->shape, text, sizeof(text)), replica_count);
    }
    memcpy(slot + 2, of->slot, sizeof(of->slot));
    for (size_t k = 0; k < COUNT_OF(slot); k++)
        if (slot[k] >= 0)
            o->set->variable[slot[k]].shard_dim = 0;
    return 0;
}
