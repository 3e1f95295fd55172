/* An instruction's own fields, group by group as its opcode has them (import/program/opcodes.def). */
#include "import/hlo_proto/read.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct hlo_ints ints(struct proto_reader *r, size_t count, const int64_t *item)
{
    return proto_ints(r, count, item);
}

/* A number of a message that is not there is 0, but for those that count something. */
static int64_t at_least_1(int64_t n) { return n ? n : 1; }

static void read_ranges(struct proto_reader *r, const HloWire__Instruction *from,
                        struct hlo_instruction *i)
{
    size_t n = from->n_slice_dimensions;
    int64_t *list = arena_array(r->arena, 3 * n, sizeof(*list));

    for (size_t d = 0; d < n; d++) {
        list[d] = from->slice_dimensions[d]->start;
        list[n + d] = from->slice_dimensions[d]->limit;
        list[2 * n + d] = at_least_1(from->slice_dimensions[d]->stride);
    }
    i->detail->start = (struct hlo_ints){(int)n, list};
    i->detail->limit = (struct hlo_ints){(int)n, list + n};
    i->detail->stride = (struct hlo_ints){(int)n, list + 2 * n};
}

static void read_padding(struct proto_reader *r, const HloWire__Instruction *from,
                         struct hlo_instruction *i)
{
    size_t n = from->padding_config ? from->padding_config->n_dimensions : 0;
    int64_t *list = arena_array(r->arena, 3 * n, sizeof(*list));

    for (size_t d = 0; d < n; d++) {
        const HloWire__PaddingDimension *p = from->padding_config->dimensions[d];

        list[d] = p->edge_padding_low;
        list[n + d] = p->edge_padding_high;
        list[2 * n + d] = p->interior_padding;
    }
    i->detail->low = (struct hlo_ints){(int)n, list};
    i->detail->high = (struct hlo_ints){(int)n, list + n};
    i->detail->interior = (struct hlo_ints){(int)n, list + 2 * n};
}

static void read_gather(struct proto_reader *r, const HloWire__Instruction *from,
                        struct hlo_instruction *i)
{
    struct hlo_gather *g = arena_alloc(r->arena, sizeof(*g));
    const HloWire__GatherDimensions *a = from->gather_dimension_numbers;
    const HloWire__ScatterDimensions *b = from->scatter_dimension_numbers;

    if (a) {
        g->offset_dims = ints(r, a->n_offset_dims, a->offset_dims);
        g->collapsed_dims = ints(r, a->n_collapsed_slice_dims, a->collapsed_slice_dims);
        g->start_index_map = ints(r, a->n_start_index_map, a->start_index_map);
        g->operand_batching = ints(r, a->n_operand_batching_dims, a->operand_batching_dims);
        g->indices_batching = ints(r, a->n_start_indices_batching_dims,
                                   a->start_indices_batching_dims);
        g->index_vector_dim = a->index_vector_dim;
    } else if (b) {
        g->offset_dims = ints(r, b->n_update_window_dims, b->update_window_dims);
        g->collapsed_dims = ints(r, b->n_inserted_window_dims, b->inserted_window_dims);
        g->start_index_map = ints(r, b->n_scatter_dims_to_operand_dims,
                                  b->scatter_dims_to_operand_dims);
        g->operand_batching = ints(r, b->n_input_batching_dims, b->input_batching_dims);
        g->indices_batching = ints(r, b->n_scatter_indices_batching_dims,
                                   b->scatter_indices_batching_dims);
        g->index_vector_dim = b->index_vector_dim;
    }
    g->is_sorted = from->indices_are_sorted;
    g->is_unique = from->unique_indices;
    i->detail->gather = g;
}

static int read_dot(struct proto_reader *r, const HloWire__Instruction *from,
                    struct hlo_instruction *i)
{
    const HloWire__RaggedDotDimensions *ragged = from->ragged_dot_dimension_numbers;
    const HloWire__DotDimensions *d = ragged ? ragged->dot_dimension_numbers
                                             : from->dot_dimension_numbers;
    struct hlo_dot *dot = arena_alloc(r->arena, sizeof(*dot));

