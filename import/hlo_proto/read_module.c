/*
 * Modules and computations. Names are kept; numbers, by which messages name each other, become
 * indices.
 */
#include "import/hlo_proto/hlo_proto.h"

#include "base/text.h"
#include "import/hlo_proto/read.h"
#include "import/hlo_proto/wire.h"
#include "import/program/build.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* numbers of fields that are read by themselves, as hlo.proto has them */
enum { MODULE_COMPUTATIONS = 3, COMPUTATION_INSTRUCTIONS = 2, INSTRUCTION_SHAPE = 3,
       INSTRUCTION_ID = 35 };

/* number of a message -> index */
struct numbered { int64_t number; int index; };
struct numbers {
    struct numbered *item;              /* sorted by number */
    size_t count;
};

static int compare_numbers(const void *a, const void *b)
{
    int64_t x = ((const struct numbered *)a)->number, y = ((const struct numbered *)b)->number;

    return x < y ? -1 : x > y;
}

static int find_number(const struct numbers *n, int64_t number)
{
    struct numbered key = {number, 0}, *found;

    found = n->count ? bsearch(&key, n->item, n->count, sizeof(key), compare_numbers) : NULL;
    return found ? found->index : -1;
}

static int sort_numbers(struct proto_reader *r, struct numbers *n, const char *what)
{
    if (n->count)
        qsort(n->item, n->count, sizeof(*n->item), compare_numbers);
    for (size_t i = 1; i < n->count; i++) {
        if (n->item[i].number == n->item[i - 1].number)
            return proto_fail(r, "two %s have the number %" PRId64, what, n->item[i].number);
    }
    return 0;
}

int proto_fail(struct proto_reader *r, const char *fmt, ...)
{
    char msg[400];
    va_list args;

    va_start(args, fmt);
    text_print_args(msg, sizeof(msg), fmt, args);
    va_end(args);
    if (r->instruction)
        return err_at(r->err, r->file, 0, 0, "instruction %.100s of computation %.100s: %s",
                      r->instruction, r->computation, msg);
    if (r->computation)
        return err_at(r->err, r->file, 0, 0, "computation %.100s: %s", r->computation, msg);
    return err_at(r->err, r->file, 0, 0, "%s", msg);
}

/* ---- messages as they come

   Unpacked, an instruction takes a kilobyte and more: there is one at a time. */

struct packed {
    const unsigned char *data;
    size_t bytes;
    int64_t id;                         /* the number that the instruction has */
};

struct packed_computation {
    HloWire__Computation *head;         /* without its instructions */
    struct packed *instruction;
    size_t count;
};

static int64_t id_of(const struct packed *p)
{
    const unsigned char *at = p->data;
    struct wire_field f;
    int64_t id = 0;

    while (wire_next(&at, p->data + p->bytes, &f))
        if (f.id == INSTRUCTION_ID && f.kind == 0)
            id = (int64_t)f.number;
    return id;
}

/* fields of a message that are messages themselves, by their number */
static struct packed *find_messages(struct proto_reader *r, const unsigned char *bytes,
                                    size_t count, uint32_t id, size_t *found)
{
    const unsigned char *at = bytes, *end = bytes + count;
    struct packed *list = NULL;
    struct wire_field f;
    size_t room = 0;

    *found = 0;
    while (wire_next(&at, end, &f)) {
        if (f.id == id && f.kind == 2)
            MEM_ADD(list, *found, room) = (struct packed){f.data, f.bytes, 0};
    }
    return arena_take(r->arena, list, *found, sizeof(*list));
}

static int split_computation(struct proto_reader *r, const struct packed *from,
                             struct packed_computation *c)
{
    size_t bytes;
    unsigned char *head = wire_without(from->data, from->bytes, COMPUTATION_INSTRUCTIONS, &bytes);

    c->head = hlo_wire__computation__unpack(NULL, bytes, head);
    mem_free(head);
    c->instruction = find_messages(r, from->data, from->bytes, COMPUTATION_INSTRUCTIONS, &c->count);
    for (size_t i = 0; i < c->count; i++)
        c->instruction[i].id = id_of(&c->instruction[i]);
    return c->head ? 0 : proto_fail(r, "protobuf does not take a computation for one");
}

/* ---- computations */

