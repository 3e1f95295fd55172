/*
 * Values of a Keras model for the test that compares them with Keras's own: reads the JSON file
 * that is named, prints a line "VAR name v..." for each variable, "IN name v..." for each input (a
 * batch of two) and "OUT v..." for the output, as the interpreter computes it in doubles.
 */
#include <inttypes.h>
#include <stdio.h>

#include "tests/rigs/keras_rig.h"
#include "tests/test.h"

static struct keras_rig k;

static void print(const char *what, const char *name, const double *v, int64_t count)
{
    printf("%s %s", what, name);
    for (int64_t i = 0; i < count; i++)
        printf(" %.17g", v[i]);
    printf("\n");
}

int main(int argc, char **argv)
{
    const double *output;

    if (argc != 2) {
        fprintf(stderr, "usage: keras_values MODEL.json\n");
        return 2;
    }
    krig_init(&k);
    model_fini(&k.m);
    if (model_from_json(&k.m, &k.arena, argv[1], &k.e) != 0) {
        fprintf(stderr, "%s\n", k.e.msg);
        return 1;
    }
    krig_trace(&k);
    output = krig_output(&k);
    for (int i = 0; i < k.set.count; i++)
        print("VAR", k.set.variable[i].name, krig_value(&k, k.set.variable[i].name),
              shape_elems(&k.set.variable[i].shape));
    for (int i = 0; i < k.m.input_count; i++) {
        const struct model_node *n = &k.m.node[k.m.input[i]];
        const char *name = k.m.layer[n->layer]->name;

        print("IN", name, krig_value(&k, name), k.batch * shape_elems(&n->shape));
    }
    print("OUT", "output", output, shape_elems(&k.graph.g.node[k.result.value].shape));
    krig_fini(&k);
    return 0;
}
