/*
 * Any text is a listing or gives errors; what is one gets a program that the
 * lenient check of a chip takes (which one, the size of the input says), with
 * every element of its operands inside their memory.
 */
#include "isa/listing/utilization.h"
#include "sim/chip/chip.h"
#include "sim/chip/limits.h"
#include "tests/rigs/round_trip.h"

#include <stdlib.h>

#define ELEMS_LOOKED_AT 1024
#define CHIP_MAX 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_elements(const struct listing_operand *o)
{
    int64_t count = listing_elem_count(&o->shape);

    if (!o->shape.elem_bits || o->space == SPACE_SFLAG)
        return;
    for (int64_t i = 0; i < count && i < ELEMS_LOOKED_AT; i++) {
        int64_t bit = listing_element_bit(&o->layout, &o->shape, i < count / 2 ? i : count - 1 - i);

        if (bit < 0 || bit + o->shape.elem_bits > 8 * o->layout.bytes)
            fuzz_fail("an element lies outside its operand", "");
    }
}

static void check_listing(struct listing *l, const struct chip *chip, struct arena *a)
{
    struct listing_memory memory = { 1 << 30, chip->vmem_bytes, chip->smem_bytes,
                                     (int)chip->sync_flags };
    struct isa_limits limits;
    struct err e;

    if (listing_place(l, &memory, &e)) {
        if (!e.msg[0])
            fuzz_fail("a placement is refused without an error", "");
        return;
    }
    chip_isa_limits(chip, &limits);
    listing_assemble(l, &limits);
    limits.is_lenient = true;
    if (isa_check(&l->program, &limits, &e))
        fuzz_fail("the program of a listing is refused", e.msg);
    for (uint32_t i = 0; i < l->operand_count; i++)
        check_elements(&l->operand[i]);
    utilization_count(l, a);
}

static size_t load_chips(struct chip chips[CHIP_MAX])
{
    const char *const *names;
    struct arena a;
    struct err e;
    size_t count;

    names = chip_names(&count);
    arena_init(&a);
    for (size_t i = 0; i < count && i < CHIP_MAX; i++)
        if (chip_load_builtin(&chips[i], names[i], NULL, &a, &e))
            fuzz_fail("no chip", e.msg);
    arena_fini(&a);
    return count < CHIP_MAX ? count : CHIP_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct isa_errors errors;
    static struct chip chips[CHIP_MAX];
    static size_t chip_count;
    struct listing l;
    struct arena a;

    if (chip_count == 0)
        chip_count = load_chips(chips);
    arena_init(&a);
    if (listing_scan((const char *)data, size, "input", &a, &l, &errors) == 0)
        check_listing(&l, &chips[size % chip_count], &a);
    else if (errors.count < 1)
        fuzz_fail("a text is refused without an error", "");
    arena_fini(&a);
    return 0;
}
