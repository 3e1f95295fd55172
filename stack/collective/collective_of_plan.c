/* Translates a plan into lists for the program on the cores. */
#include "base/units.h"
#include "stack/collective/collective_program.h"

#define TABLE_ALIGN 4096

static int plan_count(const void *plan, int core)
{
    return collective_op_count(plan, core);
}

static void plan_op(const void *plan, int core, int index, struct collective_op *out)
{
    collective_op(plan, core, index, out);
}

/* the lists of a plan, which must live as long */
static void collective_lists_of(const struct collective_plan *p, int64_t table_address,
                                struct collective_lists *out)
{
    *out = (struct collective_lists){
        .type = collective_plan_request(p)->type, .flag_count = collective_flag_count(p),
        .table_address = table_address, .count = plan_count, .op = plan_op, .context = p};
}

struct collective_program *collective_program_create(const struct collective_plan *p,
                                                     struct machine *m, struct arena *a,
                                                     struct err *e)
{
    struct collective_arrays arrays = collective_arrays_of(p);
    int64_t end = later(arrays.in + arrays.in_bytes, arrays.out + arrays.out_bytes);
    struct collective_lists lists;

    collective_lists_of(p, round_up(end, TABLE_ALIGN), &lists);
    return collective_program_of_lists(&lists, m, a, e);
}
