/* Prints what stands behind an instruction's operands, and the elements of constants. */
#include "stack/hlo/graph_dump.h"

#include <inttypes.h>
#include <math.h>

static const char *const directions[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
static const char *const precisions[] = {"default", "high", "highest"};

const char *graph_dump_direction(enum graph_compare direction)
{
    return directions[direction];
}

void graph_dump_dims(const char *label, const int *dims, int count, FILE *to)
{
    fprintf(to, ", %s={", label);
    for (int i = 0; i < count; i++)
        fprintf(to, "%s%d", i ? "," : "", dims[i]);
    fputc('}', to);
}

static void print_sizes(const char *label, const int64_t *sizes, int count, FILE *to)
{
    fprintf(to, ", %s={", label);
    for (int i = 0; i < count; i++)
        fprintf(to, "%s%" PRId64, i ? "," : "", sizes[i]);
    fputc('}', to);
}

static void print_reduced(const struct graph_node *n, FILE *to)
{
    int dims[GRAPH_RANK_MAX], count = 0;

    for (int i = 0; i < GRAPH_RANK_MAX; i++)
        if (n->reduce_mask & (1u << i))
            dims[count++] = i;
    graph_dump_dims("dimensions", dims, count, to);
}

static void print_combine(const struct graph_dump *d, const struct graph_node *n)
{
    fprintf(d->to, "%%combine.%s.%s", graph_dump_reduction(n->reduce_kind),
            graph_dtype_name(d->g->node[n->operand[0]].shape.dtype));
}

static void print_precision(const struct graph_node *n, FILE *to)
{
    if (n->precision != PRECISION_DEFAULT)
        fprintf(to, ", operand_precision={%s,%s}", precisions[n->precision],
                precisions[n->precision]);
}

static void print_dot(const struct graph_node *n, FILE *to)
{
    if (n->dot.batch_count > 0) {
        graph_dump_dims("lhs_batch_dims", n->dot.lhs_batch, n->dot.batch_count, to);
        graph_dump_dims("rhs_batch_dims", n->dot.rhs_batch, n->dot.batch_count, to);
    }
    graph_dump_dims("lhs_contracting_dims", n->dot.lhs_contract, n->dot.contract_count, to);
    graph_dump_dims("rhs_contracting_dims", n->dot.rhs_contract, n->dot.contract_count, to);
    print_precision(n, to);
}

static int64_t field_of(const struct graph_window *w, int field)
{
    const int64_t fields[] = {w->size, w->stride, w->base_dilation, w->window_dilation,
                              w->is_reversed};

    return fields[field];
}

static bool any_padding(const struct graph_window *w, int count)
{
    for (int i = 0; i < count; i++)
        if (w[i].pad_low != 0 || w[i].pad_high != 0)
            return true;
    return false;
}

static void print_window(const struct graph_window *w, int count, FILE *to)
{
    static const char *const names[] = {"size", "stride", "lhs_dilate", "rhs_dilate",
                                        "rhs_reversal"};
    static const int64_t usual[] = {-1, 1, 1, 1, 0};

    if (count == 0)
        return;
    fputs(", window={", to);
    for (int f = 0; f < 5; f++) {
        bool is_usual = true;

        for (int i = 0; i < count; i++)
            is_usual = is_usual && field_of(&w[i], f) == usual[f];
        for (int i = 0; i < count && !is_usual; i++)
            fprintf(to, "%s%s%s%" PRId64, i == 0 && f > 0 ? " " : "", i == 0 ? names[f] : "",
                    i == 0 ? "=" : "x", field_of(&w[i], f));
    }
    for (int i = 0; i < count && any_padding(w, count); i++)
        fprintf(to, "%s%" PRId64 "_%" PRId64, i == 0 ? " pad=" : "x", w[i].pad_low,
                w[i].pad_high);
    fputc('}', to);
}

/* "b01f" */
static void print_labels(int count, int first, char first_label, int second, char second_label,
                         const int *spatial, FILE *to)
{
    for (int dim = 0; dim < count + 2; dim++) {
        char label = dim == first ? first_label : second_label;

        for (int i = 0; i < count; i++)
            if (spatial[i] == dim && dim != first && dim != second)
                label = (char)('0' + i);
        fputc(label, to);
    }
}

static void print_convolution(const struct graph_node *n, FILE *to)
{
    const struct graph_conv *c = n->conv;

    print_window(n->window, c->spatial_count, to);
    fputs(", dim_labels=", to);
    print_labels(c->spatial_count, c->in_batch, 'b', c->in_feature, 'f', c->in_spatial, to);
    fputc('_', to);
    print_labels(c->spatial_count, c->kernel_in, 'i', c->kernel_out, 'o', c->kernel_spatial, to);
    fputs("->", to);
    print_labels(c->spatial_count, c->out_batch, 'b', c->out_feature, 'f', c->out_spatial, to);
    if (c->feature_groups > 1)
        fprintf(to, ", feature_group_count=%" PRId64, c->feature_groups);
    if (c->batch_groups > 1)
        fprintf(to, ", batch_group_count=%" PRId64, c->batch_groups);
    print_precision(n, to);
}

static void print_slice(const struct graph_node *n, FILE *to)
{
    fputs(", slice={", to);
    for (int i = 0; i < n->shape.rank; i++) {
        fprintf(to, "%s[%" PRId64 ":%" PRId64, i ? ", " : "", n->start[i], n->limit[i]);
        if (n->stride[i] != 1)
            fprintf(to, ":%" PRId64, n->stride[i]);
        fputc(']', to);
    }
    fputc('}', to);
}

static void print_padding(const struct graph_node *n, FILE *to)
{
    fputs(", padding=", to);
    for (int i = 0; i < n->shape.rank; i++) {
        fprintf(to, "%s%" PRId64 "_%" PRId64, i ? "x" : "", n->low[i], n->high[i]);
        if (n->interior[i] != 0)
            fprintf(to, "_%" PRId64, n->interior[i]);
    }
}

/* start 0 as 3+2*i0: 3, and 2 for each trip of the innermost loop so far */
static void print_trips(const struct graph_dump *d, const struct graph_node *n)
{
    const struct graph_trips *t = n->trips;
    const char *comma = "";

    if (!t)
        return;
    fputs(", frontend_attributes={known_starts=\"", d->to);
    for (int i = 0; i < n->shape.rank; i++) {
        if (!(t->known >> i & 1))
            continue;
        fprintf(d->to, "%s%d:%" PRId64, comma, i, t->first[i]);
        for (int k = 0; k < GRAPH_TRIP_LOOPS; k++)
            if (t->step[i][k])
                fprintf(d->to, "%+" PRId64 "*i%d", t->step[i][k], k);
        comma = ", ";
    }
    fputs("\"}", d->to);
}

static void print_gather(const struct graph_dump *d, const struct graph_node *n)
{
    const struct graph_gather *a = n->gather;
    bool is_gather = n->op == HLO_GATHER;
    FILE *to = d->to;

    graph_dump_dims(is_gather ? "offset_dims" : "update_window_dims", a->offset_dims,
                    a->offset_count, to);
    graph_dump_dims(is_gather ? "collapsed_slice_dims" : "inserted_window_dims", a->collapsed_dims,
                    a->collapsed_count, to);
    graph_dump_dims(is_gather ? "start_index_map" : "scatter_dims_to_operand_dims",
                    a->start_index_map, a->map_count, to);
    if (a->batching_count > 0) {
        graph_dump_dims(is_gather ? "operand_batching_dims" : "input_batching_dims",
                        a->operand_batching, a->batching_count, to);
        graph_dump_dims(is_gather ? "start_indices_batching_dims" : "scatter_indices_batching_dims",
                        a->indices_batching, a->batching_count, to);
    }
    fprintf(to, ", index_vector_dim=%d", a->index_vector_dim);
    if (is_gather) {
        print_sizes("slice_sizes", a->slice_sizes, d->g->node[n->operand[0]].shape.rank, to);
        return;
    }
    fputs(", to_apply=", to);
    print_combine(d, n);
}

static void print_applied(const struct graph_dump *d, const struct graph_node *n)
{
    fputs(", to_apply=", d->to);
    print_combine(d, n);
}

static void print_groups(const struct graph_groups *s, FILE *to)
{
    fputs(", replica_groups={", to);
    for (int i = 0; i < s->count * s->size; i++)
        fprintf(to, "%s%d%s", i % s->size ? "," : i ? ",{" : "{", s->member ? s->member[i] : i,
                (i + 1) % s->size ? "" : "}");
    fputc('}', to);
}

static void print_collective(const struct graph_dump *d, const struct graph_node *n)
{
    if (n->groups)
        print_groups(n->groups, d->to);
    if (n->op == HLO_REDUCE_SCATTER || n->op == HLO_ALL_GATHER)
        graph_dump_dims("dimensions", &n->dim, 1, d->to);
    if (n->op == HLO_ALL_TO_ALL)
        fputs(", dimensions={0}", d->to);
    if (n->op == HLO_ALL_REDUCE || n->op == HLO_REDUCE_SCATTER)
        print_applied(d, n);
    if (n->op != HLO_COLLECTIVE_PERMUTE)
        return;
    fputs(", source_target_pairs={", d->to);
    for (int64_t i = 0; i < n->count; i++)
        fprintf(d->to, "%s{%d,%d}", i ? "," : "", n->pair[i].source, n->pair[i].target);
    fputc('}', d->to);
}

static void print_windowed(const struct graph_dump *d, const struct graph_node *n)
{
    print_window(n->window, n->shape.rank, d->to);
    if (n->op == HLO_SELECT_AND_SCATTER)
        fprintf(d->to, ", select=%%select.%s.%s", directions[n->direction],
                graph_dtype_name(n->shape.dtype));
    fputs(n->op == HLO_SELECT_AND_SCATTER ? ", scatter=" : ", to_apply=", d->to);
    print_combine(d, n);
}

static void print_call(const struct graph_dump *d, const struct graph_node *n)
{
    if (n->op == HLO_FUSION) {
        fprintf(d->to, ", kind=kLoop, calls=%%%s%s.computation", d->path, n->name);
    } else if (n->op == HLO_CONDITIONAL) {
        fprintf(d->to, ", true_computation=%%%s%s.true, false_computation=%%%s%s.false", d->path,
                n->name, d->path, n->name);
    } else {
        fprintf(d->to, ", condition=%%%s%s.condition, body=%%%s%s.body", d->path, n->name, d->path,
                n->name);
        if (n->count != GRAPH_TRIPS_UNKNOWN)
            fprintf(d->to, ", backend_config={\"known_trip_count\":{\"n\":\"%" PRId64 "\"}}",
                    n->count);
    }
}

static void print_sort(const struct graph_dump *d, const struct graph_node *n)
{
    graph_dump_dims("dimensions", &n->dim, 1, d->to);
    fprintf(d->to, ", is_stable=true, to_apply=%%%s%s.comparator", d->path, n->name);
}

static void print_custom_call(const struct graph_dump *d, const struct graph_node *n)
{
    const struct graph_attention *a = n->attention;

    fprintf(d->to, ", custom_call_target=\"%s\", called_computations={%%%s%s.computation}, "
            "backend_config={\"causal\":%s,\"q_len\":%" PRId64 ",\"kv_len\":%" PRId64
            ",\"block_q\":%" PRId64 ",\"block_kv\":%" PRId64 "}", graph_attention_name(a->form),
            d->path, n->name, a->is_causal ? "true" : "false", a->q_len, a->kv_len, a->block_q,
            a->block_kv);
}

const char *graph_dump_target(const struct graph_node *n)
{
    switch (n->op) {
    case HLO_MOSAIC: return "tpu_custom_call";
    case HLO_SEND: return "systole.send";
    case HLO_RECEIVE: return "systole.recv";
    case HLO_ADD_DEPENDENCY: return "systole.after";
    default: return NULL;
    }
}

void graph_dump_attributes(const struct graph_dump *d, const struct graph_node *n)
{
    FILE *to = d->to;

    if (graph_dump_target(n))
        fprintf(to, ", custom_call_target=\"%s\"", graph_dump_target(n));

    switch (n->op) {
    case HLO_IOTA: fprintf(to, ", iota_dimension=%d", n->dim); break;
    case HLO_BROADCAST:
    case HLO_TRANSPOSE:
        graph_dump_dims("dimensions", n->dims, d->g->node[n->operand[0]].shape.rank, to);
        break;
    case HLO_REVERSE: graph_dump_dims("dimensions", n->dims, n->dim, to); break;
    case HLO_CONCATENATE: graph_dump_dims("dimensions", &n->dim, 1, to); break;
    case HLO_SLICE: print_slice(n, to); break;
    case HLO_PAD: print_padding(n, to); break;
    case HLO_DYNAMIC_SLICE:
        print_sizes("dynamic_slice_sizes", n->sizes, n->shape.rank, to);
        print_trips(d, n);
        break;
    case HLO_DYNAMIC_UPDATE_SLICE: print_trips(d, n); break;
    case HLO_GATHER:
    case HLO_SCATTER: print_gather(d, n); break;
    case HLO_DOT: print_dot(n, to); break;
    case HLO_CONVOLUTION: print_convolution(n, to); break;
    case HLO_COMPARE: fprintf(to, ", direction=%s", directions[n->direction]); break;
    case HLO_REDUCE:
        print_reduced(n, to);
        print_applied(d, n);
        break;
    case HLO_ALL_REDUCE:
    case HLO_REDUCE_SCATTER:
    case HLO_ALL_GATHER:
    case HLO_ALL_TO_ALL:
    case HLO_COLLECTIVE_PERMUTE: print_collective(d, n); break;
    case HLO_REDUCE_WINDOW:
    case HLO_SELECT_AND_SCATTER: print_windowed(d, n); break;
    case HLO_SORT: print_sort(d, n); break;
    case HLO_TOP_K: fprintf(to, ", k=%" PRId64 ", largest=true", n->count); break;
    case HLO_GET_TUPLE_ELEMENT: fprintf(to, ", index=%d", n->dim); break;
    case HLO_FUSION:
    case HLO_WHILE:
    case HLO_CONDITIONAL: print_call(d, n); break;
    case HLO_CUSTOM_CALL: print_custom_call(d, n); break;
    default: break;
    }
}

void graph_dump_value(enum graph_dtype dtype, double value, FILE *to)
{
    if (dtype == DTYPE_PRED)
        fputs(value != 0.0 ? "true" : "false", to);
    else if (isnan(value))
        fputs("nan", to);
    else if (graph_dtype_is_float(dtype))
        fprintf(to, "%.9g", value);
    else
        fprintf(to, "%.0f", value);
}

static double element(const struct graph_node *n, int64_t i)
{
    if (graph_dtype_is_float(n->shape.dtype))
        return (double)((const float *)n->literal)[i];
    if (n->shape.dtype == DTYPE_U32)
        return (double)((const uint32_t *)n->literal)[i];
    return (double)((const int32_t *)n->literal)[i];
}

static int64_t print_nested(const struct graph_node *n, int dim, int64_t at, FILE *to)
{
    if (dim == n->shape.rank) {
        graph_dump_value(n->shape.dtype, element(n, at), to);
        return at + 1;
    }
    fputs(dim + 1 < n->shape.rank ? "{ " : "{", to);
    for (int64_t i = 0; i < n->shape.dim[dim]; i++) {
        fputs(i ? ", " : "", to);
        at = print_nested(n, dim + 1, at, to);
    }
    fputs(dim + 1 < n->shape.rank ? " }" : "}", to);
    return at;
}

void graph_dump_literal(const struct graph_node *n, FILE *to)
{
    if (n->literal)
        print_nested(n, 0, 0, to);
    else
        graph_dump_value(n->shape.dtype, n->value, to);
}
