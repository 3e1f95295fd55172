/* Compiles computations of scalars and carries them out over blocks. */
#include "import/eval/region.h"
#include "import/lanes/apply.h"

#include <string.h>

enum { REGION_STEPS_MAX = 2000, REGION_DEPTH_MAX = 16 };

struct region_step {
    struct apply apply;
    int to, from[APPLY_OPERANDS_MAX];   /* registers */
};

struct region {
    int computation;
    bool is_slow;                       /* evaluated call by call */
    int parameter_count, result_count, step_count, register_count;
    enum hlo_element *parameter;        /* types */
    enum hlo_element *result_type;
    int *result;                        /* registers; parameter p is register p */
    struct region_step *step;
    size_t step_capacity, register_capacity;
    char **room;                        /* of a register: APPLY_BLOCK lanes; constants filled in */
    enum hlo_element *type;             /* of a register */
    size_t type_capacity;
};

/* what an instruction stands for while a computation is compiled: registers of its leaves */
struct leaves {
    int count;
    int *reg;
};

struct compiler {
    struct eval *ev;
    struct region *r;
    int depth;
    int64_t block;                      /* elements that a register has room for */
};

static int add_register(struct compiler *c, enum hlo_element e)
{
    struct region *r = c->r;
    int number = r->register_count;

    MEM_ADD(r->type, r->register_count, r->type_capacity) = e;
    return number;
}

static struct leaves one_leaf(struct compiler *c, int reg)
{
    struct leaves l = { 1, arena_array(&c->ev->scratch, 1, sizeof(int)) };

    l.reg[0] = reg;
    return l;
}

/* the operation on these registers: where its result is; -1: it is none of elements */
static int add_apply(struct compiler *c, const struct hlo_instruction *i, const int *from)
{
    struct region_step s = { .to = 0 };

    for (int o = 0; o < i->operand_count; o++)
        s.from[o] = from[o];
    if (!apply_init(&s.apply, i, c->r->type[from[i->op == OPCODE_SELECT ? 1 : 0]]) ||
        c->r->step_count == REGION_STEPS_MAX)
        return -1;
    s.to = add_register(c, i->type->element);
    MEM_ADD(c->r->step, c->r->step_count, c->r->step_capacity) = s;
    return s.to;
}

static bool add_step(struct compiler *c, const struct hlo_instruction *i, const struct leaves *at,
                     struct leaves *made)
{
    int from[APPLY_OPERANDS_MAX], to;

    if (i->operand_count < 1 || i->operand_count > APPLY_OPERANDS_MAX || hlo_type_is_tuple(i->type))
        return false;
    for (int o = 0; o < i->operand_count; o++) {
        if (at[i->operand[o]].count != 1)
            return false;
        from[o] = at[i->operand[o]].reg[0];
    }
    to = add_apply(c, i, from);
    if (to >= 0)
        *made = one_leaf(c, to);
    return to >= 0;
}

/* constants are filled into their register once, when there is room for it */
static int add_number(struct compiler *c, const struct hlo_instruction *i)
{
    int reg = add_register(c, i->type->element);
    char lane[LANE_BYTES_MAX] __attribute__((aligned(16)));
    size_t bytes = lane_bytes(lane_of(i->type->element));

    c->r->room = mem_grow(c->r->room, &c->r->register_capacity, (size_t)reg + 1, sizeof(char *));
    c->r->room[reg] = arena_alloc(&c->ev->scratch, (size_t)c->block * bytes);
    lane_widen(i->type->element, lane, hlo_literal_at(i->literal, 0), 1);
    for (int64_t n = 0; n < c->block; n++)
        memcpy(c->r->room[reg] + (size_t)n * bytes, lane, bytes);
    return reg;
}

static bool add_constant(struct compiler *c, const struct hlo_instruction *i, struct leaves *made)
{
    if (!i->literal || !i->literal->data)
        return false;
    *made = one_leaf(c, add_number(c, i));
    return true;
}

static bool compile(struct compiler *c, int computation, const struct leaves *parameter,
                    struct leaves *result);

static bool add_call(struct compiler *c, const struct hlo_instruction *i, const struct leaves *at,
                     struct leaves *made)
{
    struct leaves *argument = arena_array(&c->ev->scratch, (size_t)i->operand_count,
                                          sizeof(*argument));

    for (int o = 0; o < i->operand_count; o++)
        argument[o] = at[i->operand[o]];
    return c->depth < REGION_DEPTH_MAX && compile(c, hlo_detail(i)->computation[0], argument, made);
}

