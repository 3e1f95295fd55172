/*
 * Finds and carries out what fused.h says. Constants and broadcasts between the operations come
 * before them: nothing that they read is made there.
 */
#include "import/eval/fused.h"

#include "import/eval/handlers.h"
#include "import/eval/region.h"
#include "import/lanes/apply.h"
#include "import/lanes/stride.h"

#include <string.h>

enum { RANGE_MAX = 400, OPERATIONS_MIN = 3, BLOCK_STEP = 16 };

struct range {
    struct eval *ev;
    const struct hlo_computation *c;
    const struct eval_plan *plan;
    int first, last;
    int64_t count;
    bool is_member[RANGE_MAX];          /* [instruction - first] */
    int input[RANGE_MAX * APPLY_OPERANDS_MAX], output[RANGE_MAX];
    int input_count, output_count, operations;
};

static bool is_operation(const struct hlo_instruction *i)
{
    eval_handler h = eval_handler_of(i->op);

    return (h == eval_elementwise || h == eval_convert || h == eval_select) &&
           i->operand_count >= 1 && i->operand_count <= APPLY_OPERANDS_MAX;
}

/* the same elements in the same order */
static bool is_same_elements(const struct hlo_instruction *i)
{
    return i->op == OPCODE_RESHAPE || i->op == OPCODE_COPY;
}

static bool may_come_first(const struct hlo_instruction *i)
{
    return (i->op == OPCODE_CONSTANT && !hlo_type_is_tuple(i->type)) ||
           i->op == OPCODE_BROADCAST || i->op == OPCODE_IOTA;
}

static bool is_member(const struct range *r, int k)
{
    return k >= r->first && k <= r->last && r->is_member[k - r->first];
}

static bool reads_member(const struct range *r, const struct hlo_instruction *i)
{
    for (int o = 0; o < i->operand_count; o++)
        if (is_member(r, i->operand[o]))
            return true;
    return false;
}

/* By itself it moves the bits of narrow floats, through registers a NaN may lose some. */
static bool moves_bits(const struct range *r, const struct hlo_instruction *i)
{
    enum hlo_element e = i->type->element;

    return lane_is_narrow(e) && hlo_element_is_float(e) &&
           (is_same_elements(i) || i->op == OPCODE_SELECT ||
            (i->op == OPCODE_CONVERT && r->c->instruction[i->operand[0]].type->element == e));
}

static bool may_join(const struct range *r, const struct hlo_instruction *i)
{
    if (!eval_is_fixed_array(i->type) || (!is_operation(i) && !is_same_elements(i)) ||
        moves_bits(r, i) || hlo_type_elements(i->type) != r->count)
        return false;
    for (int o = 0; o < i->operand_count; o++)
        if (!eval_is_fixed_array(r->c->instruction[i->operand[o]].type))
            return false;
    return true;
}

/* as far as it goes from r->first */
static void find_range(struct range *r)
{
    int end = r->first + RANGE_MAX < r->c->count ? r->first + RANGE_MAX : r->c->count;

    memset(r->is_member, 0, sizeof(r->is_member));
    r->count = hlo_type_elements(r->c->instruction[r->first].type);
    r->operations = 0;
    r->last = r->first - 1;
    for (int k = r->first; k < end; k++) {
        const struct hlo_instruction *i = &r->c->instruction[k];

        if (!r->plan->is_needed[k])
            continue;
        if (may_join(r, i)) {
            r->is_member[k - r->first] = true;
            r->last = k;
            r->operations += is_operation(i);
        } else if (!may_come_first(i) || reads_member(r, i)) {
            break;
        }
    }
}

/* what an operand comes from: a broadcast of the range repeats one number */
static int source_of(const struct range *r, int operand)
{
    const struct hlo_instruction *i = &r->c->instruction[operand];

    while (operand >= r->first && i->op == OPCODE_BROADCAST &&
           r->c->instruction[i->operand[0]].type->rank == 0 &&
           eval_is_fixed_array(r->c->instruction[i->operand[0]].type)) {
        operand = i->operand[0];
        i = &r->c->instruction[operand];
    }
    return operand;
}

