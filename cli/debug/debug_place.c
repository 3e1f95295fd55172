/* Prints where a core is, and finds bundles by number, line or label. */
#include "cli/debug/debug.h"

#include "base/arena.h"
#include "base/text.h"
#include "base/units.h"
#include "isa/disasm.h"

#include <ctype.h>
#include <string.h>

#define COLUMNS 100
#define OP_TEXT_MAX 512

/* ---- bundles by name ---- */

static int find_line(const struct isa_program *p, const char *word, uint32_t *bundle,
                     struct err *e)
{
    uint32_t last = 0, best = UINT32_MAX;
    int64_t line;

    if (debug_parse_number(word, "the line", 1, UINT32_MAX, &line, e))
        return -1;
    for (uint32_t i = 0; i < p->bundle_count; i++) {
        uint32_t here = p->bundle[i].line;

        last = here > last ? here : last;
        if (here >= line && here < best) {
            best = here;
            *bundle = i;
        }
    }
    if (last == 0)
        return err_set(e, "the program does not know its lines; name a bundle or a label");
    if (best == UINT32_MAX)
        return err_set(e, "no bundle at line %lld or after it; the last is at line %u",
                       (long long)line, (unsigned)last);
    return 0;
}

static int find_number(const struct isa_program *p, const char *word, uint32_t *bundle,
                       struct err *e)
{
    int64_t number;

    if (debug_parse_number(word, "the bundle", 0, (int64_t)p->bundle_count - 1, &number, e))
        return -1;
    *bundle = (uint32_t)number;
    return 0;
}

/* "loop" or "loop+3" */
static int find_label(const struct isa_program *p, const char *word, uint32_t *bundle,
                      struct err *e)
{
    const char *plus = strrchr(word, '+'), **names;
    size_t length = plus ? (size_t)(plus - word) : strlen(word);
    int64_t more = 0;

    for (uint32_t i = 0; i < p->symbol_count; i++) {
        if (strncmp(p->symbol[i].name, word, length) != 0 || p->symbol[i].name[length])
            continue;
        if (plus && debug_parse_number(plus + 1, "bundles behind the label", 0,
                                       (int64_t)p->bundle_count - 1 - p->symbol[i].bundle, &more,
                                       e))
            return -1;
        *bundle = p->symbol[i].bundle + (uint32_t)more;
        return 0;
    }
    names = mem_alloc((p->symbol_count + 1u) * sizeof(*names));
    for (uint32_t i = 0; i < p->symbol_count; i++)
        names[i] = p->symbol[i].name;
    err_set(e, "no label \"%s\"%s", word, text_did_you_mean(word, names, p->symbol_count).text);
    mem_free(names);
    return -1;
}

int debug_find_bundle(const struct debugger *d, int core, const char *word, uint32_t *bundle,
                      struct err *e)
{
    const struct isa_program *p = machine_program(d->m, core);
    struct core_view v;

    if (!p)
        return err_set(e, "core %d has no program", core);
    if (word[0] == ':')
        return find_line(p, word + 1, bundle, e);
    if (isdigit((unsigned char)word[0]))
        return find_number(p, word, bundle, e);
    if (strcmp(word, ".") != 0)
        return find_label(p, word, bundle, e);
    machine_core(d->m, core, &v);
    if (v.bundle >= p->bundle_count)
        return err_set(e, "core %d has run past its last bundle", core);
    *bundle = v.bundle;
    return 0;
}

/* "loop+2" or ""; returns buf */
static char *debug_label(const struct isa_program *p, uint32_t bundle, char *buf, size_t buf_bytes)
{
    const struct isa_symbol *best = NULL;

    for (uint32_t i = 0; i < p->symbol_count; i++)
        if (p->symbol[i].bundle <= bundle && (!best || p->symbol[i].bundle >= best->bundle))
            best = &p->symbol[i];
    if (!best)
        buf[0] = '\0';
    else if (best->bundle == bundle)
        snprintf(buf, buf_bytes, "%s", best->name);
    else
        snprintf(buf, buf_bytes, "%s+%u", best->name, (unsigned)(bundle - best->bundle));
    return buf;
}

void debug_print_place(const struct debugger *d, int core, uint32_t bundle, FILE *to)
{
    const struct isa_program *p = machine_program(d->m, core);
    uint32_t line = bundle < p->bundle_count ? p->bundle[bundle].line : 0;
    char label[DEBUG_WORD_MAX];

    debug_label(p, bundle, label, sizeof(label));
    fprintf(to, "bundle %u", (unsigned)bundle);
    if (line)
        fprintf(to, " (line %u%s%s)", (unsigned)line, label[0] ? ", " : "", label);
    else if (label[0])
        fprintf(to, " (%s)", label);
}

/* ---- their text ---- */

