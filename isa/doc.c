/* Prints the tables of ops.def and formats.def as Markdown. */
#include "isa/doc.h"

#include "isa/isa.h"

#include <string.h>

static const char introduction[] =
    "# The instruction set\n"
    "\n"
    "Written by `systole asm --isa-doc` from `isa/ops.def` and `isa/formats.def`; change those.\n"
    "\n"
    "A program is a list of bundles, one issued per cycle unless something must wait. The\n"
    "operations of a bundle all read their registers before any of them writes. How many\n"
    "operations of each slot fit into a bundle is the chip's (`systole chips`).\n"
    "\n"
    "```\n"
    "loop:\n"
    "{ v9 = vld [vmem:s3 + 0x18] sm:$0xff ;; s2 = sadd.s32 s1, 8 ;; sbr.rel (!p0) target = loop }\n"
    "```\n"
    "\n"
    "`//` and `#` begin a comment to the end of the line, `/* */` encloses one. `.equ NAME,\n"
    "value` names an immediate; values may be sums, `NAME + 8`. `.note text` says what the\n"
    "bundles behind it belong to, for reports. Compiler listings read as they are: `%v77_v9` is\n"
    "`v9`, `%54 =` and the number before a bundle are skipped, `[#name]` is a name from `.equ`,\n"
    "a comma may follow a guard, and a branch may be written `target bundleno = 31 (0x1f),\n"
    "region = 20`.\n"
    "\n"
    "A guard `(p3)` or `(!p3)` behind the mnemonic makes any operation conditional. `N` in\n"
    "`.mxuN` and `.xluN` is the number of the unit. `{a|b}` in a mnemonic is a choice: one of the\n"
    "two is written; the effect calls the choices `x0`, `x1`, ..., counted from 0.\n"
    "\n"
    "In the tables `o0`, `o1`, ... are the operands in order, as the column *effect* names them,\n"
    "and the letters behind the colon say what each may be:\n"
    "\n"
    "| letters | operand |\n"
    "|---|---|\n"
    "| `v` | vector register, one tile of 8 sublanes x 128 lanes x 32 bits |\n"
    "| `m` | mask register `vm0`..`vm15`, a bit per element |\n"
    "| `s` | scalar register `s0`..`s31`, 32 bits |\n"
    "| `p` | predicate `p0`..`p13`; where it is read, `!p0` is its negation |\n"
    "| `i` | immediate: `12`, `0x1f`, `$0x1f`, `0.5`, or a name from `.equ` |\n"
    "| `vi`, `mi`, `si`, `pi` | register or immediate |\n"
    "| `L` | label, or bundle number |\n"
    "| `address` | `s3`, `0x18`, `s3 + 0x18`: the register and the offset are two "
    "operands |\n"
    "\n"
    "`ss:` (sublane stride, 1 when left out) and `sm:` (sublane mask, 0xff when left out) are\n"
    "two more operands of vector loads and stores; a stride is not negative. A load of stride 0\n"
    "reads one row into all sublanes; of a store of stride 0 the highest sublane remains.\n"
    "`pattern:` has a digit per sublane, sublane 0 last: the sublane that comes from, or goes to,\n"
    "memory there. What stands in `[, ...]` may be left out, all of it.\n";

static const char *const slot_texts[SLOT_COUNT] = {
    [SLOT_SCALAR] = "The scalar unit: integers, predicates, SMEM, branches.",
    [SLOT_VALU] = "Vector arithmetic, lane by lane.",
    [SLOT_EUP] = "Transcendental functions; each also takes a valu slot.",
    [SLOT_LOAD] = "VMEM to vector registers. Addresses count rows of 512 bytes.",
    [SLOT_STORE] = "Vector registers to VMEM.",
    [SLOT_PUSH] = "Into the cross-lane and matrix units.",
    [SLOT_POP] = "Results of the units, in the order of the pushes.",
    [SLOT_MISC] = "Synchronisation and the rest; on some chips one more load or store.",
    [SLOT_CMEM] = "CMEM to a FIFO, on the chips that have one. Addresses count rows of 512 bytes.",
    [SLOT_DMA] =
        "Copies, asynchronous. Addresses and sizes count granules of 32 bytes, HBM addresses\n"
        "without sign. On completion the flag rises by the granules moved. Behind the flag may\n"
        "stand strides: each run of o6 granules starts o4 (source) and o5 (destination) granules\n"
        "after the last; without them, and with o6 = 0, all is one run. A copy takes scalar or\n"
        "misc slots too, by the chip.",
};

/* '|' would end the cell, even in code */
static void print_cell_char(char c, FILE *to)
{
    fputs(c == '|' ? "\\|" : (char[]){ c, '\0' }, to);
}

static void print_cell(const char *s, FILE *to)
{
    for (; *s; s++)
        print_cell_char(*s, to);
}

static const char *operand_letters(char role)
{
    switch (role) {
    case 'd': case 'v': return "v";
    case 'm': case 'n': return "m";
    case 'N':           return "mi";
    case 'e': case 's': return "s";
    case 'q': case 'p': return "p";
    case 'V':           return "vi";
    case 'S': case 'Z': return "si";
    case 'P':           return "pi";
    case 'L':           return "L";
    default:            return "i";
    }
}

/* Returns how many operands the role takes. */
static int print_operand(char role, int index, FILE *to)
{
    switch (role) {
    case 'A':
        fprintf(to, "address");
        return 2;
    case 'F':
        fprintf(to, "[sflag:o%d:si]", index);
        return 1;
    case 'L':
        fprintf(to, "target = o%d:L", index);
        return 1;
    case 'T':
        fprintf(to, " ss:o%d", index);
        return 1;
    case 'R':
        fprintf(to, " pattern:o%d", index);
        return 1;
    case 'M':
        fprintf(to, " sm:o%d", index);
        return 1;
    default:
        fprintf(to, "o%d:%s", index, operand_letters(role));
        return 1;
    }
}

static void print_mnemonic(enum isa_opcode code, FILE *to)
{
    const char *suffix = isa_unit_suffix(code);
    char unit[16], pattern[ISA_PATTERN_MAX];

    snprintf(unit, sizeof(unit), ".%sN", suffix ? suffix : "");
    print_cell(isa_print_pattern(code, suffix ? unit : "", pattern, sizeof(pattern)), to);
}

static void print_row(enum isa_opcode code, FILE *to)
{
    const struct isa_info *info = isa_info(code);
    int index = 0;

    fprintf(to, "| `");
    for (const char *t = isa_format_template(info->format); *t; t++) {
        if (t[0] == '$' && t[1] == '?')
            fputs("[", to), t++;
        else if (*t == '$')
            index += print_operand(*++t, index, to);
        else if (*t == '@')
            print_mnemonic(code, to);
        else
            print_cell_char(*t, to);
    }
    fprintf(to, "%s` | `", info->tail_first < info->choice_first ? "]" : "");
    print_cell(info->effect, to);
    fprintf(to, "` | ");
    print_cell(info->meaning, to);
    fprintf(to, " |\n");
}

void isa_print_markdown(FILE *to)
{
    fputs(introduction, to);
    for (int slot = 0; slot < SLOT_COUNT; slot++) {
        fprintf(to, "\n## %s\n\n%s\n\n| syntax | effect | meaning |\n|---|---|---|\n",
                isa_slot_name((enum isa_slot)slot), slot_texts[slot]);
        for (int code = 0; code < OP_COUNT; code++) {
            if (isa_info((enum isa_opcode)code)->slot == (enum isa_slot)slot)
                print_row((enum isa_opcode)code, to);
        }
    }
}