static bool is_one_constant(const struct hlo_instruction *i)
{
    return i->op == OPCODE_CONSTANT && i->literal && i->literal->data &&
           (i->literal->is_splat || hlo_type_elements(i->type) == 1);
}

static void add_input(struct range *r, int source)
{
    for (int k = 0; k < r->input_count; k++)
        if (r->input[k] == source)
            return;
    r->input[r->input_count++] = source;
}

static void find_ends(struct range *r)
{
    r->input_count = r->output_count = 0;
    for (int k = r->first; k <= r->last; k++) {
        const struct hlo_instruction *i = &r->c->instruction[k];

        if (!is_member(r, k))
            continue;
        for (int o = 0; o < i->operand_count; o++) {
            int source = source_of(r, i->operand[o]);

            if (!is_member(r, source) && !is_one_constant(&r->c->instruction[source]))
                add_input(r, source);
        }
        if (r->plan->last_user[k] > r->last)
            r->output[r->output_count++] = k;
    }
}

static bool *find_apart(const struct range *r)
{
    bool *is_apart = arena_array(&r->ev->scratch, (size_t)(r->last - r->first + 1), sizeof(bool));

    for (int n = 0; n < r->input_count; n++)
        if (r->input[n] >= r->first)
            is_apart[r->input[n] - r->first] = true;
    for (int k = r->last; k >= r->first; k--) {
        const struct hlo_instruction *i = &r->c->instruction[k];

        if (is_member(r, k) || !r->plan->is_needed[k])
            continue;
        is_apart[k - r->first] |= r->plan->last_user[k] > r->last;
        for (int o = 0; is_apart[k - r->first] && o < i->operand_count; o++)
            if (i->operand[o] >= r->first)
                is_apart[i->operand[o] - r->first] = true;
    }
    return is_apart;
}

static bool has_value(const struct range *r, const bool *is_apart, int k)
{
    return k < r->first || is_apart[k - r->first] ||
           (is_member(r, k) && r->plan->last_user[k] > r->last);
}

/* values from before and from within that end here */
static void find_dropped(const struct range *r, struct fused *w)
{
    int *dropped = NULL;
    size_t capacity = 0;

    for (int k = r->first; k <= r->last; k++) {
        const struct hlo_instruction *i = &r->c->instruction[k];

        w->steps += r->plan->is_needed[k] && !w->is_apart[k - r->first];
        for (int o = 0; r->plan->is_needed[k] && o < i->operand_count; o++)
            if (r->plan->last_user[i->operand[o]] == k &&
                has_value(r, w->is_apart, i->operand[o]))
                MEM_ADD(dropped, w->dropped_count, capacity) = i->operand[o];
    }
    w->dropped = arena_take(&r->ev->scratch, dropped, (size_t)w->dropped_count, sizeof(*dropped));
}

static bool compile(const struct range *r, struct region_builder *b)
{
    int at[RANGE_MAX];

    for (int k = r->first; k <= r->last; k++) {
        const struct hlo_instruction *i = &r->c->instruction[k];
        int from[APPLY_OPERANDS_MAX];

        for (int o = 0; is_member(r, k) && o < i->operand_count; o++) {
            int source = source_of(r, i->operand[o]);
            const struct hlo_instruction *s = &r->c->instruction[source];

            from[o] = is_member(r, source) ? at[source - r->first]
                      : is_one_constant(s) ? region_constant(b, s)
                                           : region_input(b, source);
        }
        if (is_member(r, k) && (at[k - r->first] = is_same_elements(i)
                                                       ? from[0]
                                                       : region_operation_of(b, i, from)) < 0)
            return false;
    }
    for (int n = 0; n < r->output_count; n++)
        region_output(b, at[r->output[n] - r->first],
                      r->c->instruction[r->output[n]].type->element);
    return true;
}

static struct fused *make(struct range *r)
{
    struct arena *a = &r->ev->scratch;
    struct fused *w = arena_alloc(a, sizeof(*w));
    struct region_builder *b;

