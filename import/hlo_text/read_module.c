/* Modules: the head, tables of places, computations, and what is put right when all is read. */
#include "import/hlo_text/hlo_text.h"

#include "base/text.h"
#include "import/hlo_text/reader.h"

#include <string.h>

/* "{0,1}" of an alias; "{}" is the whole */
static int read_alias(struct hlo_reader *r, struct hlo_alias *a)
{
    struct hlo_scan *s = &r->scan;

    if (hlo_read_ints(r, '{', '}', &a->output) || hlo_scan_want(s, ':') || hlo_scan_want(s, '(')
        || hlo_scan_int(s, 0, INT32_MAX, &a->parameter) || hlo_scan_want(s, ',')
        || hlo_read_ints(r, '{', '}', &a->parameter_path))
        return -1;
    if (hlo_scan_take(s, ',')) {
        a->is_must = hlo_scan_take_word(s, "must-alias");
        if (!a->is_must && !hlo_scan_take_word(s, "may-alias"))
            return hlo_scan_unexpected(s, "may-alias or must-alias");
    }
    return hlo_scan_want(s, ')');
}

static int read_aliases(struct hlo_reader *r)
{
    struct hlo_scan *s = &r->scan;
    struct hlo_module *m = r->module;

    if (hlo_scan_want(s, '{'))
        return -1;
    while (!hlo_scan_take(s, '}')) {
        struct hlo_alias a = {.is_must = false};

        if ((m->alias_count > 0 && hlo_scan_want(s, ',')) || read_alias(r, &a))
            return -1;
        MEM_ADD(m->alias, m->alias_count, m->alias_capacity) = a;
    }
    return 0;
}

/* "{(f32[2]{0}, s32[])->f32[2]{0}}" */
static int read_entry_layout(struct hlo_reader *r)
{
    struct hlo_scan *s = &r->scan;
    struct hlo_module *m = r->module;
    struct hlo_type parameters, result;

    if (hlo_scan_want(s, '{') || hlo_read_type(r, &parameters))
        return -1;
    if (!hlo_scan_take_text(s, "->"))
        return hlo_scan_unexpected(s, "\"->\"");
    if (hlo_read_type(r, &result))
        return -1;
    m->entry_parameter = parameters.part;
    m->entry_parameter_count = parameters.part_count;
    m->entry_result = hlo_pool_copy(&r->pool, &result, 1, sizeof(result));
    return hlo_scan_want(s, '}');
}

static int read_head_attribute(struct hlo_reader *r, struct hlo_span name)
{
    struct hlo_scan *s = &r->scan;
    struct hlo_module *m = r->module;
    struct hlo_pair pair;

    if (hlo_span_is(name, "is_scheduled"))
        return hlo_scan_bool(s, &m->is_scheduled);
    if (hlo_span_is(name, "replica_count"))
        return hlo_scan_int(s, 1, INT32_MAX, &m->replica_count);
    if (hlo_span_is(name, "num_partitions"))
        return hlo_scan_int(s, 1, INT32_MAX, &m->partition_count);
    if (hlo_span_is(name, "entry_computation_layout"))
        return read_entry_layout(r);
    if (hlo_span_is(name, "input_output_alias"))
        return read_aliases(r);
    if (hlo_span_is(name, "frontend_attributes"))
        return hlo_read_pairs(r, &m->frontend);
    pair.key = hlo_read_keep(r, name);
    if (hlo_read_verbatim(r, &pair.value))
        return -1;
    MEM_ADD(r->head, r->head_count, r->head_capacity) = pair;
    return 0;
}

static int read_head(struct hlo_reader *r)
{
    struct hlo_scan *s = &r->scan;
    struct hlo_span name;

    if (hlo_scan_name(s, &name, "the module's name"))
        return -1;
    r->module->name = hlo_read_keep(r, name);
    hlo_scan_take(s, ':');
    while (hlo_scan_take(s, ',')) {
        if (!hlo_scan_take_ident(s, &name))
            return hlo_scan_unexpected(s, "the name of an attribute");
        if (hlo_scan_want(s, '=') || read_head_attribute(r, name))
            return -1;
    }
    return 0;
}

