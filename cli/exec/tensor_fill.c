/* Arrays that nobody has to bring: random ones, zeros, ones, counted ones; and those of .npy files. */
#include "cli/exec/tensor.h"

#include "base/rng.h"
#include "base/text.h"
#include "cli/exec/tensor_impl.h"
#include "data/npy.h"
#include "isa/file.h"

#include <string.h>

enum fill { FILL_RANDOM, FILL_ZEROS, FILL_ONES, FILL_IOTA };

static double value_of(enum fill fill, enum hlo_element type, int64_t i, struct rng *r)
{
    switch (fill) {
    case FILL_ZEROS: return 0;
    case FILL_ONES: return 1;
    case FILL_IOTA: return type == ELEMENT_PRED ? (double)(i & 1) : (double)i;
    default: break;
    }
    if (type == ELEMENT_PRED)
        return (double)rng_below(r, 2);
    return hlo_element_is_integer(type) ? (double)rng_below(r, 10) : (double)rng_uniform(r, -1, 1);
}

static void fill_with(struct exec_tensor *t, enum fill fill, uint64_t seed)
{
    int64_t count = hlo_type_elements(&t->type);
    size_t bytes = hlo_element_bytes(t->type.element);
    bool is_complex = hlo_element_is_complex(t->type.element);
    enum hlo_element part = t->type.element == ELEMENT_C128 ? ELEMENT_F64
                            : is_complex ? ELEMENT_F32 : t->type.element;
    struct rng r;

    rng_init(&r, seed);
    for (int64_t i = 0; i < count; i++) {
        char *to = (char *)t->data + (size_t)i * bytes;
        double value = value_of(fill, part, i, &r);

        if (hlo_element_is_integer(part))
            hlo_element_store_int(part, (int64_t)value, to);    /* iota wraps around */
        else
            hlo_element_store(part, value, to);
        if (is_complex)
            hlo_element_store(part, fill == FILL_RANDOM ? value_of(fill, part, i, &r) : 0,
                              to + bytes / 2);
    }
}

static int read_npy(struct exec_tensor *t, const char *path, struct arena *a, struct err *e)
{
    struct npy_array array;
    struct hlo_type stored;
    uint8_t *bytes;
    size_t size;

    if (isa_file_read(path, a, &bytes, &size, e))
        return -1;
    if (!npy_is(bytes, size))
        return err_at(e, path, 0, 0, "it is no .npy file; %s may be a .npy file, random, zeros, "
                      "ones or iota", t->name);
    if (npy_parse_array(bytes, size, path, &array, e) ||
        npy_take(&array, array.type, path, a, e))
        return -1;
    stored = hlo_array_type(a, exec_element_of_npy(array.type), array.rank, array.side);
    return exec_take(t, &stored, array.data, path, a, e);
}

int exec_fill(struct exec_tensor *t, const char *what, uint64_t seed, struct arena *a,
              struct err *e)
{
    static const char *const words[] = {[FILL_RANDOM] = "random", [FILL_ZEROS] = "zeros",
                                        [FILL_ONES] = "ones", [FILL_IOTA] = "iota"};

    for (int w = 0; w < 4; w++) {
        if (strcmp(what, words[w]) == 0) {
            t->data = arena_array(a, (size_t)hlo_type_elements(&t->type),
                                  hlo_element_bytes(t->type.element));
            fill_with(t, (enum fill)w, seed);
            return 0;
        }
    }
    if (!strchr(what, '.') && !strchr(what, '/')) {
        struct near_text near = text_did_you_mean(what, words, 4);

        return err_set(e, "%s is \"%s\"%s, allowed are a .npy file, random, zeros, ones, iota",
                       t->name, what, near.text);
    }
    return read_npy(t, what, a, e);
}
