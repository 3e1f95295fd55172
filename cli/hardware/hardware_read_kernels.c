/*
 * Reads the measurements of a library's kernels: a row has an operation, its arguments as JSON,
 * device time and peak memory. Rows of one chip are a file's.
 */
#include "cli/hardware/hardware_read.h"

#include "cli/hardware/hardware_kernels.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

/* of what takes longer a row is minutes of simulation: looked at with --all, as all rows then are */
static const double long_ms = 2.5;
/* a row is scored where repeated measurements lie within this share of their median */
static const double spread_max = 0.02;

/* "bf16[32,4096,32,128]"; leading dimensions beyond `rank` are folded into the first (0: none) */
static bool read_shape(const json_t *value, int rank, struct shape *to)
{
    static const struct { const char *name; enum graph_dtype dtype; } types[] = {
        {"bf16[", DTYPE_BF16}, {"f16[", DTYPE_BF16}, {"f32[", DTYPE_F32}, {"i32[", DTYPE_S32},
        {"bool[", DTYPE_PRED}};
    const char *text = json_string_value(value);

    *to = (struct shape){.rank = 0};
    for (size_t i = 0; text && i < sizeof(types) / sizeof(*types); i++) {
        size_t length = strlen(types[i].name);
        const char *at = text + length;
        char *end;

        if (strncmp(text, types[i].name, length) != 0)
            continue;
        to->dtype = types[i].dtype;
        while (*at && *at != ']' && to->rank < GRAPH_RANK_MAX) {
            int64_t dim = strtoll(at, &end, 10);

            if (end == at || dim < 1 || dim > 1 << 30)
                return false;
            to->dim[to->rank++] = dim;
            at = end + (*end == ',');
        }
        while (rank && to->rank > rank) {
            to->dim[0] *= to->dim[1];
            memmove(&to->dim[1], &to->dim[2], (size_t)(to->rank - 2) * sizeof(to->dim[0]));
            to->rank--;
        }
        return *at == ']' && (!rank || to->rank == rank);
    }
    return false;
}

