/*
 * Interns the texts of an export in a hash table, each as valid UTF-8, and makes those of
 * operations when first asked for.
 */
#include "report/export/export_names.h"

#include "base/hash.h"
#include "isa/disasm.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    const char *key;
    uint32_t number;
    UT_hash_handle hh;
};

struct export_names {
    struct arena arena;
    struct entry *by_text;
    const char **text;                  /* by number */
    size_t capacity;
    uint32_t count;
};

struct export_names *export_names_create(void)
{
    struct export_names *n = mem_alloc(sizeof(*n));

    arena_init(&n->arena);
    n->text = mem_grow(n->text, &n->capacity, 64, sizeof(*n->text));
    n->text[n->count++] = "";
    return n;
}

void export_names_destroy(struct export_names *n)
{
    HASH_CLEAR(hh, n->by_text);
    arena_fini(&n->arena);
    mem_free(n->text);
    mem_free(n);
}

/* bytes of the UTF-8 character at `s`; 0: it is none (overlong forms pass: they do no harm) */
static size_t character_bytes(const char *s)
{
    const unsigned char *u = (const unsigned char *)s;
    size_t bytes = u[0] < 0x80 ? 1 : u[0] < 0xc2 ? 0 : u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3
                   : u[0] < 0xf5 ? 4 : 0;

    for (size_t i = 1; i < bytes; i++)
        if ((u[i] & 0xc0) != 0x80)
            return 0;
    if (bytes == 3 && u[0] == 0xed && u[1] >= 0xa0)     /* surrogates */
        return 0;
    return bytes;
}

/* all formats are UTF-8, file names need not be */
static const char *copy_text(struct arena *a, const char *text)
{
    char *copy = arena_strdup(a, text);

    for (char *s = copy; *s;) {
        size_t bytes = character_bytes(s);

        if (bytes == 0)
            *s = '?';
        s += bytes ? bytes : 1;
    }
    return copy;
}

uint32_t export_name(struct export_names *n, const char *text)
{
    struct entry *found;
    size_t length = strlen(text);

    if (length == 0)
        return 0;
    HASH_FIND(hh, n->by_text, text, length, found);
    if (found)
        return found->number;
    found = arena_alloc(&n->arena, sizeof(*found));
    found->key = arena_strdup(&n->arena, text);
    found->number = n->count;
    HASH_ADD_KEYPTR(hh, n->by_text, found->key, length, found);
    n->text = mem_grow(n->text, &n->capacity, (size_t)n->count + 1, sizeof(*n->text));
    n->text[n->count] = copy_text(&n->arena, text);
    return n->count++;
}

const char *export_text(const struct export_names *n, uint32_t name)
{
    return n->text[name];
}

/* ----- of programs */

#define UNKNOWN UINT32_MAX              /* not made yet */

struct program_names {
    const struct isa_program *program;
    uint32_t *op_name, *op_text, *bundle_name, *bundle_source, *note;
    uint32_t name;
};

struct export_programs {
    struct export_names *names;
    struct arena *arena;
    struct program_names *program;
    int *of_core;                       /* index into program; -1: none */
    int count;
};

static uint32_t *unknown(struct export_programs *p, uint32_t count)
{
    uint32_t *list = arena_array(p->arena, (size_t)count + 1, sizeof(*list));

    memset(list, 0xff, ((size_t)count + 1) * sizeof(*list));
    return list;
}

static int add_program(struct export_programs *p, const struct isa_program *program)
{
    struct program_names *n = &p->program[p->count];

    *n = (struct program_names){
        .program = program, .op_name = unknown(p, program->op_count),
        .op_text = unknown(p, program->op_count),
        .bundle_name = unknown(p, program->bundle_count),
        .bundle_source = unknown(p, program->bundle_count),
        .note = unknown(p, program->note_count), .name = UNKNOWN};
    return p->count++;
}

struct export_programs *export_programs_create(struct ntrace *t, struct export_names *n,
                                               struct arena *a)
{
    struct export_programs *p = arena_alloc(a, sizeof(*p));
    size_t cores = (size_t)ntrace_info(t)->core_count;

    *p = (struct export_programs){.names = n, .arena = a};
    p->program = arena_array(a, cores, sizeof(*p->program));
    p->of_core = arena_array(a, cores, sizeof(*p->of_core));
    for (size_t core = 0; core < cores; core++) {
        const struct isa_program *program = ntrace_program(t, (int)core);
        int i = 0;

        while (program && i < p->count && p->program[i].program != program)
            i++;
        p->of_core[core] = !program ? -1 : i < p->count ? i : add_program(p, program);
    }
    return p;
}

