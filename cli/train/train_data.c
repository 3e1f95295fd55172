/*
 * Opens what models are trained on, evaluated and asked to predict: MNIST's files, drawn digits, or
 * arrays that NumPy has saved.
 */
#include "cli/train/train.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "data/files.h"
#include "data/images.h"
#include "files/zipfile.h"
#include "isa/file.h"

#define TRAIN_DIGITS 12000
#define TEST_DIGITS 2000
#define DIGITS_SEED 1                   /* the same set for every --seed, as with files */

static uint64_t seed_of(const struct train_run *t)
{
    return (uint64_t)train_value(t, OPT_SEED)->integer;
}

static int check_ends(const struct train_run *t, const char *what, struct err *e)
{
    const struct model *m = &t->model;

    if (m->input_count == 1 && m->output_count == 1)
        return 0;
    return err_set(e, "model %s has %d inputs and %d outputs; %s train one of each: give it arrays, "
                   "a file for each", m->name, m->input_count, m->output_count, what);
}

static const struct shape *input_of(const struct train_run *t, int i)
{
    return &t->model.node[t->model.input[i]].shape;
}

static const struct shape *output_of(const struct train_run *t, int i)
{
    return &t->model.node[t->model.output[i]].shape;
}

/* the last dimension of the output */
static int64_t classes_of(const struct train_run *t, int i)
{
    const struct shape *out = output_of(t, i);

    return out->rank ? out->dim[out->rank - 1] : 1;
}

static int check_count(struct train_run *t, const char *where, struct err *e)
{
    int64_t count = t->train_batches.samples;

    if (count >= t->batch || t->options->task != TASK_TRAIN)
        return 0;
    return err_at(e, where, 0, 0, "%" PRId64 " training %s are less than a batch of %" PRId64,
                  count, t->data_noun, t->batch);
}

/* ----- images with one label each */

static int check_images(struct train_run *t, const struct image_set *train, const char *where,
                        struct err *e)
{
    int64_t inputs, classes = classes_of(t, 0);

    if (check_ends(t, "images", e))
        return -1;
    inputs = shape_elems(input_of(t, 0));
    if (train->elems != inputs)
        return err_at(e, where, 0, 0, "images are %dx%d = %" PRId64 " pixels, model %s expects %"
                      PRId64 " inputs", train->rows, train->columns, train->elems, t->model.name,
                      inputs);
    if (classes < train->classes)
        return err_at(e, where, 0, 0, "labels are 0..%d, but the last layer of model %s has only %"
                      PRId64 " units", train->classes - 1, t->model.name, classes);
    return 0;
}

static int load_images(struct train_run *t, const char *folder, struct err *e)
{
    struct image_set *train = arena_alloc(&t->arena, sizeof(*train));
    struct image_set *test = arena_alloc(&t->arena, sizeof(*test));
    const char *where = *folder ? folder : "drawn digits";

    if (!*folder)
        data_make_digits(train, test, TRAIN_DIGITS, TEST_DIGITS, DIGITS_SEED, &t->arena);
    else if (data_load_idx(train, test, folder, &t->arena, e))
        return -1;
    if (check_images(t, train, where, e))
        return -1;
    train->is_raw = test->is_raw = model_scales_bytes(&t->model, 0);
    t->data_noun = "images";
    t->data_shape = arena_printf(&t->arena, "%dx%d", train->rows, train->columns);
    batches_of_images(&t->train_batches, train, true, seed_of(t), &t->arena);
    batches_of_images(&t->test_batches, test, false, seed_of(t), &t->arena);
    return check_count(t, where, e);
}

/* ----- arrays: x_train.npy, ... of a folder, or members of a .npz */

/* FOLDER/NAME.npy or its gzip; NULL: neither is there */
static const char *npy_path(struct train_run *t, const char *folder, const char *name)
{
    static const char *const ends[] = {"npy", "npy.gz"};

    for (int i = 0; i < 2; i++) {
        const char *path = arena_printf(&t->arena, "%s/%s.%s", folder, name, ends[i]);

        if (access(path, F_OK) == 0)
            return path;
    }
    return NULL;
}

/* inputs, then labels of those who compare with them: how many arrays a set has */
static int array_count(const struct train_run *t)
{
    return t->model.input_count + (t->options->task == TASK_PREDICT ? 0 : t->model.output_count);
}

