/*
 * Attributes and types of the versioned StableHLO dialect (vhlo) in bytecode, made what StableHLO
 * itself would say: vhlo's strings, integers, tensors are plain ones of the tree.
 */
#include "import/bytecode/attr.h"

#include "base/text.h"

#include <string.h>

typedef const struct mlir_attr *attr_reader(struct bytecode_reader *r, struct bytecode_stream *s);

static attr_reader read_bool, read_api_version, read_alias, read_bounds, read_accuracy,
    read_sub_axis, read_axis, read_mesh_groups, read_mesh_axis, read_mesh;

/* by code; NULL: an enumeration, or not known */
static attr_reader *const attr_readers[] = {
    [1] = bytecode_array_attr, [2] = read_bool, [5] = read_api_version,
    [6] = bytecode_dictionary_attr, [8] = bytecode_float_attr, [9] = bytecode_integer_attr,
    [10] = read_alias, [14] = bytecode_string_attr, [15] = bytecode_dense_attr,
    [17] = bytecode_type_attr, [18] = read_bounds, [20] = read_accuracy, [21] = read_sub_axis,
    [22] = read_axis, [23] = read_mesh_groups, [24] = read_mesh_axis, [25] = read_mesh
};

#define WORDS_MAX 8
static const struct vhlo_enum { uint64_t code; const char *name, *word[WORDS_MAX]; } enums[] = {
#define VHLO_ENUM(code_, name_, ...) {.code = code_, .name = name_, .word = {__VA_ARGS__}},
#include "import/bytecode/enums.def"
};

static const struct mlir_attr *read_enum(struct bytecode_reader *r, struct bytecode_stream *s,
                                         const struct vhlo_enum *kind)
{
    uint64_t number = bytecode_varint(s);

    if (number >= WORDS_MAX || !kind->word[number]) {
        bytecode_fail(s, "%s has no value %llu", kind->name, (unsigned long long)number);
        return NULL;
    }
    return mlir_enum(r->arena, kind->name, kind->word[number]);
}

const struct mlir_attr *bytecode_vhlo_attr(struct bytecode_reader *r, struct bytecode_stream *s)
{
    uint64_t code = bytecode_varint(s);

    if (code < sizeof(attr_readers) / sizeof(attr_readers[0]) && attr_readers[code])
        return attr_readers[code](r, s);
    for (size_t i = 0; i < sizeof(enums) / sizeof(enums[0]); i++) {
        if (enums[i].code == code)
            return read_enum(r, s, &enums[i]);
    }
    bytecode_fail(s, "attribute code %llu of vhlo is not known: the artifact is of a newer StableHLO",
                  (unsigned long long)code);
    return NULL;
}

bool bytecode_vhlo_is_light(uint64_t code)
{
    static attr_reader *const light[] = {
        bytecode_array_attr, read_bool, read_api_version, bytecode_dictionary_attr,
        bytecode_float_attr, bytecode_integer_attr, bytecode_string_attr, bytecode_type_attr};

    for (size_t i = 0; i < sizeof(light) / sizeof(light[0]); i++)
        if (code < sizeof(attr_readers) / sizeof(attr_readers[0]) && attr_readers[code] == light[i])
            return true;
    for (size_t i = 0; i < sizeof(enums) / sizeof(enums[0]); i++)
        if (enums[i].code == code)
            return true;
    return false;
}

static const struct mlir_attr *read_bool(struct bytecode_reader *r, struct bytecode_stream *s)
{
    return mlir_bool(r->arena, bytecode_varint(s) != 0);
}

/* StableHLO writes the version of custom calls as a number. */
static const struct mlir_attr *read_api_version(struct bytecode_reader *r,
                                                struct bytecode_stream *s)
{
    return mlir_integer(r->arena, (int64_t)bytecode_index(s, 5, "version of custom calls"),
                        bytecode_scalar(r, "i32"));
}

