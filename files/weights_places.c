/*
 * Where Keras 3 keeps the weights of each layer: by its class and the how many-th of that class it
 * is, "layers/dense_1/vars/0"; beside them stands the layer's name. Models inside the model have
 * layers of their own, and layers that are made of layers have parts by the names of attributes.
 */
#include "files/weights_impl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"

#define CELLS "cell/cells/"              /* of an RNN of several cells, below its own place */

/* Keras's rule: "MultiHeadAttention" is multi_head_attention, "Conv2D" conv2d, "PReLU" p_re_lu */
static const char *snake_of(const char *class, struct arena *a)
{
    size_t length = strlen(class);
    char *text = arena_alloc(a, 2 * length + 1), *to = text;

    for (size_t i = 0; i < length; i++) {
        bool begins = isupper((unsigned char)class[i]) && i > 0;

        if (begins && ((i + 1 < length && islower((unsigned char)class[i + 1])) ||
                       islower((unsigned char)class[i - 1])))
            *to++ = '_';
        *to++ = (char)tolower((unsigned char)class[i]);
    }
    return text;
}

int weights_part_of(const struct model *m, const char *name, const char **own)
{
    size_t longest = 0;
    int part = -1;

    for (int i = 0; i < m->part_count; i++) {
        size_t length = strlen(m->part[i].prefix);

        if (length > longest && strncmp(name, m->part[i].prefix, length) == 0 && name[length]) {
            part = i;
            longest = length;
        }
    }
    if (own)
        *own = name + longest;
    return part;
}

/* "dense_1": the number says how many of its class came before it in the same model */
static const char *numbered(const char *class, int before, struct arena *a)
{
    const char *snake = snake_of(class, a);

    return before ? arena_printf(a, "%s_%d", snake, before) : snake;
}

static const char *below(const struct weights_places *p, int part, const char *name,
                         struct arena *a)
{
    return part < 0 ? arena_printf(a, "layers/%s", name)
                    : arena_printf(a, "%s/layers/%s", p->part[part], name);
}

/* the model inside which the part is: its prefix without the last slash is a name */
static int part_around(const struct model *m, int part, struct arena *a)
{
    char *name = arena_strdup(a, m->part[part].prefix);

    name[strlen(name) - 1] = '\0';
    return weights_part_of(m, name, NULL);
}

/* the part's first layer, in the model's order, in which layers and models inside are counted */
static int first_of(const struct model *m, int part)
{
    size_t length = strlen(m->part[part].prefix);

    for (int i = 0; i < m->layer_count; i++)
        if (strncmp(m->layer[i]->name, m->part[part].prefix, length) == 0)
            return i;
    return m->layer_count;
}

/* parts and layers of this class in the model `in`, before its layer `end` */
static int count_before(const struct model *m, const int *in, int model, const char *class, int end)
{
    int count = 0;

    for (int i = 0; i < m->part_count; i++)
        count += in[i] == model && strcmp(m->part[i].class, class) == 0 && first_of(m, i) < end;
    for (int i = 0; i < m->layer_count && i < end; i++)
        count += in[m->part_count + i] == model && strcmp(layer_whole_class(m->layer[i]), class) == 0;
    return count;
}

/* the class of the cell that a layer stands for inside an RNN of several */
static const char *cell_of(const struct layer *l, struct arena *a)
{
    return arena_printf(a, "%sCell", layer_class(l->kind));
}

/* "layers/rnn/cell/cells/lstm_cell_1" */
static const char *cell_place(const struct model *m, const struct weights_places *p, const int *in,
                              int layer, struct arena *a)
{
    int part = in[m->part_count + layer], before = 0;

    for (int i = 0; i < layer; i++)
        before += in[m->part_count + i] == part && m->layer[i]->kind == m->layer[layer]->kind;
    return arena_printf(a, "%s/" CELLS "%s", p->part[part],
                        numbered(cell_of(m->layer[layer], a), before, a));
}

struct weights_places weights_places_of(const struct model *m, struct arena *a)
{
    struct weights_places p = {arena_array(a, (size_t)m->layer_count + 1, sizeof(*p.layer)),
                               arena_array(a, (size_t)m->part_count + 1, sizeof(*p.part))};
    int *in = arena_array(a, (size_t)m->layer_count + (size_t)m->part_count + 1, sizeof(*in));