/* The order of instructions: that of the schedule, if it has each of them once. */
static int *order_of(struct proto_reader *r, const struct packed_computation *c,
                     const struct numbers *numbers)
{
    int *order = arena_array(r->arena, c->count, sizeof(*order));
    const HloWire__InstructionIds *ids = NULL;
    size_t met = 0;
    bool *is_met;

    for (size_t i = 0; i < c->count; i++)
        order[i] = (int)i;
    for (size_t s = 0; r->from->schedule && s < r->from->schedule->n_sequences; s++) {
        if (r->from->schedule->sequences[s]->computation_id == c->head->id)
            ids = r->from->schedule->sequences[s]->instructions;
    }
    if (!ids || ids->n_instruction_ids != c->count)
        return order;
    is_met = mem_alloc(c->count + 1);
    for (size_t i = 0; i < c->count; i++) {
        int index = find_number(numbers, ids->instruction_ids[i]);

        if (index >= 0 && !is_met[index]) {
            is_met[index] = true;
            met++;
            order[i] = index;
        }
    }
    mem_free(is_met);
    for (size_t i = 0; met < c->count && i < c->count; i++)
        order[i] = (int)i;
    return order;
}

/* Numbers of instructions that stand before as their indices. */
static int read_references(struct proto_reader *r, const struct numbers *n, size_t count,
                           const int64_t *number, const int *place, int before, int *index)
{
    for (size_t k = 0; k < count; k++) {
        int at = find_number(n, number[k]);

        if (at < 0)
            return proto_fail(r, "there is no instruction with the number %" PRId64, number[k]);
        if (place[at] >= before)
            return proto_fail(r, "an operand stands behind its user");
        index[k] = place[at];
    }
    return 0;
}

static int read_operands(struct proto_reader *r, const HloWire__Instruction *from,
                         const struct numbers *n, const int *place, int before,
                         struct hlo_instruction *i)
{
    int *operand = arena_array(r->arena, from->n_operand_ids, sizeof(*operand));
    size_t controls = from->n_control_predecessor_ids;
    int *control = arena_array(r->arena, controls, sizeof(*control));
    int64_t *wide = arena_array(r->arena, controls, sizeof(*wide));

    if (read_references(r, n, from->n_operand_ids, from->operand_ids, place, before, operand) ||
        read_references(r, n, controls, from->control_predecessor_ids, place, before, control))
        return -1;
    for (size_t k = 0; k < controls; k++)
        wide[k] = control[k];
    i->operand = operand;
    i->operand_count = (int)from->n_operand_ids;
    if (controls)
        i->detail->control = (struct hlo_ints){(int)controls, wide};
    return 0;
}

static int read_callees(struct proto_reader *r, const HloWire__Instruction *from,
                        const struct numbers *computations, struct hlo_instruction *i)
{
    int *callee = arena_array(r->arena, from->n_called_computation_ids, sizeof(*callee));

    for (size_t k = 0; k < from->n_called_computation_ids; k++) {
        callee[k] = find_number(computations, from->called_computation_ids[k]);
        if (callee[k] < 0)
            return proto_fail(r, "there is no computation with the number %" PRId64,
                              from->called_computation_ids[k]);
    }
    i->detail->computation = callee;
    i->detail->computation_count = (int)from->n_called_computation_ids;
    return 0;
}

/* What a comparison says of its kind is not said where it is what the type means anyway. */
static void drop_usual_comparison(struct hlo_instruction *i, const struct hlo_computation *c)
{
    if (i->op == OPCODE_COMPARE && i->operand_count > 0 &&
        i->comparison == proto_usual_comparison(c->instruction[i->operand[0]].type->element))
        i->comparison = HLO_COMPARE_DEFAULT;
}

static uint32_t hash_of(const unsigned char *bytes, size_t count)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < count; i++)
        hash = (hash ^ bytes[i]) * 16777619u;
    return hash;
}

/* Many instructions have the same type: what its bytes have given before is given again. */
static int read_type(struct proto_reader *r, const HloWire__Instruction *from,
                     const struct packed *p, struct hlo_type *t)
{
    const unsigned char *at = p->data;
    struct proto_known_type *known = NULL;
    struct wire_field f, shape = {.data = NULL};
    int shapes = 0;

    while (wire_next(&at, p->data + p->bytes, &f))
        if (f.id == INSTRUCTION_SHAPE && ++shapes)
            shape = f;
    if (shapes == 1)                    /* several are merged */
        known = &r->known[hash_of(shape.data, shape.bytes) % PROTO_KNOWN_TYPES];
    if (known && known->data && known->bytes == shape.bytes &&
        memcmp(known->data, shape.data, shape.bytes) == 0) {
        *t = known->type;
        return 0;
    }
    if (proto_read_type(r, from->shape, t))
        return -1;
    if (known)
        *known = (struct proto_known_type){shape.data, shape.bytes, *t};
    return 0;
}

