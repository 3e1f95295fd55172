/*
 * Weights in lists by layer, as Keras 2 and TensorFlow.js keep them: a model inside the model is
 * one layer there, what is trained before what is not.
 */
#include "files/weights_impl.h"

#include <string.h>

#include "base/text.h"

/* a layer of the model as Keras 2 counts them: one of ours, or all of a model inside the model */
struct whole_layer {
    const char *name;
    const struct layer **of;            /* by variable: whose it is */
    int *variable;
    int count;
};

/* the outermost model that a layer is in, or the layer */
static const char *whole_name(const struct weights_reader *r, const struct layer *l)
{
    int i = model_part_of(r->m, l->name);

    if (i < 0)
        return l->name;
    return arena_printf(r->arena, "%.*s", (int)strlen(r->m->part[i].prefix) - 1, l->name);
}

bool weights_is_layer(const struct weights_reader *r, const char *name, size_t length)
{
    for (int i = 0; i < r->m->layer_count; i++) {
        const char *ours = whole_name(r, r->m->layer[i]);

        if (strlen(ours) == length && strncmp(ours, name, length) == 0)
            return true;
    }
    return false;
}

static int list_whole(struct weights_reader *r, struct whole_layer **list)
{
    const struct model *m = r->m;
    int count = 0, k;

    *list = arena_array(r->arena, (size_t)m->layer_count + 1, sizeof(**list));
    for (int i = 0; i < m->layer_count; i++) {
        const char *name = whole_name(r, m->layer[i]);
        struct whole_layer *w;

        if (m->layer[i]->variable_count == 0)
            continue;
        for (k = 0; k < count && strcmp((*list)[k].name, name) != 0; k++)
            ;
        w = &(*list)[k];
        if (k == count) {
            w->name = name;
            w->of = arena_array(r->arena, (size_t)m->variable_count + 1, sizeof(*w->of));
            w->variable = arena_array(r->arena, (size_t)m->variable_count + 1,
                                      sizeof(*w->variable));
            count++;
        }
        for (int v = 0; v < m->layer[i]->variable_count; v++) {
            w->of[w->count] = m->layer[i];
            w->variable[w->count++] = m->layer[i]->variable[v];
        }
    }
    return count;
}

/* what is trained first, else in the order there was */
static void order(const struct weights_reader *r, struct whole_layer *w)
{
    const struct layer **of = arena_copy(r->arena, w->of, (size_t)w->count, sizeof(*of));
    int *variable = arena_copy(r->arena, w->variable, (size_t)w->count, sizeof(*variable)), to = 0;

    for (int is_later = 0; is_later < 2; is_later++)
        for (int i = 0; i < w->count; i++)
            if (r->m->set->variable[variable[i]].is_trainable == !is_later) {
                w->of[to] = of[i];
                w->variable[to++] = variable[i];
            }
}

/* is it the name, or its end behind a slash? Keras 2 writes ":0" behind names */
static bool is_named(const char *name, const char *ours, bool may_begin_before)
{
    size_t length = strlen(name), wanted = strlen(ours);

    if (length > 2 && strcmp(name + length - 2, ":0") == 0)
        length -= 2;
    if (length < wanted || strncmp(name + length - wanted, ours, wanted) != 0)
        return false;
    return length == wanted || (may_begin_before && name[length - wanted - 1] == '/');
}

/*
 * "inner/dense/kernel", or "dense/kernel" of model inner, or, where only one ends so, with names of
 * models before it: "sequential/inner/dense/kernel"
 */
static const struct weights_array *find_array(const struct weights_reader *r,
                                              const struct whole_layer *w, int i,
                                              const struct weights_layer *from)
{
    const char *ours = r->m->set->variable[w->variable[i]].name;
    const char *forms[] = {ours, ours + strlen(w->name) + 1};

    for (int how = 0; how < 4; how++) {
        const struct weights_array *found = NULL;
        int count = 0;

        for (int k = 0; k < from->count; k++)
            if (is_named(from->array[k].name, forms[how % 2], how >= 2)) {
                found = &from->array[k];
                count++;
            }
        if (count == 1)
            return found;
    }
    return NULL;
}

