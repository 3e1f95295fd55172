/*
 * interpreter.run_parallel on cores: tests of StableHLO run a function on several devices in the
 * midst of a program of one. Here all devices run the program; each takes its own operands of the
 * call by its number, runs the function, and is sent what the others have made.
 */
#include "cli/exec/exec_impl.h"

#include "import/eval/eval.h"
#include "import/program/build.h"

#include <string.h>

struct parallel {
    struct hlo_builder *b;
    const struct hlo_instruction *from;
    int devices, rows;                  /* rows: replicas */
};

bool exec_is_parallel(const struct hlo_instruction *i)
{
    return i->op == OPCODE_CUSTOM_CALL && hlo_detail(i)->target &&
           hlo_detail(i)->computation_count > 0 &&
           strcmp(hlo_detail(i)->target, "interpreter.run_parallel") == 0;
}

/* u32: replica x partitions + partition */
static int device_number(struct parallel *p)
{
    struct hlo_instruction i = {.op = OPCODE_REPLICA_ID,
                                .type = HLO_TYPE(hlo_scalar_type(ELEMENT_U32))};
    int replica = hlo_copy_instruction(p->b, &i, NULL), partition;
    struct hlo_type t = *i.type;

    i.op = OPCODE_PARTITION_ID;
    partition = hlo_copy_instruction(p->b, &i, NULL);
    replica = hlo_binary(p->b, OPCODE_MULTIPLY, replica,
                         hlo_constant_int(p->b, &t, p->devices / p->rows));
    return hlo_binary(p->b, OPCODE_ADD, replica, partition);
}

/* an array with one more dimension in front */
static int stacked(struct parallel *p, int x, int64_t count)
{
    struct hlo_type t = *hlo_type_of(p->b, x);
    int64_t *dim = arena_array(p->b->module->arena, (size_t)t.rank + 1, sizeof(*dim));

    dim[0] = count;
    memcpy(dim + 1, t.dim, (size_t)t.rank * sizeof(*dim));
    return hlo_reshape(p->b, x, t.rank + 1, dim);
}

/* parameter `k` of this device: one of as many operands as there are devices */
static int own_operand(struct parallel *p, const int *operand, int parameters, int k, int number)
{
    struct arena *a = p->b->module->arena;
    struct hlo_type t = *hlo_type_of(p->b, operand[k]), word = hlo_scalar_type(ELEMENT_U32);
    int *row = arena_array(a, (size_t)p->devices, sizeof(*row)), x;
    int *start = arena_array(a, (size_t)t.rank + 1, sizeof(*start));
    int64_t *size = arena_array(a, (size_t)t.rank + 1, sizeof(*size));

    if (t.element == ELEMENT_TOKEN)
        return operand[k];
    for (int d = 0; d < p->devices; d++)
        row[d] = stacked(p, operand[d * parameters + k], 1);
    x = p->devices > 1 ? hlo_concatenate(p->b, p->devices, row, 0) : row[0];
    start[0] = number;
    size[0] = 1;
    for (int d = 0; d < t.rank; d++) {
        start[d + 1] = hlo_constant_int(p->b, &word, 0);
        size[d + 1] = t.dim[d];
    }
    return hlo_reshape(p->b, hlo_dynamic_slice(p->b, x, start, size), t.rank, t.dim);
}

/* what each device has made of a result, for every device: [devices, ..] */
static int gathered(struct parallel *p, int x)
{
    struct arena *a = p->b->module->arena;
    int64_t *id = arena_array(a, (size_t)p->devices, sizeof(*id)), *size = arena_alloc(a, sizeof(*size));
    int64_t zero = 0;
    struct hlo_groups *all = arena_alloc(a, sizeof(*all));
    struct hlo_instruction i = {.op = OPCODE_ALL_GATHER, .operand_count = 1,
                                .detail = &(struct hlo_detail){.dims = {1, &zero}, .groups = all}};
    struct hlo_type t;

    for (int d = 0; d < p->devices; d++)
        id[d] = d;
    *size = p->devices;
    *all = (struct hlo_groups){.size = {1, size}, .id = {p->devices, id}, .channel_id = 1,
                               .use_global_ids = true};
    x = stacked(p, x, 1);
    t = *hlo_type_of(p->b, x);
    i.type = HLO_TYPE(t = hlo_array_type(a, t.element, t.rank, t.dim));
    ((int64_t *)t.dim)[0] = p->devices;
    return hlo_copy_instruction(p->b, &i, &x);
}

