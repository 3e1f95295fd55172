/* An instruction's own fields as a message, group by group as its opcode has them. */
#include "import/hlo_proto/read.h"
#include "import/hlo_proto/write.h"

#include <stdlib.h>
#include <string.h>

static void put_slices(struct proto_writer *w, const struct hlo_instruction *i,
                       HloWire__Instruction *to)
{
    to->n_slice_dimensions = (size_t)hlo_detail(i)->start.count;
    to->slice_dimensions = PROTO_LIST(w, SliceDimension, hlo_detail(i)->start.count);
    for (int d = 0; d < hlo_detail(i)->start.count; d++) {
        HloWire__SliceDimension *s = PROTO_NEW(w, SliceDimension, SLICE_DIMENSION);

        s->start = hlo_detail(i)->start.item[d];
        s->limit = hlo_detail(i)->limit.item[d];
        s->stride = hlo_detail(i)->stride.count ? hlo_detail(i)->stride.item[d] : 1;
        to->slice_dimensions[d] = s;
    }
}

static void put_padding(struct proto_writer *w, const struct hlo_instruction *i,
                        HloWire__Instruction *to)
{
    to->padding_config = PROTO_NEW(w, Padding, PADDING);
    to->padding_config->n_dimensions = (size_t)hlo_detail(i)->low.count;
    to->padding_config->dimensions = PROTO_LIST(w, PaddingDimension, hlo_detail(i)->low.count);
    for (int d = 0; d < hlo_detail(i)->low.count; d++) {
        HloWire__PaddingDimension *p = PROTO_NEW(w, PaddingDimension, PADDING_DIMENSION);

        p->edge_padding_low = hlo_detail(i)->low.item[d];
        p->edge_padding_high = hlo_detail(i)->high.item[d];
        p->interior_padding = hlo_detail(i)->interior.count ? hlo_detail(i)->interior.item[d] : 0;
        to->padding_config->dimensions[d] = p;
    }
}

static void put_gather(struct proto_writer *w, const struct hlo_instruction *i,
                       HloWire__Instruction *to)
{
    const struct hlo_gather *g = hlo_detail(i)->gather;

    to->indices_are_sorted = g->is_sorted;
    to->unique_indices = g->is_unique;
    if (i->op == OPCODE_GATHER) {
        HloWire__GatherDimensions *d = PROTO_NEW(w, GatherDimensions, GATHER_DIMENSIONS);

        PROTO_PUT(w, d, offset_dims, g->offset_dims);
        PROTO_PUT(w, d, collapsed_slice_dims, g->collapsed_dims);
        PROTO_PUT(w, d, start_index_map, g->start_index_map);
        PROTO_PUT(w, d, operand_batching_dims, g->operand_batching);
        PROTO_PUT(w, d, start_indices_batching_dims, g->indices_batching);
        d->index_vector_dim = g->index_vector_dim;
        to->gather_dimension_numbers = d;
    } else {
        HloWire__ScatterDimensions *d = PROTO_NEW(w, ScatterDimensions, SCATTER_DIMENSIONS);

        PROTO_PUT(w, d, update_window_dims, g->offset_dims);
        PROTO_PUT(w, d, inserted_window_dims, g->collapsed_dims);
        PROTO_PUT(w, d, scatter_dims_to_operand_dims, g->start_index_map);
        PROTO_PUT(w, d, input_batching_dims, g->operand_batching);
        PROTO_PUT(w, d, scatter_indices_batching_dims, g->indices_batching);
        d->index_vector_dim = g->index_vector_dim;
        to->scatter_dimension_numbers = d;
    }
}

static void put_precision(struct proto_writer *w, const struct hlo_instruction *i,
                          HloWire__Instruction *to)
{
    int32_t *p = arena_array(w->arena, 2, sizeof(*p));

    p[0] = (int32_t)i->precision[0];
    p[1] = (int32_t)i->precision[1];
    to->precision_config = PROTO_NEW(w, Precision, PRECISION);
    to->precision_config->n_operand_precision = 2;
    to->precision_config->operand_precision = p;
    if (hlo_detail(i)->dot && hlo_detail(i)->dot->algorithm)
        to->precision_config->algorithm = proto_algorithm_code(hlo_detail(i)->dot->algorithm);
}