/* "x_train", or of several inputs or outputs "x_train_image", "y_test_age" */
static const char *array_name(struct train_run *t, int i, const char *which)
{
    const struct model *m = &t->model;
    bool is_label = i >= m->input_count;
    int count = is_label ? m->output_count : m->input_count;
    const char *of = is_label ? train_output_name(t, i - m->input_count)
                              : m->layer[m->node[m->input[i]].layer]->name;

    return count == 1 ? arena_printf(&t->arena, "%c_%s", is_label ? 'y' : 'x', which)
                      : arena_printf(&t->arena, "%c_%s_%s", is_label ? 'y' : 'x', which, of);
}

#define NAMES_MAX (2 * DATA_TUPLE_MAX)

/* where arrays come from, and what they are called there: those to train on, those to test with */
struct arrays {
    const char *where;                  /* a folder, a .npz, or the file of one array */
    const char *name[NAMES_MAX];
    int name_count;
    bool is_npz, is_file;
    struct zipfile zip;
};

static bool ends_in(const char *text, const char *suffix)
{
    size_t length = strlen(text), more = strlen(suffix);

    return length > more && strcmp(text + length - more, suffix) == 0;
}

/* what the task takes, for whoever names arrays: of several inputs or outputs the standard names */
static const char *print_needed(struct train_run *t, const struct arrays *standard)
{
    static const char *const meant[] = {
        [TASK_TRAIN] = "x and y to train on, x and y to test with", [TASK_EVALUATE] = "x and y",
        [TASK_PREDICT] = "x"};
    const char *text = arena_printf(&t->arena, "%d, in the order of", standard->name_count);

    if (t->model.input_count == 1 && t->model.output_count == 1)
        return meant[t->options->task];
    for (int i = 0; i < standard->name_count; i++)
        text = arena_printf(&t->arena, "%s%s%s", text, i ? "," : " ", standard->name[i]);
    return text;
}

/* "d.npz:x,y": the names behind the colon, as many as the task takes */
static int take_names(struct train_run *t, struct arrays *from, const char *text, struct err *e)
{
    struct arrays standard = *from;
    char *list = arena_strdup(&t->arena, text), *rest;

    from->name_count = 0;
    for (char *name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        if (from->name_count < NAMES_MAX)
            from->name[from->name_count] = name;
        from->name_count++;
    }
    if (from->name_count == standard.name_count)
        return 0;
    return err_at(e, from->where, 0, 0, "\"%s\" names %d of its arrays; needed are %s", text,
                  from->name_count, print_needed(t, &standard));
}

/* what --data says, and the names that Keras's own data sets have */
static int find_arrays(struct train_run *t, struct arrays *from, struct err *e)
{
    const char *text = train_value(t, OPT_DATA)->text, *colon = strstr(text, ".npz:");

    *from = (struct arrays){.where = text, .is_npz = colon || ends_in(text, ".npz"),
                            .is_file = ends_in(text, ".npy") || ends_in(text, ".npy.gz")};
    if (array_count(t) > DATA_TUPLE_MAX)
        return err_set(e, "model %s has %d inputs and outputs; there may be %d", t->model.name,
                       array_count(t), DATA_TUPLE_MAX);
    for (int i = 0; i < array_count(t) && t->options->task == TASK_TRAIN; i++)
        from->name[from->name_count++] = array_name(t, i, "train");
    for (int i = 0; i < array_count(t); i++)
        from->name[from->name_count++] = array_name(t, i, "test");
    if (!colon)
        return 0;
    from->where = arena_printf(&t->arena, "%.*s", (int)(colon + 4 - text), text);
    return take_names(t, from, colon + 5, e);
}

static float f32_of(const struct data_tensor *x, int64_t i, float white)
{
    switch (x->spec.dtype) {
    case DATA_F32: return ((const float *)x->data)[i];
    case DATA_S32: return (float)((const int32_t *)x->data)[i];
    default: return (float)((const uint8_t *)x->data)[i] / white;
    }
}

/* floating ones are whole: check_whole */
static int32_t s32_of(const struct data_tensor *x, int64_t i)
{
    switch (x->spec.dtype) {
    case DATA_F32: return (int32_t)((const float *)x->data)[i];
    case DATA_S32: return ((const int32_t *)x->data)[i];
    default: return ((const uint8_t *)x->data)[i];
    }
}

/* Keras takes classes and ids as floats, too; -1 where one is no whole number of 32 bits */
static int check_whole(const struct data_tensor *x, const char *path, bool is_label, struct err *e)
{
    int64_t elems = data_spec_elems(&x->spec), each = elems / x->spec.dim[0];
    const float *value = x->data;

    for (int64_t i = 0; i < elems && x->spec.dtype == DATA_F32; i++)
        if (!(fabsf(value[i]) < 0x1p31f && value[i] == truncf(value[i])))
            return err_at(e, path, 0, 0, "%s %g of sample %" PRId64 " is not a whole number",
                          is_label ? "label" : "element", (double)value[i], i / each);
    return 0;
}