/* FileNames, FunctionNames, FileLocations and StackFrames: numbers, each with a string or braces. */
static int read_tables(struct hlo_reader *r)
{
    static const char *const titles[] = {"FileNames", "FunctionNames", "FileLocations",
                                         "StackFrames"};
    struct hlo_scan *s = &r->scan;
    struct hlo_span start = {NULL, 0}, value;
    const char *behind = NULL;

    for (size_t t = 0; t < sizeof(titles) / sizeof(*titles); t++) {
        hlo_scan_blank(s);
        value.at = s->at;
        if (!hlo_scan_take_word(s, titles[t]))
            continue;
        start.at = start.at ? start.at : value.at;
        behind = s->at;
        while (hlo_scan_see_int(s)) {
            int64_t number;

            if (hlo_scan_int(s, 0, INT32_MAX, &number))
                return -1;
            if (hlo_scan_see(s, '{') ? hlo_scan_brackets(s, &value) : hlo_scan_string(s, &value))
                return -1;
            behind = s->at;
        }
    }
    if (start.at)
        r->module->tables = hlo_pool_text(&r->pool, start.at, (size_t)(behind - start.at));
    return 0;
}

/* "(p: f32[2], q: s32[]) -> f32[2]" */
static int read_signature(struct hlo_reader *r, struct hlo_signature *said)
{
    struct hlo_scan *s = &r->scan;

    if (hlo_scan_want(s, '('))
        return -1;
    while (!hlo_scan_take(s, ')')) {
        struct hlo_span name;
        struct hlo_type type;

        if ((said->count > 0 && hlo_scan_want(s, ','))
            || hlo_scan_name(s, &name, "a parameter's name") || hlo_scan_want(s, ':')
            || hlo_read_type(r, &type))
            return -1;
        MEM_ADD(said->parameter, said->count, said->capacity) = type;
    }
    if (!hlo_scan_take_text(s, "->"))
        return hlo_scan_unexpected(s, "\"->\"");
    return hlo_read_type(r, &said->result);
}

static int read_thread(struct hlo_reader *r, int computation)
{
    struct hlo_scan *s = &r->scan;
    const char *thread;

    if (!hlo_scan_take(s, ','))
        return 0;
    if (!hlo_scan_take_word(s, "execution_thread"))
        return hlo_scan_unexpected(s, "execution_thread");
    if (hlo_scan_want(s, '=') || hlo_read_string(r, &thread, NULL))
        return -1;
    r->module->computation[computation].thread = thread;
    return 0;
}

static int read_computation(struct hlo_reader *r)
{
    struct hlo_scan *s = &r->scan;
    struct hlo_module *m = r->module;
    struct hlo_signature said = {.count = 0};
    struct hlo_computation c = {.name = NULL};
    struct hlo_span name;
    bool is_entry = hlo_scan_take_word(s, "ENTRY"), has_signature;
    int index, status;

    if (is_entry && m->entry >= 0)
        return hlo_scan_error(s, s->at, "the module has an ENTRY already");
    hlo_scan_blank(s);
    hlo_scan_place(s, s->at, &c.line, &c.col);
    if (hlo_scan_name(s, &name, "a computation"))
        return -1;
    if (hlo_names_find(&r->computations, name.at, name.length) >= 0)
        return hlo_scan_error(s, name.at, "%.*s is the name of two computations",
                              HLO_SHOWN(name));
    c.name = hlo_pool_text(&r->pool, name.at, name.length);
    has_signature = hlo_scan_see(s, '(');
    status = has_signature ? read_signature(r, &said) : 0;
    if (status == 0)
        status = hlo_read_body(r, &c, has_signature ? &said : NULL, &index);
    mem_free(said.parameter);
    if (status)
        return -1;
    hlo_names_add(&r->computations, c.name, name.length, index);
    if (is_entry)
        m->entry = index;
    return read_thread(r, index);
}

/* Names of computations that stood in the place of a name. */
static void name_computations(struct hlo_reader *r)
{
    for (int n = 0; n < r->module->computation_count; n++) {
        struct hlo_computation *c = &r->module->computation[n];
        char name[32];
        int length;

        if (c->name)
            continue;
        do {
            length = text_print(name, sizeof(name), "region.%d", ++r->made_names);
        } while (hlo_names_find(&r->computations, name, (size_t)length) >= 0);
        c->name = hlo_pool_text(&r->pool, name, (size_t)length);
        hlo_names_add(&r->computations, c->name, (size_t)length, n);
    }
}