    if (d) {
        dot->lhs_batch = ints(r, d->n_lhs_batch_dimensions, d->lhs_batch_dimensions);
        dot->rhs_batch = ints(r, d->n_rhs_batch_dimensions, d->rhs_batch_dimensions);
        dot->lhs_contract = ints(r, d->n_lhs_contracting_dimensions,
                                 d->lhs_contracting_dimensions);
        dot->rhs_contract = ints(r, d->n_rhs_contracting_dimensions,
                                 d->rhs_contracting_dimensions);
    }
    if (ragged) {
        dot->lhs_ragged = ints(r, ragged->n_lhs_ragged_dimensions, ragged->lhs_ragged_dimensions);
        dot->rhs_group = ints(r, ragged->n_rhs_group_dimensions, ragged->rhs_group_dimensions);
    }
    if (from->precision_config && from->precision_config->algorithm) {
        dot->algorithm = proto_algorithm_name(from->precision_config->algorithm);
        if (!dot->algorithm)
            return proto_fail(r, "algorithm number %d of a dot is not known",
                              from->precision_config->algorithm);
    }
    i->detail->dot = dot;
    return 0;
}

static int read_precision(struct proto_reader *r, const HloWire__Instruction *from,
                          struct hlo_instruction *i)
{
    for (size_t k = 0; from->precision_config && k < from->precision_config->n_operand_precision;
         k++) {
        int32_t p = from->precision_config->operand_precision[k];

        if (p < 0 || p > HLO_PRECISION_HIGHEST)
            return proto_fail(r, "precision number %d", p);
        if (k < 2)
            i->precision[k] = (enum hlo_precision)p;
    }
    return 0;
}

static void read_window(struct proto_reader *r, const HloWire__Window *from,
                        struct hlo_instruction *i)
{
    struct hlo_window *window = arena_array(r->arena, from->n_dimensions, sizeof(*window));

    for (size_t d = 0; d < from->n_dimensions; d++) {
        const HloWire__WindowDimension *w = from->dimensions[d];

        window[d] = (struct hlo_window){
            w->size, at_least_1(w->stride), w->padding_low, w->padding_high,
            at_least_1(w->base_dilation), at_least_1(w->window_dilation), w->window_reversal};
    }
    i->detail->window = window;
    i->detail->window_count = (int)from->n_dimensions;
}

static void read_conv(struct proto_reader *r, const HloWire__Instruction *from,
                      struct hlo_instruction *i)
{
    const HloWire__ConvDimensions *d = from->convolution_dimension_numbers;
    struct hlo_conv *c = arena_alloc(r->arena, sizeof(*c));

    if (d)
        *c = (struct hlo_conv){
            d->input_batch_dimension, d->input_feature_dimension,
            d->kernel_input_feature_dimension, d->kernel_output_feature_dimension,
            d->output_batch_dimension, d->output_feature_dimension,
            ints(r, d->n_input_spatial_dimensions, d->input_spatial_dimensions),
            ints(r, d->n_kernel_spatial_dimensions, d->kernel_spatial_dimensions),
            ints(r, d->n_output_spatial_dimensions, d->output_spatial_dimensions), 0, 0};
    c->feature_groups = at_least_1(from->feature_group_count);
    c->batch_groups = at_least_1(from->batch_group_count);
    i->detail->conv = c;
}

/* the place of a text in a list of words; -1: none */
static int place_of(const char *text, const char *const *word, int count)
{
    for (int k = 0; k < count; k++) {
        if (strcmp(text, word[k]) == 0)
            return k;
    }
    return -1;
}

static int read_comparison(struct proto_reader *r, const HloWire__Instruction *from,
                           struct hlo_instruction *i)
{
    static const char *const directions[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
    static const char *const kinds[] = {"", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};
    int direction = place_of(from->comparison_direction, directions, 6);
    int kind = place_of(from->comparison_type, kinds, 5);

    if (direction < 0 || kind < 0)
        return proto_fail(r, "comparison \"%.40s\" of \"%.40s\"", from->comparison_direction,
                          from->comparison_type);
    i->direction = (enum hlo_direction)direction;
    i->comparison = (enum hlo_comparison)kind;
    return 0;
}

static int read_solve(struct proto_reader *r, const HloWire__Instruction *from,
                      struct hlo_instruction *i)
{
    const HloWire__TriangularSolve *t = from->triangular_solve_options;