    for (int i = 0; i < m->part_count; i++)
        in[i] = part_around(m, i, a);
    for (int i = 0; i < m->layer_count; i++)
        in[m->part_count + i] = weights_part_of(m, m->layer[i]->name, NULL);
    for (int i = 0; i < m->part_count; i++) {
        const char *class = m->part[i].class;

        p.part[i] = below(&p, in[i], numbered(class, count_before(m, in, in[i], class,
                                                                  first_of(m, i)), a), a);
        if (strcmp(class, "TimeDistributed") == 0)
            p.part[i] = arena_printf(a, "%s/layer", p.part[i]);
    }
    for (int i = 0; i < m->layer_count; i++) {
        const char *class = layer_whole_class(m->layer[i]);
        int model = in[m->part_count + i];

        p.layer[i] = model >= 0 && strcmp(m->part[model].class, "RNN") == 0
                         ? cell_place(m, &p, in, i, a)
                         : below(&p, model, numbered(class, count_before(m, in, model, class, i), a),
                                 a);
    }
    return p;
}

/* attributes of Keras's classes, by the first part of our variable's name */
static const struct { enum layer_kind kind; const char *ours, *theirs; } attention_parts[] = {
    {LAYER_MULTI_HEAD_ATTENTION, "query/", "query_dense/"},
    {LAYER_MULTI_HEAD_ATTENTION, "key/", "key_dense/"},
    {LAYER_MULTI_HEAD_ATTENTION, "value/", "value_dense/"},
    {LAYER_MULTI_HEAD_ATTENTION, "attention_output/", "output_dense/"},
    {LAYER_GROUP_QUERY_ATTENTION, "query/", "_query_dense/"},
    {LAYER_GROUP_QUERY_ATTENTION, "key/", "_key_dense/"},
    {LAYER_GROUP_QUERY_ATTENTION, "value/", "_value_dense/"},
    {LAYER_GROUP_QUERY_ATTENTION, "attention_output/", "_output_dense/"},
};

static bool has_cell(enum layer_kind kind)
{
    return kind == LAYER_SIMPLE_RNN || kind == LAYER_LSTM || kind == LAYER_GRU ||
           kind == LAYER_CONV_LSTM1D || kind == LAYER_CONV_LSTM2D || kind == LAYER_CONV_LSTM3D;
}

static const char *inside(const struct layer *l, int i, const char *own)
{
    if (has_cell(l->kind))
        return l->c.both == LAYER_ONE_WAY ? "cell/"
               : i < l->variable_count / 2 ? "forward_layer/cell/" : "backward_layer/cell/";
    for (size_t k = 0; k < COUNT_OF(attention_parts); k++)
        if (attention_parts[k].kind == l->kind &&
            strncmp(own, attention_parts[k].ours, strlen(attention_parts[k].ours)) == 0)
            return attention_parts[k].theirs;
    return "";
}

const char *weights_variable_path(const struct layer *l, int i, const char *place,
                                  const struct variable_set *set, struct arena *a)
{
    size_t skip = strlen(l->name) + 1;
    const char *part = inside(l, i, set->variable[l->variable[i]].name + skip);
    bool is_wrapped = layer_is_around(l);
    int before = 0;

    if (l->c.power_iterations > 0 && i == l->variable_count - 1)
        return arena_printf(a, "%s/vars/1", place);     /* behind the kernel, which it lists, too */
    for (int k = 0; k < i; k++)
        before += inside(l, k, set->variable[l->variable[k]].name + skip) == part;
    return arena_printf(a, "%s/%s%svars/%d", place, is_wrapped ? "layer/" : "",
                        strstr(place, CELLS) ? "" : part, before);
}

/* ---- reading ---- */

/* "layers/dense_1" is of this class, whatever its number */
static bool is_of_class(const char *place, size_t length, const char *like)
{
    const char *theirs = place, *ours = strrchr(like, '/') + 1, *end = place + length;
    size_t word = strlen(ours);

    for (const char *c = place; c < end; c++)
        if (*c == '/')
            theirs = c + 1;
    while (word > 0 && isdigit((unsigned char)ours[word - 1]))
        word--;
    if (word == strlen(ours) || ours[word - 1] != '_')
        word = strlen(ours);
    else
        word--;
    if ((size_t)(end - theirs) < word || strncmp(theirs, ours, word) != 0)
        return false;
    return theirs + word == end || theirs[word] == '_';
}

/* the group below `around` that is of the class of `like` and has this name; NULL: none */
static const char *find_named(const struct h5_file *f, const char *around, const char *name,
                              const char *like, struct arena *a)
{
    size_t begin = strlen(around);

    for (int i = 0; i < f->count; i++) {
        const struct h5_item *item = &f->item[i];
        size_t length = strlen(item->path);

        if (!item->attribute || strcmp(item->attribute, "name") != 0 || item->text_count != 1 ||
            strcmp(item->text[0], name) != 0 || length < begin + 6 ||
            strncmp(item->path, around, begin) != 0 ||
            strcmp(item->path + length - 5, "/vars") != 0 ||
            memchr(item->path + begin, '/', length - 5 - begin) ||
            !is_of_class(item->path + begin, length - 5 - begin, like))
            continue;
        return arena_printf(a, "%.*s", (int)(length - 5), item->path);
    }
    return NULL;
}

