/*
 * Loads a module's programs, tables and constants into a machine, and writes and reads its arrays.
 */
#include "stack/module/module_run.h"

#include "stack/collective/collective_table.h"
#include "stack/module/module_impl.h"

static int write_array(const struct array *a, struct machine *machine, int core,
                       const void *dense, struct err *e)
{
    void *tiles = mem_alloc((size_t)a->bytes);
    int status;

    array_pack(a, dense, tiles);
    status = machine_hbm_write(machine, core, a->address, tiles, a->bytes, e);
    mem_free(tiles);
    return status;
}

/* the program reads two pages before it knows whether they are its last */
int module_page_count(const struct collective_table *t, int core)
{
    int pages = collective_table_pages(t, core);

    return pages < 2 ? 2 : pages;
}

/* the operations of a kernel between replicas, which are values in timing mode too */
static int write_table(const struct collective_table *t, struct machine *machine, int core,
                       struct err *e)
{
    int bytes = collective_table_page_bytes(t), pages = collective_table_pages(t, core);
    int32_t *page = mem_alloc((size_t)bytes);
    int status = 0;

    for (int i = 0; i < module_page_count(t, core) && status == 0; i++) {
        if (i < pages)
            collective_table_page(t, core, i, page);
        status = machine_hbm_write(machine, core, collective_table_address(t, i), page, bytes, e);
    }
    mem_free(page);
    return status;
}

static bool is_in_hbm(const struct array *const *array, int count)
{
    for (int i = 0; i < count; i++)
        if (array[i]->space != SPACE_HBM)
            return false;
    return true;
}

/* what a kernel finds in VMEM, or hears of other cores, it has not from HBM (stack/kernels/pipeline/kernel.h) */
static bool is_alone(const struct module_kernel *k)
{
    return !k->job.sums && !k->job.peers && is_in_hbm(k->job.operand, k->job.operand_count)
           && is_in_hbm(k->job.result, k->job.result_count);
}

/* where the kernels of one core's program are; the segment is the last of its item */
static int tell_kernels(const struct module *m, int own, struct machine *machine, int core,
                        struct err *e)
{
    struct machine_kernel *list = mem_alloc(((size_t)m->kernel_count + 1) * sizeof(*list));
    int status;

    for (int i = 0; i < m->kernel_count; i++) {
        const struct module_kernel *k = &m->kernel[i];
        const struct segment *segment = own ? k->peer_segment : k->segment;
        uint32_t end = m->linked[own].first_bundle[k->item + 1];

        list[i] = (struct machine_kernel){end - segment->program.bundle_count, end, is_alone(k)};
    }
    status = machine_set_kernels(machine, core, list, m->kernel_count, e);
    mem_free(list);
    return status;
}

static int load_cores(const struct module *m, struct machine *machine, int first, struct err *e)
{
    int32_t device = m->core_device ? m->core_device[first] : first / m->core_count;

    for (int i = 0; i < m->core_count; i++) {
        int32_t peer = first + !i;

        if (m->asks_number && machine_smem_write(machine, first + i, SMEM_REPLICA, &device,
                                                 sizeof(device), e))
            return -1;
        if (machine_load(machine, first + i, &m->linked[i].program, e)
            || tell_kernels(m, i, machine, first + i, e)
            || (m->core_count > 1
                && machine_smem_write(machine, first + i, SMEM_PEER, &peer, sizeof(peer), e)))
            return -1;
    }
    return 0;
}

static int write_constant(const struct module *m, int i, struct machine *machine, int core,
                          struct err *e)
{
    const struct module_constant *c = &m->constant[i];
    int32_t device = m->core_device ? m->core_device[core] : core;

    if (c->literal && c->array->tile_count > 1 && machine_mode(machine) == MODE_TIMING)
        return 0;
    return write_array(c->array, machine, core, c->literal ? c->literal : &c->by_device[device],
                       e);
}

int module_load(const struct module *m, struct machine *machine, int core, struct err *e)
{
    if (m->core_count > 1 && !machine_shares_hbm(machine))
        return err_set(e, "%s is for both cores of a chip; those of this machine do not share "
                       "their HBM", m->graph.name);
    if (m->asks_values && machine_mode(machine) == MODE_TIMING)
        return err_set(e, "%s: which way it goes follows from values, which timing mode does not "
                       "work out; assume the trips of loops and the branch of conditionals "
                       "(--assume-trips, --assume-branch)",
                       m->asks_values);
    if (load_cores(m, machine, core, e))
        return -1;
    for (int i = 0; i < m->constant_count; i++)
        if (write_constant(m, i, machine, core, e))
            return -1;
    for (int i = 0; i < m->kernel_count; i++)
        if (m->kernel[i].segment->table &&
            write_table(m->kernel[i].segment->table, machine, core, e))
            return -1;
    for (int i = 0; i < m->page_count; i++)
        if (m->page[i].core == core &&
            machine_hbm_write(machine, core, m->page[i].address, m->page[i].data,
                              m->page[i].bytes, e))
            return -1;
    return 0;
}

int module_write(const struct module *m, struct machine *machine, int core, int parameter,
                 const void *dense, struct err *e)
{
    return write_array(m->parameter[parameter], machine, core, dense, e);
}

static int read_array(const struct array *a, struct machine *machine, int core, void *dense,
                      struct err *e)
{
    void *tiles = mem_alloc((size_t)a->bytes);
    int status = machine_hbm_read(machine, core, a->address, tiles, a->bytes, e);

    if (status == 0)
        array_unpack(a, tiles, dense);
    mem_free(tiles);
    return status;
}

int module_read(const struct module *m, struct machine *machine, int core, int output,
                void *dense, struct err *e)
{
    return read_array(m->output[output], machine, core, dense, e);
}
