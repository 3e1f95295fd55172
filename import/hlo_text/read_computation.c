/*
 * Computations: instructions in braces, each with its name, type, operation, operands and
 * attributes. Computations and instructions may be nested in others; those get names when all other
 * names are known.
 */
#include "import/hlo_text/reader.h"

#include "base/text.h"
#include "import/program/infer.h"

#include <inttypes.h>
#include <string.h>

static struct hlo_names *names_here(struct hlo_reader *r)
{
    return &r->instructions[r->computation_depth];
}

int hlo_read_callee(struct hlo_reader *r, int *computation)
{
    struct hlo_scan *s = &r->scan;
    struct hlo_span name;

    if (hlo_scan_see(s, '{')) {
        struct hlo_computation c = {.name = NULL};

        hlo_scan_place(s, s->at, &c.line, &c.col);
        return hlo_read_body(r, &c, NULL, computation);
    }
    if (hlo_scan_name(s, &name, "a computation"))
        return -1;
    *computation = hlo_names_find(&r->computations, name.at, name.length);
    if (*computation < 0)
        return hlo_scan_error(s, name.at, "no computation above is named %.*s; computations stand "
                              "before those that call them", HLO_SHOWN(name));
    return 0;
}

/* Types that people leave out: what operands and attributes say. */
static int infer_type(struct hlo_reader *r, const struct hlo_computation *c, struct hlo_reading *g)
{
    struct hlo_instruction i = g->f.i;
    struct hlo_type nothing = {.element = ELEMENT_COUNT}, type = nothing;
    struct err e;

    i.type = &nothing;
    i.detail = &g->f.d;
    if (g->name.length)
        i.label = hlo_label(hlo_read_keep(r, g->name));
    if (hlo_infer_type(r->module, c, &i, r->pool.arena, &type, &e))
        return hlo_scan_error(&r->scan, g->at, "%s", e.msg);
    g->f.i.type = hlo_keep_type(r->module, &type);
    return 0;
}

/* The instruction becomes the computation's last. */
static int add_instruction(struct hlo_reader *r, struct hlo_computation *c, struct hlo_reading *g)
{
    struct hlo_instruction *i = &g->f.i;
    int index = c->count;

    if (!g->has_type && infer_type(r, c, g))
        return -1;
    if (g->name.length) {
        if (hlo_names_find(names_here(r), g->name.at, g->name.length) >= 0)
            return hlo_scan_error(&r->scan, g->name.at, "%.*s is the name of two instructions",
                                  HLO_SHOWN(g->name));
        i->label = hlo_label(hlo_pool_text(&r->pool, g->name.at, g->name.length));
        hlo_names_add(names_here(r), hlo_name(i), g->name.length, index);
    }
    i->detail = hlo_read_keep_detail(r, &g->f.d);
    MEM_ADD(c->instruction, c->count, c->capacity) = *i;
    return 0;
}

/* line and column of what begins at `at` */
static void place(struct hlo_reader *r, const char *at, struct hlo_instruction *i)
{
    int col;

    hlo_scan_place(&r->scan, at, &i->line, &col);
    i->col = hlo_column(col);
}

static int read_type(struct hlo_reader *r, struct hlo_reading *g)
{
    struct hlo_type type = {.element = ELEMENT_COUNT};

    if (hlo_read_type(r, &type))
        return -1;
    g->f.i.type = hlo_keep_type(r->module, &type);
    return 0;
}

/* where `g` begins: here */
static void begin(struct hlo_reader *r, struct hlo_reading *g)
{
    hlo_scan_blank(&r->scan);
    g->at = r->scan.at;
    place(r, g->at, &g->f.i);
}