static int read_unpacked(struct proto_reader *r, const HloWire__Instruction *from,
                         const struct packed *p,
                         const struct numbers *computations, const struct numbers *n,
                         const int *place, int index, int computation)
{
    struct hlo_instruction i = {.op = hlo_opcode_find(from->opcode, strlen(from->opcode)),
                                .detail = HLO_NEW_DETAIL};
    const struct hlo_computation *c = &r->module->computation[computation];
    struct hlo_type type;

    r->instruction = from->name;
    if (i.op == OPCODE_COUNT)
        return proto_fail(r, "opcode \"%.80s\" is not known%s", from->opcode,
                          hlo_opcode_nearest(from->opcode, strlen(from->opcode)).text);
    i.label = hlo_label(arena_strdup(r->arena, from->name));
    i.type = &type;
    if (read_type(r, from, p, &type) ||
        read_operands(r, from, n, place, index, &i) ||
        read_callees(r, from, computations, &i) || proto_read_attributes(r, from, &i))
        return -1;
    if (i.op == OPCODE_PARAMETER && (i.index < 0 || (uint64_t)i.index >= n->count))
        return proto_fail(r, "parameter number %" PRId64, i.index);
    drop_usual_comparison(&i, c);
    i.detail->is_predicated = i.op == OPCODE_CONDITIONAL && i.operand_count > 0 &&
                      c->instruction[i.operand[0]].type->element == ELEMENT_PRED;
    hlo_add(r->module, computation, &i);
    r->instruction = NULL;
    return 0;
}

static int read_instruction(struct proto_reader *r, const struct packed *p,
                            const struct numbers *computations, const struct numbers *n,
                            const int *place, int index, int computation)
{
    HloWire__Instruction *from = hlo_wire__instruction__unpack(NULL, p->bytes, p->data);
    int status;

    if (!from)
        return proto_fail(r, "protobuf does not take an instruction for one");
    status = read_unpacked(r, from, p, computations, n, place, index, computation);
    hlo_wire__instruction__free_unpacked(from, NULL);
    return status;
}

static int read_instructions(struct proto_reader *r, const struct packed_computation *from,
                             const struct numbers *computations, int computation)
{
    size_t count = from->count;
    struct numbers n = {arena_array(r->arena, count, sizeof(struct numbered)), count};
    int *place = arena_array(r->arena, count, sizeof(*place)), *order, root;

    for (size_t i = 0; i < count; i++)
        n.item[i] = (struct numbered){from->instruction[i].id, (int)i};
    if (sort_numbers(r, &n, "instructions"))
        return -1;
    order = order_of(r, from, &n);
    for (size_t i = 0; i < count; i++)
        place[order[i]] = (int)i;
    for (size_t i = 0; i < count; i++) {
        if (read_instruction(r, &from->instruction[order[i]], computations, &n, place, (int)i,
                             computation))
            return -1;
    }
    root = find_number(&n, from->head->root_id);
    if (root < 0)
        return proto_fail(r, "no instruction has the root's number %" PRId64, from->head->root_id);
    r->module->computation[computation].root = place[root];
    return 0;
}

static int read_computation(struct proto_reader *r, const struct packed_computation *c,
                            const struct numbers *n, int index)
{
    const char *thread = c->head->execution_thread;

    r->computation = c->head->name;
    if (thread[0] && strcmp(thread, "main") != 0)
        r->module->computation[index].thread = arena_strdup(r->arena, thread);
    if (read_instructions(r, c, n, index))
        return -1;
    r->computation = NULL;
    return 0;
}

static int find_entry(struct proto_reader *r, const struct numbers *n)
{
    struct hlo_module *m = r->module;

    m->entry = find_number(n, r->from->entry_computation_id);
    for (int i = 0; m->entry < 0 && i < m->computation_count; i++) {
        if (strcmp(m->computation[i].name, r->from->entry_computation_name) == 0)
            m->entry = i;
    }
    return m->entry < 0 ? proto_fail(r, "the module has no entry") : 0;
}