static const struct mlir_attr *read_alias(struct bytecode_reader *r, struct bytecode_stream *s)
{
    struct mlir_named pair[3];

    pair[0] = (struct mlir_named){"output_tuple_indices", bytecode_ints(r, s)};
    pair[1] = (struct mlir_named){"operand_index",
                                  mlir_integer(r->arena, bytecode_svarint(s), NULL)};
    pair[2] = (struct mlir_named){"operand_tuple_indices", bytecode_ints(r, s)};
    return mlir_dialect(r->arena, "stablehlo.output_operand_alias", "", 0, 3, pair);
}

static const struct mlir_attr *read_bounds(struct bytecode_reader *r, struct bytecode_stream *s)
{
    struct mlir_named pair = {"bounds", bytecode_ints(r, s)};

    return mlir_dialect(r->arena, "stablehlo.bounds", "", 0, 1, &pair);
}

static double read_f64(struct bytecode_stream *s)
{
    int64_t bits = bytecode_integer(s, 64, true);

    return hlo_element_load(ELEMENT_F64, &bits);
}

/* As in text, what is 0 is not said. */
static const struct mlir_attr *read_accuracy(struct bytecode_reader *r, struct bytecode_stream *s)
{
    double atol = read_f64(s), rtol = read_f64(s);
    int64_t ulps = bytecode_svarint(s);
    struct mlir_named pair[4];
    int count = 0;

    if (atol != 0)
        pair[count++] = (struct mlir_named){"atol", mlir_float(r->arena, atol, NULL)};
    if (rtol != 0)
        pair[count++] = (struct mlir_named){"rtol", mlir_float(r->arena, rtol, NULL)};
    if (ulps != 0)
        pair[count++] = (struct mlir_named){"ulps", mlir_integer(r->arena, ulps, NULL)};
    pair[count++] = (struct mlir_named){"mode", bytecode_attr(r, s)};
    return mlir_dialect(r->arena, "stablehlo.result_accuracy", "", 0, count, pair);
}

/*
 * Groups of devices named by axes of a mesh are a text, as MLIR writes it, put together of the texts
 * of its parts.
 */
static void write_part(struct bytecode_stream *s, FILE *to, const struct mlir_attr *a)
{
    if (a->kind == MLIR_SYMBOL || a->kind == MLIR_STRING)
        text_print_file(to, "@%s", a->text.data);
    else if (a->kind == MLIR_DIALECT)
        text_print_file(to, "#%s<%s>", a->name, a->text.data);
    else
        bytecode_fail(s, "groups of devices are made of other attributes");
}

static void write_parts(struct bytecode_reader *r, struct bytecode_stream *s, FILE *to,
                        const struct mlir_attr *list)
{
    if (list->kind != MLIR_ARRAY) {
        bytecode_fail(s, "axes of a mesh are no list");
        return;
    }
    for (int i = 0; i < list->count && bytecode_spend(r, s, list->item[i]->text.bytes); i++) {
        fputs(i ? ", " : "", to);
        write_part(s, to, list->item[i]);
    }
}

static const struct mlir_attr *read_sub_axis(struct bytecode_reader *r, struct bytecode_stream *s)
{
    struct bytecode_writer w;
    long long before = bytecode_svarint(s), size = bytecode_svarint(s);

    bytecode_write(&w);
    text_print_file(w.to, "(%lld)%lld", before, size);
    return bytecode_written_attr(r, s, &w, "stablehlo.sub_axis_info");
}

static const struct mlir_attr *read_axis(struct bytecode_reader *r, struct bytecode_stream *s)
{
    struct mlir_text name = bytecode_text_of(s, bytecode_attr(r, s));
    const struct mlir_attr *part = bytecode_varint(s) ? bytecode_attr(r, s) : NULL;
    struct bytecode_writer w;

    bytecode_write(&w);
    text_print_file(w.to, "name = \"%s\"", name.data);
    if (part && part->kind == MLIR_DIALECT)
        text_print_file(w.to, ", sub_axis_info = %s", part->text.data);
    return bytecode_written_attr(r, s, &w, "stablehlo.axis_ref");
}

static const struct mlir_attr *read_mesh_groups(struct bytecode_reader *r,
                                                struct bytecode_stream *s)
{
    const struct mlir_attr *mesh = bytecode_attr(r, s), *axes = bytecode_attr(r, s);
    struct bytecode_writer w;