/* "#1" behind a name: that element of the tuple. Each is made once: "t#1" is its name as well. */
static int read_element(struct hlo_reader *r, struct hlo_computation *c, struct hlo_span name,
                        int *operand)
{
    struct hlo_scan *s = &r->scan;

    while (hlo_scan_take(s, '#')) {
        const struct hlo_type *t = c->instruction[*operand].type;
        struct hlo_reading g = {.f.i.op = OPCODE_GET_TUPLE_ELEMENT, .has_type = true,
                                .at = name.at};
        struct hlo_instruction *i = &g.f.i;
        int found;

        if (hlo_scan_int(s, 0, INT32_MAX, &i->index))
            return -1;
        if (i->index >= t->part_count)
            return hlo_scan_error(s, name.at, "element %" PRId64 " of a value that has %d",
                                  i->index, t->part_count);
        name.length = (size_t)(s->at - name.at);
        found = hlo_names_find(names_here(r), name.at, name.length);
        if (found < 0) {
            place(r, name.at, i);
            i->type = &t->part[i->index];
            i->operand = hlo_pool_copy(&r->pool, operand, 1, sizeof(*operand));
            i->operand_count = 1;
            found = c->count;
            add_instruction(r, c, &g);
            hlo_names_add(names_here(r), name.at, name.length, found);
        }
        *operand = found;
    }
    return 0;
}

static int read_operation(struct hlo_reader *r, struct hlo_computation *c, struct hlo_reading *g);

static int check_operand_type(struct hlo_reader *r, const struct hlo_computation *c, int operand,
                              const struct hlo_type *said, const char *at)
{
    const struct hlo_instruction *i = &c->instruction[operand];
    char is[160], says[160];

    if (hlo_types_agree(r->module, said, i->type))
        return 0;
    return hlo_scan_error(&r->scan, at, "the operand is said to be %s, but %s is %s",
                          hlo_type_print(said, says, sizeof(says)), i->label ? hlo_name(i) : "it",
                          hlo_type_print(i->type, is, sizeof(is)));
}

/* A name, or "multiply(x, y)": an instruction of its own in the place of an operand. */
static int read_operand(struct hlo_reader *r, struct hlo_computation *c, int *operand)
{
    struct hlo_scan *s = &r->scan;
    struct hlo_reading g = {.f.i.op = OPCODE_COUNT};
    struct hlo_span name;
    const char *start;
    int status;

    begin(r, &g);
    g.has_type = hlo_read_sees_type(r);
    if (g.has_type && read_type(r, &g))
        return -1;
    hlo_scan_blank(s);
    start = s->at;
    if (hlo_scan_name(s, &name, "an operand"))
        return -1;
    if (*start != '%' && hlo_scan_see(s, '(')) {
        s->at = start;
        g.is_nested = true;
        if (hlo_scan_enter(s))
            return -1;
        status = read_operation(r, c, &g);
        hlo_scan_leave(s);
        *operand = c->count - 1;
        return status;
    }
    *operand = hlo_names_find(names_here(r), name.at, name.length);
    if (*operand < 0)
        return hlo_scan_error(s, name.at, "no instruction above is named %.*s", HLO_SHOWN(name));
    if (read_element(r, c, name, operand))
        return -1;
    return g.has_type ? check_operand_type(r, c, *operand, g.f.i.type, g.at) : 0;
}

static int read_operands(struct hlo_reader *r, struct hlo_computation *c, struct hlo_instruction *i)
{
    struct hlo_scan *s = &r->scan;
    size_t first = r->operand_count;

    while (!hlo_scan_take(s, ')')) {
        int one;

        if ((r->operand_count > first && hlo_scan_want(s, ',')) || read_operand(r, c, &one))
            return -1;
        MEM_ADD(r->operand, r->operand_count, r->operand_capacity) = one;
    }
    i->operand_count = (int)(r->operand_count - first);
    if (i->operand_count > 0)
        i->operand = hlo_pool_copy(&r->pool, r->operand + first, r->operand_count - first,
                                   sizeof(*r->operand));
    r->operand_count = first;
    return 0;
}

static int read_arguments(struct hlo_reader *r, struct hlo_computation *c, struct hlo_reading *g)
{
    struct hlo_scan *s = &r->scan;

    if (hlo_scan_want(s, '('))
        return -1;
    if (g->f.i.op != OPCODE_PARAMETER && g->f.i.op != OPCODE_CONSTANT)
        return read_operands(r, c, &g->f.i);
    if (!g->has_type)
        return hlo_scan_error(s, g->at, "a %s needs its type", hlo_opcode_name(g->f.i.op));
    if (g->f.i.op == OPCODE_PARAMETER ? hlo_scan_int(s, 0, INT32_MAX, &g->f.i.index)
                                      : hlo_read_literal(r, g->f.i.type, &g->f.i.literal))
        return -1;
    return hlo_scan_want(s, ')');
}

