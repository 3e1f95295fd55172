/* Prints virtual-register code as text. */
#include "stack/backend/vcode.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "isa/disasm.h"

#define INDENT_MAX 8

struct printer {
    const struct vcode *c;
    FILE *to;
    int depth;
    size_t next_remark;
};

static void indent(const struct printer *p)
{
    int depth = p->depth < INDENT_MAX ? p->depth : INDENT_MAX;

    fprintf(p->to, "%*s", 2 + 2 * depth, "");
}

/* length of "v12" or "vm3" at the start of the text; 0: something else */
static size_t virtual_name(const char *text)
{
    size_t letters = text[0] != 'v' ? 0 : text[1] == 'm' ? 2 : 1;
    size_t digits = letters ? strspn(text + letters, "0123456789") : 0;

    if (!digits || isalnum((unsigned char)text[letters + digits]) || text[letters + digits] == '.')
        return 0;
    return letters + digits;
}

/* what isa_print_op says, with % before the names of virtual registers */
static void print_marked(const char *text, FILE *to)
{
    bool is_inside = false;             /* of a word */

    for (const char *c = text; *c; c++) {
        if (!is_inside && virtual_name(c))
            fputc('%', to);
        is_inside = isalnum((unsigned char)*c) || *c == '_' || *c == '.';
        fputc(*c, to);
    }
}

static void print_op(const struct printer *p, const struct vcode_op *o, bool is_step)
{
    static const struct isa_program no_program;
    char text[512];

    isa_print_op(&no_program, &o->op, text, sizeof(text));
    indent(p);
    print_marked(text, p->to);
    if ((o->op.code == OP_VLD || o->op.code == OP_VST) && o->region != VCODE_REGION_ANY)
        fprintf(p->to, "  // region %d", o->region);
    if (is_step)
        fputs("  // to the next round", p->to);
    if (o->op.origin)
        fprintf(p->to, "  // operation %d", o->op.origin);
    fputc('\n', p->to);
}

static void print_remarks(struct printer *p, size_t block)
{
    const struct vcode *c = p->c;

    for (; p->next_remark < c->remark_count && c->remark[p->next_remark].block <= block;
         p->next_remark++)
        fprintf(p->to, "  // %s\n", c->remark[p->next_remark].text);
}

static void print_finished(const struct printer *p, const struct isa_program *bundles)
{
    indent(p);
    fprintf(p->to, "bundles, scheduled by the kernel itself: %" PRIu32 " with %" PRIu32
            " operations {\n", bundles->bundle_count, bundles->op_count);
    isa_print_program(bundles, p->to);
    indent(p);
    fputs("}\n", p->to);
}

static void print_block(struct printer *p, size_t number)
{
    const struct vcode_block *b = &p->c->block[number];
    size_t steps = b->op_count - (size_t)b->step_count;

    print_remarks(p, number);
    if (b->is_loop_start) {
        indent(p);
        fprintf(p->to, "loop s%d = %" PRId64 " rounds {\n", b->counter_sreg, b->loop_count);
        p->depth++;
    }
    for (size_t i = 0; i < b->op_count; i++)
        print_op(p, &b->op[i], b->is_loop_end && i >= steps);
    if (b->bundles)
        print_finished(p, b->bundles);
    if (b->is_loop_end) {
        assert(p->depth);
        p->depth--;
        indent(p);
        fprintf(p->to, "}  // s%d\n", b->counter_sreg);
    }
}

static void print_pinned(const struct printer *p)
{
    int count = 0;

    for (int v = 0; v < p->c->vreg_count; v++)
        if (p->c->is_pinned[v])
            fprintf(p->to, "%s%%v%d", count++ ? ", " : "  // one register each throughout: ", v);
    if (count)
        fputc('\n', p->to);
}

void vcode_print(const struct vcode *c, FILE *to)
{
    struct printer p = {.c = c, .to = to};

    print_pinned(&p);
    for (size_t i = 0; i < c->block_count; i++)
        print_block(&p, i);
}