static bool add_tuple(struct compiler *c, const struct hlo_instruction *i, const struct leaves *at,
                      struct leaves *made)
{
    *made = (struct leaves){ 0, arena_array(&c->ev->scratch, (size_t)i->operand_count + 1,
                                            sizeof(int)) };
    for (int o = 0; o < i->operand_count; o++) {
        if (at[i->operand[o]].count != 1)
            return false;
        made->reg[made->count++] = at[i->operand[o]].reg[0];
    }
    return true;
}

static bool add_instruction(struct compiler *c, const struct hlo_instruction *i,
                            const struct leaves *at, const struct leaves *parameter,
                            struct leaves *made)
{
    if (!hlo_type_is_tuple(i->type) && (hlo_type_is_dynamic(i->type) ||
                                         hlo_type_elements(i->type) != 1))
        return false;
    switch (i->op) {
    case OPCODE_PARAMETER:
        *made = parameter[i->index];
        return true;
    case OPCODE_CONSTANT:
        return !hlo_type_is_tuple(i->type) && add_constant(c, i, made);
    case OPCODE_TUPLE:
        return add_tuple(c, i, at, made);
    case OPCODE_GET_TUPLE_ELEMENT:
        if (i->index >= at[i->operand[0]].count)
            return false;
        *made = one_leaf(c, at[i->operand[0]].reg[i->index]);
        return true;
    case OPCODE_CALL: case OPCODE_FUSION:
        return add_call(c, i, at, made);
    case OPCODE_COPY: case OPCODE_RESHAPE: case OPCODE_BROADCAST: case OPCODE_TRANSPOSE:
    case OPCODE_BITCAST: case OPCODE_OPT_BARRIER:
        *made = at[i->operand[0]];
        return i->op != OPCODE_BITCAST || c->r->type[made->reg[0]] == i->type->element;
    default:
        return add_step(c, i, at, made);
    }
}

static bool compile(struct compiler *c, int computation, const struct leaves *parameter,
                    struct leaves *result)
{
    const struct hlo_computation *from = &c->ev->m->computation[computation];
    struct leaves *at = arena_array(&c->ev->scratch, (size_t)from->count, sizeof(*at));
    bool is_fine = true;

    eval_plan_make(c->ev, computation);
    c->depth++;
    for (int k = 0; k < from->count && is_fine; k++)
        if (c->ev->plan[computation].is_needed[k])
            is_fine = add_instruction(c, &from->instruction[k], at, parameter, &at[k]);
    c->depth--;
    if (is_fine)
        *result = at[from->root];
    return is_fine;
}

/* parameters are scalars; the result one or a tuple of them */
static bool compile_whole(struct compiler *c, const struct hlo_computation *from)
{
    struct region *r = c->r;
    struct leaves *parameter, result;

    parameter = arena_array(&c->ev->scratch, (size_t)r->parameter_count + 1, sizeof(*parameter));
    for (int p = 0; p < r->parameter_count; p++) {
        if (from->parameter[p] < 0 ||
            lane_of(from->instruction[from->parameter[p]].type->element) == LANE_COUNT)
            return false;
        parameter[p] = one_leaf(c, add_register(c, r->parameter[p]));
    }
    if (!compile(c, r->computation, parameter, &result) || result.count != r->result_count)
        return false;
    r->result = result.reg;
    for (int k = 0; k < r->result_count; k++)
        if (r->type[r->result[k]] != r->result_type[k])
            return false;
    return true;
}

static void give_room(struct eval *ev, struct region *r, int64_t block)
{
    r->room = mem_grow(r->room, &r->register_capacity, (size_t)r->register_count + 1,
                       sizeof(char *));
    for (int k = 0; k < r->register_count; k++)
        if (!r->room[k])
            r->room[k] = arena_alloc(&ev->scratch, (size_t)block * lane_bytes(lane_of(r->type[k])));
    r->room = arena_take(&ev->scratch, r->room, (size_t)r->register_count, sizeof(char *));
    r->type = arena_take(&ev->scratch, r->type, (size_t)r->register_count, sizeof(*r->type));
    r->step = arena_take(&ev->scratch, r->step, (size_t)r->step_count, sizeof(*r->step));
}

struct region *region_of(struct eval *ev, int computation)
{
    const struct hlo_computation *from = &ev->m->computation[computation];
    const struct hlo_type *result = from->instruction[from->root].type;
    struct compiler c = { .ev = ev, .block = APPLY_BLOCK };
    struct region *r;