static bool is_s32(const struct shape *sample) { return sample->dtype == DTYPE_S32; }

static const char *print_sample(const struct data_tensor *x, char *text, size_t bytes)
{
    struct data_spec s = x->spec;

    s.rank--;
    memmove(s.dim, s.dim + 1, (size_t)s.rank * sizeof(*s.dim));
    return data_spec_print(&s, text, bytes);
}

/* sizes other than 1, in order */
static int list_sizes(const int64_t *dim, int rank, int64_t *size)
{
    int count = 0;

    for (int d = 0; d < rank; d++)
        if (dim[d] != 1)
            size[count++] = dim[d];
    return count;
}

/* the same sizes but for those of 1, or all elements in a row: else an order would be made up */
static bool fits(const struct data_spec *x, const struct shape *sample)
{
    int64_t is[DATA_RANK_MAX], wanted[GRAPH_RANK_MAX], each = 1;
    int has = list_sizes(x->dim + 1, x->rank - 1, is);
    int wants = list_sizes(sample->dim, sample->rank, wanted);

    for (int d = 0; d < has; d++)
        each *= is[d];
    if (each != shape_elems(sample))
        return false;
    return has <= 1 || wants <= 1 ||
           (has == wants && memcmp(is, wanted, (size_t)has * sizeof(*is)) == 0);
}

/* what bytes are divided by where f32 are wanted, and says so; a label's stay as they are */
static float white_of(struct train_run *t, const struct data_tensor *x, const char *path,
                      const struct shape *sample, int input)
{
    bool is_raw = input >= 0 && model_scales_bytes(&t->model, input);

    if (x->spec.dtype != DATA_U8 || is_s32(sample) || input < 0)
        return 1.0f;
    fprintf(stderr, "systole: %s: bytes are read as 0..%s\n", path,
            is_raw ? "255, which the model scales itself" : "1");
    return is_raw ? 1.0f : 255.0f;
}

/* an array as the samples of an input of the model wants them, or as the labels of an output, the
 * other of the two being -1 */
static const void *convert(struct train_run *t, const struct data_tensor *x, const char *path,
                           const struct shape *sample, int input, int output, struct err *e)
{
    int64_t elems = data_spec_elems(&x->spec);
    char has[96], wants[96];
    bool is_label = output >= 0;
    float white;
    void *to;

    if (!fits(&x->spec, sample)) {
        err_at(e, path, 0, 0, "%s are %s, model %s%s%s takes %s",
               is_label ? "labels" : "samples", print_sample(x, has, sizeof(has)), t->model.name,
               t->options->task == TASK_PREDICT ? "" : " with loss ",
               t->options->task == TASK_PREDICT
                   ? "" : loss_name(t->output[is_label ? output : 0].loss.kind),
               shape_print(sample, wants, sizeof(wants)));
        return NULL;
    }
    if (is_s32(sample) && check_whole(x, path, is_label, e) != 0)
        return NULL;
    white = white_of(t, x, path, sample, input);
    to = arena_array(&t->arena, (size_t)elems, 4);
    for (int64_t i = 0; i < elems; i++)
        if (is_s32(sample))
            ((int32_t *)to)[i] = s32_of(x, i);
        else
            ((float *)to)[i] = f32_of(x, i, white);
    return to;
}

/* classes as numbers must be of the last layer's */
static int check_classes(const struct train_run *t, const int32_t *label, int64_t count,
                         int64_t each, int output, const char *path, struct err *e)
{
    int64_t classes = classes_of(t, output);

    for (int64_t i = 0; i < count * each; i++)
        if (label[i] < 0 || label[i] >= classes)
            return err_at(e, path, 0, 0, "label %d of sample %" PRId64 " is not in 0..%" PRId64
                          ", the units of model %s's last layer%s", label[i], i / each,
                          classes - 1, t->model.name,
                          classes == 1 ? "; with one unit there is --loss binary_crossentropy" : "");
    return 0;
}

/* --sample-weight's; NULL with *e */
static const void *load_weights(struct train_run *t, int64_t count, struct err *e)
{
    const char *path = train_value(t, OPT_SAMPLE_WEIGHT)->text;
    struct data_element *x = train_read_npy(&path, 1, e);
    const struct shape one = shape_scalar(DTYPE_F32);
    const void *weight = NULL;

    if (x && x->tensor[0].spec.dim[0] != count)
        err_at(e, path, 0, 0, "%" PRId64 " weights of %" PRId64 " training samples",
               x->tensor[0].spec.dim[0], count);
    else if (x)
        weight = convert(t, &x->tensor[0], path, &one, -1, 0, e);
    if (x)
        element_release(x);
    return weight;
}

