/*
 * tf.train.Example: one record of named features, as TFRecord files usually hold them.
 */
#ifndef DATA_EXAMPLE_H
#define DATA_EXAMPLE_H
#include "data/dataset.h"

/*
 * What is taken from every record, and as what:
 *   f32     from a float_list
 *   s32     from an int64_list, whose values must fit
 *   string  from a bytes_list, one string per value
 *   u8      from a bytes_list of one value: its bytes (tf.io.decode_raw)
 * Of fixed length (tf.io.FixedLenFeature): as many values as `spec` has, which knows all sizes.
 * Of variable length (VarLenFeature, dense): spec is a vector of DATA_ANY_SIZE.
 */
struct example_feature {
    const char *name;
    struct data_spec spec;
    /* one scalar of the dtype fills what is missing; NULL: it must be there. Variable: 0 values. */
    const struct data_tensor *standard;
};

/* Features of one serialized record become tensors of x, an element of `count` tensors. */
int example_parse(const void *record, int64_t bytes, const struct example_feature *feature,
                  int count, struct data_element *x, struct err *e);

/*
 * `in` gives string scalars; one tensor per feature, in this order. thread_count as in struct
 * data_map. Mistakes name the record, its file and byte, and the feature.
 */
struct dataset *dataset_parse_examples(struct dataset *in, const struct example_feature *feature,
                                       int count, int thread_count, struct err *e);

/* ---- making records ---- */

struct example;

struct example *example_new(void);
void example_destroy(struct example *x);                /* NULL does nothing */
/* Values are copied. Names must differ (asserted); features are written in the order added. */
void example_add_floats(struct example *x, const char *name, const float *value, int64_t count);
void example_add_ints(struct example *x, const char *name, const int64_t *value, int64_t count);
void example_add_strings(struct example *x, const char *name, const struct data_string *value,
                         int64_t count);
void example_pack(const struct example *x, struct bytes *to);           /* appends the record */
#endif
