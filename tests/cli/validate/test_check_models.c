/*
 * systole check models on two networks of keras.applications, MobileNetV2 and DenseNet121, written
 * here layer by layer as Keras writes them; the others need Keras (tests/jax).
 */
#define _DEFAULT_SOURCE                 /* mkdtemp */
#include "base/units.h"
#include "tests/test.h"

#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME_BYTES 64

struct net {
    FILE *to;
    int layers;
    char last[NAME_BYTES];              /* the layer that the next one reads */
};

static void begin(struct net *n, const char *folder, const char *name)
{
    char path[200];

    snprintf(path, sizeof(path), "%s/%s.json", folder, name);
    *n = (struct net){.to = fopen(path, "w")};
    assert_non_null(n->to);
    fprintf(n->to, "{\"module\": \"keras.src.models.functional\", \"class_name\": \"Functional\", "
            "\"config\": {\"name\": \"%s\", \"trainable\": true, \"layers\": [", name);
    fprintf(n->to, "{\"module\": \"keras.layers\", \"class_name\": \"InputLayer\", \"config\": "
            "{\"batch_shape\": [null, 224, 224, 3], \"dtype\": \"float32\", \"name\": \"input\"}, "
            "\"registered_name\": null, \"name\": \"input\", \"inbound_nodes\": []}");
    snprintf(n->last, sizeof(n->last), "input");
}

static void end(struct net *n)
{
    fprintf(n->to, "], \"input_layers\": [[\"input\", 0, 0]], \"output_layers\": "
            "[[\"%s\", 0, 0]]}, \"registered_name\": \"Functional\"}", n->last);
    assert_int_equal(fclose(n->to), 0);
}

static void put_tensor(struct net *n, const char *name)
{
    fprintf(n->to, "{\"class_name\": \"__keras_tensor__\", \"config\": {\"dtype\": \"float32\", "
            "\"keras_history\": [\"%s\", 0, 0]}}", name);
}

/* a layer of the last one's output, and of another's where that is told; `format`: its fields */
__attribute__((format(printf, 4, 5)))
static void layer(struct net *n, const char *class, const char *other, const char *format, ...)
{
    char name[NAME_BYTES];
    va_list list;

    snprintf(name, sizeof(name), "layer_%d_%s", ++n->layers, class);
    fprintf(n->to, ", {\"module\": \"keras.layers\", \"class_name\": \"%s\", \"config\": {\"name\": "
            "\"%s\", \"trainable\": true", class, name);
    va_start(list, format);
    vfprintf(n->to, format, list);
    va_end(list);
    fprintf(n->to, "}, \"registered_name\": null, \"name\": \"%s\", \"inbound_nodes\": [{\"args\": "
            "[%s", name, other ? "[" : "");
    if (other) {
        put_tensor(n, other);
        fputs(", ", n->to);
    }
    put_tensor(n, n->last);
    fprintf(n->to, "%s], \"kwargs\": {}}]}", other ? "]" : "");
    snprintf(n->last, sizeof(n->last), "%s", name);
}

static void convolution(struct net *n, int filters, int size, int stride, const char *padding)
{
    layer(n, "Conv2D", NULL, ", \"filters\": %d, \"kernel_size\": [%d, %d], \"strides\": [%d, %d], "
          "\"padding\": \"%s\", \"use_bias\": false", filters, size, size, stride, stride, padding);
}

static void normalize(struct net *n, double limit)
{
    layer(n, "BatchNormalization", NULL, ", \"axis\": -1, \"momentum\": 0.999, \"epsilon\": 0.001, "
          "\"renorm\": false, \"renorm_momentum\": 0.99");
    if (limit > 0)
        layer(n, "ReLU", NULL, ", \"max_value\": %g, \"negative_slope\": 0.0, \"threshold\": 0.0",
              limit);
    else if (limit == 0)
        layer(n, "Activation", NULL, ", \"activation\": \"relu\"");
}

static void pad(struct net *n, int before, int behind)
{
    layer(n, "ZeroPadding2D", NULL, ", \"padding\": [[%d, %d], [%d, %d]]", before, behind, before,
          behind);
}

static void classify(struct net *n)
{
    layer(n, "GlobalAveragePooling2D", NULL, ", \"keepdims\": false");
    layer(n, "Dense", NULL, ", \"units\": 1000, \"activation\": \"softmax\"");
    end(n);
}

static void bottleneck(struct net *n, int from, int to, int expansion, int stride)
{
    char before[NAME_BYTES];

    memcpy(before, n->last, sizeof(before));
    if (expansion > 1) {
        convolution(n, from * expansion, 1, 1, "same");
        normalize(n, 6);
    }
    if (stride == 2)
        pad(n, 0, 1);
    layer(n, "DepthwiseConv2D", NULL, ", \"kernel_size\": [3, 3], \"strides\": [%d, %d], "
          "\"padding\": \"%s\", \"use_bias\": false", stride, stride,
          stride == 2 ? "valid" : "same");
    normalize(n, 6);
    convolution(n, to, 1, 1, "same");
    normalize(n, -1);
    if (stride == 1 && from == to)
        layer(n, "Add", before, "%s", "");
}

