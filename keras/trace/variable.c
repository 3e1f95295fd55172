/* The list of variables, each found by its name and with its shape on one device. */
#include "keras/trace/variable.h"

#include <assert.h>
#include <string.h>

void variable_set_init(struct variable_set *s, struct arena *a)
{
    memset(s, 0, sizeof(*s));
    s->arena = a;
}

void variable_set_fini(struct variable_set *s)
{
    mem_free(s->variable);
    s->variable = NULL;
    s->count = 0;
    s->capacity = 0;
}

int variable_add(struct variable_set *s, const struct variable *v)
{
    assert(variable_find(s, v->name) < 0);
    assert(v->shard_dim < v->shape.rank);
    assert(v->shard_dim < 0 || v->sharding.axis[v->shard_dim] == 0);
    s->variable = mem_grow(s->variable, &s->capacity, (size_t)s->count + 1, sizeof(*s->variable));
    s->variable[s->count] = *v;
    s->variable[s->count].name = arena_printf(s->arena, "%s", v->name);
    return s->count++;
}

int variable_add_trainable(struct variable_set *s, const char *name, const struct shape *shape,
                           const struct initializer *i)
{
    return variable_add(s, &(struct variable){.name = name, .shape = *shape, .is_trainable = true,
                                              .initializer = *i, .of = -1, .shard_dim = -1});
}

int variable_add_state(struct variable_set *s, const char *name, const struct shape *shape,
                       const struct initializer *i)
{
    return variable_add(s, &(struct variable){.name = name, .shape = *shape, .initializer = *i,
                                              .of = -1, .shard_dim = -1});
}

int variable_find(const struct variable_set *s, const char *name)
{
    for (int i = 0; i < s->count; i++)
        if (strcmp(s->variable[i].name, name) == 0)
            return i;
    return -1;
}

struct shape variable_local_shape(const struct variable *v, int replica_count)
{
    struct shape s = v->shape;

    if (v->shard_dim >= 0) {
        assert(s.dim[v->shard_dim] % replica_count == 0);
        s.dim[v->shard_dim] /= replica_count;
    }
    return s;
}

struct shape variable_memory_shape(const struct variable *v, int replica_count)
{
    struct shape s = variable_local_shape(v, replica_count);

    if (v->joins_last && v->shard_dim < 0 && sharding_is_whole(&v->sharding)) {
        assert(s.rank > 1);
        s.rank--;
        s.dim[s.rank - 1] *= s.dim[s.rank];
        s.dim[s.rank] = 0;
    }
    return s;
}