static int result_of(struct parallel *p, int all, int device)
{
    struct hlo_type t = *hlo_type_of(p->b, all);

    return hlo_reshape(p->b, hlo_slice_dim(p->b, all, 0, device, device + 1), t.rank - 1, t.dim + 1);
}

/* the function's results, each as all devices have made it; how many there are */
static int run_function(struct parallel *p, const int *operand, int *all)
{
    int parameters = p->from->operand_count / p->devices, number = device_number(p), made;
    int *own = arena_array(p->b->module->arena, (size_t)parameters + 1, sizeof(*own));
    struct hlo_type t;

    for (int k = 0; k < parameters; k++)
        own[k] = own_operand(p, operand, parameters, k, number);
    made = hlo_call(p->b, hlo_detail(p->from)->computation[0], parameters, own);
    t = *hlo_type_of(p->b, made);
    if (!hlo_type_is_tuple(&t)) {
        all[0] = gathered(p, made);
        return 1;
    }
    for (int k = 0; k < t.part_count; k++)
        all[k] = hlo_type_is_tuple(&t.part[k]) || t.part[k].element == ELEMENT_TOKEN
                     ? -1 : gathered(p, hlo_tuple_element(p->b, made, k));
    return t.part_count;
}

/* each device's are of the types of the function's parameters */
static bool has_own_operands(const struct parallel *p, const int *operand)
{
    const struct hlo_computation *c =
        &p->b->module->computation[hlo_detail(p->from)->computation[0]];
    int parameters = p->from->operand_count / p->devices;

    if (c->parameter_count != parameters)
        return false;
    for (int k = 0; k < p->from->operand_count; k++)
        if (!hlo_type_equal(hlo_type_of(p->b, operand[k]),
                            c->instruction[c->parameter[k % parameters]].type))
            return false;
    return true;
}

int exec_run_parallel(struct hlo_builder *b, const struct hlo_instruction *from, const int *operand,
                      struct err *e)
{
    struct parallel p = {.b = b, .from = from, .devices = hlo_detail(from)->computation_count,
                         .rows = eval_parallel_rows(from)};
    int leaves = hlo_type_is_tuple(from->type) ? from->type->part_count : 1, count;
    int *all = arena_array(b->module->arena, (size_t)leaves + 1, sizeof(*all));
    int *result = arena_array(b->module->arena, (size_t)leaves + 1, sizeof(*result));

    for (int k = 1; k < p.devices; k++)
        if (hlo_detail(from)->computation[k] != hlo_detail(from)->computation[0])
            return err_set(e, "%s: devices with functions of their own do not run in step",
                           hlo_name(from));
    if (p.devices % p.rows || from->operand_count % p.devices || leaves % p.devices)
        return err_set(e, "%s: %d operands and %d results do not fit %d functions", hlo_name(from),
                       from->operand_count, leaves, p.devices);
    if (!has_own_operands(&p, operand))
        return err_set(e, "%s: its operands are not what the function takes", hlo_name(from));
    b->module->replica_count = p.rows;
    b->module->partition_count = p.devices / p.rows;
    count = run_function(&p, operand, all);
    for (int k = 0; k < leaves; k++) {
        if (k % count >= count || all[k % count] < 0)
            return err_set(e, "%s: result %d is no array", hlo_name(from), k);
        result[k] = result_of(&p, all[k % count], k / count);
    }
    return hlo_type_is_tuple(from->type) ? hlo_tuple(b, leaves, result) : result[0];
}