/* NAME of `NAME-start`, where that is no operation of its own; OPCODE_COUNT: it is no such name. */
static enum hlo_opcode wrapped_by(struct hlo_span name, const char *step)
{
    size_t length = strlen(step);

    if (name.length <= length || memcmp(name.at + name.length - length, step, length) != 0)
        return OPCODE_COUNT;
    return hlo_opcode_find(name.at, name.length - length);
}

/* Operation, operands and attributes; the instruction becomes the computation's last. */
static int read_operation(struct hlo_reader *r, struct hlo_computation *c, struct hlo_reading *g)
{
    struct hlo_scan *s = &r->scan;
    struct hlo_span name;
    bool is_start = false;

    if (!hlo_scan_take_ident(s, &name))
        return hlo_scan_unexpected(s, "an operation");
    g->f.i.op = hlo_opcode_find(name.at, name.length);
    if (g->f.i.op == OPCODE_COUNT && memchr(name.at, '.', name.length))
        g->f.i.op = hlo_opcode_find_stablehlo(name.at, name.length);    /* "chlo.erf_inv" */
    if (g->f.i.op == OPCODE_COUNT) {
        g->f.i.op = wrapped_by(name, "-start");
        is_start = g->f.i.op != OPCODE_COUNT;
    }
    if (g->f.i.op == OPCODE_COUNT && wrapped_by(name, "-update") != OPCODE_COUNT)
        g->f.i.op = OPCODE_ASYNC_UPDATE;
    if (g->f.i.op == OPCODE_COUNT && wrapped_by(name, "-done") != OPCODE_COUNT)
        g->f.i.op = OPCODE_ASYNC_DONE;
    if (g->f.i.op == OPCODE_COUNT)
        return hlo_scan_error(s, name.at, "\"%.*s\" is no operation%s", HLO_SHOWN(name),
                              hlo_opcode_nearest(name.at, name.length).text);
    if (read_arguments(r, c, g) || hlo_read_attributes(r, g)
        || (is_start && hlo_read_async_start(r, g, c)))
        return -1;
    hlo_read_unstretch(r, g, c);
    return add_instruction(r, c, g);
}

/* the word before the result's name; an instruction may have that name itself */
static bool take_root(struct hlo_scan *s)
{
    const char *at = s->at;

    if (!hlo_scan_take_word(s, "ROOT"))
        return false;
    if (!hlo_scan_see(s, '='))
        return true;
    s->at = at;
    return false;
}

static int read_instruction(struct hlo_reader *r, struct hlo_computation *c)
{
    struct hlo_scan *s = &r->scan;
    struct hlo_reading g = {.f.i.op = OPCODE_COUNT};
    bool is_root;

    begin(r, &g);
    is_root = take_root(s);
    if (is_root && c->root >= 0)
        return hlo_scan_error(s, g.at, "the computation has a ROOT already");
    if (hlo_scan_name(s, &g.name, "an instruction") || hlo_scan_want(s, '='))
        return -1;
    g.has_type = hlo_read_sees_type(r);
    if (g.has_type && read_type(r, &g))
        return -1;
    if (read_operation(r, c, &g))
        return -1;
    if (is_root)
        c->root = c->count - 1;
    return 0;
}

/* Parameters are numbered from 0 on without gaps, in any order. */
static int place_parameters(struct hlo_reader *r, struct hlo_computation *c)
{
    int count = 0;

    for (int n = 0; n < c->count; n++)
        count += c->instruction[n].op == OPCODE_PARAMETER;
    c->parameter = mem_grow(c->parameter, &c->parameter_capacity, (size_t)count,
                            sizeof(*c->parameter));
    for (int p = 0; p < count; p++)
        c->parameter[p] = -1;
    c->parameter_count = count;
    for (int n = 0; n < c->count; n++) {
        const struct hlo_instruction *i = &c->instruction[n];

        if (i->op != OPCODE_PARAMETER)
            continue;
        if (i->index >= count || c->parameter[i->index] >= 0)
            return err_at(r->scan.err, r->scan.file, i->line, i->col,
                          "parameter %" PRId64 " of %d: each number below that must stand once",
                          i->index, count);
        c->parameter[i->index] = n;
    }
    return 0;
}

