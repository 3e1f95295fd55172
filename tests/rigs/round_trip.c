#include "tests/rigs/round_trip.h"

#include "base/units.h"
#include "isa/asm.h"
#include "isa/check.h"
#include "isa/disasm.h"
#include "sim/chip/chip.h"
#include "sim/chip/limits.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *fuzz_file(const void *bytes, size_t size)
{
    static FILE *file;
    static char path[40];

    if (!file)
        file = tmpfile();
    if (!file || ftruncate(fileno(file), 0) != 0 ||
        pwrite(fileno(file), bytes, size, 0) != (ssize_t)size)
        return "";
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(file));
    return path;
}

static bool is_same_op(const struct isa_op *a, const struct isa_op *b)
{
    if (a->code != b->code || a->pred != b->pred || a->pred_is_negated != b->pred_is_negated ||
        a->unit_index != b->unit_index || a->operand_count != b->operand_count)
        return false;
    for (int i = 0; i < a->operand_count; i++) {
        if (a->operand[i].kind != b->operand[i].kind ||
            a->operand[i].value != b->operand[i].value ||
            a->operand[i].is_negated != b->operand[i].is_negated)
            return false;
    }
    return true;
}

static const char *note_of(const struct isa_program *p, uint32_t bundle)
{
    return p->bundle[bundle].note ? p->note[p->bundle[bundle].note - 1] : "";
}

static const char *bundle_difference(const struct isa_program *a, const struct isa_program *b,
                                     uint32_t i, enum sameness sameness)
{
    const struct isa_bundle *x = &a->bundle[i], *y = &b->bundle[i];

    if (x->op_count != y->op_count)
        return "operations of a bundle";
    for (uint32_t k = 0; k < x->op_count; k++) {
        if (!is_same_op(&a->op[x->first_op + k], &b->op[y->first_op + k]))
            return "an operation";
    }
    if (sameness >= SAME_NOTES && strcmp(note_of(a, i), note_of(b, i)) != 0)
        return "the note of a bundle";
    return sameness == SAME_ALL && x->line != y->line ? "the line of a bundle" : NULL;
}

static const char *name_difference(const struct isa_program *a, const struct isa_program *b)
{
    if (a->symbol_count != b->symbol_count || a->note_count != b->note_count)
        return "the number of symbols or notes";
    for (uint32_t i = 0; i < a->symbol_count; i++) {
        if (strcmp(a->symbol[i].name, b->symbol[i].name) != 0 ||
            a->symbol[i].bundle != b->symbol[i].bundle)
            return "a symbol";
    }
    for (uint32_t i = 0; i < a->note_count; i++) {
        if (strcmp(a->note[i], b->note[i]) != 0)
            return "a note";
    }
    return strcmp(a->name, b->name) != 0 ? "the name" : NULL;
}

const char *program_difference(const struct isa_program *a, const struct isa_program *b,
                               enum sameness sameness)
{
    if (a->bundle_count != b->bundle_count || a->op_count != b->op_count)
        return "the number of bundles or operations";
    for (uint32_t i = 0; i < a->bundle_count; i++) {
        const char *difference = bundle_difference(a, b, i, sameness);

        if (difference)
            return difference;
    }
    return sameness == SAME_ALL ? name_difference(a, b) : NULL;
}

static char *print(const struct isa_program *p, size_t *size)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, size);

    isa_print_program(p, f);
    fclose(f);
    return text;
}

void check_printing(const struct isa_program *p, enum sameness sameness)
{
    static struct isa_errors errors;
    size_t size, again_size;
    char *text = print(p, &size), *again_text;
    const char *difference;
    struct isa_program again;
    struct arena a;

    arena_init(&a);
    if (isa_assemble(text, size, "printed", &a, &again, &errors))
        fuzz_fail(errors.err[0].msg, text);
    difference = program_difference(p, &again, sameness);
    if (difference)
        fuzz_fail(difference, text);
    again_text = print(&again, &again_size);
    if (strcmp(text, again_text) != 0)
        fuzz_fail("printing is no fixed point", text);
    free(text);
    free(again_text);
    arena_fini(&a);
}

void check_on_all_chips(const struct isa_program *p)
{
    static struct isa_limits limits[16];
    static size_t count;
    struct err e;

    if (count == 0) {
        const char *const *names = chip_names(&count);

        assert(count <= COUNT_OF(limits));
        for (size_t i = 0; i < count; i++) {
            struct chip chip;

            if (chip_load_builtin(&chip, names[i], NULL, NULL, &e))
                fuzz_fail("a built-in chip does not load", e.msg);
            chip_isa_limits(&chip, &limits[i]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        e.msg[0] = '\0';
        if (isa_check(p, &limits[i], &e) && e.msg[0] == '\0')
            fuzz_fail("a program is refused without a message", "");
    }
}

void fuzz_fail(const char *what, const char *detail)
{
    fprintf(stderr, "%s: %s\n", what, detail);
    abort();
}