/* by the names of all weights, else in their order */
static int take_whole(struct weights_reader *r, struct whole_layer *w,
                      const struct weights_layer *from)
{
    bool has_names = true;

    if (from->count != w->count)
        return weights_fail(r, w->of[0], "the model has %d weights of \"%s\", the file %d of "
                            "\"%s\"", w->count, w->name, from->count, from->name);
    order(r, w);
    for (int i = 0; i < w->count; i++)
        has_names = has_names && find_array(r, w, i, from);
    for (int i = 0; i < w->count; i++)
        if (weights_take(r, w->of[i], w->variable[i],
                         has_names ? find_array(r, w, i, from) : &from->array[i], from->name) != 0)
            return -1;
    return 0;
}

static const struct weights_layer *find_layer(const struct weights_layer *layer, int count,
                                              const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(layer[i].name, name) == 0)
            return &layer[i];
    return NULL;
}

/* the first name of one side that the other has not */
static int tell_missing(struct weights_reader *r, const struct whole_layer *w, int whole_count,
                        const struct weights_layer *layer, int count)
{
    const char **names = arena_array(r->arena, (size_t)(whole_count + count) + 1, sizeof(*names));
    int i;

    for (i = 0; i < count; i++)
        names[i] = layer[i].name;
    for (i = 0; i < whole_count; i++)
        if (!find_layer(layer, count, w[i].name))
            return weights_fail(r, w[i].of[0], "the file has no weights of \"%s\"%s; it has %d "
                                "layers with weights, the model %d", w[i].name,
                                text_did_you_mean(w[i].name, names, (size_t)count).text,
                                count, whole_count);
    for (i = 0; i < whole_count; i++)
        names[i] = w[i].name;
    for (i = 0; i < count; i++) {
        int k = 0;

        while (k < whole_count && strcmp(w[k].name, layer[i].name) != 0)
            k++;
        if (k == whole_count)
            return err_at(r->err, r->path, 0, 0, "holds weights of layer \"%s\", which the model "
                          "\"%s\" has not%s", layer[i].name, r->m->name,
                          text_did_you_mean(layer[i].name, names, (size_t)whole_count).text);
    }
    return err_at(r->err, r->path, 0, 0, "names a layer twice");
}

/* Keras counts the samples that a Normalization has adapted to; nobody else needs the number. */
static bool is_count(const struct weights_array *w)
{
    const char *slash = strrchr(w->name, '/'), *own = slash ? slash + 1 : w->name;

    return w->rank == 0 && (strcmp(own, "count") == 0 || strcmp(own, "count:0") == 0);
}

static struct weights_layer without_counts(struct weights_reader *r,
                                           const struct weights_layer *from)
{
    struct weights_layer to = {.name = from->name};

    to.array = arena_array(r->arena, (size_t)from->count + 1, sizeof(*to.array));
    for (int i = 0; i < from->count; i++)
        if (!is_count(&from->array[i]))
            to.array[to.count++] = from->array[i];
    return to;
}

int weights_of_layers(struct weights_reader *r, const struct weights_layer *all, int all_count)
{
    struct weights_layer *layer = arena_array(r->arena, (size_t)all_count + 1, sizeof(*layer));
    struct whole_layer *w;
    int whole_count = list_whole(r, &w), count = 0;
    bool has_names = true;

    for (int i = 0; i < all_count; i++) {
        layer[count] = without_counts(r, &all[i]);
        count += layer[count].count > 0;
    }
    for (int i = 0; i < whole_count; i++)
        has_names = has_names && find_layer(layer, count, w[i].name);
    if (count != whole_count)
        return tell_missing(r, w, whole_count, layer, count);
    for (int i = 0; i < whole_count; i++)
        if (take_whole(r, &w[i], has_names ? find_layer(layer, count, w[i].name) : &layer[i]) != 0)
            return -1;
    return 0;
}

static int count_all(const struct whole_layer *w, int count)
{
    int all = 0;

    for (int i = 0; i < count; i++)
        all += w[i].count;
    return all;
}

/* the only one that ends in "conv/kernel", whatever models its layer is in; NULL: there is none */
static const struct weights_array *find_own(const struct weights_reader *r, const struct layer *l,
                                            int variable, const struct weights_layer *all)
{
    const struct weights_array *found = NULL;
    const char *own;

    weights_part_of(r->m, l->name, &own);
    own = arena_printf(r->arena, "%s%s", own, r->m->set->variable[variable].name + strlen(l->name));
    for (int i = 0; i < all->count; i++)
        if (is_named(all->array[i].name, own, true)) {
            if (found)
                return NULL;
            found = &all->array[i];
        }
    return found;
}

