/* What a program keeps of an instruction as text, for which messages have fields. */
#include "import/hlo_proto/write.h"

#include "import/hlo_text/hlo_text.h"

#include <stdlib.h>
#include <string.h>

static bool is_true(const char *value) { return strcmp(value, "true") == 0; }

/* the place of a word in a list; 0: none */
static int32_t number_of(const char *value, const char *const *word, int count)
{
    for (int i = 0; i < count; i++) {
        if (word[i] && strcmp(word[i], value) == 0)
            return i;
    }
    return 0;
}

/* "1,2" behind an open brace; what follows the closing one */
static const char *scan_path(struct proto_writer *w, const char *at, size_t *count, int64_t **item)
{
    size_t room = strlen(at) / 2 + 1;

    *item = arena_array(w->arena, room, sizeof(**item));
    *count = 0;
    at = strchr(at, '{');
    for (at += at != NULL; at && *at && *at != '}'; at += *at == ',' || *at == ' ') {
        char *end;

        (*item)[*count] = strtoll(at, &end, 10);
        if (end == at || ++*count >= room)
            return NULL;
        at = end;
    }
    return at && *at ? at + 1 : NULL;
}

/* {{0}: (1, {}), {1}: (0, {2})} */
static void put_aliases(struct proto_writer *w, const char *value, HloWire__Instruction *to)
{
    size_t room = strlen(value) / 8 + 1;
    const char *at = value + 1;

    to->output_operand_aliasing = PROTO_LIST(w, OperandAlias, room);
    while (to->n_output_operand_aliasing < room) {
        HloWire__OperandAlias *a = PROTO_NEW(w, OperandAlias, OPERAND_ALIAS);

        at = scan_path(w, at, &a->n_output_shape_index, &a->output_shape_index);
        at = at ? strchr(at, '(') : NULL;
        if (!at)
            return;
        a->operand_index = strtoll(at + 1, NULL, 10);
        at = scan_path(w, at, &a->n_operand_shape_index, &a->operand_shape_index);
        if (!at)
            return;
        to->output_operand_aliasing[to->n_output_operand_aliasing++] = a;
    }
}

static void put_replication(struct proto_writer *w, const char *value, HloWire__Instruction *to)
{
    HloWire__ParameterReplication *p = PROTO_NEW(w, ParameterReplication, PARAMETER_REPLICATION);

    p->replicated_at_leaf_buffers = arena_array(w->arena, strlen(value), sizeof(protobuf_c_boolean));
    for (const char *at = strpbrk(value, "tf"); at; at = strpbrk(at, "tf")) {
        p->replicated_at_leaf_buffers[p->n_replicated_at_leaf_buffers++] = *at == 't';
        at += strcspn(at, ",}");
    }
    to->parameter_replication = p;
}

/*
 * Types with layouts: the text of a module whose parameters they are says what they mean; the module
 * lives in the writer's arena.
 */
static void put_layouts(struct proto_writer *w, const char *value, HloWire__Instruction *to)
{
    const char *text = arena_printf(w->arena, "HloModule m, entry_computation_layout={(%.*s)->pred[]}"
                                    "\nENTRY e { ROOT c = pred[] constant(false) }",
                                    (int)strlen(value) - 2, value + 1);
    struct err e;
    struct hlo_module *m = hlo_text_read(text, strlen(text), "", w->arena, &e);

    if (!m)
        return;
    to->constrain_layout = true;
    to->n_operand_shapes_with_layout = (size_t)m->entry_parameter_count;
    to->operand_shapes_with_layout = PROTO_LIST(w, Shape, m->entry_parameter_count);
    for (int i = 0; i < m->entry_parameter_count; i++)
        to->operand_shapes_with_layout[i] = proto_write_type(w, &m->entry_parameter[i]);
    hlo_text_fini(m);
}

static void put_accuracy(struct proto_writer *w, const char *value, HloWire__Instruction *to)
{
    const char *atol = strstr(value, "atol="), *rtol = strstr(value, "rtol=");
    const char *ulps = strstr(value, "ulps=");
    HloWire__ResultAccuracy *a = PROTO_NEW(w, ResultAccuracy, RESULT_ACCURACY);

    to->result_accuracy = a;
    a->specs_case = HLO_WIRE__RESULT_ACCURACY__SPECS_MODE;
    if (strstr(value, "highest"))
        a->mode = 1;
    if (!atol || !rtol || !ulps)
        return;
    a->specs_case = HLO_WIRE__RESULT_ACCURACY__SPECS_TOLERANCE;
    a->tolerance = PROTO_NEW(w, Tolerance, TOLERANCE);
    a->tolerance->atol = text_to_double(atol + 5, NULL);
    a->tolerance->rtol = text_to_double(rtol + 5, NULL);
    a->tolerance->ulps = strtoll(ulps + 5, NULL, 10);
}

static void put_one(struct proto_writer *w, const char *key, const char *value,
                    HloWire__Instruction *to)
{
    static const char *const versions[] = {"API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL",
                                           "API_VERSION_STATUS_RETURNING",
                                           "API_VERSION_STATUS_RETURNING_UNIFIED",
                                           "API_VERSION_TYPED_FFI"};
    static const char *const schedules[] = {NULL, "SCHEDULE_LATEST", "SCHEDULE_EARLIEST"};
    static const char *const paddings[] = {NULL, "PADDING_VALID", "PADDING_SAME"};
    static const char *const kinds[] = {NULL, "fprop", "dgrad", "wgrad"};

    if (strcmp(key, "custom_call_has_side_effect") == 0)
        to->custom_call_has_side_effect = is_true(value);
    else if (strcmp(key, "is_composite") == 0)
        to->is_composite = is_true(value);
    else if (strcmp(key, "constrain_layout") == 0)
        to->constrain_layout = is_true(value);
    else if (strcmp(key, "api_version") == 0)
        to->custom_call_api_version = number_of(value, versions, 5);
    else if (strcmp(key, "schedule") == 0)
        to->custom_call_schedule = number_of(value, schedules, 3);
    else if (strcmp(key, "padding_type") == 0)
        to->padding_type = number_of(value, paddings, 3);
    else if (strcmp(key, "convolution_kind") == 0)
        to->conv_kind = number_of(value, kinds, 4);
    else if (strcmp(key, "is_associative") == 0)
        to->is_associative = is_true(value) ? 1 : 2;
    else if (strcmp(key, "output_to_operand_aliasing") == 0)
        put_aliases(w, value, to);
    else if (strcmp(key, "operand_layout_constraints") == 0)
        put_layouts(w, value, to);
    else if (strcmp(key, "parameter_replication") == 0)
        put_replication(w, value, to);
    else if (strcmp(key, "result_accuracy") == 0)
        put_accuracy(w, value, to);
    else if (strcmp(key, "async_execution_thread") == 0)
        to->async_execution_thread =
            arena_printf(w->arena, "%.*s", (int)strcspn(value + 1, "\""), value + 1);
    else if (strcmp(key, "cross_program_prefetch_index") == 0) {
        to->prefetch_case = HLO_WIRE__INSTRUCTION__PREFETCH_CROSS_PROGRAM_PREFETCH_INDEX;
        to->cross_program_prefetch_index = atoi(value);
    }
}

void proto_write_other(struct proto_writer *w, const struct hlo_pairs *other,
                       HloWire__Instruction *to)
{
    for (int i = 0; i < other->count; i++) {
        if (other->item[i].value && other->item[i].value[0])
            put_one(w, other->item[i].key, other->item[i].value, to);
    }
}
