/* Pretty forms of StableHLO that need more than a row of forms.def, but loops and reductions. */
#include "import/mlir/text.h"

#include <ctype.h>
#include <string.h>

static int push_type(struct mlir_reader *r, const struct mlir_attr *value)
{
    MLIR_PUSH(r->signature, value->type);
    return 0;
}

/* `[{..}] dense<..> : t`, or another value with its type: that is the result's type too */
int mlir_form_constant(struct mlir_reader *r, struct mlir_draft *d)
{
    (void)d;
    if (mlir_peek(r, "{") && mlir_read_attr_dict(r)) return -1;
    const char *at = r->at;
    const struct mlir_attr *value = mlir_read_attr(r);
    if (mlir_add_attr(r, "value", value)) return -1;
    if (!value->type)
        return mlir_fail_at(r, at, "a constant whose type is not written");
    return push_type(r, value);
}

int mlir_form_value(struct mlir_reader *r, struct mlir_draft *d)
{
    (void)d;
    return mlir_add_attr(r, "value", mlir_read_dense_attrs(r));
}

static int add_ints(struct mlir_reader *r, const char *name, size_t mark, size_t step, size_t count)
{
    int64_t *picked = arena_array(r->arena, count + 1, sizeof(*picked));
    for (size_t i = 0; i < count; i++) picked[i] = r->ints.item[mark + i * step];
    return mlir_add_attr(r, name, mlir_ints(r->arena, (int)count, picked,
                                            mlir_scalar_type(r->arena, "i64", 3)));
}

/* `0:2` or `0:4:2` */
static int read_range(struct mlir_reader *r)
{
    int64_t start, limit, stride = 1;

    if (mlir_read_int(r, &start) || mlir_expect(r, ":") || mlir_read_int(r, &limit)) return -1;
    if (mlir_accept(r, ":") && mlir_read_int(r, &stride)) return -1;
    MLIR_PUSH(r->ints, start);
    MLIR_PUSH(r->ints, limit);
    MLIR_PUSH(r->ints, stride);
    return 0;
}

int mlir_form_slice(struct mlir_reader *r, struct mlir_draft *d)
{
    size_t mark = r->ints.count;

    (void)d;
    if (mlir_expect(r, "[")) return -1;
    while (!mlir_peek(r, "]"))
        if ((r->ints.count > mark && mlir_expect(r, ",")) || read_range(r)) return -1;
    size_t count = (r->ints.count - mark) / 3;
    if (add_ints(r, "start_indices", mark, 3, count) ||
        add_ints(r, "limit_indices", mark + 1, 3, count) ||
        add_ints(r, "strides", mark + 2, 3, count)) return -1;
    r->ints.count = mark;
    return mlir_expect(r, "]");
}

/* `= [0] x [1]` as two parameters */
static int read_dim_pair(struct mlir_reader *r, const char *lhs, const char *rhs)
{
    if (mlir_expect(r, "=") || mlir_add_attr(r, lhs, mlir_read_ints(r))) return -1;
    return mlir_expect(r, "x") ? -1 : mlir_add_attr(r, rhs, mlir_read_ints(r));
}

int mlir_form_dot_dims(struct mlir_reader *r, struct mlir_draft *d)
{
    size_t mark = r->attrs.count;

    (void)d;
    mlir_skip(r);
    const char *begin = r->at;
    for (const char *back; back = r->at, mlir_accept(r, ",");) {
        int status = 0;
        if (mlir_accept(r, "batching_dims")) {
            status = read_dim_pair(r, "lhs_batching_dimensions", "rhs_batching_dimensions");
        } else if (mlir_accept(r, "contracting_dims")) {
            status = read_dim_pair(r, "lhs_contracting_dimensions", "rhs_contracting_dimensions");
        } else {
            r->at = back;
            break;
        }
        if (status) return -1;
    }
    const struct mlir_attr *dims =
        mlir_dialect(r->arena, "stablehlo.dot", begin, (size_t)(r->at - begin),
                     (int)(r->attrs.count - mark), r->attrs.item + mark);
    r->attrs.count = mark;
    return mlir_add_attr(r, "dot_dimension_numbers", dims);
}