static struct program_names *of_core(struct export_programs *p, int core)
{
    return p->of_core[core] < 0 ? NULL : &p->program[p->of_core[core]];
}

int export_program_id(struct export_programs *p, int core)
{
    return p->of_core[core] + 1;
}

/* a text of any length, for as long as a call lasts */
struct scratch {
    char *text;
    size_t bytes, capacity;
};

static void append(struct scratch *s, const char *text)
{
    size_t length = strlen(text);

    s->text = mem_grow(s->text, &s->capacity, s->bytes + length + 1, 1);
    memcpy(s->text + s->bytes, text, length + 1);
    s->bytes += length;
}

static uint32_t finish(struct export_programs *p, struct scratch *s)
{
    uint32_t name = export_name(p->names, s->text ? s->text : "");

    mem_free(s->text);
    return name;
}

uint32_t export_op_name(struct export_programs *p, int core, uint32_t op)
{
    struct program_names *n = of_core(p, core);
    char text[ISA_NAME_MAX];

    if (!n || op == 0 || op > n->program->op_count)
        return 0;
    if (n->op_name[op - 1] == UNKNOWN)
        n->op_name[op - 1] = export_name(
            p->names, isa_print_op_mnemonic(&n->program->op[op - 1], text, sizeof(text)));
    return n->op_name[op - 1];
}

uint32_t export_op_text(struct export_programs *p, int core, uint32_t op)
{
    struct program_names *n = of_core(p, core);
    char text[512];

    if (!n || op == 0 || op > n->program->op_count)
        return 0;
    if (n->op_text[op - 1] == UNKNOWN) {
        isa_print_op(n->program, &n->program->op[op - 1], text, sizeof(text));
        n->op_text[op - 1] = export_name(p->names, text);
    }
    return n->op_text[op - 1];
}

uint32_t export_bundle_name(struct export_programs *p, int core, uint32_t bundle)
{
    struct program_names *n = of_core(p, core);
    const struct isa_bundle *b;
    struct scratch s = {0};
    char text[ISA_NAME_MAX];

    if (!n || bundle >= n->program->bundle_count)
        return 0;
    if (n->bundle_name[bundle] != UNKNOWN)
        return n->bundle_name[bundle];
    b = &n->program->bundle[bundle];
    for (uint32_t i = 0; i < b->op_count; i++) {
        append(&s, i ? " ;; " : "");
        append(&s, isa_print_op_mnemonic(&n->program->op[b->first_op + i], text, sizeof(text)));
    }
    if (b->op_count == 0)
        append(&s, "(empty bundle)");
    return n->bundle_name[bundle] = finish(p, &s);
}

uint32_t export_bundle_source(struct export_programs *p, int core, uint32_t bundle)
{
    struct program_names *n = of_core(p, core);
    struct scratch s = {0};
    char line[16];

    if (!n || bundle >= n->program->bundle_count || n->program->bundle[bundle].line == 0)
        return 0;
    if (n->bundle_source[bundle] != UNKNOWN)
        return n->bundle_source[bundle];
    snprintf(line, sizeof(line), ":%u", n->program->bundle[bundle].line);
    append(&s, n->program->name ? n->program->name : "");
    append(&s, line);
    return n->bundle_source[bundle] = finish(p, &s);
}

uint32_t export_bundle_note(struct export_programs *p, int core, uint32_t bundle)
{
    struct program_names *n = of_core(p, core);

    return n && bundle < n->program->bundle_count ? n->program->bundle[bundle].note : 0;
}

uint32_t export_note_name(struct export_programs *p, int core, uint32_t note)
{
    struct program_names *n = of_core(p, core);

    if (!n || note == 0 || note > n->program->note_count)
        return 0;
    if (n->note[note - 1] == UNKNOWN)
        n->note[note - 1] = export_name(p->names, n->program->note[note - 1]);
    return n->note[note - 1];
}

uint32_t export_program_name(struct export_programs *p, int core)
{
    struct program_names *n = of_core(p, core);

    if (!n)
        return 0;
    if (n->name == UNKNOWN)
        n->name = export_name(p->names, n->program->name && *n->program->name ? n->program->name
                                                                              : "program");
    return n->name;
}