static int take_arrays(struct train_run *t, const struct data_element *all,
                       const char *const *path, bool is_training, struct err *e)
{
    bool has_weights = is_training && *train_value(t, OPT_SAMPLE_WEIGHT)->text;
    const void *tensor[DATA_TUPLE_MAX + 1];
    int64_t elems[DATA_TUPLE_MAX + 1], count = all->tensor[0].spec.dim[0];
    int arrays = array_count(t);

    for (int i = 0; i < arrays; i++) {
        int output = i - t->model.input_count;
        struct shape sample = output < 0 ? *input_of(t, i)
                                         : loss_label_shape(&t->output[output].loss,
                                                            output_of(t, output));

        elems[i] = shape_elems(&sample);
        tensor[i] = convert(t, &all->tensor[i], path[i], &sample, output < 0 ? i : -1,
                            output < 0 ? -1 : output, e);
        if (!tensor[i] || (output >= 0 && is_s32(&sample) &&
                           check_classes(t, tensor[i], count, elems[i], output, path[i], e)))
            return -1;
    }
    elems[arrays] = 1;
    tensor[arrays] = has_weights ? load_weights(t, count, e) : NULL;
    if (has_weights && !tensor[arrays])
        return -1;
    t->has_weights |= has_weights;
    batches_of_arrays(is_training ? &t->train_batches : &t->test_batches, tensor, elems,
                      arrays + has_weights, count, has_weights, is_training, seed_of(t),
                      &t->arena);
    return 0;
}

/* a member of a .npz; its elements are the arena's */
static int read_member(struct arrays *from, const char *name, struct arena *a,
                       struct data_bytes *to, struct err *e)
{
    const char **names = arena_array(a, (size_t)from->zip.count + 1, sizeof(*names));
    int i = zipfile_find(&from->zip, arena_printf(a, "%s.npy", name));
    char list[300];
    uint8_t *bytes;
    size_t size;

    for (int k = 0; k < from->zip.count; k++)
        names[k] = from->zip.name[k];
    if (i < 0 && strcmp(name, "x_test") == 0 && zipfile_find(&from->zip, "x_train.npy") >= 0 &&
        zipfile_find(&from->zip, "y_train.npy") >= 0)
        return err_at(e, from->where, 0, 0, "has no \"x_test\" to test with; others are named as in "
                      "%s:x_train,y_train,x_train,y_train", from->where);
    if (i < 0)
        return err_at(e, from->where, 0, 0, "has no array \"%s\"%s; it holds %s", name,
                      text_did_you_mean(arena_printf(a, "%s.npy", name), names,
                                        (size_t)from->zip.count).text,
                      zipfile_print(&from->zip, list, sizeof(list)));
    if (zipfile_read(&from->zip, i, a, &bytes, &size, e))
        return -1;
    to->bytes = bytes;
    to->size = (int64_t)size;
    return 0;
}

/* path[]: what messages call the arrays */
static struct dataset *open_arrays(struct train_run *t, struct arrays *from, int first, int count,
                                   struct arena *a, const char **path, struct err *e)
{
    struct data_bytes array[DATA_TUPLE_MAX] = {{0}};

    for (int i = 0; i < count; i++) {
        const char *name = from->name[first + i];

        path[i] = from->is_npz    ? arena_printf(&t->arena, "%s:%s", from->where, name)
                  : from->is_file ? from->where
                                  : npy_path(t, from->where, name);
        if (!path[i]) {
            err_at(e, from->where, 0, 0, "has no %s.npy, nor %s.npy.gz", name, name);
            return NULL;
        }
        array[i].path = path[i];
        if (from->is_npz && read_member(from, name, a, &array[i], e))
            return NULL;
    }
    return from->is_npz ? dataset_from_npy_bytes(array, count, e)
                        : dataset_from_npy(path, count, e);
}

/* all of a data set, which is let go; path[0] is its first array */
static struct data_element *take_whole(struct dataset *d, const char *const *path,
                                       struct err *e)
{
    struct data_iterator *it = NULL;
    struct data_element *x = NULL;

