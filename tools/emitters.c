/*
 * Writes a C header with a function for each operation of isa/ops.def; make runs it.
 *
 *   emitters ops    isa/op_make.h: isa_vadd_f32(to, a, b) is the operation as a value;
 *                   isa_make_d_vv(code, to, a, b) the same for any operation of a format;
 *                   enum constants for the choices of mnemonics, VROUND_F32_FLOOR
 *   emitters emit   stack/backend/emitters.h: emit_vadd_f32(c, a, b) appends it to virtual-register
 *                   code and returns the new register of the result. What a unit answers through
 *                   a FIFO is pushed and popped at once: emit_vrcp(c, a)
 *
 * What a parameter is, the letter of its operand in isa/formats.def decides (struct kind below).
 * Operations of matrix and cross-lane units take the number of the unit first.
 */
#include "isa/isa.h"

#include "base/units.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define OPND "struct isa_operand"
#define PARAMETERS_MAX (ISA_OPERAND_MAX + 3)

/* by letter of a template; %s in the operand is the parameter's name */
static const struct kind {
    const char *type, *name, *operand;
} kinds[128] = {
    ['d'] = {"int", "to", "operand_reg(%s)"}, ['v'] = {"int", NULL, "operand_reg(%s)"},
    ['m'] = {"int", "to", "operand_reg(%s)"}, ['n'] = {"int", "mask", "operand_reg(%s)"},
    ['V'] = {OPND, NULL, "%s"}, ['N'] = {OPND, NULL, "%s"},
    ['e'] = {"int", "to", "operand_reg(%s)"}, ['s'] = {"int", NULL, "operand_reg(%s)"},
    ['S'] = {OPND, NULL, "%s"}, ['Z'] = {OPND, NULL, "%s"}, ['F'] = {OPND, "flag", "%s"},
    ['q'] = {"int", "to", "operand_reg(%s)"}, ['p'] = {"int", NULL, "operand_reg(%s)"},
    ['P'] = {OPND, NULL, "%s"}, ['i'] = {"int64_t", "number", "I(%s)"},
    ['L'] = {"int64_t", "target", "I(%s)"}, ['B'] = {OPND, "base", "%s"},
    ['O'] = {OPND, "offset", "%s"},
};

struct parameter { char type[112], name[24], operand[120]; };

struct function {
    enum isa_opcode code;
    const struct isa_info *info;
    char name[80];                      /* without isa_ and emit_ */
    const char *format;                 /* of a function for a format: its name, else NULL */
    struct parameter list[PARAMETERS_MAX];
    int count, operand_count;
};

static const char *const op_ids[] = {
#define OP(id, mnemonic, slot, format, unit, class, reads, writes, effect, meaning) #id,
#include "isa/ops.def"
};
static const char *const format_ids[] = {
#define FMT(name, template) #name,
#include "isa/formats.def"
};

static const char *lower(char *to, const char *from)
{
    size_t i;

    for (i = 0; from[i]; i++)
        to[i] = (char)tolower((unsigned char)from[i]);
    to[i] = '\0';
    return to;
}

static bool has_unit(const struct function *f)
{
    return !f->format && isa_unit_suffix(f->code) != NULL;
}

static void add(struct function *f, const char *type, const char *name, const char *operand)
{
    struct parameter *p = &f->list[f->count++];

    snprintf(p->type, sizeof(p->type), "%s", type);
    snprintf(p->name, sizeof(p->name), "%s", name);
    for (size_t out = 0; *operand; operand++)
        if (operand[0] == '%')
            out += (size_t)snprintf(p->operand + out, sizeof(p->operand) - out, "%s", name),
            operand++;
        else
            p->operand[out++] = *operand;
}

/* rows of a memory are one parameter: address, stride, sublanes and pattern, where they stand */
static const char *add_rows(struct function *f, const char *t)
{
    char operand[120] = "%s.base, %s.offset";

    for (t += *t == ']'; t[0] == '$' && strchr("TMR", t[1]); t += 2)
        strcat(operand, t[1] == 'T'   ? ", operand_imm(%s.stride)"
                        : t[1] == 'M' ? ", operand_imm(%s.sublanes)"
                                      : ", operand_imm(%s.pattern)");
    add(f, "struct isa_rows", "rows", operand);
    return t;
}