/* Without an ENTRY the last one is it, unless the head says that it is another. */
static int choose_entry(struct hlo_reader *r)
{
    struct hlo_module *m = r->module;
    const struct hlo_computation *last;

    if (m->entry >= 0)
        return 0;
    last = &m->computation[m->computation_count - 1];
    if (m->entry_result && m->entry_parameter_count != last->parameter_count)
        return hlo_scan_unexpected(&r->scan, "the ENTRY computation");
    m->entry = m->computation_count - 1;
    return 0;
}

static int read_module(struct hlo_reader *r)
{
    struct hlo_scan *s = &r->scan;
    struct hlo_span next;
    int status = 0;

    hlo_names_begin(&r->computations);
    r->head_count = 0;
    r->place = NULL;
    if (hlo_scan_take_word(s, "HloModule"))
        status = read_head(r) || read_tables(r) ? -1 : 0;
    hlo_frames_read(&r->frames, r->pool.arena, r->module->tables);
    r->module->other.count = (int)r->head_count;
    r->module->other.item = hlo_pool_copy(&r->pool, r->head, r->head_count, sizeof(*r->head));
    while (status == 0 && !hlo_scan_is_end(s)
           && !(hlo_scan_see_ident(s, &next) && hlo_span_is(next, "HloModule")))
        status = read_computation(r);
    if (status == 0 && r->module->computation_count == 0)
        status = hlo_scan_unexpected(s, "a computation");
    if (status == 0)
        status = choose_entry(r);
    name_computations(r);
    return status;
}

/* The text ends in the middle: what is whole before that is kept, and the message says so. */
static void tell_cut(struct hlo_reader *r)
{
    struct err *e = r->scan.err;

    err_at(e, r->scan.file, e->line, e->col,
           "the text ends in the middle of a computation; %d whole %s before it",
           r->module->computation_count,
           r->module->computation_count == 1 ? "one stands" : "ones stand");
}

static void free_reader(struct hlo_reader *r)
{
    hlo_texts_fini(&r->texts);
    hlo_names_fini(&r->type_names);
    hlo_names_fini(&r->computations);
    for (int depth = 0; depth <= HLO_NESTING_MAX; depth++)
        hlo_names_fini(&r->instructions[depth]);
    mem_free(r->type);
    mem_free(r->ints);
    mem_free(r->bytes);
    mem_free(r->pair);
    mem_free(r->operand);
    mem_free(r->head);
    mem_free(r);
}

void hlo_text_fini(struct hlo_module *first)
{
    for (; first; first = first->next)
        hlo_module_fini(first);
}

/* Modules up to the end; -1: the last of them is not whole, and no part of the list if it is empty */
static int read_modules(struct hlo_reader *r, struct hlo_module **first)
{
    struct hlo_module **last = first;
    const char *zero = memchr(r->scan.at, 0, (size_t)(r->scan.end - r->scan.at));
    int status;

    if (zero)                           /* what is kept as it stands would end there */
        return hlo_scan_error(&r->scan, zero, "this is no text: a byte is 0");
    do {
        r->module = arena_alloc(r->pool.arena, sizeof(*r->module));
        hlo_module_init(r->module, r->pool.arena, "");
        r->module->file = r->scan.file;
        r->module->entry = -1;
        status = read_module(r);
        if (status == 0 || r->module->computation_count > 0) {
            *last = r->module;
            last = &r->module->next;
        } else {
            hlo_module_fini(r->module);
        }
    } while (status == 0 && !hlo_scan_is_end(&r->scan));
    return status;
}

struct hlo_module *hlo_text_read(const char *text, size_t bytes, const char *file_name,
                                 struct arena *a, struct err *e)
{
    struct hlo_reader *r = mem_alloc(sizeof(*r));
    struct hlo_module *first = NULL;

    e->msg[0] = 0;
    hlo_scan_init(&r->scan, text, bytes, arena_strdup(a, file_name), e);
    r->pool.arena = a;
    if (read_modules(r, &first)) {
        if (r->scan.is_at_end && first) {
            tell_cut(r);
        } else {
            hlo_text_fini(first);
            first = NULL;
        }
    }
    free_reader(r);
    return first;
}