    bytecode_write(&w);
    fputs("mesh = ", w.to);
    write_part(s, w.to, mesh);
    fputs(", axes = [", w.to);
    write_parts(r, s, w.to, axes);
    fputs("]", w.to);
    return bytecode_written_attr(r, s, &w, "stablehlo.replica_group_mesh_axes");
}

static const struct mlir_attr *read_mesh_axis(struct bytecode_reader *r, struct bytecode_stream *s)
{
    struct mlir_text name = bytecode_text_of(s, bytecode_attr(r, s));
    long long size = bytecode_svarint(s);
    struct bytecode_writer w;

    bytecode_write(&w);
    text_print_file(w.to, "name = \"%s\", size = %lld", name.data, size);
    return bytecode_written_attr(r, s, &w, "stablehlo.mesh_axis");
}

static void write_devices(struct bytecode_reader *r, struct bytecode_stream *s, FILE *to,
                          const struct mlir_attr *ids)
{
    const int64_t *id = ids->data;
    int64_t count = ids->kind == MLIR_DENSE ? mlir_type_elements(ids->type) : -1;

    if (count < 0 || !id || ids->type->item->element != ELEMENT_S64) {
        bytecode_fail(s, "devices of a mesh are no list of numbers");
        return;
    }
    for (int64_t i = 0; i < count && bytecode_spend(r, s, sizeof(*id)); i++)
        text_print_file(to, "%s%lld", i ? ", " : "", (long long)id[ids->is_splat ? 0 : i]);
}

static const struct mlir_attr *read_mesh(struct bytecode_reader *r, struct bytecode_stream *s)
{
    const struct mlir_attr *axes = bytecode_attr(r, s), *ids = bytecode_attr_or_null(r, s);
    struct bytecode_writer w;

    bytecode_write(&w);
    fputs("axes = [", w.to);
    write_parts(r, s, w.to, axes);
    fputs("]", w.to);
    if (ids) {
        fputs(", device_ids = [", w.to);
        write_devices(r, s, w.to, ids);
        fputs("]", w.to);
    }
    return bytecode_written_attr(r, s, &w, "stablehlo.mesh");
}

/* Names of scalar types by their codes in vhlo; NULL: not a scalar. */
static const char *const scalar_name[] = {
    [0] = "i1", [2] = "bf16", [3] = "f16", [4] = "f32", [5] = "f64", [6] = "f8E4M3FN",
    [7] = "f8E5M2", [9] = "index", [10] = "i4", [11] = "i8", [12] = "i16", [13] = "i32",
    [14] = "i64", [15] = "ui4", [16] = "ui8", [17] = "ui16", [18] = "ui32", [19] = "ui64",
    [27] = "f8E4M3FNUZ", [28] = "f8E5M2FNUZ", [29] = "f8E4M3B11FNUZ", [31] = "i2", [32] = "ui2",
    [34] = "tf32", [35] = "f8E4M3", [36] = "f8E3M4", [37] = "f4E2M1FN", [38] = "f6E2M3FN",
    [39] = "f6E3M2FN", [40] = "f8E8M0FNU"
};

/* A type that has only a text, made of other types' texts: parts must be scalars. */
static const char *part_text(struct bytecode_stream *s, const struct mlir_type *t)
{
    if (t->kind != MLIR_SCALAR)
        bytecode_fail(s, "a quantized type of parts that are no scalars");
    return t->kind == MLIR_SCALAR ? t->text.data : "";
}

static const struct mlir_type *text_type(struct bytecode_reader *r, struct bytecode_stream *s,
                                         enum mlir_type_kind kind, const char *text)
{
    if (!bytecode_spend(r, s, strlen(text)))
        return NULL;
    return mlir_plain_type(r->arena, kind, text, strlen(text));
}