static void add_operand(struct function *f, char letter, const char *comment)
{
    static const char *const reads[] = {"a", "b", "x", "y", "z"};
    const struct kind *k = &kinds[(unsigned char)letter];
    const char *name = k->name;
    int count = 0;

    for (int i = 0; i < f->count; i++)
        for (size_t j = 0; j < COUNT_OF(reads); j++)
            count += !strcmp(f->list[i].name, reads[j]);
    if (letter == 'n' && isa_format_template(f->info->format)[1] == 'm')
        name = NULL;                    /* masks of a mask are its operands */
    add(f, k->type, *comment ? comment : name ? name : reads[count], k->operand);
}

/* the operands of the template, without those that may be left out or with them */
static void add_operands(struct function *f, bool has_tail)
{
    char comment[24] = "";

    for (const char *t = isa_format_template(f->info->format); *t; t++) {
        if (t[0] == '/' && t[1] == '*') {
            snprintf(comment, sizeof(comment), "%.*s", (int)strcspn(t + 2, "="), t + 2);
            t += 2;
        }
        if (*t != '$')
            continue;
        t++;
        if (*t == '?' && !has_tail)
            return;
        if (*t == '?')
            continue;
        if (*t == 'A' && (t[1] == ']') && t[2] == '$' && strchr("TMR", t[3])) {
            t = add_rows(f, t + 1) - 1;
        } else if (*t == 'A') {
            add_operand(f, 'B', "");
            add_operand(f, 'O', "");
        } else {
            add_operand(f, *t, comment);
        }
        comment[0] = '\0';
    }
}

/* ----- choices: constants, but for those of matrix units, which isa/matrix.h names */

static bool has_constants(const struct function *f, int choice)
{
    return !f->format && f->info->unit != UNIT_MXU && f->info->alternative_count[choice] > 0;
}

static void print_constants(const struct function *f)
{
    const char *p = f->info->pattern;
    char name[80];

    for (int choice = 0; choice < f->info->choice_count; choice++) {
        p = strchr(p, '{');
        if (!p)                         /* the rest are letters of the format */
            return;
        p++;
        if (!has_constants(f, choice))
            continue;
        printf("enum isa_%s_x%d { %s_", lower(name, op_ids[f->code]), choice, op_ids[f->code]);
        for (; *p != '}'; p++)
            if (*p == '|')
                printf(", %s_", op_ids[f->code]);
            else
                putchar(isalnum((unsigned char)*p) ? toupper((unsigned char)*p) : '_');
        printf(" };\n");
    }
}

/* what the choices of a matrix unit's operations are called in isa/matrix.h */
static const char *matrix_choice(const struct function *f, int i)
{
    static const char *const push[] = {"mode", "type", "is_xpose", "staging"};
    static const char *const multiply[] = {"uses_prep", "type", "latch", "gain", "accumulator"};
    static const char *const pop[] = {"is_s32", "accumulator"};

    if (f->info->slot == SLOT_POP)
        return pop[i];
    if (f->info->choice_count == 1)
        return "type";
    return f->info->latency_class == CLASS_MATPUSH ? push[i] : multiply[i];
}

static void add_choices(struct function *f)
{
    char type[100], name[80], parameter[24];

    for (int i = 0; i < f->info->choice_count; i++) {
        snprintf(type, sizeof(type), "enum isa_%s_x%d", lower(name, op_ids[f->code]), i);
        snprintf(parameter, sizeof(parameter), "x%d", i);
        add(f, has_constants(f, i) ? type : "int",
            f->info->unit == UNIT_MXU ? matrix_choice(f, i) : parameter,
            "operand_imm((int32_t)%s)");
    }
}

/* ----- functions */

static const char *comma(int i) { return i ? ", " : ""; }

/* parameters from number `first` on, behind `count` others */
static void print_parameters(const struct function *f, int first, int count)
{
    if (f->format)
        printf("%senum isa_opcode code", comma(count++));
    if (has_unit(f))
        printf("%sint unit", comma(count++));
    for (int i = first; i < f->count; i++)
        printf("%s%s %s", comma(count++), f->list[i].type, f->list[i].name);
    printf("%s)\n{\n", count ? "" : "void");
}

