/*
 * Keras JSON in tests: texts for people to write, the model that is read, and what a refusal says.
 * A test program includes it once; its model, variables and message are these.
 */
#ifndef TESTS_KERAS_JSON_RIG_H
#define TESTS_KERAS_JSON_RIG_H
#include "tests/test.h"

#include <string.h>

#include "base/units.h"
#include "keras/model/model.h"

static struct arena arena;
static struct variable_set set;
static struct model m;
static struct err e;

static inline int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    variable_set_init(&set, &arena);
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    model_fini(&m);
    variable_set_fini(&set);
    arena_fini(&arena);
    return 0;
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

/* for people to write: ' stands for " */
static inline char *quoted(const char *text)
{
    char *copy = arena_strdup(&arena, text);

    for (char *c = copy; *c; c++)
        if (*c == '\'')
            *c = '"';
    return copy;
}

/* over the model before, which is gone, be it one that was refused */
static inline int read_text(const char *text)
{
    model_fini(&m);
    return model_from_json_text(&m, &arena, "m.json", quoted(text), strlen(text), NULL, &e);
}

static inline void load(const char *text)
{
    if (read_text(text) != 0 || model_build(&m, &set, &e) != 0)
        fail_msg("%s", e.msg);
}

static inline void load_example(const char *path)
{
    if (model_from_json(&m, &arena, path, &e) != 0 || model_build(&m, &set, &e) != 0)
        fail_msg("%s", e.msg);
}

static inline void expect_refusal(const char *text, const char *message)
{
    e = (struct err){0};
    assert_int_equal(read_text(text), -1);
    assert_string_equal(e.msg, message);
    assert_string_equal(e.file, "m.json");
    model_fini(&m);
}

static inline void expect_sample(int node, int rank, const int64_t *dim)
{
    struct shape want = shape_make(DTYPE_F32, rank, dim);

    assert_true(shape_same_dims(&m.node[node].shape, &want));
}

#define SIZES(...) (int)COUNT_OF(((int64_t[]){__VA_ARGS__})), (int64_t[]){__VA_ARGS__}

#define TENSOR(name) "{'class_name': '__keras_tensor__', 'config': {'keras_history': ['" name \
                     "', 0, 0]}}"
#define INPUT(name, ...) "{'class_name': 'InputLayer', 'name': '" name "', 'inbound_nodes': []," \
                         " 'config': {'batch_shape': [null, " #__VA_ARGS__ "], 'name': '" name "'}}"

/* one layer behind an input of samples [4, 4, 2], or [4] of a Dense */
#define ONE(class, config) "{'class_name': 'Sequential', 'config': {'layers': [" \
    INPUT("x", 4, 4, 2) ", {'class_name': '" class "', 'config': {'name': 'l', " config "}}]}}"
#endif