static void write_mobilenet(const char *folder)
{
    static const struct { int expansion, to, count, stride; } rows[] = {
        {1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2},
        {6, 320, 1, 1}};
    struct net n;
    int from = 32;

    begin(&n, folder, "mobilenetv2");
    convolution(&n, 32, 3, 2, "same");
    normalize(&n, 6);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (int k = 0; k < rows[i].count; k++, from = rows[i].to)
            bottleneck(&n, from, rows[i].to, rows[i].expansion, k ? 1 : rows[i].stride);
    convolution(&n, 1280, 1, 1, "valid");
    normalize(&n, 6);
    classify(&n);
}

static void write_densenet(const char *folder)
{
    static const int blocks[] = {6, 12, 24, 16};
    struct net n;
    int features = 64;

    begin(&n, folder, "densenet121");
    pad(&n, 3, 3);
    convolution(&n, 64, 7, 2, "valid");
    normalize(&n, 0);
    pad(&n, 1, 1);
    layer(&n, "MaxPooling2D", NULL, ", \"pool_size\": [3, 3], \"strides\": [2, 2], \"padding\": "
          "\"valid\"");
    for (size_t b = 0; b < COUNT_OF(blocks); b++) {
        for (int k = 0; k < blocks[b]; k++, features += 32) {
            char before[NAME_BYTES];

            memcpy(before, n.last, sizeof(before));
            normalize(&n, 0);
            convolution(&n, 128, 1, 1, "valid");
            normalize(&n, 0);
            convolution(&n, 32, 3, 1, "same");
            layer(&n, "Concatenate", before, ", \"axis\": 3");
        }
        normalize(&n, 0);
        if (b + 1 == COUNT_OF(blocks))
            continue;
        convolution(&n, features /= 2, 1, 1, "valid");
        layer(&n, "AveragePooling2D", NULL, ", \"pool_size\": [2, 2], \"strides\": [2, 2], "
              "\"padding\": \"valid\"");
    }
    classify(&n);
}

/* what the command prints, and its exit status */
static int check_models(const char *arguments, char *out, size_t bytes)
{
    const char *systole = getenv("SYSTOLE");
    char command[600];
    size_t used;
    FILE *from;

    snprintf(command, sizeof(command), "%s check models %s 2>&1", systole ? systole : "./systole",
             arguments);
    from = popen(command, "r");
    assert_non_null(from);
    used = fread(out, 1, bytes - 1, from);
    out[used] = '\0';
    return WEXITSTATUS(pclose(from));
}

static char folder[] = "/tmp/systole_models_XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    static const char *const names[] = {"mobilenetv2", "densenet121"};
    char path[200];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        snprintf(path, sizeof(path), "%s/%s.json", folder, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

/* a step may take a minute, and takes three of them under the address sanitizer */
static void skip_if_slow(void)
{
#if defined(__SANITIZE_ADDRESS__)
    printf("skipped: sanitizers take longer than a step may\n");
    skip();
#endif
}

TEST(networks_of_keras_applications_compile_and_run)
{
    char arguments[300], out[4000];

    skip_if_slow();
    write_mobilenet(folder);
    write_densenet(folder);
    snprintf(arguments, sizeof(arguments), "%s --tpu v3-8 --batch 8", folder);
    if (check_models(arguments, out, sizeof(out)) != 0)
        fail_msg("%s", out);
    assert_non_null(strstr(out, "\nmobilenetv2          v3-8         8 "));
    assert_non_null(strstr(out, "\ndensenet121          v3-8         8 "));
    assert_non_null(strstr(out, "2 steps, 0 of them larger than the HBM"));
}

TEST(a_step_that_does_not_fit_tells_layers_and_the_largest_batch)
{
    char arguments[300], out[4000];

    skip_if_slow();
    write_mobilenet(folder);
    snprintf(arguments, sizeof(arguments), "%s/mobilenetv2.json --tpu v2-8 --batch 256", folder);
    if (check_models(arguments, out, sizeof(out)) != 0)
        fail_msg("%s", out);
    assert_non_null(strstr(out, "does not fit"));
    assert_non_null(strstr(out, "  largest batch "));
    assert_non_null(strstr(out, " alive at once: "));
    assert_non_null(strstr(out, " layer_"));
    assert_non_null(strstr(out, "1 steps, 1 of them larger than the HBM"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_of_keras_applications_compile_and_run),
        cmocka_unit_test(a_step_that_does_not_fit_tells_layers_and_the_largest_batch),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