static void put_dot(struct proto_writer *w, const struct hlo_instruction *i,
                    HloWire__Instruction *to)
{
    HloWire__DotDimensions *d = PROTO_NEW(w, DotDimensions, DOT_DIMENSIONS);
    const struct hlo_dot *dot = hlo_detail(i)->dot;

    PROTO_PUT(w, d, lhs_batch_dimensions, dot->lhs_batch);
    PROTO_PUT(w, d, rhs_batch_dimensions, dot->rhs_batch);
    PROTO_PUT(w, d, lhs_contracting_dimensions, dot->lhs_contract);
    PROTO_PUT(w, d, rhs_contracting_dimensions, dot->rhs_contract);
    if (i->op == OPCODE_RAGGED_DOT) {
        HloWire__RaggedDotDimensions *r = PROTO_NEW(w, RaggedDotDimensions, RAGGED_DOT_DIMENSIONS);

        r->dot_dimension_numbers = d;
        PROTO_PUT(w, r, lhs_ragged_dimensions, dot->lhs_ragged);
        PROTO_PUT(w, r, rhs_group_dimensions, dot->rhs_group);
        to->ragged_dot_dimension_numbers = r;
    } else {
        to->dot_dimension_numbers = d;
    }
}

static void put_window(struct proto_writer *w, const struct hlo_instruction *i,
                       HloWire__Instruction *to)
{
    to->window = PROTO_NEW(w, Window, WINDOW);
    to->window->n_dimensions = (size_t)hlo_detail(i)->window_count;
    to->window->dimensions = PROTO_LIST(w, WindowDimension, hlo_detail(i)->window_count);
    for (int d = 0; d < hlo_detail(i)->window_count; d++) {
        HloWire__WindowDimension *m = PROTO_NEW(w, WindowDimension, WINDOW_DIMENSION);

        m->size = hlo_detail(i)->window[d].size;
        m->stride = hlo_detail(i)->window[d].stride;
        m->padding_low = hlo_detail(i)->window[d].pad_low;
        m->padding_high = hlo_detail(i)->window[d].pad_high;
        m->base_dilation = hlo_detail(i)->window[d].base_dilation;
        m->window_dilation = hlo_detail(i)->window[d].window_dilation;
        m->window_reversal = hlo_detail(i)->window[d].is_reversed;
        to->window->dimensions[d] = m;
    }
}

static void put_conv(struct proto_writer *w, const struct hlo_conv *c, HloWire__Instruction *to)
{
    HloWire__ConvDimensions *d = PROTO_NEW(w, ConvDimensions, CONV_DIMENSIONS);

    d->input_batch_dimension = c->in_batch;
    d->input_feature_dimension = c->in_feature;
    d->kernel_input_feature_dimension = c->kernel_in;
    d->kernel_output_feature_dimension = c->kernel_out;
    d->output_batch_dimension = c->out_batch;
    d->output_feature_dimension = c->out_feature;
    PROTO_PUT(w, d, input_spatial_dimensions, c->in_spatial);
    PROTO_PUT(w, d, kernel_spatial_dimensions, c->kernel_spatial);
    PROTO_PUT(w, d, output_spatial_dimensions, c->out_spatial);
    to->convolution_dimension_numbers = d;
    to->feature_group_count = c->feature_groups;
    to->batch_group_count = c->batch_groups;
}