    if (ev->plan[computation].region)
        return ev->plan[computation].region;
    c.r = r = ev->plan[computation].region = arena_alloc(&ev->scratch, sizeof(*r));
    r->computation = computation;
    r->parameter_count = from->parameter_count;
    r->result_count = hlo_type_leaves(result);
    r->parameter = arena_array(&ev->scratch, (size_t)r->parameter_count + 1, sizeof(*r->parameter));
    r->result_type = arena_array(&ev->scratch, (size_t)r->result_count + 1,
                                 sizeof(*r->result_type));
    for (int p = 0; p < r->parameter_count; p++)
        if (from->parameter[p] >= 0)
            r->parameter[p] = from->instruction[from->parameter[p]].type->element;
    for (int k = 0; k < r->result_count; k++)
        r->result_type[k] = hlo_type_leaf(result, k)->element;
    r->is_slow = !compile_whole(&c, from);
    give_room(ev, r, APPLY_BLOCK);
    return r;
}

struct region_builder {
    struct compiler c;
    const int *input;                   /* instructions; input k is register k */
    size_t result_capacity, type_capacity;
    bool is_fine;
};

struct region_builder *region_begin(struct eval *ev, const struct hlo_computation *c,
                                    const int *input, int input_count, int64_t block)
{
    struct region_builder *b = arena_alloc(&ev->scratch, sizeof(*b));
    struct region *r = arena_alloc(&ev->scratch, sizeof(*r));

    *b = (struct region_builder){.c = {.ev = ev, .r = r, .block = block}, .input = input,
                                 .is_fine = true};
    r->parameter_count = input_count;
    r->parameter = arena_array(&ev->scratch, (size_t)input_count + 1, sizeof(*r->parameter));
    for (int k = 0; k < input_count; k++) {
        r->parameter[k] = c->instruction[input[k]].type->element;
        add_register(&b->c, r->parameter[k]);
    }
    return b;
}

int region_input(const struct region_builder *b, int instruction)
{
    int k = 0;

    while (b->input[k] != instruction)
        k++;
    return k;
}

int region_constant(struct region_builder *b, const struct hlo_instruction *i)
{
    return add_number(&b->c, i);
}

int region_operation_of(struct region_builder *b, const struct hlo_instruction *i, const int *from)
{
    return add_apply(&b->c, i, from);
}

void region_output(struct region_builder *b, int reg, enum hlo_element e)
{
    struct region *r = b->c.r;
    int types = r->result_count;

    b->is_fine &= r->type[reg] == e;
    MEM_ADD(r->result_type, types, b->type_capacity) = e;
    MEM_ADD(r->result, r->result_count, b->result_capacity) = reg;
}

struct region *region_end(struct region_builder *b)
{
    struct region *r = b->c.r;
    struct arena *a = &b->c.ev->scratch;

    r->result = arena_take(a, r->result, (size_t)r->result_count, sizeof(*r->result));
    r->result_type = arena_take(a, r->result_type, (size_t)r->result_count,
                                sizeof(*r->result_type));
    give_room(b->c.ev, r, b->c.block);
    return b->is_fine ? r : NULL;
}

/* call by call, through the evaluator */
static int run_slowly(struct call *c, struct region *r, int64_t n, const void *const *in,
                      void *const *out)
{
    struct value **argument = mem_alloc((size_t)(r->parameter_count + r->result_count + 1) *
                                        sizeof(*argument));
    struct value **leaf = argument + r->parameter_count, *result;
    int status = 0;

    for (int64_t i = 0; i < n && !status; i++) {
        for (int p = 0; p < r->parameter_count; p++) {
            size_t bytes = hlo_element_bytes(r->parameter[p]);

            argument[p] = value_array(&c->ev->pool, r->parameter[p], 0, NULL);
            memcpy(argument[p]->data, (const char *)in[p] + (size_t)i * bytes, bytes);
        }
        status = eval_one(c->ev, r->computation, c->device, argument, &result);
        if (status)
            break;
        value_leaves(result, leaf, r->result_count);
        for (int k = 0; k < r->result_count; k++) {
            size_t bytes = hlo_element_bytes(r->result_type[k]);

            memcpy((char *)out[k] + (size_t)i * bytes, leaf[k]->data, bytes);
        }
        value_drop(&c->ev->pool, result);
    }
    mem_free(argument);
    return status;
}

static void run_steps(struct region *r, int64_t n)
{
    for (int s = 0; s < r->step_count; s++) {
        const struct region_step *step = &r->step[s];
        const void *from[APPLY_OPERANDS_MAX];

        for (int o = 0; o < step->apply.operand_count; o++)
            from[o] = r->room[step->from[o]];
        apply_wide(&step->apply, r->room[step->to], from, n);
    }
}