static int read_split(struct proto_reader *r, struct packed_computation *c, size_t count,
                      const struct packed *packed)
{
    struct numbers n = {arena_array(r->arena, count, sizeof(struct numbered)), count};

    for (size_t i = 0; i < count; i++) {
        if (split_computation(r, &packed[i], &c[i]))
            return -1;
        n.item[i] = (struct numbered){c[i].head->id, (int)i};
    }
    if (sort_numbers(r, &n, "computations"))
        return -1;
    for (size_t i = 0; i < count; i++)
        hlo_add_named_computation(r->module, arena_strdup(r->arena, c[i].head->name));
    for (size_t i = 0; i < count; i++) {
        if (read_computation(r, &c[i], &n, (int)i))
            return -1;
    }
    return find_entry(r, &n);
}

static int read_computations(struct proto_reader *r, const unsigned char *bytes, size_t size)
{
    size_t count;
    struct packed *packed = find_messages(r, bytes, size, MODULE_COMPUTATIONS, &count);
    struct packed_computation *c = arena_array(r->arena, count, sizeof(*c));
    int status = read_split(r, c, count, packed);

    for (size_t i = 0; i < count; i++)
        if (c[i].head)
            hlo_wire__computation__free_unpacked(c[i].head, NULL);
    return status;
}

/* ---- the head */

static int read_entry_types(struct proto_reader *r, const HloWire__ProgramShape *p)
{
    struct hlo_type *parameter = arena_array(r->arena, p->n_parameters, sizeof(*parameter));
    struct hlo_type *result = arena_alloc(r->arena, sizeof(*result));

    for (size_t i = 0; i < p->n_parameters; i++) {
        if (proto_read_type(r, p->parameters[i], &parameter[i]))
            return -1;
    }
    r->module->entry_parameter = parameter;
    r->module->entry_parameter_count = (int)p->n_parameters;
    r->module->entry_result = result;
    return proto_read_type(r, p->result, result);
}

static void read_aliases(struct proto_reader *r, const HloWire__AliasList *list)
{
    struct hlo_module *m = r->module;

    for (size_t i = 0; i < list->n_entries; i++) {
        const HloWire__Alias *a = list->entries[i];
        struct hlo_alias alias = {
            proto_ints(r, a->n_output_shape_index, a->output_shape_index), a->parameter_number,
            proto_ints(r, a->n_parameter_shape_index, a->parameter_shape_index), a->kind == 2};

        MEM_ADD(m->alias, m->alias_count, m->alias_capacity) = alias;
    }
}

/* buffer_donor={ (0, {}), (2, {1}) } */
static void read_donors(struct proto_reader *r, const HloWire__DonorList *list)
{
    struct hlo_pair *pair;
    char *text = NULL;
    size_t bytes;
    FILE *to;

    if (!list->n_entries)
        return;
    to = text_memory(&text, &bytes);
    fputs("{ ", to);
    for (size_t i = 0; i < list->n_entries; i++) {
        const HloWire__Donor *d = list->entries[i];

        text_print_file(to, "%s(%" PRId64, i ? ", " : "", d->parameter_number);
        proto_write_int64s(to, ", {", d->n_parameter_shape_index, d->parameter_shape_index, "})");
    }
    fputs(" }", to);
    text_memory_end(to, &text);
    pair = arena_alloc(r->arena, sizeof(*pair));
    *pair = (struct hlo_pair){"buffer_donor", arena_strdup(r->arena, text)};
    free(text);
    r->module->other = (struct hlo_pairs){1, pair};
}

static void write_strings(struct proto_reader *r, FILE *to, const char *title, size_t count,
                          const ProtobufCBinaryData *item)
{
    text_print_file(to, "%s\n", title);
    for (size_t i = 0; i < count; i++)
        text_print_file(to, "%zu %s\n", i + 1, proto_quoted(r, item[i]));
}

static void read_frames(struct proto_reader *r, const HloWire__StackFrames *f)
{
    char *text = NULL;
    size_t bytes;
    FILE *to = text_memory(&text, &bytes);

    write_strings(r, to, "FileNames", f->n_file_names, f->file_names);
    write_strings(r, to, "\nFunctionNames", f->n_function_names, f->function_names);
    fputs("\nFileLocations\n", to);
    for (size_t i = 0; i < f->n_file_locations; i++) {
        const HloWire__FileLocation *l = f->file_locations[i];

        text_print_file(to, "%zu {file_name_id=%d function_name_id=%d line=%d end_line=%d "
                        "column=%d end_column=%d}\n", i + 1, l->file_name_id,
                        l->function_name_id, l->line, l->end_line, l->column, l->end_column);
    }
    fputs("\nStackFrames\n", to);
    for (size_t i = 0; i < f->n_stack_frames; i++)
        text_print_file(to, "%zu {file_location_id=%d parent_frame_id=%d}\n", i + 1,
                        f->stack_frames[i]->file_location_id,
                        f->stack_frames[i]->parent_frame_id);
    text_memory_end(to, &text);
    while (bytes > 0 && text[bytes - 1] == '\n')
        text[--bytes] = 0;
    if (f->n_file_names)
        r->module->tables = arena_strdup(r->arena, text);
    free(text);
}