/* `e5m10`, which is one word */
int mlir_form_format(struct mlir_reader *r, struct mlir_draft *d)
{
    struct mlir_span word;
    const struct mlir_type *i32 = mlir_scalar_type(r->arena, "i32", 3);
    int64_t exponent, mantissa;

    (void)d;
    if (mlir_read_word(r, &word)) return -1;
    const char *m = memchr(word.data, 'm', word.bytes);
    struct mlir_span e = {word.data + 1, m ? (size_t)(m - word.data - 1) : 0};
    struct mlir_span rest = {m ? m + 1 : NULL, m ? (size_t)(word.data + word.bytes - m - 1) : 0};
    if (word.data[0] != 'e' || !m || mlir_int_of_span(e, &exponent) ||
        mlir_int_of_span(rest, &mantissa))
        return mlir_fail_at(r, word.data, "a format is written e5m10");
    if (mlir_add_attr(r, "exponent_bits", mlir_integer(r->arena, exponent, i32))) return -1;
    return mlir_add_attr(r, "mantissa_bits", mlir_integer(r->arena, mantissa, i32));
}

/* `[[1, 2], [0, 0]]` as a dense tensor of two columns */
static const struct mlir_attr *read_padding(struct mlir_reader *r)
{
    size_t mark = r->ints.count;
    const struct mlir_type *i64 = mlir_scalar_type(r->arena, "i64", 3);

    if (mlir_expect(r, "[")) return NULL;
    while (!mlir_peek(r, "]")) {
        int64_t low, high;
        if (r->ints.count > mark && mlir_expect(r, ",")) return NULL;
        if (mlir_expect(r, "[") || mlir_read_int(r, &low) || mlir_expect(r, ",") ||
            mlir_read_int(r, &high) || mlir_expect(r, "]")) return NULL;
        MLIR_PUSH(r->ints, low);
        MLIR_PUSH(r->ints, high);
    }
    size_t count = r->ints.count - mark;
    const int64_t dim[2] = {(int64_t)count / 2, 2};
    const struct mlir_attr *made =
        mlir_dense(r->arena, mlir_tensor_type(r->arena, i64, 2, dim, NULL),
                   arena_copy(r->arena, r->ints.item + mark, count, sizeof(*r->ints.item)), false);
    r->ints.count = mark;
    return mlir_expect(r, "]") ? NULL : made;
}

static int read_window_field(struct mlir_reader *r)
{
    static const struct { const char *word, *attr; } fields[] = {
        {"stride", "window_strides"}, {"pad", "padding"}, {"lhs_dilate", "lhs_dilation"},
        {"rhs_dilate", "rhs_dilation"}, {"reverse", "window_reversal"}};

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (!mlir_accept(r, fields[i].word)) continue;
        if (mlir_expect(r, "=")) return -1;
        bool is_padding = !strcmp(fields[i].word, "pad");
        return mlir_add_attr(r, fields[i].attr, is_padding ? read_padding(r) : mlir_read_ints(r));
    }
    return mlir_fail(r, "a window has stride, pad, lhs_dilate, rhs_dilate and reverse");
}

int mlir_form_convolution(struct mlir_reader *r, struct mlir_draft *d)
{
    (void)d;
    if (mlir_expect(r, "(") || mlir_read_operands(r) || mlir_expect(r, ")")) return -1;
    if (mlir_expect(r, "dim_numbers") || mlir_expect(r, "=") ||
        mlir_add_attr(r, "dimension_numbers", mlir_read_conv_dims(r))) return -1;
    if (mlir_expect(r, ",") || mlir_expect(r, "window") || mlir_expect(r, "=") ||
        mlir_expect(r, "{")) return -1;
    if (mlir_accept(r, "}")) return 0;
    do
        if (read_window_field(r)) return -1;
    while (mlir_accept(r, ","));
    return mlir_expect(r, "}");
}
