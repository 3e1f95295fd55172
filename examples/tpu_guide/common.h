/* Declares what the examples share: a status that ends the program, and MNIST. */
#ifndef EXAMPLES_COMMON_H
#define EXAMPLES_COMMON_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/systole.h"

/* Ends the program with the message of a call that failed. */
static inline void must(sy_status status)
{
    if (status == SY_ERROR) {
        fprintf(stderr, "%s\n", sy_message());
        exit(1);
    }
}

/* "v3-8" unless the first argument or TPU_NAME says otherwise */
static inline sy_cluster *open_tpu(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : getenv("TPU_NAME");
    sy_cluster *cluster;

    must(sy_cluster_resolve(name ? name : "v3-8", NULL, &cluster));
    must(sy_cluster_initialize(cluster));
    printf("%s\n", sy_cluster_describe(cluster));
    return cluster;
}

struct mnist {
    float *image;                       /* [count, 28, 28], 0..1 */
    int32_t *label;
    int64_t count;
    const void *input[1];
    sy_samples samples;
};

static inline sy_array *read_part(const char *folder, const char *name)
{
    char path[512];
    sy_array *a;

    snprintf(path, sizeof(path), "%s/%s.gz", folder, name);
    must(sy_read_array(path, &a));
    return a;
}

/* `which` is "train" or "t10k"; at most `most` images */
static inline void read_mnist(struct mnist *m, const char *folder, const char *which, int64_t most)
{
    char name[64];
    sy_array *image, *label;

    snprintf(name, sizeof(name), "%s-images-idx3-ubyte", which);
    image = read_part(folder, name);
    snprintf(name, sizeof(name), "%s-labels-idx1-ubyte", which);
    label = read_part(folder, name);
    m->count = sy_array_shape(image).dim[0] < most ? sy_array_shape(image).dim[0] : most;
    m->image = malloc((size_t)m->count * 784 * sizeof(*m->image));
    m->label = malloc((size_t)m->count * sizeof(*m->label));
    for (int64_t i = 0; i < m->count * 784; i++)
        m->image[i] = (float)((uint8_t *)sy_array_data(image))[i] / 255.0f;
    for (int64_t i = 0; i < m->count; i++)
        m->label[i] = ((uint8_t *)sy_array_data(label))[i];
    m->input[0] = m->image;
    m->samples = (sy_samples){.count = m->count, .input = m->input, .label = m->label};
    sy_array_free(image);
    sy_array_free(label);
}

static inline void free_mnist(struct mnist *m)
{
    free(m->image);
    free(m->label);
}
#endif