static void run_block(struct region *r, int64_t n, const void *const *in, void *const *out,
                      size_t at)
{
    for (int p = 0; p < r->parameter_count; p++)
        lane_widen(r->parameter[p], r->room[p],
                   (const char *)in[p] + at * hlo_element_bytes(r->parameter[p]), n);
    run_steps(r, n);
    for (int k = 0; k < r->result_count; k++)
        lane_narrow(r->result_type[k], (char *)out[k] + at * hlo_element_bytes(r->result_type[k]),
                    r->room[r->result[k]], n);
}

int region_run(struct call *c, struct region *r, int64_t n, const void *const *in,
               void *const *out)
{
    int64_t block;

    if (r->is_slow)
        return run_slowly(c, r, n, in, out);
    for (int64_t i = 0; i < n; i += block) {
        block = n - i < APPLY_BLOCK ? n - i : APPLY_BLOCK;
        run_block(r, block, in, out, (size_t)i);
    }
    return 0;
}

enum hlo_opcode region_operation(const struct region *r)
{
    const struct region_step *s = r->step;

    if (r->is_slow || r->parameter_count != 2 || r->result_count != 1 || r->step_count != 1 ||
        s->apply.operand_count != 2 || s->from[0] + s->from[1] != 1 || r->result[0] != s->to ||
        s->apply.to != s->apply.from)
        return OPCODE_COUNT;
    switch (s->apply.op) {
    case OPCODE_ADD: case OPCODE_MULTIPLY: case OPCODE_MAXIMUM: case OPCODE_MINIMUM:
    case OPCODE_AND: case OPCODE_OR: case OPCODE_XOR:
        return s->apply.op;
    default:
        return OPCODE_COUNT;
    }
}

/* do two registers come of parameters p and p + 1 in the same way? */
static bool is_same_function(const struct region *r, int a, int b, int *pair)
{
    const struct region_step *x = NULL, *y = NULL;

    if (a < r->parameter_count || b < r->parameter_count) {
        if (a % 2 || b != a + 1 || (*pair >= 0 && *pair != a / 2))
            return false;
        *pair = a / 2;
        return true;
    }
    for (int s = 0; s < r->step_count; s++) {
        x = r->step[s].to == a ? &r->step[s] : x;
        y = r->step[s].to == b ? &r->step[s] : y;
    }
    if (!x || !y) {                             /* constants */
        return !x && !y && r->type[a] == r->type[b] &&
               !memcmp(r->room[a], r->room[b], lane_bytes(lane_of(r->type[a])));
    }
    if (!apply_equal(&x->apply, &y->apply))
        return false;
    for (int o = 0; o < x->apply.operand_count; o++)
        if (!is_same_function(r, x->from[o], y->from[o], pair))
            return false;
    return true;
}

bool region_comparison(const struct region *r, int *pair, enum hlo_element *e,
                       enum hlo_direction *d, bool *is_total)
{
    const struct region_step *last = r->step_count ? &r->step[r->step_count - 1] : NULL;

    if (r->is_slow || !last || r->result_count != 1 || last->to != r->result[0] ||
        last->apply.op != OPCODE_COMPARE)
        return false;
    *pair = -1;
    *e = last->apply.from;
    *d = last->apply.direction;
    *is_total = last->apply.is_total;
    return is_same_function(r, last->from[0], last->from[1], pair) && *pair >= 0;
}

void region_keys(struct region *r, int pair, int64_t n, const void *in, void *to)
{
    const struct region_step *last = &r->step[r->step_count - 1];
    enum hlo_element e = r->parameter[2 * pair];
    size_t bytes = lane_bytes(lane_of(last->apply.from));
    int64_t block;

    for (int64_t i = 0; i < n; i += block) {
        const char *part = (const char *)in + (size_t)i * hlo_element_bytes(e);

        block = n - i < APPLY_BLOCK ? n - i : APPLY_BLOCK;
        lane_widen(e, r->room[2 * pair], part, block);
        lane_widen(e, r->room[2 * pair + 1], part, block);
        run_steps(r, block);
        memcpy((char *)to + (size_t)i * bytes, r->room[last->from[0]], (size_t)block * bytes);
    }
}

bool region_is_second(const struct region *r)
{
    if (r->is_slow || r->parameter_count != 2 * r->result_count)
        return false;
    for (int k = 0; k < r->result_count; k++)
        if (r->result[k] != r->result_count + k)
            return false;
    return true;
}
