/* What a program only keeps of an instruction, as HLO text writes it, in the order of text. */
#include "import/hlo_proto/read.h"

#include "base/text.h"
#include "import/hlo_text/printer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PAIRS_MAX 16

struct others {
    struct proto_reader *r;
    struct hlo_pair pair[PAIRS_MAX];
    int count;
};

static void add(struct others *o, const char *key, const char *value)
{
    o->pair[o->count++] = (struct hlo_pair){key, value};
}

static const char *keep(struct others *o, FILE *to, char **text)
{
    const char *kept;

    text_memory_end(to, text);
    kept = arena_strdup(o->r->arena, *text);
    free(*text);
    return kept;
}

static void add_word(struct others *o, const char *key, int value, const char *const *word,
                     int words)
{
    if (value > 0 && value < words)
        add(o, key, word[value]);
}

/* {{0}: (1, {}), {1}: (0, {2})} */
static void add_aliases(struct others *o, const HloWire__Instruction *from)
{
    char *text = NULL;
    size_t bytes;
    FILE *to;

    if (!from->n_output_operand_aliasing)
        return;
    to = text_memory(&text, &bytes);
    fputs("{", to);
    for (size_t i = 0; i < from->n_output_operand_aliasing; i++) {
        const HloWire__OperandAlias *a = from->output_operand_aliasing[i];

        proto_write_int64s(to, i ? ", {" : "{", a->n_output_shape_index, a->output_shape_index,
                           "}");
        text_print_file(to, ": (%" PRId64, a->operand_index);
        proto_write_int64s(to, ", {", a->n_operand_shape_index, a->operand_shape_index, "})");
    }
    fputs("}", to);
    add(o, "output_to_operand_aliasing", keep(o, to, &text));
}

static int add_layouts(struct others *o, const HloWire__Instruction *from)
{
    char *text = NULL;
    size_t bytes;
    const struct hlo_text_options options = {.no_metadata = false};
    FILE *to = text_memory(&text, &bytes);
    int status = 0;

    fputs("{", to);
    for (size_t i = 0; i < from->n_operand_shapes_with_layout && status == 0; i++) {
        struct hlo_type t;

        status = proto_read_type(o->r, from->operand_shapes_with_layout[i], &t);
        fputs(i ? ", " : "", to);
        if (status == 0)
            hlo_print_type(&(struct hlo_printer){.to = to, .options = &options,
                                                 .module = o->r->module}, &t);
    }
    fputs("}", to);
    add(o, "operand_layout_constraints", keep(o, to, &text));
    return status;
}

static void add_accuracy(struct others *o, const HloWire__ResultAccuracy *a)
{
    if (a->specs_case == HLO_WIRE__RESULT_ACCURACY__SPECS_MODE && a->mode == 1)
        add(o, "result_accuracy", "{mode=highest}");
    else if (a->specs_case == HLO_WIRE__RESULT_ACCURACY__SPECS_TOLERANCE)
        add(o, "result_accuracy",
            arena_printf(o->r->arena, "{tolerance={atol=%g,rtol=%g,ulps=%" PRId64 "}}",
                         a->tolerance->atol, a->tolerance->rtol, a->tolerance->ulps));
}

static int add_of_call(struct others *o, const HloWire__Instruction *from)
{
    static const char *const versions[] = {"API_VERSION_UNSPECIFIED", NULL,
                                           "API_VERSION_STATUS_RETURNING",
                                           "API_VERSION_STATUS_RETURNING_UNIFIED",
                                           "API_VERSION_TYPED_FFI"};
    static const char *const schedules[] = {NULL, "SCHEDULE_LATEST", "SCHEDULE_EARLIEST"};
    static const char *const paddings[] = {NULL, "PADDING_VALID", "PADDING_SAME"};

    add_word(o, "padding_type", from->padding_type, paddings, 3);
    if (from->constrain_layout && add_layouts(o, from))
        return -1;
    if (from->custom_call_has_side_effect)
        add(o, "custom_call_has_side_effect", "true");
    add_aliases(o, from);
    add_word(o, "schedule", from->custom_call_schedule, schedules, 3);
    if (from->custom_call_api_version == 0)
        add(o, "api_version", versions[0]);
    else if (from->custom_call_api_version != 1)
        add_word(o, "api_version", from->custom_call_api_version, versions, 5);
    return 0;
}

/* {true,false} */
static void add_replication(struct others *o, const HloWire__ParameterReplication *p)
{
    char *text = NULL;
    size_t bytes;
    FILE *to;

    if (!p->n_replicated_at_leaf_buffers)
        return;
    to = text_memory(&text, &bytes);
    for (size_t i = 0; i < p->n_replicated_at_leaf_buffers; i++)
        text_print_file(to, "%s%s", i ? "," : "{",
                        p->replicated_at_leaf_buffers[i] ? "true" : "false");
    fputs("}", to);
    add(o, "parameter_replication", keep(o, to, &text));
}

int proto_read_other(struct proto_reader *r, const HloWire__Instruction *from, enum hlo_opcode op,
                     struct hlo_pairs *made)
{
    static const char *const kinds[] = {NULL, "fprop", "dgrad", "wgrad"};
    static const char *const truths[] = {NULL, "true", "false"};
    struct others o = {.r = r};

    if (op == OPCODE_CUSTOM_CALL) {
        if (add_of_call(&o, from))
            return -1;
    } else if (from->constrain_layout) {
        add(&o, "constrain_layout", "true");
    }
    if (op == OPCODE_FUSION)
        add_aliases(&o, from);
    if (from->is_composite)
        add(&o, "is_composite", "true");
    add_word(&o, "convolution_kind", from->conv_kind, kinds, 4);
    add_word(&o, "is_associative", from->is_associative, truths, 3);
    if (from->prefetch_case == HLO_WIRE__INSTRUCTION__PREFETCH_CROSS_PROGRAM_PREFETCH_INDEX)
        add(&o, "cross_program_prefetch_index",
            arena_printf(r->arena, "%" PRId32, from->cross_program_prefetch_index));
    if (from->async_execution_thread[0] && strcmp(from->async_execution_thread, "main") != 0)
        add(&o, "async_execution_thread",
            arena_printf(r->arena, "\"%s\"", from->async_execution_thread));
    if (from->parameter_replication)
        add_replication(&o, from->parameter_replication);
    if (from->result_accuracy)
        add_accuracy(&o, from->result_accuracy);
    made->count = o.count;
    made->item = o.count == 0 ? NULL :
        arena_copy(r->arena, o.pair, (size_t)o.count, sizeof(*o.pair));
    return 0;
}