    if (from->cholesky_options)
        i->detail->is_lower = from->cholesky_options->lower;
    if (!t)
        return 0;
    i->detail->is_left = t->left_side;
    i->detail->is_lower = t->lower;
    i->detail->is_unit_diagonal = t->unit_diagonal;
    if (t->transpose_a < 0 || t->transpose_a > 3)
        return proto_fail(r, "transpose_a is %d", t->transpose_a);
    i->detail->transpose = t->transpose_a ? (enum hlo_solve)(t->transpose_a - 1) : HLO_SOLVE_PLAIN;
    return 0;
}

static int read_random(struct proto_reader *r, const HloWire__Instruction *from,
                       struct hlo_instruction *i)
{
    int first = i->op == OPCODE_RNG ? HLO_RNG_UNIFORM - 1 : HLO_RNG_DEFAULT;
    int number = i->op == OPCODE_RNG ? from->distribution : from->rng_algorithm;

    if (number < (i->op == OPCODE_RNG) || number > 2)
        return proto_fail(r, "kind %d of random numbers", number);
    i->detail->random = (enum hlo_random)(first + number);
    return 0;
}

static int read_fusion(struct proto_reader *r, const HloWire__Instruction *from,
                       struct hlo_instruction *i)
{
    static const char *const kinds[] = {"kLoop", "kInput", "kOutput", "kCustom"};
    int kind = place_of(from->fusion_kind, kinds, 4);

    if (kind < 0)
        return proto_fail(r, "kind \"%.40s\" of a fusion", from->fusion_kind);
    i->fusion = (enum hlo_fusion)kind;
    return 0;
}

static void read_target(struct proto_reader *r, const HloWire__Instruction *from,
                        struct hlo_instruction *i)
{
    ProtobufCBinaryData t = i->op == OPCODE_INFEED ? from->infeed_config
                            : i->op == OPCODE_OUTFEED ? from->outfeed_config
                            : from->custom_call_target;

