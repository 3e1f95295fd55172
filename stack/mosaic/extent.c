/* Arrays of a kernel whose call is not known. */
#include "stack/mosaic/extent.h"

#include <string.h>

#include "stack/mosaic/run.h"
#include "stack/mosaic/run_impl.h"

bool mosaic_is_table(const struct mosaic_kernel *k, int array)
{
    const struct mosaic_block *b = k->main->body;

    return array >= 0 && k->grid_rank + array < b->argument_count &&
           (array < k->prefetch_count ||
            (array < k->array_count - k->output_count &&
             b->argument[k->grid_rank + array]->type.space == MOSAIC_SMEM)) &&
           mosaic_decides(k, array);
}

/* the value that a reference is a part of */
static const struct mosaic_value *whole_of(const struct mosaic_value *v)
{
    while (v->op && v->op->operand_count && mosaic_is_ref(v->op->operand[0]))
        v = v->op->operand[0];
    return v;
}

static bool writes(const struct mosaic_op *op, const struct mosaic_value *argument)
{
    const struct mosaic_value *to = NULL;

    switch (op->code) {
    case MOSAIC_VECTOR_STORE: case MOSAIC_TPU_VECTOR_STORE: case MOSAIC_STORE:
    case MOSAIC_STRIDED_STORE:
        to = op->operand_count > 1 ? op->operand[1] : NULL;
        break;
    case MOSAIC_ENQUEUE_DMA: to = mosaic_in_group(op, 2); break;
    default: break;
    }
    return to && mosaic_is_ref(to) && whole_of(to) == argument;
}

static bool is_written(const struct mosaic_block *b, const struct mosaic_value *argument)
{
    for (int i = 0; i < b->op_count; i++) {
        if (writes(b->op[i], argument))
            return true;
        for (int r = 0; r < b->op[i]->region_count; r++)
            if (is_written(b->op[i]->region[r], argument))
                return true;
    }
    return false;
}

static void find_outputs(struct mosaic_kernel *k)
{
    struct mosaic_value *const *argument =
        k->main->body->argument + k->grid_rank + k->prefetch_count;
    int *alias;

    k->output_count = 0;
    while (k->output_count < k->operand_count &&
           is_written(k->main->body, argument[k->operand_count - 1 - k->output_count]))
        k->output_count++;
    alias = arena_array(k->arena, (size_t)k->output_count + 1, sizeof(*alias));
    for (int i = 0; i < k->output_count; i++)
        alias[i] = -1;
    k->alias = alias;
}

#define STEPS_MAX 1000000

/* what the blocks of one step reach */
static int extend(struct mosaic_run *r, struct mosaic_kernel *k, int operand)
{
    const struct mosaic_window *w = &k->window[operand];
    struct mosaic_type *t = &k->array[k->prefetch_count + operand];
    int64_t first[MOSAIC_RANK_MAX];

    if (mosaic_find_block(r, operand, first))
        return -1;
    for (int d = 0; d < t->rank; d++)
        if (t->dim[d] < first[d] + w->bound[d])
            t->dim[d] = first[d] + w->bound[d];
    return 0;
}

static int walk_grid(struct mosaic_run *r, struct mosaic_kernel *k)
{
    int64_t steps = 1;

    for (int i = 0; i < k->grid_rank; i++) {
        if (k->grid[i] == MOSAIC_DYNAMIC)
            return err_set(r->err, "kernel %s: bound %d of its grid is an operand of the call: the "
                           "module alone does not say it", k->name, i);
        if (k->grid[i] == 0)
            return 0;
        if (steps > STEPS_MAX / k->grid[i])
            return err_set(r->err, "kernel %s: a grid of more than %d steps: the arrays of a module "
                           "alone are not looked for in so many", k->name, STEPS_MAX);
        steps *= k->grid[i];
        r->grid[i] = k->grid[i];
    }
    do {
        for (int i = 0; i < k->operand_count; i++)
            if (k->window[i].is_windowed && extend(r, k, i))
                return -1;
    } while (mosaic_next(r->step, r->grid, k->grid_rank));
    return 0;
}

/* prefetched arrays, as they are known, or zeros */
static void place_tables(struct mosaic_run *r, const struct mosaic_kernel *k)
{
    for (int i = 0; i < k->prefetch_count; i++) {
        const struct mosaic_value *v = k->main->body->argument[k->grid_rank + i];
        const int32_t *known = k->known ? k->known[k->dynamic_count + i] : NULL;
        size_t bytes;

        mosaic_allocate(r, v);
        bytes = (size_t)r->value[v->id].own->count * sizeof(uint32_t);
        if (known)
            memcpy(r->value[v->id].own->word, known, bytes);
        else
            memset(r->value[v->id].own->word, 0, bytes);
    }
}

int mosaic_find_arrays(struct mosaic_kernel *k, struct err *e)
{
    struct mosaic_run_settings settings = {.bound = NULL};
    struct mosaic_run r = {.k = k, .s = &settings, .err = e};
    int status;

    k->array = NULL;
    if (mosaic_verify(k, e))            /* operations, before their operands are looked at */
        return -1;
    k->array_count = k->prefetch_count + k->operand_count;
    k->array = arena_array(k->arena, (size_t)k->array_count + 1, sizeof(*k->array));
    for (int i = 0; i < k->array_count; i++) {
        k->array[i] = k->main->body->argument[k->grid_rank + i]->type;
        k->array[i].space = MOSAIC_HBM;
    }
    find_outputs(k);
    if (mosaic_verify(k, e))            /* windows, before their index maps run */
        return -1;
    r.value = mem_alloc(((size_t)k->value_count + 1) * sizeof(*r.value));
    place_tables(&r, k);
    status = walk_grid(&r, k);
    mosaic_free_values(&r);
    return status;
}

#define BLOCKS_MAX 100000

/* bounds of the grid; false: one is not known, or there are too many steps to look at */
static bool find_bounds(struct mosaic_run *r)
{
    const struct mosaic_kernel *k = r->k;
    int64_t blocks = k->operand_count;
    int next = 0;

    for (int i = 0; i < k->prefetch_count; i++)
        if (!k->known || !k->known[k->dynamic_count + i])
            return false;
    for (int i = 0; i < k->grid_rank; i++) {
        r->grid[i] = k->grid[i];
        if (k->grid[i] == MOSAIC_DYNAMIC) {
            if (!k->known || !k->known[next])
                return false;
            r->grid[i] = k->known[next++][0];
        }
        if (r->grid[i] < 1 || blocks > BLOCKS_MAX / r->grid[i])
            return false;
        blocks *= r->grid[i];
    }
    return true;
}

int mosaic_check_blocks(const struct mosaic_kernel *k, struct err *e)
{
    struct mosaic_run_settings settings = {.bound = NULL};
    struct mosaic_run r = {.k = k, .s = &settings, .err = e};
    int status = 0;

    if (!find_bounds(&r))
        return 0;
    r.value = mem_alloc(((size_t)k->value_count + 1) * sizeof(*r.value));
    place_tables(&r, k);
    do {
        for (int i = 0; i < k->operand_count && !status; i++) {
            int64_t first[MOSAIC_RANK_MAX];

            if (k->window[i].is_windowed)
                status = mosaic_find_block(&r, i, first) ||
                         mosaic_check_block(&r, i, &k->array[k->prefetch_count + i], first)
                             ? -1 : 0;
        }
    } while (!status && mosaic_next(r.step, r.grid, k->grid_rank));
    mosaic_free_values(&r);
    return status;
}