static void print_make(const struct function *f)
{
    printf("static inline struct isa_op isa_%s(", f->name);
    print_parameters(f, 0, 0);
    if (f->format)
        printf("    assert(isa_info(code)->format == ISA_FMT_%s &&\n"
               "           !isa_info(code)->choice_count);\n", f->format);
    printf("    return (struct isa_op){.code = %s%s, .pred = ISA_PRED_ALWAYS,%s\n"
           "        .operand_count = %d", f->format ? "(uint16_t)" : "OP_",
           f->format ? "code" : op_ids[f->code], has_unit(f) ? " .unit_index = (uint8_t)unit," : "",
           f->operand_count);
    for (int i = 0; i < f->count; i++)
        printf("%s%s", i ? ", " : ", .operand = {", f->list[i].operand);
    printf("%s};\n}\n", f->count ? "}" : "");
}

static void print_call(const struct function *f, bool has_region)
{
    int count = 0;

    printf("isa_%s(", f->name);
    if (f->format)
        printf("%scode", comma(count++));
    if (has_unit(f))
        printf("%sunit", comma(count++));
    for (int i = 0; i < f->count; i++)
        printf("%s%s", comma(count++), f->list[i].name);
    printf("))%s;\n", has_region ? "->region = region" : "");
}

static void print_emit(struct function *f)
{
    char result = f->info->role[0];
    bool is_vector = result == 'd', is_value = is_vector || result == 'm';
    bool has_region = strstr(isa_format_template(f->info->format), "[vmem:") != NULL;
    bool is_answered = !f->format && f->info->writes & (ISA_EUP | ISA_XLANE | ISA_PERMUTE);

    if (has_region)
        add(f, "int", "region", "");
    printf("static inline %s emit_%s(struct vcode *c",
           is_value || is_answered ? "int" : "void",
           f->format ? f->name + strlen("make_") : f->name);
    print_parameters(f, is_value, 1);
    f->count -= has_region;
    if (is_value)
        printf("    int to = vcode_%s(c);\n\n", is_vector ? "vreg" : "mask");
    printf(is_answered ? "    return vcode_answer(c, " : "    vcode_put(c, ");
    print_call(f, has_region);
    printf("%s}\n", is_value ? "    return to;\n" : "");
}

static void print_function(struct function *f, bool has_tail, bool is_emit)
{
    if (has_tail)
        strcat(f->name, "_strided");
    add_operands(f, has_tail);
    if (!f->format)
        add_choices(f);
    if (!is_emit)
        print_make(f);
    else
        print_emit(f);
}

static void print_functions(enum isa_opcode code, const char *format, bool is_emit)
{
    const struct isa_info *info = isa_info(code);

    for (int tail = 0; tail <= (info->tail_first < info->choice_first); tail++) {
        struct function f = {.code = code, .info = info, .format = format,
                             .operand_count = format ? info->choice_first : info->operand_count};
        char name[60];

        snprintf(f.name, sizeof(f.name), "%s%s", format ? "make_" : "",
                 lower(name, format ? format : op_ids[code]));
        if (!tail && !format && !is_emit)
            print_constants(&f);
        print_function(&f, tail, is_emit);
    }
}

int main(int argc, char **argv)
{
    bool is_emit = argc > 1 && !strcmp(argv[1], "emit"), is_done[ISA_FMT_COUNT] = {false};
    const char *guard = is_emit ? "STACK_EMITTERS_H" : "ISA_OP_MAKE_H";
    int users[ISA_FMT_COUNT] = {0};     /* operations without choices */

    printf("/* Made by tools/emitters.c, which says what this is, of isa/ops.def. */\n"
           "#ifndef %s\n#define %s\n%s\n",
           guard, guard,
           is_emit ? "#include \"isa/op_make.h\"\n#include \"stack/backend/vcode.h\""
                   : "#include \"isa/operand.h\"\n\n#include <assert.h>");
    for (int code = 0; code < OP_COUNT; code++)
        if (!isa_info((enum isa_opcode)code)->choice_count)
            users[isa_info((enum isa_opcode)code)->format]++;
    for (int code = 0; code < OP_COUNT; code++) {
        enum isa_format format = isa_info((enum isa_opcode)code)->format;

        if (!is_done[format] && users[format] > 1)
            print_functions((enum isa_opcode)code, format_ids[format], is_emit);
        is_done[format] = true;
        print_functions((enum isa_opcode)code, NULL, is_emit);
    }
    puts("#endif");
    return 0;
}
