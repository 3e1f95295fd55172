/* Any bytes are the body of a kernel of Pallas, which is printed and carried out, or give an error. */
#include "import/mosaic/mosaic.h"
#include "stack/mosaic/extent.h"
#include "stack/mosaic/run.h"
#include "tests/rigs/round_trip.h"

#define ELEMENTS_MAX 4096
#define OPERATIONS_MAX 2000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* its operands are as large as its arguments; false: too large to be tried */
static bool attach(struct mosaic_kernel *k)
{
    int count = k->prefetch_count + k->operand_count;
    int *alias = arena_array(k->arena, (size_t)count + 1, sizeof(*alias));

    k->array = arena_array(k->arena, (size_t)count + 1, sizeof(*k->array));
    k->array_count = count;
    k->output_count = k->operand_count > 0;
    for (int i = 0; i < count; i++) {
        const struct mosaic_value *v = k->main->body->argument[k->grid_rank + i];

        if (v->type.kind != MOSAIC_REF || mosaic_elements(&v->type) < 1 ||
            mosaic_elements(&v->type) > ELEMENTS_MAX)
            return false;
        k->array[i] = v->type;
        alias[i] = -1;
    }
    k->alias = alias;
    return true;
}

/* a grid that is walked in no time */
static bool grid_is_small(const struct mosaic_kernel *k)
{
    int64_t steps = 1;

    for (int i = 0; i < k->grid_rank; i++) {
        if (k->grid[i] > 100)
            return false;
        steps *= k->grid[i] > 0 ? k->grid[i] : 1;
        if (steps > 100)
            return false;
    }
    return true;
}

static void carry_out(struct mosaic_kernel *k, struct err *e)
{
    uint32_t **array = mem_alloc(((size_t)k->array_count + 1) * sizeof(*array));
    int32_t bound[MOSAIC_RANK_MAX] = {1, 2, 1, 2, 1, 2, 1, 2};
    struct mosaic_watch watch = {.races = true, .unwritten = true, .two_cores = true};
    struct mosaic_run_settings s = {.bound = bound, .most_operations = OPERATIONS_MAX,
                                    .watch = &watch};

    for (int i = 0; i < k->array_count; i++)
        array[i] = mem_alloc((size_t)mosaic_elements(&k->array[i]) * sizeof(uint32_t));
    mosaic_run(k, array, &s, e);
    for (int i = 0; i < k->array_count; i++)
        mem_free(array[i]);
    mem_free(array);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = {.msg = ""};
    struct mosaic_kernel *k;
    struct arena a;

    arena_init(&a);
    k = mosaic_read_body(data, size, "input", &a, &e);
    if (k && attach(k) && mosaic_verify(k, &e) == 0) {
        FILE *to = fopen("/dev/null", "w");

        if (to) {
            mosaic_print(k, to);
            fclose(to);
        }
        carry_out(k, &e);
    } else if (!k && !e.msg[0]) {
        fuzz_fail("refused without a message", "");
    }
    k = mosaic_read_body(data, size, "input", &a, &e);
    if (k && grid_is_small(k) && mosaic_find_arrays(k, &e) == 0)
        mosaic_check_blocks(k, &e);
    arena_fini(&a);
    return 0;
}
