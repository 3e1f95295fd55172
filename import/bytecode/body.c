/*
 * Bodies of attributes and types that dialects of bytecode have alike, each under a code of its own.
 */
#include "import/bytecode/attr.h"

const struct mlir_attr *bytecode_array_attr(struct bytecode_reader *r, struct bytecode_stream *s)
{
    int count;
    const struct mlir_attr *const *item = bytecode_attrs(r, s, &count);

    return mlir_array(r->arena, count, item);
}

const struct mlir_attr *bytecode_dictionary_attr(struct bytecode_reader *r,
                                                 struct bytecode_stream *s)
{
    size_t count = bytecode_count(s, "attributes");
    struct mlir_named *named = arena_array(r->arena, count, sizeof(*named));

    for (size_t i = 0; i < count && !bytecode_is_failed(s); i++) {
        named[i].name = bytecode_text_of(s, bytecode_attr(r, s)).data;
        named[i].attr = bytecode_attr(r, s);
    }
    return bytecode_is_failed(s) ? NULL : mlir_dictionary(r->arena, (int)count, named);
}

const struct mlir_attr *bytecode_string_attr(struct bytecode_reader *r, struct bytecode_stream *s)
{
    struct bytecode_string text = bytecode_read_string(&r->file, s);

    return bytecode_shared_text(r, MLIR_STRING, (struct mlir_text){text.text, text.bytes});
}

const struct mlir_attr *bytecode_type_attr(struct bytecode_reader *r, struct bytecode_stream *s)
{
    return mlir_type_attr(r->arena, bytecode_type(r, s));
}

const struct mlir_type *bytecode_complex_type(struct bytecode_reader *r, struct bytecode_stream *s)
{
    const struct mlir_type *part = bytecode_type(r, s);

    if (part->kind != MLIR_SCALAR || part->element == ELEMENT_COUNT ||
        hlo_element_is_complex(part->element)) {
        bytecode_fail(s, "a complex number of parts that are no numbers");
        return NULL;
    }
    return bytecode_scalar(r, arena_printf(r->arena, "complex<%s>", part->text.data));
}

const struct mlir_type *bytecode_function_type(struct bytecode_reader *r, struct bytecode_stream *s)
{
    int inputs, results;
    const struct mlir_type *const *input = bytecode_types(r, s, &inputs);
    const struct mlir_type *const *result = bytecode_types(r, s, &results);

    return mlir_function_type(r->arena, inputs, input, results, result);
}

const struct mlir_type *bytecode_tuple_type(struct bytecode_reader *r, struct bytecode_stream *s)
{
    int count;
    const struct mlir_type *const *part = bytecode_types(r, s, &count);

    return mlir_tuple_type(r->arena, count, part);
}