    i->detail->target = proto_text(r, t);
    if (i->op == OPCODE_CUSTOM_CALL && !hlo_detail(i)->target)
        i->detail->target = "";
    i->detail->target_bytes = t.len;
}

static void read_index(struct proto_reader *r, const HloWire__Instruction *from,
                       struct hlo_instruction *i)
{
    (void)r;
    switch (i->op) {
    case OPCODE_PARAMETER: i->index = from->parameter_number; break;
    case OPCODE_GET_TUPLE_ELEMENT: i->index = from->tuple_index; break;
    case OPCODE_IOTA: i->index = from->n_dimensions ? from->dimensions[0] : 0; break;
    case OPCODE_TOPK: i->index = from->k; break;
    case OPCODE_SCAN: i->index = from->num_carries; break;
    case OPCODE_RNG_GET_AND_UPDATE_STATE: i->index = from->delta; break;
    default: i->index = from->feature_index; break;
    }
}

static int read_groups_of_fields(struct proto_reader *r, const HloWire__Instruction *from,
                                 unsigned has, struct hlo_instruction *i)
{
    if (has & HLO_HAS_INDEX)
        read_index(r, from, i);
    if (has & HLO_HAS_DIMS)
        i->detail->dims = ints(r, from->n_dimensions, from->dimensions);
    if (has & HLO_HAS_SLICE)
        read_ranges(r, from, i);
    if (has & HLO_HAS_PADDING)
        read_padding(r, from, i);
    if (i->op == OPCODE_DYNAMIC_SLICE)
        i->detail->sizes = ints(r, from->n_dynamic_slice_sizes, from->dynamic_slice_sizes);
    if (i->op == OPCODE_GATHER)
        i->detail->sizes = ints(r, from->n_gather_slice_sizes, from->gather_slice_sizes);
    if (has & HLO_HAS_GATHER)
        read_gather(r, from, i);
    if ((has & HLO_HAS_WINDOW) && from->window)
        read_window(r, from->window, i);
    if (has & HLO_HAS_CONV)
        read_conv(r, from, i);
    if (has & HLO_HAS_FFT) {
        if (from->fft_type < 0 || from->fft_type > HLO_IRFFT)
            return proto_fail(r, "transform number %d", from->fft_type);
        i->detail->fft = (enum hlo_fft)from->fft_type;
        i->detail->sizes = ints(r, from->n_fft_length, from->fft_length);
    }
    if (has & HLO_HAS_TARGET)
        read_target(r, from, i);
    return ((has & HLO_HAS_DOT) && read_dot(r, from, i)) ||
           ((has & HLO_HAS_PRECISION) && read_precision(r, from, i)) ||
           ((has & HLO_HAS_COMPARISON) && read_comparison(r, from, i)) ||
           ((has & HLO_HAS_SOLVE) && read_solve(r, from, i)) ||
           ((has & HLO_HAS_RANDOM) && read_random(r, from, i)) ||
           ((has & HLO_HAS_FUSION) && read_fusion(r, from, i)) ||
           ((has & HLO_HAS_LITERAL) && proto_read_literal(r, from->literal, &i->literal)) ||
           ((has & HLO_HAS_GROUPS) && proto_read_groups(r, from, &i->detail->groups)) ? -1 : 0;
}

static const struct hlo_place *read_place(struct proto_reader *r, const HloWire__Metadata *m)
{
    const char *name = m->deduplicated_name.len ? proto_quoted(r, m->deduplicated_name) : NULL;
    const char *scheduling = m->scheduling_name.len ? proto_quoted(r, m->scheduling_name) : NULL;

    struct hlo_place_more more = {.frame = m->stack_frame_id};
    struct hlo_place p = {
        .op_type = proto_text(r, m->op_type), .op_name = proto_text(r, m->op_name),
        .file = proto_text(r, m->source_file), .line = m->source_line,
        .end_line = m->source_end_line, .col = m->source_column, .end_col = m->source_end_column,
        .more = &more};
    if (name || scheduling)
        more.rest = arena_printf(r->arena, "%s%s%s%s%s", name ? "deduplicated_name=" : "",
                                 name ? name : "", name && scheduling ? " " : "",
                               scheduling ? "scheduling_name=" : "",
                               scheduling ? scheduling : "");
    hlo_frames_resolve(&r->frames, &p, &more);
    r->place = hlo_place_keep(r->arena, &p, r->place);
    return r->place;
}

/* The configuration of a backend stands in the instruction, or in a list of the module. */
static void read_config(struct proto_reader *r, const HloWire__Instruction *from,
                        struct hlo_instruction *i)
{
    ProtobufCBinaryData t = from->backend_config.len ? from->backend_config
                                                     : from->custom_call_opaque;
    const HloWire__Payload *p = from->backend_config_payload;

    if (!t.len && p && p->value.len)
        t = p->value;
    else if (!t.len && p && p->id >= 0 && (uint64_t)p->id < r->from->n_payloads)
        t = r->from->payloads[p->id];
    if (t.len)
        i->detail->config = proto_quoted(r, t);
}

/* A float as the double that its shortest decimal text is: 1e-05, as text has it. */
static double shortest(float value)
{
    char text[40];

    for (int digits = 6; digits < 9; digits++) {
        text_print(text, sizeof(text), "%.*g", digits, (double)value);
        if (text_to_float(text, NULL) == value)
            return text_to_double(text, NULL);
    }
    return (double)value;
}

int proto_read_attributes(struct proto_reader *r, const HloWire__Instruction *from,
                          struct hlo_instruction *i)
{
    i->detail->exponent_bits = from->exponent_bits;
    i->detail->mantissa_bits = from->mantissa_bits;
    i->detail->epsilon = shortest(from->epsilon);
    i->detail->is_stable = from->is_stable;
    i->detail->is_largest = from->largest;
    i->detail->is_reverse = from->is_reverse;
    if (from->metadata)
        i->place = read_place(r, from->metadata);
    read_config(r, from, i);
    if (read_groups_of_fields(r, from, hlo_opcode_attributes(i->op), i) ||
        (from->sharding && proto_read_sharding(r, from->sharding, &i->detail->sharding_count,
                                               &i->detail->sharding)) ||
        (from->frontend_attributes &&
         proto_read_pairs(r, from->frontend_attributes, &i->detail->frontend)))
        return -1;
    return proto_read_other(r, from, i->op, &i->detail->other);
}