static int read_head(struct proto_reader *r)
{
    const HloWire__Module *from = r->from;
    struct hlo_module *m = r->module;

    m->is_scheduled = from->schedule && from->schedule->n_sequences;
    if (from->device_assignment && from->device_assignment->replica_count > 0 &&
        from->device_assignment->computation_count > 0) {
        m->replica_count = from->device_assignment->replica_count;
        m->partition_count = from->device_assignment->computation_count;
    }
    if (from->input_output_alias)
        read_aliases(r, from->input_output_alias);
    if (from->buffer_donor)
        read_donors(r, from->buffer_donor);
    if (from->stack_frame_index)
        read_frames(r, from->stack_frame_index);
    hlo_frames_read(&r->frames, r->arena, m->tables);
    if (from->frontend_attributes &&
        proto_read_pairs(r, from->frontend_attributes, &m->frontend))
        return -1;
    return from->host_program_shape ? read_entry_types(r, from->host_program_shape) : 0;
}

/* ---- bytes */

/* Of a module in an HloProto; a name that bytes of another table stand in has numbers there. */
static bool is_computation(const struct wire_field *f)
{
    const unsigned char *p = f->data;
    struct wire_field first;

    if (f->id != 3 || f->kind != 2)
        return false;
    return f->bytes == 0 || (wire_next(&p, f->data + f->bytes, &first) && first.kind == 2);
}

/* An HloProto has the module as its first field; a module has its name there. */
static bool find_module(const unsigned char **at, size_t *count)
{
    const unsigned char *end = *at + *count;
    struct wire_field f, inner;

    for (const unsigned char *p = *at; wire_next(&p, end, &f);) {
        const unsigned char *q = f.data;

        if (f.id == 3 && f.kind == 2)
            return true;                /* a computation */
        if (f.id != 1 || f.kind != 2)
            continue;
        for (bool has_name = false; q && wire_next(&q, f.data + f.bytes, &inner);) {
            has_name |= inner.id == 1 && inner.kind == 2;
            if (has_name && is_computation(&inner)) {
                *at = f.data;
                *count = f.bytes;
                return true;
            }
        }
    }
    return false;
}

bool hlo_proto_is(const void *bytes, size_t count)
{
    const unsigned char *at = bytes;

    return find_module(&at, &count);
}

/* without the bytes that no name has, by which a name could be taken for a module once it is written */
static const char *module_name(struct arena *a, const char *from)
{
    char *name = arena_strdup(a, from);

    for (char *c = name; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = '_';
    return name;
}

int hlo_proto_read(struct hlo_module *m, const void *bytes, size_t count, const char *file_name,
                   struct arena *a, struct err *e)
{
    struct proto_reader r = {.module = m, .arena = a, .file = file_name, .err = e};
    const unsigned char *at = bytes;
    unsigned char *head;
    HloWire__Module *from;
    size_t head_bytes;
    int status;

    hlo_module_init(m, a, "");
    m->file = arena_strdup(a, file_name);
    if (!find_module(&at, &count))
        return proto_fail(&r, "these bytes are no HloModuleProto and no HloProto");
    if (wire_check(&hlo_wire__module__descriptor, &hlo_wire__instruction__descriptor, at, count,
                   file_name, e))
        return -1;
    head = wire_without(at, count, MODULE_COMPUTATIONS, &head_bytes);
    from = hlo_wire__module__unpack(NULL, head_bytes, head);
    mem_free(head);
    if (!from)
        return proto_fail(&r, "protobuf does not take it for an HloModuleProto");
    r.from = from;
    m->name = module_name(a, from->name);
    status = read_head(&r) || read_computations(&r, at, count) ? -1 : 0;
    hlo_wire__module__free_unpacked(from, NULL);
    return status;
}