/* Names of instructions that stood in the place of an operand. */
static void name_instructions(struct hlo_reader *r, struct hlo_computation *c)
{
    for (int n = 0; n < c->count; n++) {
        struct hlo_instruction *i = &c->instruction[n];
        char name[64];
        int length;

        if (i->label)
            continue;
        do {
            length = text_print(name, sizeof(name), "%s.%d", hlo_opcode_name(i->op),
                                ++r->made_names);
        } while (hlo_names_find(names_here(r), name, (size_t)length) >= 0);
        i->label = hlo_label(hlo_pool_text(&r->pool, name, (size_t)length));
        hlo_names_add(names_here(r), hlo_name(i), (size_t)length, n);
    }
}

/* What a head says of its computation must be what the instructions are. */
static int check_signature(struct hlo_reader *r, const struct hlo_computation *c,
                           const struct hlo_signature *said)
{
    const struct hlo_type *result = c->instruction[c->root].type;
    char is[160], says[160];

    if (said->count != (size_t)c->parameter_count)
        return err_at(r->scan.err, r->scan.file, c->line, c->col,
                      "%s has %d parameters, but its head names %zu", c->name, c->parameter_count,
                      said->count);
    for (int p = 0; p < c->parameter_count; p++) {
        const struct hlo_instruction *i = &c->instruction[c->parameter[p]];

        if (!hlo_types_agree(r->module, i->type, &said->parameter[p]))
            return err_at(r->scan.err, r->scan.file, i->line, i->col,
                          "%s is %s, but the head of %s says %s", hlo_name(i),
                          hlo_type_print(i->type, is, sizeof(is)), c->name,
                          hlo_type_print(&said->parameter[p], says, sizeof(says)));
    }
    if (hlo_types_agree(r->module, result, &said->result))
        return 0;
    return err_at(r->scan.err, r->scan.file, c->instruction[c->root].line,
                  c->instruction[c->root].col, "%s, the result of %s, is %s, but the head says %s",
                  hlo_name(&c->instruction[c->root]), c->name,
                  hlo_type_print(result, is, sizeof(is)),
                  hlo_type_print(&said->result, says, sizeof(says)));
}

/*
 * Room for as many instructions as a printed computation has lines, so that large ones are not
 * moved while they grow; no more than a text of that length may have.
 */
static void reserve(struct hlo_reader *r, struct hlo_computation *c)
{
    const char *p = r->scan.at, *newline;
    size_t lines = 1, most;

    while ((newline = memchr(p, '\n', (size_t)(r->scan.end - p)))) {
        p = newline + 1;
        if (p < r->scan.end && *p == '}')
            break;
        lines++;
    }
    most = (size_t)(p - r->scan.at) / 20 + 1;
    c->instruction = mem_grow(NULL, &c->capacity, lines < most ? lines : most,
                              sizeof(*c->instruction));
}

/* up to the closing brace, so that no other mistake is met where the text ends */
static int read_instructions(struct hlo_reader *r, struct hlo_computation *c,
                             const struct hlo_signature *said)
{
    struct hlo_scan *s = &r->scan;

    if (hlo_scan_want(s, '{'))
        return -1;
    c->root = -1;
    if (r->computation_depth == 1)
        reserve(r, c);
    while (c->count == 0 || !hlo_scan_see(s, '}')) {
        if (read_instruction(r, c))
            return -1;
    }
    if (c->root < 0)
        c->root = c->count - 1;
    if (place_parameters(r, c))
        return -1;
    name_instructions(r, c);
    if (said && check_signature(r, c, said))
        return -1;
    return hlo_scan_want(s, '}');
}

int hlo_read_body(struct hlo_reader *r, struct hlo_computation *c,
                  const struct hlo_signature *said, int *index)
{
    struct hlo_module *m = r->module;
    int status;

    if (hlo_scan_enter(&r->scan))
        return -1;
    r->computation_depth++;
    hlo_names_begin(names_here(r));
    status = read_instructions(r, c, said);
    r->computation_depth--;
    hlo_scan_leave(&r->scan);
    if (status) {
        mem_free(c->instruction);
        mem_free(c->parameter);
        return -1;
    }
    *index = m->computation_count;
    MEM_ADD(m->computation, m->computation_count, m->computation_capacity) = *c;
    return 0;
}
