/*
 * Mnemonics: the table's patterns, spelled out in every choice they leave.
 *
 * "vmatpush{|.xpose}.{msra|msrb}" is four mnemonics of one operation. All of
 * them are listed once, sorted, for the assembler and its hints.
 */
#include "isa/isa.h"

#include "base/arena.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const patterns[] = {
#define OP(id, mnemonic, slot, format, unit, class, reads, writes, effect, meaning) mnemonic,
#include "isa/ops.def"
};

struct name {
    const char *text;
    uint16_t code;
    uint8_t choice[ISA_CHOICE_MAX];
};

static struct name *names;
static const char **texts;
static size_t name_count, name_room;
static pthread_once_t names_once = PTHREAD_ONCE_INIT;

/* the alternative `value` of the choice that opens at `open`; NULL when it has fewer */
static const char *alternative(const char *open, int value, size_t *length)
{
    const char *at = open + 1;

    while (value > 0) {
        at += strcspn(at, "|}");
        if (*at++ == '}')
            return NULL;
        value--;
    }
    *length = strcspn(at, "|}");
    return at;
}

/*
 * The pattern with `value[]` chosen; `unit` goes where ".@" stands, or at the
 * end, where it is not NULL; `accumulator` stands for "#" where it is not NULL.
 */
static void spell(const char *pattern, const int32_t *value, const char *unit,
                  const char *accumulator, char *buf, size_t buf_bytes)
{
    bool has_mark = strstr(pattern, ".@") != NULL;
    size_t out = 0;
    int choice = 0;

    for (const char *p = pattern; *p; p++) {
        char one[2] = { *p, '\0' };
        const char *piece = one;
        size_t length = 1;

        if (*p == '{') {
            piece = alternative(p, value ? value[choice] : 0, &length);
            if (!piece)
                piece = "?", length = 1;
            choice++;
            p = strchr(p, '}');
        } else if (p[0] == '.' && p[1] == '@') {
            piece = unit ? unit : "";
            length = strlen(piece);
            p++;
        } else if (*p == '#' && accumulator) {
            piece = accumulator;
            length = strlen(piece);
        }
        if (length >= buf_bytes - out)
            length = buf_bytes - out - 1;
        memcpy(buf + out, piece, length);
        out += length;
    }
    buf[out] = '\0';
    if (unit && !has_mark)
        snprintf(buf + out, buf_bytes - out, "%s", unit);
}

static void add_name(int code, const int32_t *value, int choice_count)
{
    char text[ISA_MNEMONIC_MAX + 1];
    struct name *n;

    spell(patterns[code], value, NULL, NULL, text, sizeof(text));
    assert(strlen(text) < ISA_MNEMONIC_MAX);
    n = &MEM_ADD(names, name_count, name_room);
    n->text = strcpy(mem_alloc(strlen(text) + 1), text);
    n->code = (uint16_t)code;
    assert(choice_count <= ISA_CHOICE_MAX);
    for (int i = 0; i < choice_count && i < ISA_CHOICE_MAX; i++)
        n->choice[i] = (uint8_t)value[i];
}

/* counts through all values of all choices */
static void add_names(int code)
{
    const struct isa_info *info = isa_info((enum isa_opcode)code);
    int32_t value[ISA_CHOICE_MAX] = { 0 };
    int i = 0;

    while (i < info->choice_count || info->choice_count == 0) {
        add_name(code, value, info->choice_count);
        for (i = 0; i < info->choice_count; i++) {
            if (++value[i] < info->alternative_count[i])
                break;
            value[i] = 0;
        }
        if (info->choice_count == 0)
            break;
    }
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

static void list_names(void)
{
    for (int code = 0; code < OP_COUNT; code++)
        add_names(code);
    qsort(names, name_count, sizeof(*names), compare_names);
    texts = mem_alloc(name_count * sizeof(*texts));
    for (size_t i = 0; i < name_count; i++)
        texts[i] = names[i].text;
}

int isa_find(const char *name, size_t length, int32_t choice[ISA_CHOICE_MAX])
{
    size_t first = 0, end;

    pthread_once(&names_once, list_names);
    end = name_count;
    while (first < end) {
        size_t middle = (first + end) / 2;
        const char *candidate = names[middle].text;
        int order = strncmp(candidate, name, length);

        if (order == 0 && candidate[length] == '\0') {
            for (int i = 0; i < ISA_CHOICE_MAX; i++)
                choice[i] = names[middle].choice[i];
            return names[middle].code;
        }
        if (order < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return -1;
}

const char *const *isa_mnemonics(size_t *count)
{
    pthread_once(&names_once, list_names);
    *count = name_count;
    return texts;
}

char *isa_print_mnemonic(enum isa_opcode code, int unit_index, const int32_t *choice, char *buf,
                         size_t buf_bytes)
{
    const struct isa_info *info = isa_info(code);
    const char *suffix = isa_unit_suffix(code);
    char unit[16], accumulator[16] = "[0]";

    snprintf(unit, sizeof(unit), ".%s%d", suffix ? suffix : "", unit_index);
    if (choice && info->choice_count && info->alternative_count[info->choice_count - 1] == 0)
        snprintf(accumulator, sizeof(accumulator), "[%d]", (int)choice[info->choice_count - 1]);
    spell(patterns[code], choice, suffix ? unit : NULL, accumulator, buf, buf_bytes);
    return buf;
}

char *isa_print_op_mnemonic(const struct isa_op *op, char *buf, size_t buf_bytes)
{
    const struct isa_info *info = isa_info((enum isa_opcode)op->code);
    int32_t choice[ISA_CHOICE_MAX] = { 0 };

    for (int i = 0; i < info->choice_count; i++)
        choice[i] = op->operand[info->choice_first + i].value;
    return isa_print_mnemonic((enum isa_opcode)op->code, op->unit_index, choice, buf, buf_bytes);
}

char *isa_print_pattern(enum isa_opcode code, const char *unit, char *buf, size_t buf_bytes)
{
    const char *p = patterns[code], *at = strstr(p, ".@");
    int head = (int)(at ? (size_t)(at - p) : strcspn(p, "#"));
    const char *tail = p + head + (at ? 2 : p[head] == '#');

    assert(!strchr(tail, '#') && !(at && strchr(p, '#')));
    snprintf(buf, buf_bytes, "%.*s%s%s%s", head, p, at ? unit : p[head] == '#' ? "[N]" : "", tail,
             at ? "" : unit);
    return buf;
}