    if (d && dataset_cardinality(d) < 1)
        err_at(e, path[0], 0, 0, "holds no samples");
    else if (d)
        d = dataset_batch(d, dataset_cardinality(d), false, e);
    if (d && dataset_cardinality(d) > 0)
        it = dataset_iterate(d, 0, e);
    if (it && data_iterator_next(it, &x, e) <= 0)
        x = NULL;
    data_iterator_destroy(it);
    dataset_release(d);
    return x;
}

struct data_element *train_read_npy(const char *const *path, int count, struct err *e)
{
    return take_whole(dataset_from_npy(path, count, e), path, e);
}

/* `count` arrays whole, as one element */
static struct data_element *read_arrays(struct train_run *t, struct arrays *from, int first,
                                        int count, const char **path, struct err *e)
{
    struct data_element *x;
    struct dataset *d;
    struct arena a;

    arena_init(&a);
    d = open_arrays(t, from, first, count, &a, path, e);
    x = take_whole(d, path, e);
    arena_fini(&a);
    return x;
}

static void tell_shape(struct train_run *t, const struct data_element *x)
{
    char shape[96];

    t->data_shape = arena_strdup(&t->arena, print_sample(&x->tensor[0], shape, sizeof(shape)));
}

/* inputs and labels of one set, whose names begin at the `first` */
static int load_set(struct train_run *t, struct arrays *from, int first, bool is_training,
                    struct err *e)
{
    const char *path[DATA_TUPLE_MAX];
    struct data_element *x = read_arrays(t, from, first, array_count(t), path, e);
    int status;

    if (!x)
        return -1;
    tell_shape(t, x);
    status = take_arrays(t, x, path, is_training, e);
    element_release(x);
    return status;
}

/* what is tested with comes last */
static int load_arrays(struct train_run *t, struct arrays *from, struct err *e)
{
    int last = from->name_count - array_count(t);

    t->data_noun = "samples";
    if (load_set(t, from, last, false, e) || (last > 0 && load_set(t, from, 0, true, e)))
        return -1;
    return check_count(t, from->where, e);
}

/* inputs without labels, for predictions */
static int load_inputs(struct train_run *t, struct arrays *from, struct err *e)
{
    int count = t->model.input_count, taken = 0;
    const char *path[DATA_TUPLE_MAX];
    struct data_element *x = read_arrays(t, from, 0, count, path, e);

    if (!x)
        return -1;
    tell_shape(t, x);
    t->data_noun = "samples";
    t->sample_count = x->tensor[0].spec.dim[0];
    for (; taken < count; taken++) {
        t->sample[taken] = convert(t, &x->tensor[taken], path[taken], input_of(t, taken), taken, -1,
                                   e);
        if (!t->sample[taken])
            break;
    }
    element_release(x);
    return taken == count ? 0 : -1;
}

static int load_from(struct train_run *t, struct arrays *from, struct err *e)
{
    return t->options->task == TASK_PREDICT ? load_inputs(t, from, e) : load_arrays(t, from, e);
}

static int load_npz(struct train_run *t, struct arrays *from, struct err *e)
{
    struct arena a;
    uint8_t *bytes;
    size_t size;
    int status;

    arena_init(&a);
    status = isa_file_read(from->where, &a, &bytes, &size, e);
    if (status == 0)
        status = zipfile_open(&from->zip, bytes, size, from->where, &a, e);
    if (status == 0) {
        status = load_from(t, from, e);
        zipfile_close(&from->zip);
    }
    arena_fini(&a);
    return status;
}

int train_load_data(struct train_run *t, struct err *e)
{
    const char *folder = train_value(t, OPT_DATA)->text;
    struct arrays from;

    if (find_arrays(t, &from, e))
        return -1;
    if (from.is_npz)
        return load_npz(t, &from, e);
    if (from.is_file && t->options->task != TASK_PREDICT)
        return err_at(e, folder, 0, 0, "is one array; samples and labels are needed, in a folder "
                      "or a .npz");
    if (from.is_file && t->model.input_count > 1)
        return err_at(e, folder, 0, 0, "is one array, and model %s has %d inputs; they are needed "
                      "in a folder or a .npz", t->model.name, t->model.input_count);
    if (t->options->task == TASK_PREDICT)
        return load_inputs(t, &from, e);
    if (*folder && array_count(t) > 2)
        return load_arrays(t, &from, e);
    for (int i = 0; i < from.name_count && *folder; i++)
        if (npy_path(t, folder, from.name[i]))
            return load_arrays(t, &from, e);
    if (*train_value(t, OPT_SAMPLE_WEIGHT)->text)
        return err_set(e, "--sample-weight is for the samples of x_train.npy, which --data names "
                       "the folder of");
    return load_images(t, folder, e);
}
