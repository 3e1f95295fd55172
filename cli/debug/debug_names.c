/*
 * Finds what a name in an expression means (debug_names.def, stalls, labels), and reads its value
 * from the machine.
 */
#include "cli/debug/debug_names.h"

#include "base/text.h"
#include "base/units.h"
#include "cli/debug/debug.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
#define NAME(id, text, count, indices, example, meaning) NAME_##id,
#include "cli/debug/debug_names.def"
    NAME_STALL, NAME_LABEL
};

static const struct {
    const char *text;
    int count, indices;
    const char *example;
} names[] = {
#define NAME(id, text, count, indices, example, meaning) {text, count, indices, example},
#include "cli/debug/debug_names.def"
};

static const struct {
    const char *text;
    enum debug_cast cast;
} casts[] = {{"f32", CAST_F32}, {"bf16", CAST_BF16}, {"s32", CAST_S32}, {"u32", CAST_U32}};

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$';
}

/* "core12." in front of a name: it is that core's */
static int take_core(const struct machine *m, const char **at, int *core, struct err *e)
{
    const char *digits = *at + 4;
    int64_t number;
    char *end;

    if (strncmp(*at, "core", 4) != 0 || !isdigit((unsigned char)*digits))
        return 0;
    number = strtoll(digits, &end, 10);
    if (*end != '.')
        return 0;
    if (number < 0 || number >= machine_core_count(m))
        return err_set(e, "core %lld out of 0..%d", (long long)number,
                       machine_core_count(m) - 1);
    *core = (int)number;
    *at = end + 1;
    return 0;
}

static bool is_number_behind(const char *digits, int count, int *number)
{
    int64_t value;

    if (!isdigit((unsigned char)*digits) || text_parse_int(digits, 0, INT32_MAX, &value))
        return false;
    *number = (int)value;
    return count > 0;
}

static int find_in_table(struct debug_name *name, struct err *e)
{
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        size_t length = strlen(names[i].text);

        if (strncmp(name->text, names[i].text, length) != 0
            || (names[i].count == 0 && name->text[length] != '\0')
            || (names[i].count > 0
                && !is_number_behind(name->text + length, names[i].count, &name->number)))
            continue;
        if (names[i].count > 0 && name->number >= names[i].count)
            return err_set(e, "%s out of %s0..%s%d", name->text, names[i].text, names[i].text,
                           names[i].count - 1);
        name->kind = (int)i;
        name->index_count = names[i].indices;
        name->example = names[i].example;
        return 1;
    }
    return 0;
}

static bool find_cast(struct debug_name *name)
{
    for (size_t i = 0; i < COUNT_OF(casts); i++)
        if (strcmp(name->text, casts[i].text) == 0)
            name->cast = casts[i].cast;
    return name->cast != CAST_NONE;
}

/* "stall.mxu_busy": cycles so far */
static int find_stall(struct debug_name *name, struct err *e)
{
    const char *reasons[STALL_COUNT];

    if (strncmp(name->text, "stall.", 6) != 0)
        return 0;
    name->kind = NAME_STALL;
    for (name->number = 0; name->number < STALL_COUNT; name->number++) {
        reasons[name->number] = stall_name((enum stall_reason)name->number);
        if (strcmp(name->text + 6, reasons[name->number]) == 0)
            return 1;
    }
    return err_set(e, "no stall reason \"%s\"%s", name->text + 6,
                   text_did_you_mean(name->text + 6, reasons, STALL_COUNT).text);
}

/* a label is the number of its bundle */
static bool find_label(const struct machine *m, struct debug_name *name)
{
    const struct isa_program *p = machine_program(m, name->core);

    for (uint32_t i = 0; p && i < p->symbol_count; i++)
        if (strcmp(p->symbol[i].name, name->text) == 0) {
            name->kind = NAME_LABEL;
            name->number = (int)p->symbol[i].bundle;
            return true;
        }
    return false;
}

static int fail_unknown(const char *text, struct err *e)
{
    const char *all[COUNT_OF(names) + COUNT_OF(casts)];
    size_t count = 0, i;

    for (i = 0; i < COUNT_OF(names); i++)
        all[count++] = names[i].text;
    for (i = 0; i < COUNT_OF(casts); i++)
        all[count++] = casts[i].text;
    return err_set(e, "nothing is called \"%s\"%s; see help expressions", text,
                   text_did_you_mean(text, all, count).text);
}

int debug_name_find(const struct machine *m, int core, const char **at, struct debug_name *name,
                    struct err *e)
{
    size_t length = 0;
    int found;

    *name = (struct debug_name){.core = core};
    if (take_core(m, at, &name->core, e))
        return -1;
    while (is_name_char((*at)[length]))
        length++;
    if (length == 0 || length >= sizeof(name->text))
        return err_set(e, "a name of 1..%zu characters is needed at \"%.40s\"",
                       sizeof(name->text) - 1, *at);
    memcpy(name->text, *at, length);
    name->text[length] = '\0';
    *at += length;
    if (find_cast(name) || find_label(m, name))
        return 0;
    found = find_in_table(name, e);
    if (found == 0)
        found = find_stall(name, e);
    if (found != 0)
        return found < 0 ? -1 : 0;
    return fail_unknown(name->text, e);
}