/* XLA always says the kind. */
static void put_comparison(struct proto_writer *w, const struct hlo_computation *c,
                           const struct hlo_instruction *i, HloWire__Instruction *to)
{
    static const char *const directions[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
    static const char *const kinds[] = {"", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};

    to->comparison_direction = proto_copy_text(w, directions[i->direction]);
    to->comparison_type = proto_copy_text(
        w, kinds[i->comparison != HLO_COMPARE_DEFAULT || i->operand_count < 1
                     ? i->comparison
                     : proto_usual_comparison(c->instruction[i->operand[0]].type->element)]);
}

static void put_solve(struct proto_writer *w, const struct hlo_instruction *i,
                      HloWire__Instruction *to)
{
    if (i->op == OPCODE_CHOLESKY) {
        to->cholesky_options = PROTO_NEW(w, Cholesky, CHOLESKY);
        to->cholesky_options->lower = hlo_detail(i)->is_lower;
        return;
    }
    to->triangular_solve_options = PROTO_NEW(w, TriangularSolve, TRIANGULAR_SOLVE);
    to->triangular_solve_options->left_side = hlo_detail(i)->is_left;
    to->triangular_solve_options->lower = hlo_detail(i)->is_lower;
    to->triangular_solve_options->unit_diagonal = hlo_detail(i)->is_unit_diagonal;
    to->triangular_solve_options->transpose_a = (int32_t)hlo_detail(i)->transpose + 1;
}

static void put_index(struct proto_writer *w, const struct hlo_instruction *i,
                      HloWire__Instruction *to)
{
    switch (i->op) {
    case OPCODE_PARAMETER: to->parameter_number = i->index; break;
    case OPCODE_GET_TUPLE_ELEMENT: to->tuple_index = i->index; break;
    case OPCODE_TOPK: to->k = i->index; break;
    case OPCODE_SCAN: to->num_carries = i->index; break;
    case OPCODE_RNG_GET_AND_UPDATE_STATE: to->delta = i->index; break;
    case OPCODE_IOTA: {
        struct hlo_ints dim = {1, &i->index};

        PROTO_PUT(w, to, dimensions, dim);
        break;
    }
    default: to->feature_index = i->index; break;
    }
}

static void put_target(const struct hlo_instruction *i, HloWire__Instruction *to)
{
    ProtobufCBinaryData t = proto_bytes(hlo_detail(i)->target);

    t.len = hlo_detail(i)->target_bytes ? hlo_detail(i)->target_bytes : t.len;
    if (i->op == OPCODE_INFEED)
        to->infeed_config = t;
    else if (i->op == OPCODE_OUTFEED)
        to->outfeed_config = t;
    else
        to->custom_call_target = t;
}

static void put_fields(struct proto_writer *w, const struct hlo_instruction *i, unsigned has,
                       HloWire__Instruction *to)
{
    static const char *const fusions[] = {"kLoop", "kInput", "kOutput", "kCustom"};

    if (has & HLO_HAS_INDEX)
        put_index(w, i, to);
    if (has & HLO_HAS_DIMS)
        PROTO_PUT(w, to, dimensions, hlo_detail(i)->dims);
    if (has & HLO_HAS_SLICE)
        put_slices(w, i, to);
    if (has & HLO_HAS_PADDING)
        put_padding(w, i, to);
    if (i->op == OPCODE_DYNAMIC_SLICE)
        PROTO_PUT(w, to, dynamic_slice_sizes, hlo_detail(i)->sizes);
    if (i->op == OPCODE_GATHER)
        PROTO_PUT(w, to, gather_slice_sizes, hlo_detail(i)->sizes);
    if ((has & HLO_HAS_GATHER) && hlo_detail(i)->gather)
        put_gather(w, i, to);
    if ((has & HLO_HAS_DOT) && hlo_detail(i)->dot)
        put_dot(w, i, to);
    if (has & HLO_HAS_PRECISION)
        put_precision(w, i, to);
    if (hlo_detail(i)->window_count)
        put_window(w, i, to);
    if ((has & HLO_HAS_CONV) && hlo_detail(i)->conv)
        put_conv(w, hlo_detail(i)->conv, to);
    if (has & HLO_HAS_SOLVE)
        put_solve(w, i, to);
    if (has & HLO_HAS_FFT) {
        to->fft_type = (int32_t)hlo_detail(i)->fft;
        PROTO_PUT(w, to, fft_length, hlo_detail(i)->sizes);
    }
    if (has & HLO_HAS_RANDOM) {
        to->distribution = i->op == OPCODE_RNG ? (int32_t)hlo_detail(i)->random + 1 : 0;
        to->rng_algorithm =
            i->op == OPCODE_RNG ? 0 : (int32_t)(hlo_detail(i)->random - HLO_RNG_DEFAULT);
    }
    if (has & HLO_HAS_FUSION)
        to->fusion_kind = proto_copy_text(w, fusions[i->fusion]);
    if (has & HLO_HAS_TARGET)
        put_target(i, to);
    if ((has & HLO_HAS_GROUPS) && hlo_detail(i)->groups)
        proto_write_groups(w, hlo_detail(i)->groups, to);
}

/* a quoted text behind a name: `scheduling_name="x"` */
static ProtobufCBinaryData quoted_field(struct proto_writer *w, const char *rest, const char *name)
{
    const char *at = rest ? strstr(rest, name) : NULL;
    size_t length;

    if (!at)
        return proto_bytes(NULL);
    at += strlen(name);
    for (length = 1; at[0] == '"' && at[length] && at[length] != '"'; length++)
        length += at[length] == '\\' && at[length + 1];
    return at[0] == '"' ? proto_unquoted(w, arena_printf(w->arena, "%.*s", (int)length + 1, at))
                        : proto_bytes(NULL);
}

static void put_place(struct proto_writer *w, const struct hlo_place *p, HloWire__Instruction *to)
{
    const struct hlo_place_more *more = hlo_place_more(p);
    HloWire__Metadata *m;

    if (!p->op_type && !p->op_name && !p->file && !p->line && !more->frame && !more->rest)
        return;
    m = PROTO_NEW(w, Metadata, METADATA);
    m->op_type = proto_bytes(p->op_type);
    m->op_name = proto_bytes(p->op_name);
    if (!more->is_of_frame) {
        m->source_file = proto_bytes(p->file);
        m->source_line = p->line;
        m->source_end_line = p->end_line;
        m->source_column = p->col;
        m->source_end_column = p->end_col;
    }
    m->stack_frame_id = more->frame;
    m->deduplicated_name = quoted_field(w, more->rest, "deduplicated_name=");
    m->scheduling_name = quoted_field(w, more->rest, "scheduling_name=");
    to->metadata = m;
}

int proto_write_attributes(struct proto_writer *w, const struct hlo_computation *c,
                           const struct hlo_instruction *i, HloWire__Instruction *to)
{
    to->shape = proto_write_type(w, i->type);
    to->exponent_bits = hlo_detail(i)->exponent_bits;
    to->mantissa_bits = hlo_detail(i)->mantissa_bits;
    to->epsilon = (float)hlo_detail(i)->epsilon;
    to->is_stable = hlo_detail(i)->is_stable;
    to->largest = hlo_detail(i)->is_largest;
    to->is_reverse = hlo_detail(i)->is_reverse;
    to->backend_config = proto_unquoted(w, hlo_detail(i)->config);
    to->frontend_attributes = proto_write_pairs(w, &hlo_detail(i)->frontend);
    put_fields(w, i, hlo_opcode_attributes(i->op), to);
    if (i->op == OPCODE_COMPARE)
        put_comparison(w, c, i, to);
    put_place(w, hlo_place_of(i), to);
    if (hlo_detail(i)->sharding_count)
        to->sharding =
            proto_write_shardings(w, hlo_detail(i)->sharding_count, hlo_detail(i)->sharding);
    if (i->op == OPCODE_CONSTANT && i->literal) {
        to->shape = proto_write_laid_out(w, i->type);
        to->literal = proto_write_literal(w, i->literal, i->type);
        return to->literal ? 0 : -1;
    }
    return 0;
}