static const struct mlir_type *quantized_type(struct bytecode_reader *r, struct bytecode_stream *s)
{
    const char *storage, *expressed;
    long long zero_point, least, most;
    double scale;

    bytecode_varint(s);                 /* flags: of the storage type's sign, which it says too */
    storage = part_text(s, bytecode_type(r, s));
    expressed = part_text(s, bytecode_type(r, s));
    scale = read_f64(s);
    zero_point = bytecode_svarint(s);
    least = bytecode_svarint(s);
    most = bytecode_svarint(s);
    return text_type(r, s, MLIR_QUANTIZED,
                     arena_printf(r->arena, "!quant.uniform<%s<%lld:%lld>:%s, %.17g:%lld>", storage,
                                  least, most, expressed, scale, zero_point));
}

/* The scales stand before all zero points in the file, beside each other in the text. */
static const struct mlir_type *quantized_axis_type(struct bytecode_reader *r,
                                                   struct bytecode_stream *s)
{
    const char *storage, *expressed, *text;
    long long least, most;
    uint64_t axis;
    size_t count;
    double *scale;
    struct bytecode_writer w;

    bytecode_varint(s);
    storage = part_text(s, bytecode_type(r, s));
    expressed = part_text(s, bytecode_type(r, s));
    axis = bytecode_varint(s);
    least = bytecode_svarint(s);
    most = bytecode_svarint(s);
    count = bytecode_count(s, "scales");
    scale = arena_array(r->arena, count, sizeof(*scale));
    for (size_t i = 0; i < count && !bytecode_is_failed(s); i++)
        scale[i] = read_f64(s);
    if (bytecode_count(s, "zero points") != count)
        bytecode_fail(s, "as many zero points as scales are needed");
    bytecode_write(&w);
    text_print_file(w.to, "!quant.uniform<%s<%lld:%lld>:%s:%llu, {", storage, least, most,
                    expressed, (unsigned long long)axis);
    for (size_t i = 0; i < count && !bytecode_is_failed(s); i++)
        text_print_file(w.to, "%s%.17g:%lld", i ? ", " : "", scale[i],
                        (long long)bytecode_svarint(s));
    fputs("}>", w.to);
    text = bytecode_written(r, s, &w);
    return mlir_plain_type(r->arena, MLIR_QUANTIZED, text, strlen(text));
}

static const struct mlir_type *buffer_type(struct bytecode_reader *r, struct bytecode_stream *s)
{
    bytecode_tensor_type(r, s, NULL);
    return text_type(r, s, MLIR_OPAQUE, "memref");
}

static const struct mlir_type *future_type(struct bytecode_reader *r, struct bytecode_stream *s)
{
    int count;

    bytecode_types(r, s, &count);
    return text_type(r, s, MLIR_OPAQUE, "!stablehlo.future");
}

const struct mlir_type *bytecode_vhlo_type(struct bytecode_reader *r, struct bytecode_stream *s)
{
    uint64_t code = bytecode_varint(s);
    const struct mlir_attr *encoding = NULL;

    if (code < sizeof(scalar_name) / sizeof(scalar_name[0]) && scalar_name[code])
        return bytecode_scalar(r, scalar_name[code]);
    switch (code) {
    case 1: return bytecode_complex_type(r, s);
    case 8: return bytecode_function_type(r, s);
    case 21:
        encoding = bytecode_attr(r, s);
        return bytecode_tensor_type(r, s, encoding);
    case 20: return bytecode_tensor_type(r, s, NULL);
    case 22: return mlir_plain_type(r->arena, MLIR_TOKEN, "!stablehlo.token", 16);
    case 23: return bytecode_tuple_type(r, s);
    case 24: return quantized_type(r, s);
    case 25: return bytecode_unranked_type(r, s);
    case 26: return text_type(r, s, MLIR_OPAQUE, "!shape.witness");
    case 30: return quantized_axis_type(r, s);
    case 33: return mlir_plain_type(r->arena, MLIR_NONE, "none", 4);
    case 41: return buffer_type(r, s);
    case 42: return future_type(r, s);
    default:
        bytecode_fail(s, "type code %llu of vhlo is not known: the artifact is of a newer StableHLO",
                      (unsigned long long)code);
        return NULL;
    }
}