void debug_print_bundle(const struct isa_program *p, uint32_t bundle, int indent, FILE *to)
{
    const struct isa_bundle *b = &p->bundle[bundle];
    int column = indent + 1;
    char text[OP_TEXT_MAX];

    fputc('{', to);
    for (uint32_t i = 0; i < b->op_count; i++) {
        int length = isa_print_op(p, &p->op[b->first_op + i], text, sizeof(text));

        if (i > 0 && column + length + 4 > COLUMNS) {
            fprintf(to, "\n%*s  ;; %s", indent, "", text);
            column = indent + 5 + length;
        } else {
            fprintf(to, "%s %s", i ? " ;;" : "", text);
            column += length + (i ? 4 : 1);
        }
    }
    fputs(" }\n", to);
}

bool debug_has_op(const struct isa_program *p, uint32_t bundle, const char *name)
{
    char mnemonic[ISA_NAME_MAX];

    for (uint32_t i = 0; i < p->bundle[bundle].op_count; i++) {
        isa_print_op_mnemonic(&p->op[p->bundle[bundle].first_op + i], mnemonic, sizeof(mnemonic));
        if (strncmp(mnemonic, name, strlen(name)) == 0)
            return true;
    }
    return false;
}

/* units and accumulators, which follow the name, are not looked at */
bool debug_is_op_name(const char *name, struct err *e)
{
    char plain[DEBUG_WORD_MAX], *unit;
    const char *const *all;
    size_t count;

    snprintf(plain, sizeof(plain), "%s", name);
    if ((unit = strstr(plain, ".mxu")) || (unit = strstr(plain, ".xlu"))
        || (unit = strstr(plain, ".mrb")))
        *unit = '\0';
    all = isa_mnemonics(&count);
    for (size_t i = 0; i < count; i++)
        if (strncmp(all[i], plain, strlen(plain)) == 0)
            return true;
    err_set(e, "no operation \"%s\"%s", name, text_did_you_mean(plain, all, count).text);
    return false;
}

/* ---- what a core does ---- */

static const char *sign_of(enum isa_opcode code)
{
    switch (code) {
    case OP_VWAIT_EQ: return "==";
    case OP_VWAIT_NE: return "!=";
    case OP_VWAIT_GT: return ">";
    case OP_VWAIT_LT: case OP_VWAIT_NOTDONE: return "<";
    case OP_VWAIT_LE: return "<=";
    default: return ">=";
    }
}

static void print_wait(const struct debugger *d, int core, const struct core_view *v, FILE *to)
{
    const struct isa_info *info = isa_info(v->wait.code);

    if (info->unit == UNIT_DMA)
        fprintf(to, "%s waits for its dma queue", info->mnemonic);
    else if (v->wait.code == OP_VSYNCMOV_R)
        fprintf(to, "%s waits for the answer of another core", info->mnemonic);
    else
        fprintf(to, "%s waits for flag %d %s %d, which is %d", info->mnemonic, (int)v->wait.flag,
                sign_of(v->wait.code), (int)v->wait.value,
                (int)machine_flag(d->m, core, v->wait.flag));
    fprintf(to, ", since cycle %lld", (long long)v->now);
}

static void print_ready(const struct core_view *v, FILE *to)
{
    cycle_t wait = v->issues_at - v->now;

    fprintf(to, "issues at %lld", (long long)v->issues_at);
    if (wait > 0 && v->reason != STALL_COUNT)
        fprintf(to, " after %lld %s of %s", (long long)wait, wait == 1 ? "cycle" : "cycles",
                stall_name(v->reason));
    if (v->branch_in > 0)
        fprintf(to, ", branch to bundle %u after %d more", (unsigned)v->branch_target,
                v->branch_in);
}

void debug_print_doing(const struct debugger *d, int core, FILE *to)
{
    struct core_view v;

    machine_core(d->m, core, &v);
    switch (v.activity) {
    case CORE_HAS_NO_PROGRAM: fputs("has no program", to); break;
    case CORE_HAS_HALTED: fprintf(to, "halted at %lld", (long long)v.now - 1); break;
    case CORE_HAS_FAULTED: fputs("faulted", to); break;
    case CORE_WAITS: print_wait(d, core, &v, to); break;
    default: print_ready(&v, to); break;
    }
}

static void print_displays(struct debugger *d)
{
    struct err e;

    for (int i = 0; i < DEBUG_DISPLAY_MAX; i++)
        if (d->display[i][0] && debug_execute(d, d->display[i], &e))
            fprintf(d->out, "display %d: %s\n", i + 1, e.msg);
}

void debug_print_stop(struct debugger *d)
{
    const struct isa_program *p = machine_program(d->m, d->core);
    const char *bold = d->options.has_colour ? "\033[1m" : "";
    const char *plain = d->options.has_colour ? "\033[0m" : "";
    struct core_view v;

    fprintf(d->out, "%score %d @%lld%s: ", bold, d->core, (long long)d->cycle, plain);
    if (p) {
        machine_core(d->m, d->core, &v);
        debug_print_place(d, d->core, v.bundle, d->out);
        fputs(", ", d->out);
    }
    debug_print_doing(d, d->core, d->out);
    fputc('\n', d->out);
    if (p && v.bundle < p->bundle_count && v.activity != CORE_HAS_HALTED) {
        fprintf(d->out, "%6u  ", (unsigned)v.bundle);
        debug_print_bundle(p, v.bundle, 8, d->out);
    }
    print_displays(d);
}
