/* Prints a model's summary for programs: the rows that people read, with names for their columns. */
#include "keras/model/summary_impl.h"

#include <errno.h>
#include <string.h>

/* [null, 26, 26, 256]: the batch in front, as Keras has it */
static json_t *shape_of(const struct shape *s)
{
    json_t *list = json_pack("[n]");

    for (int i = 0; i < s->rank; i++)
        json_array_append_new(list, json_integer(s->dim[i]));
    return list;
}

/* what is predicted, where a chip was named */
static void add_cycles(json_t *to, const struct summary *s, const struct summary_row *r)
{
    if (!s->options.chip)
        return;
    json_object_set_new(to, "forward_cycles", json_integer(r->forward_cycles));
    if (s->options.has_backward)
        json_object_set_new(to, "backward_cycles", json_integer(r->backward_cycles));
}

static json_t *row_of(const struct summary *s, const struct summary_shown *row)
{
    const char *bound = summary_bound_name(summary_bound_of(&row->sum));
    json_t *to = json_pack("{s:s?, s:s?}", "name", row->name, "class", row->class);

    if (row->name) {
        json_object_set_new(to, "output_shape", shape_of(&row->sum.output));
        json_object_set_new(to, "parameters", json_integer(row->sum.parameters));
        json_object_set_new(to, "trainable_parameters", json_integer(row->sum.trainable));
    }
    json_object_set_new(to, "flops_per_sample", json_integer(row->sum.flops));
    add_cycles(to, s, &row->sum);
    if (*bound)
        json_object_set_new(to, "bound_by", json_string(bound));
    if (!summary_is_chain(s->model))
        json_object_set_new(to, "connected_to", json_string(row->from));
    return to;
}

int summary_print_json(const struct summary *s, FILE *to, struct err *e)
{
    const struct summary_row *all = &s->total;
    struct summary_shown *row;
    struct arena a;
    json_t *root, *layers = json_array();
    int count, status;

    arena_init(&a);
    count = summary_show(s, &a, &row);
    for (int i = 0; i < count; i++)
        json_array_append_new(layers, row_of(s, &row[i]));
    root = json_pack("{s:s, s:o, s:I, s:I, s:I}", "model", s->model->name, "layers", layers,
                     "parameters", (json_int_t)all->parameters, "trainable_parameters",
                     (json_int_t)all->trainable, "flops_per_sample", (json_int_t)all->flops);
    if (s->options.chip) {
        json_object_set_new(root, "chip", json_string(s->options.chip->chip_name));
        json_object_set_new(root, "policy", json_string(keras_policy_name(s->model->policy)));
        json_object_set_new(root, "batch", json_integer(s->options.batch));
    }
    add_cycles(root, s, all);
    status = json_dumpf(root, to, JSON_INDENT(1));
    fputc('\n', to);
    json_decref(root);
    arena_fini(&a);
    return status ? err_set(e, "the summary cannot be written: %s", strerror(errno)) : 0;
}