/*
 * TensorFlow.js lists what a model of models trains before what none of them does: by layers' own
 * names, if each variable has an array to itself. 1: not all have.
 */
static int take_own(struct weights_reader *r, const struct weights_layer *all)
{
    const struct model *m = r->m;
    const struct weights_array **of = arena_array(r->arena, (size_t)all->count + 1, sizeof(*of));
    int count = 0;

    for (int i = 0; i < m->layer_count; i++)
        for (int v = 0; v < m->layer[i]->variable_count; v++, count++) {
            of[count] = find_own(r, m->layer[i], m->layer[i]->variable[v], all);
            for (int k = 0; k < count; k++)
                if (of[k] == of[count])
                    return 1;
            if (!of[count])
                return 1;
        }
    count = 0;
    for (int i = 0; i < m->layer_count; i++)
        for (int v = 0; v < m->layer[i]->variable_count; v++, count++)
            if (weights_take(r, m->layer[i], m->layer[i]->variable[v], of[count],
                             of[count]->name) != 0)
                return -1;
    return 0;
}

int weights_of_list(struct weights_reader *r, struct weights_array *array, int count)
{
    struct weights_layer all = {.array = array, .count = count}, *layer;
    struct whole_layer *w;
    int whole_count = list_whole(r, &w), at = 0, status;

    all = without_counts(r, &all);
    layer = arena_array(r->arena, (size_t)whole_count + 1, sizeof(*layer));
    if (all.count != count_all(w, whole_count))
        return err_at(r->err, r->path, 0, 0, "has %d weights, by names that the model \"%s\" has "
                      "not; the model has %d", all.count, r->m->name, count_all(w, whole_count));
    status = take_own(r, &all);
    if (status <= 0)
        return status;
    for (int i = 0; i < whole_count; at += w[i++].count)
        layer[i] = (struct weights_layer){w[i].name, all.array + at, w[i].count};
    return weights_of_layers(r, layer, whole_count);
}

/* ---- groups of HDF5 ---- */

/* the texts of an attribute, which may be cut into "name0", "name1", ... */
static const char **texts_of(const struct weights_reader *r, const struct h5_file *f,
                             const char *group, const char *name, int *count)
{
    const struct h5_item *item = h5_find(f, group, name);
    const char **text = NULL;
    size_t capacity = 0;

    *count = 0;
    for (int part = 0; item || part == 0; part++) {
        for (int i = 0; item && i < item->text_count; i++) {
            text = mem_grow(text, &capacity, (size_t)*count + 1, sizeof(*text));
            text[(*count)++] = item->text[i];
        }
        if (h5_find(f, group, name))
            break;
        item = h5_find(f, group, arena_printf(r->arena, "%s%d", name, part));
    }
    return arena_take(r->arena, text, (size_t)*count, sizeof(*text));
}

static int read_layer(struct weights_reader *r, const struct h5_file *f, const char *group,
                      struct weights_layer *to)
{
    const char **name = texts_of(r, f, group, "weight_names", &to->count);

    to->array = arena_array(r->arena, (size_t)to->count + 1, sizeof(*to->array));
    for (int i = 0; i < to->count; i++) {
        const struct h5_item *item = h5_find(f, arena_printf(r->arena, "%s/%s", group, name[i]),
                                             NULL);

        if (!item)
            return err_at(r->err, r->path, 0, 0, "names weight \"%s\" of layer \"%s\", but does "
                          "not hold it", name[i], to->name);
        to->array[i] = (struct weights_array){name[i], item->rank, item->dim, item->value};
    }
    return 0;
}

int weights_of_groups(struct weights_reader *r, const struct h5_file *f)
{
    const char *top = h5_find(f, "model_weights", "layer_names") ||
                      h5_find(f, "model_weights", "layer_names0") ? "model_weights" : "";
    int count;
    const char **name = texts_of(r, f, top, "layer_names", &count);
    struct weights_layer *layer = arena_array(r->arena, (size_t)count + 1, sizeof(*layer));

    for (int i = 0; i < count; i++) {
        layer[i].name = name[i];
        if (read_layer(r, f, *top ? arena_printf(r->arena, "%s/%s", top, name[i]) : name[i],
                       &layer[i]) != 0)
            return -1;
    }
    return weights_of_layers(r, layer, count);
}
