/* The graph that systole compile is asked for. */
#include "cli/compile.h"

#include "stack/rewrite.h"
#include "stack/zoo.h"

#include <string.h>

bool compile_is_file(const char *model)
{
    size_t length = strlen(model);

    return strchr(model, '/') || (length > 5 && strcmp(model + length - 5, ".json") == 0);
}

static int make_keras(const struct compile_request *o, struct graph *g, struct arena *a,
                      struct err *e)
{
    struct model *m = arena_alloc(a, sizeof(*m));
    struct model_options options = o->training;
    struct model_graph built = {0};
    int status;

    if (model_load(m, o->model, a, e))
        return -1;
    options.replica_count = o->replica_count;
    options.local_batch = o->batch;
    options.global_batch = o->batch * o->replica_count;
    status = (o->is_inference ? model_build_eval : model_build_train)(m, &options, a, &built, e);
    if (status == 0) {
        graph_fini(g);
        graph_copy(&built.graph, a, g);
    }
    graph_fini(&built.graph);
    return status;
}

int compile_make_graph(struct compile_request *o, struct graph *g, struct arena *a,
                       struct err *e)
{
    int64_t variable_count;

    g->name = arena_strdup(a, o->model);
    if (compile_is_file(o->model))
        return make_keras(o, g, a, e);
    if (zoo_batch(o->model, &o->batch, e))
        return -1;
    return zoo_build_replica(g, o->model, o->replica_count, &variable_count, e);
}