    find_ends(r);
    w->first = r->first;
    w->last = r->last;
    w->count = r->count;
    w->block = r->count < APPLY_BLOCK ? (r->count + BLOCK_STEP - 1) / BLOCK_STEP * BLOCK_STEP
                                      : APPLY_BLOCK;
    w->input_count = r->input_count;
    w->output_count = r->output_count;
    w->input = arena_copy(a, r->input, (size_t)r->input_count, sizeof(*r->input));
    w->output = arena_copy(a, r->output, (size_t)r->output_count, sizeof(*r->output));
    w->is_apart = find_apart(r);
    find_dropped(r, w);
    w->one = arena_array(a, (size_t)r->input_count + 1, sizeof(*w->one));
    b = region_begin(r->ev, r->c, w->input, w->input_count, w->block);
    return compile(r, b) && (w->region = region_end(b)) ? w : NULL;
}

struct fused **fused_find(struct eval *ev, int computation)
{
    struct range r = {.ev = ev, .c = &ev->m->computation[computation],
                      .plan = &ev->plan[computation]};
    struct fused **all = NULL, *w;

    for (r.first = 0; r.first < r.c->count; r.first++) {
        const struct hlo_instruction *i = &r.c->instruction[r.first];

        if (!r.plan->is_needed[r.first] || !is_operation(i) || !eval_is_fixed_array(i->type) ||
            hlo_type_elements(i->type) < 1)
            continue;
        find_range(&r);
        if (r.operations >= OPERATIONS_MIN && (w = make(&r))) {
            if (!all)
                all = arena_array(&ev->scratch, (size_t)r.c->count, sizeof(struct fused *));
            all[r.first] = w;
        }
        if (r.last > r.first)
            r.first = r.last;
    }
    return all;
}

/* where its elements are: a block of one number, or the array from its start */
static const char *data_of(struct frame *f, const struct fused *w, int n, const struct value *v)
{
    size_t bytes = value_element_bytes(v);
    struct fused *own = (struct fused *)(uintptr_t)w;

    if (!v->is_splat && (v->rank > 0 || w->count == 1))
        return v->data;
    if (!own->one[n])
        own->one[n] = arena_alloc(&f->ev->scratch, (size_t)w->block * bytes);
    stride_fill(own->one[n], v->data, bytes, w->block < w->count ? w->block : w->count);
    return own->one[n];
}

static int make_outputs(struct frame *f, int k, const struct fused *w)
{
    for (int n = 0; n < w->output_count; n++) {
        const struct hlo_instruction *i = &f->c->instruction[w->output[n]];
        struct value *v = value_array(&f->ev->pool, i->type->element, i->type->rank,
                                      i->type->dim);

        if (!v)
            return eval_fail(f->ev, i, "it does not fit into the limit of memory");
        *frame_value(f, k, w->output[n]) = v;
    }
    return 0;
}

static void run_on(struct frame *f, int k, const struct fused *w)
{
    const void *in[RANGE_MAX * APPLY_OPERANDS_MAX];
    void *out[RANGE_MAX];
    size_t step[RANGE_MAX * APPLY_OPERANDS_MAX];
    int64_t block;

    for (int n = 0; n < w->input_count; n++) {
        const struct value *v = *frame_value(f, k, w->input[n]);

        in[n] = data_of(f, w, n, v);
        step[n] = in[n] == v->data ? value_element_bytes(v) : 0;
    }
    for (int n = 0; n < w->output_count; n++)
        out[n] = (*frame_value(f, k, w->output[n]))->data;
    for (int64_t i = 0; i < w->count; i += block) {
        block = w->count - i < w->block ? w->count - i : w->block;
        region_run(NULL, w->region, block, in, out);
        for (int n = 0; n < w->input_count; n++)
            in[n] = (const char *)in[n] + step[n] * (size_t)block;
        for (int n = 0; n < w->output_count; n++)
            out[n] = (char *)out[n] + (size_t)block *
                         hlo_element_bytes(f->c->instruction[w->output[n]].type->element);
    }
}

int fused_run(struct frame *f, const struct fused *w)
{
    for (int k = 0; k < f->device_count; k++) {
        if (make_outputs(f, k, w))
            return -1;
        run_on(f, k, w);
        for (int n = 0; n < w->dropped_count; n++) {
            struct value **slot = frame_value(f, k, w->dropped[n]);

            value_drop(&f->ev->pool, *slot);
            *slot = NULL;
        }
    }
    return 0;
}