/* ---- values ---- */

static int check_index(const char *what, int64_t index, int64_t end, struct err *e)
{
    if (index >= 0 && index < end)
        return 0;
    return err_set(e, "%s %lld out of 0..%lld", what, (long long)index, (long long)end - 1);
}

static int read_word(struct machine *m, int core, enum memory memory, int64_t address,
                     int64_t *value, struct err *e)
{
    int32_t word;

    if (machine_memory_bytes(m, memory) == 0)
        return err_set(e, "the chip has no %s", memory_name(memory));
    if (check_index(memory_name(memory), address, machine_memory_bytes(m, memory) - 3, e))
        return -1;
    if (address % 4 != 0)
        return err_set(e, "%s address %lld is no multiple of 4", memory_name(memory),
                       (long long)address);
    if (machine_memory_read(m, core, memory, address, &word, sizeof(word), e))
        return -1;
    *value = word;
    return 0;
}

static int read_row_word(struct machine *m, int core, enum memory memory, const int64_t index[2],
                         int64_t *value, struct err *e)
{
    int64_t rows = machine_memory_bytes(m, memory) / 512;

    if (debug_expect_lanes(m, e))
        return -1;
    if (rows == 0)
        return err_set(e, "the chip has no %s", memory_name(memory));
    if (check_index("row", index[0], rows, e) || check_index("lane", index[1], 128, e))
        return -1;
    return read_word(m, core, memory, 512 * index[0] + 4 * index[1], value, e);
}

static int read_element(const struct machine *m, const struct debug_name *name,
                        const int64_t index[2], int64_t *value, struct err *e)
{
    struct mask_view mask;

    if (debug_expect_lanes(m, e) || check_index("sublane", index[0], 8, e)
        || check_index("lane", index[1], 128, e))
        return -1;
    if (name->kind == NAME_VECTOR) {
        *value = (int32_t)machine_vector(m, name->core, name->number)[128 * index[0] + index[1]];
        return 0;
    }
    machine_mask(m, name->core, name->number, &mask);
    *value = mask.low[8 * index[0] + index[1] / 16] >> index[1] % 16 & 1;
    return 0;
}

static int read_count(const struct machine *m, int core, int64_t bundle, int64_t *value,
                      struct err *e)
{
    const struct isa_program *p = machine_program(m, core);

    if (!p)
        return err_set(e, "core %d has no program", core);
    if (check_index("bundle", bundle, p->bundle_count, e))
        return -1;
    *value = machine_bundle_count(m, core, (uint32_t)bundle);
    return 0;
}

/* what only the core's place tells */
static int64_t read_place(const struct machine *m, const struct debug_name *name)
{
    struct core_view v;

    machine_core(m, name->core, &v);
    switch (name->kind) {
    case NAME_BUNDLE: return v.bundle;
    case NAME_LINE: return v.line;
    case NAME_ISSUED: return v.issued;
    case NAME_WAITING: return v.activity == CORE_WAITS;
    case NAME_HALTED: return v.activity == CORE_HAS_HALTED;
    default: return v.activity == CORE_HAS_FAULTED;
    }
}

int debug_name_read(struct machine *m, const struct debug_name *name, cycle_t cycle,
                    const int64_t index[2], int64_t *value, struct err *e)
{
    int core = name->core;

    switch (name->kind) {
    case NAME_SCALAR: *value = machine_scalar(m, core, name->number); return 0;
    case NAME_PREDICATE: *value = machine_predicate(m, core, name->number); return 0;
    case NAME_MASK: case NAME_VECTOR: return read_element(m, name, index, value, e);
    case NAME_SMEM: return read_word(m, core, MEMORY_SMEM, index[0], value, e);
    case NAME_HBM: return read_word(m, core, MEMORY_HBM, index[0], value, e);
    case NAME_VMEM: return read_row_word(m, core, MEMORY_VMEM, index, value, e);
    case NAME_CMEM: return read_row_word(m, core, MEMORY_CMEM, index, value, e);
    case NAME_COUNT: return read_count(m, core, index[0], value, e);
    case NAME_CYCLE: *value = cycle; return 0;
    case NAME_COPIES: *value = machine_copy_count(m, core); return 0;
    case NAME_LABEL: *value = name->number; return 0;
    case NAME_STALL:
        *value = machine_stall_cycles(m, core, (enum stall_reason)name->number);
        return 0;
    case NAME_INDEX:
        if (check_index("sublane", index[0], 8, e))
            return -1;
        *value = machine_index_rows(m, core, name->number)[index[0]];
        return 0;
    case NAME_FLAG:
        if (check_index("flag", index[0], machine_chip(m)->sync_flags, e))
            return -1;
        *value = machine_flag(m, core, (int)index[0]);
        return 0;
    default: *value = read_place(m, name); return 0;
    }
}