/* places by the names beside them, where all that the model needs have one */
static bool rename_places(const struct weights_reader *r, const struct h5_file *f,
                          struct weights_places *p)
{
    const struct model *m = r->m;
    const char **part = arena_array(r->arena, (size_t)m->part_count + 1, sizeof(*part));
    const char **layer = arena_array(r->arena, (size_t)m->layer_count + 1, sizeof(*layer));

    for (int i = 0; i < m->part_count + m->layer_count; i++) {
        bool is_part = i < m->part_count;
        int k = is_part ? i : i - m->part_count, in;
        const char *name, *around, *own, **to = is_part ? &part[k] : &layer[k];

        if (!is_part && m->layer[k]->variable_count == 0)
            continue;
        name = is_part ? arena_strdup(r->arena, m->part[k].prefix) : m->layer[k]->name;
        if (is_part)
            ((char *)(uintptr_t)name)[strlen(name) - 1] = '\0';
        in = weights_part_of(m, name, &own);
        around = in < 0 ? "layers/" : arena_printf(r->arena, "%s/layers/", part[in]);
        *to = find_named(f, around, own, is_part ? p->part[k] : p->layer[k], r->arena);
        if (!*to)
            return false;
    }
    *p = (struct weights_places){layer, part};
    return true;
}

/* what stands beside a place as its layer's name, or the place */
static const char *title_of(const struct h5_file *f, const char *place, struct arena *a)
{
    const struct h5_item *name = h5_find(f, arena_printf(a, "%s/vars", place), "name");

    return name && name->text_count == 1 ? name->text[0] : place;
}

static int take_layer(struct weights_reader *r, const struct h5_file *f, const struct layer *l,
                      const char *place, const struct h5_item **used)
{
    for (int i = 0; i < l->variable_count; i++) {
        const char *path = weights_variable_path(l, i, place, r->m->set, r->arena);
        const struct h5_item *item = h5_find(f, path, NULL);
        struct weights_array from;

        if (!item) {
            const char **names = arena_array(r->arena, (size_t)f->count + 1, sizeof(*names));
            size_t count = 0;

            for (int k = 0; k < f->count; k++)
                if (!f->item[k].attribute)
                    names[count++] = f->item[k].path;
            return weights_fail(r, l, "its \"%s\" would be \"%s\", which the file has not%s",
                                weights_local_name(r, l, l->variable[i]), path,
                                text_did_you_mean(path, names, count).text);
        }
        from = (struct weights_array){path, item->rank, item->dim, item->value};
        if (weights_take(r, l, l->variable[i], &from, title_of(f, place, r->arena)) != 0)
            return -1;
        used[item - f->item] = item;
    }
    if (l->c.power_iterations > 0) {    /* the kernel once more */
        const struct h5_item *item = h5_find(f, arena_printf(r->arena, "%s/vars/0", place), NULL);

        if (item)
            used[item - f->item] = item;
    }
    return 0;
}

/* states of random bits and counts of samples are weights to Keras and to nobody else */
static bool is_passed_over(const struct h5_item *item)
{
    size_t length = strlen(item->path);

    return item->attribute || strstr(item->path, "seed_generator") ||
           strncmp(item->path, "vars/", 5) == 0 ||
           (strstr(item->path, "/normalization") && length > 7 &&
            strcmp(item->path + length - 7, "/vars/2") == 0);
}

int weights_of_places(struct weights_reader *r, const struct h5_file *f)
{
    struct weights_places p = weights_places_of(r->m, r->arena);
    const struct h5_item **used = arena_array(r->arena, (size_t)f->count + 1, sizeof(*used));

    rename_places(r, f, &p);
    for (int i = 0; i < r->m->layer_count; i++)
        if (take_layer(r, f, r->m->layer[i], p.layer[i], used) != 0)
            return -1;
    for (int i = 0; i < f->count; i++)
        if (!used[i] && !is_passed_over(&f->item[i])) {
            const char *end = strstr(f->item[i].path, "/vars/");
            const char *place = arena_printf(
                r->arena, "%.*s", end ? (int)(end - f->item[i].path) : 200, f->item[i].path);

            return err_at(r->err, r->path, 0, 0, "holds weights of \"%s\" (\"%s\"), which the "
                          "model \"%s\" has not", title_of(f, place, r->arena), f->item[i].path,
                          r->m->name);
        }
    return 0;
}