static bool is_true(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

static bool is_absent(const json_t *object, const char *key)
{
    const json_t *x = json_object_get(object, key);

    return !x || json_is_null(x);
}

static const char *attention(struct hardware_row *r, const json_t *args, bool is_gradient,
                             struct arena *a)
{
    const json_t *mask = json_object_get(args, "mask");
    struct library_attention x = {
        .scale = json_number_value(json_object_get(args, "logits_scale")),
        .is_causal = is_true(mask, "is_causal"), .has_mask = !is_absent(mask, "bool_mask"),
        .has_bias = !is_absent(args, "bias"), .has_residuals = is_true(args, "return_residuals")};

    if (!read_shape(json_object_get(args, "q"), 4, &x.q) ||
        !read_shape(json_object_get(args, "k"), 4, &x.k) ||
        !read_shape(json_object_get(args, "v"), 4, &x.v) || x.q.dim[2] % x.k.dim[2] != 0)
        return "shapes that are not known here";
    if (!is_absent(args, "logits_soft_cap") || !is_absent(args, "paging_info") ||
        (is_gradient && x.k.dim[2] != x.q.dim[2]))
        return "a form of attention that is not written here";
    hardware_set_graph(r, is_gradient ? library_attention_gradient(&x, a) : library_attention(&x, a));
    return NULL;
}

static const char *gated_unit(struct hardware_row *r, const json_t *args, struct arena *a)
{
    const char *activation = json_string_value(json_object_get(args, "activation"));
    struct shape x, w;

    if (!read_shape(json_object_get(args, "x"), 0, &x) || x.rank < 2 ||
        !read_shape(json_object_get(args, "weights"), 3, &w) || w.dim[0] != x.dim[x.rank - 1])
        return "shapes that are not known here";
    if (!activation || (!strstr(activation, "sigmoid") && !strstr(activation, "silu")))
        return "an activation that is not written here";
    hardware_set_graph(r, library_gated_unit(x, w, strstr(activation, "sigmoid") ? HLO_LOGISTIC
                                                                                : HLO_MULTIPLY, a));
    return NULL;
}

static const char *cross_entropy(struct hardware_row *r, const json_t *args, struct arena *a)
{
    const char *reduction = json_string_value(json_object_get(args, "reduction"));
    struct shape x, w;

    if (!read_shape(json_object_get(args, "x"), 2, &x) || !reduction ||
        !read_shape(json_object_get(args, "w"), 2, &w) || w.dim[0] != x.dim[1])
        return "shapes that are not known here";
    hardware_set_graph(r, library_cross_entropy(x, w, strcmp(reduction, "mean") == 0,
                                               is_true(args, "return_residuals"), a));
    return NULL;
}

static const char *normalization(struct hardware_row *r, const json_t *args, struct arena *a)
{
    int axis = (int)json_integer_value(json_object_get(args, "axis"));
    struct shape x;

    if (!read_shape(json_object_get(args, "x"), 0, &x))
        return "shapes that are not known here";
    axis = axis < 0 ? axis + x.rank : axis;
    if (axis < 0 || axis >= x.rank)
        return "shapes that are not known here";
    hardware_set_graph(r, library_normalization(x, axis, is_true(args, "return_residuals"), a));
    return NULL;
}

/* the number of groups with rows and without, and their rows, of a list or of two numbers */
static bool read_groups(const json_t *sizes, struct library_ragged *r, int64_t *rows)
{
    size_t i;
    json_t *size;

    r->groups = json_integer_value(json_object_get(sizes, "num_groups"));
    *rows = json_integer_value(json_object_get(sizes, "total_size"));
    if (json_is_array(sizes)) {
        r->groups = *rows = 0;
        json_array_foreach(sizes, i, size) {
            r->groups += json_integer_value(size) > 0;
            *rows += json_integer_value(size);
        }
        r->empty_groups = (int64_t)json_array_size(sizes) - r->groups;
    }
    return r->groups > 0 && *rows >= r->groups;
}

static const char *ragged_dot(struct hardware_row *r, const json_t *args, struct arena *a)
{
    const json_t *dims = json_object_get(json_object_get(args, "ragged_dot_dimension_numbers"),
                                         "dot_dimension_numbers");
    const json_t *contract = json_array_get(dims, 0);
    int64_t left = json_integer_value(json_array_get(json_array_get(contract, 0), 0)), rows;
    int64_t right = json_integer_value(json_array_get(json_array_get(contract, 1), 0));
    struct library_ragged p = {
        .form = left == 0 ? RAGGED_GRADIENT : right == 2 ? RAGGED_TRANSPOSED : RAGGED_PLAIN,
        .has_residuals = is_true(args, "return_residuals")};
    struct shape x, w;

    if (!read_shape(json_object_get(args, "lhs"), 2, &x) ||
        !read_shape(json_object_get(args, "rhs"), p.form == RAGGED_GRADIENT ? 2 : 3, &w) ||
        !read_groups(json_object_get(args, "group_sizes"), &p, &rows))
        return "shapes that are not known here";
    p.rows = (rows + p.groups - 1) / p.groups;
    p.k = x.dim[1];
    p.n = p.form == RAGGED_PLAIN ? w.dim[2] : w.dim[1];
    hardware_set_graph(r, library_ragged_dot(&p, a));
    return NULL;
}

static const char *read_operation(struct hardware_row *r, const char *op, const json_t *args,
                                  struct arena *a)
{
    if (strncmp(op, "pallas_", 7) == 0)
        return "a Pallas kernel, whose module is not published with its time";
    if (strstr(op, "chunked"))
        return "cut into a scan by hand: how is not told";
    if (strcmp(op, "dot_product_attention") == 0)
        return attention(r, args, false, a);
    if (strcmp(op, "dot_product_attention_vjp") == 0)
        return attention(r, args, true, a);
    if (strcmp(op, "gated_linear_unit") == 0)
        return gated_unit(r, args, a);
    if (strcmp(op, "linear_softmax_cross_entropy_loss") == 0)
        return cross_entropy(r, args, a);
    if (strcmp(op, "normalization") == 0)
        return normalization(r, args, a);
    if (strcmp(op, "ragged_dot") == 0)
        return ragged_dot(r, args, a);
    return "an operation that is not known here";
}

/* "q bf16[2,4,8,16] causal": the shapes of the first arguments tell rows apart */
static const char *row_name(const json_t *args, struct arena *a)
{
    static const char *const keys[] = {"q", "k", "x", "w", "weights", "lhs", "rhs"};
    const char *name = "";

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        const char *shape = json_string_value(json_object_get(args, keys[i]));

        if (shape)
            name = arena_printf(a, "%s%s%s", name, *name ? " " : "", shape);
    }
    return name;
}

static void read_row(struct hardware_row *r, struct fields *f, bool takes_long, struct arena *a)
{
    const char *text = fields_text(f, "arguments"), *why_not;
    double median = fields_number(f, "median_ms"), low = fields_number(f, "min_ms"),
           high = fields_number(f, "max_ms");
    json_error_t error;
    json_t *args = json_loads(text, 0, &error);

    r->group = fields_text(f, "op");
    r->workload = args ? row_name(args, a) : text;
    r->measured_us = median * 1e3;
    r->measured_memory_bytes = fields_number(f, "peak_memory_mb") * 1e6;
    r->time = TIME_DEVICE;
    r->is_one_device = true;
    why_not = !takes_long && median > long_ms ? "long: looked at with --all"
              : args ? read_operation(r, r->group, args, a) : "arguments that are no JSON";
    if (why_not)
        hardware_leave_out(r, why_not);
    else if (high - low > spread_max * median)
        r->why_not = "measured values spread by more than 2 %";
    json_decref(args);
}

int hardware_read_kernels(struct hardware_file *file, const struct csv *c, struct arena *a,
                          struct err *e)
{
    static const char *const needed[] = {"tpu", "op", "arguments", "median_ms", "min_ms", "max_ms",
                                         "peak_memory_mb"};

    for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
        if (csv_column(c, needed[i], e) < 0)
            return -1;
    for (int i = 0; i < c->row_count; i++) {
        struct fields f = {.csv = c, .row = i, .e = e};

        if (strcmp(fields_text(&f, "tpu"), file->chip) != 0)
            continue;
        read_row(hardware_add_row(file, c->row[i].line), &f, file->is_all, a);
        if (f.is_bad)
            return -1;
    }
    return 0;
}
