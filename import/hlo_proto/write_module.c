/* A program as an HloModuleProto: indices become numbers. */
#include "import/hlo_proto/hlo_proto.h"

#include "import/hlo_proto/write.h"
#include "import/program/sharding.h"

#include <stdlib.h>
#include <string.h>

/* ---- names: XLA wants them to be unique in the module, programs in a computation */

struct name { const char *text; int64_t number; };      /* of an instruction */

/* by text; of the same text in the order of the file */
static int compare_names(const void *a, const void *b)
{
    const struct name *x = a, *y = b;
    int order = strcmp(x->text, y->text);

    return order ? order : x->number < y->number ? -1 : x->number > y->number;
}

static bool has_name(const struct name *sorted, size_t count, const char *text)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(sorted[middle].text, text) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && strcmp(sorted[low].text, text) == 0;
}

/* The first of equal names keeps it, others get a number that makes a name nobody has. */
static void name_instructions(struct proto_writer *w, HloWire__Module *made)
{
    const struct hlo_module *m = w->module;
    struct name *name;
    size_t count = 0, used = 0;
    int more = 0;

    for (int c = 0; c < m->computation_count; c++)
        count += (size_t)m->computation[c].count;
    name = arena_array(w->arena, count, sizeof(*name));
    for (size_t c = 0; c < made->n_computations; c++) {
        const struct hlo_computation *from = &m->computation[w->order[c]];

        for (int i = 0; i < from->count; i++) {
            name[used] = (struct name){hlo_name_in(w->arena, &from->instruction[i]), (int64_t)used};
            used++;
        }
    }
    qsort(name, count, sizeof(*name), compare_names);
    used = 0;
    for (size_t c = 0; c < made->n_computations; c++) {
        const struct hlo_computation *from = &m->computation[w->order[c]];

        for (int i = 0; i < from->count; i++) {
            struct name key = {hlo_name(&from->instruction[i]), (int64_t)used++};
            struct name *at = bsearch(&key, name, count, sizeof(key), compare_names);
            char *text = proto_copy_text(w, key.text);

            if (at > name && strcmp(at[-1].text, key.text) == 0) {
                do
                    text = arena_printf(w->arena, "%s.%d", key.text, ++more);
                while (has_name(name, count, text));
            }
            made->computations[c]->instructions[i]->name = text;
        }
    }
}

/* The types of a computation's parameters with the names that those have now. */
static void name_parameters(struct proto_writer *w, int computation, HloWire__ProgramShape *p,
                            const HloWire__Computation *made)
{
    const struct hlo_computation *c = &w->module->computation[computation];

    p->n_parameter_names = (size_t)c->parameter_count;
    p->parameter_names = arena_array(w->arena, (size_t)c->parameter_count, sizeof(char *));
    for (int i = 0; i < c->parameter_count; i++)
        p->parameter_names[i] = c->parameter[i] < 0 ? proto_copy_text(w, "")
                                                    : made->instructions[c->parameter[i]]->name;
}

/* ---- order */

/* one computation whose callees are put before it */
struct visit {
    int computation, instruction, callee;       /* looked at next */
};

/* The next callee that has not been visited; -1: there is none. */
static int next_callee(const struct hlo_module *m, struct visit *v, const bool *is_met)
{
    const struct hlo_computation *c = &m->computation[v->computation];

    for (; v->instruction < c->count; v->instruction++, v->callee = 0) {
        const struct hlo_instruction *i = &c->instruction[v->instruction];

        while (v->callee < hlo_detail(i)->computation_count) {
            int callee = hlo_detail(i)->computation[v->callee++];

            if (!is_met[callee])
                return callee;
        }
    }
    return -1;
}

static void order_computations(struct proto_writer *w)
{
    const struct hlo_module *m = w->module;
    size_t count = (size_t)m->computation_count;
    struct visit *stack = arena_array(w->arena, count, sizeof(*stack));
    bool *is_met = arena_array(w->arena, count, sizeof(*is_met));
    int depth = 0, done = 0;
    int64_t first = 0;

    w->order = arena_array(w->arena, count, sizeof(*w->order));
    w->number = arena_array(w->arena, count, sizeof(*w->number));
    w->first = arena_array(w->arena, count, sizeof(*w->first));
    for (int c = 0; c < m->computation_count; c++) {
        for (int next = is_met[c] ? -1 : c; next >= 0 || depth > 0;) {
            if (next >= 0) {
                is_met[next] = true;
                stack[depth++] = (struct visit){next, 0, 0};
            } else {
                w->order[done++] = stack[--depth].computation;
            }
            next = depth ? next_callee(m, &stack[depth - 1], is_met) : -1;
        }
    }
    for (int k = 0; k < done; k++) {
        w->number[w->order[k]] = k + 1;
        w->first[w->order[k]] = first;
        first += m->computation[w->order[k]].count;
    }
}

static int64_t *numbers_of(struct proto_writer *w, int count, const int *index, int64_t first)
{
    int64_t *number = arena_array(w->arena, (size_t)count, sizeof(*number));

    for (int i = 0; i < count; i++)
        number[i] = first + index[i] + 1;
    return number;
}

static HloWire__Instruction *write_instruction(struct proto_writer *w, int computation, int index)
{
    const struct hlo_instruction *i = &w->module->computation[computation].instruction[index];
    HloWire__Instruction *to = PROTO_NEW(w, Instruction, INSTRUCTION);
    int64_t first = w->first[computation];
    int64_t *control =
        arena_array(w->arena, (size_t)hlo_detail(i)->control.count, sizeof(*control));

    if (!hlo_opcode_name(i->op) || strncmp(hlo_opcode_name(i->op), "chlo.", 5) == 0) {
        err_at(w->err, w->file, i->line, i->col, "%s: HLO has no operation %s", hlo_name(i),
               hlo_opcode_stablehlo_name(i->op));
        return NULL;
    }
    to->opcode = proto_copy_text(w, hlo_opcode_name(i->op));
    to->id = first + index + 1;
    to->n_operand_ids = (size_t)i->operand_count;
    to->operand_ids = numbers_of(w, i->operand_count, i->operand, first);
    to->n_called_computation_ids = (size_t)hlo_detail(i)->computation_count;
    to->called_computation_ids = arena_array(w->arena, (size_t)hlo_detail(i)->computation_count,
                                             sizeof(int64_t));
    for (int k = 0; k < hlo_detail(i)->computation_count; k++)
        to->called_computation_ids[k] = w->number[hlo_detail(i)->computation[k]];
    for (int k = 0; k < hlo_detail(i)->control.count; k++)
        control[k] = first + hlo_detail(i)->control.item[k] + 1;
    to->n_control_predecessor_ids = (size_t)hlo_detail(i)->control.count;
    to->control_predecessor_ids = control;
    if (i->op == OPCODE_CUSTOM_CALL)
        to->custom_call_api_version = 1;        /* the first one, unless it says another */
    proto_write_other(w, &hlo_detail(i)->other, to);
    return proto_write_attributes(w, &w->module->computation[computation], i, to) ? NULL : to;
}

static HloWire__ProgramShape *write_signature(struct proto_writer *w,
                                              const struct hlo_computation *c)
{
    HloWire__ProgramShape *p = PROTO_NEW(w, ProgramShape, PROGRAM_SHAPE);

    p->n_parameters = (size_t)c->parameter_count;
    p->parameters = PROTO_LIST(w, Shape, c->parameter_count);
    for (int i = 0; i < c->parameter_count; i++) {
        static const struct hlo_type none = {.element = ELEMENT_TUPLE};
        int at = c->parameter[i];

        p->parameters[i] = proto_write_laid_out(w, at < 0 ? &none : c->instruction[at].type);
    }
    p->result = proto_write_laid_out(w, c->instruction[c->root].type);
    return p;
}

static HloWire__Computation *write_computation(struct proto_writer *w, int index)
{
    const struct hlo_computation *c = &w->module->computation[index];
    HloWire__Computation *to = PROTO_NEW(w, Computation, COMPUTATION);

    if (c->root < 0) {
        err_at(w->err, w->file, c->line, c->col, "computation %s is empty", c->name);
        return NULL;
    }
    to->name = proto_copy_text(w, c->name);
    to->id = w->number[index];
    to->root_id = w->first[index] + c->root + 1;
    to->execution_thread = proto_copy_text(w, c->thread ? c->thread : "main");
    to->program_shape = write_signature(w, c);
    to->n_instructions = (size_t)c->count;
    to->instructions = PROTO_LIST(w, Instruction, c->count);
    for (int i = 0; i < c->count; i++) {
        to->instructions[i] = write_instruction(w, index, i);
        if (!to->instructions[i])
            return NULL;
    }
    return to;
}

/* the entry's types with the layouts that the head says */
static HloWire__ProgramShape *write_entry(struct proto_writer *w)
{
    const struct hlo_module *m = w->module;
    HloWire__ProgramShape *p = write_signature(w, &m->computation[m->entry]);

    if (!m->entry_result)
        return p;
    p->n_parameters = (size_t)m->entry_parameter_count;
    p->parameters = PROTO_LIST(w, Shape, m->entry_parameter_count);
    for (int i = 0; i < m->entry_parameter_count; i++)
        p->parameters[i] = proto_write_type(w, &m->entry_parameter[i]);
    p->result = proto_write_type(w, m->entry_result);
    return p;
}

static HloWire__AliasList *write_aliases(struct proto_writer *w)
{
    const struct hlo_module *m = w->module;
    HloWire__AliasList *list = PROTO_NEW(w, AliasList, ALIAS_LIST);

    list->n_entries = (size_t)m->alias_count;
    list->entries = PROTO_LIST(w, Alias, m->alias_count);
    for (int i = 0; i < m->alias_count; i++) {
        HloWire__Alias *a = PROTO_NEW(w, Alias, ALIAS);

        PROTO_PUT(w, a, output_shape_index, m->alias[i].output);
        PROTO_PUT(w, a, parameter_shape_index, m->alias[i].parameter_path);
        a->parameter_number = m->alias[i].parameter;
        a->kind = m->alias[i].is_must ? 2 : 1;
        list->entries[i] = a;
    }
    return list;
}

/* { (0, {}), (2, {1}) } */
static HloWire__DonorList *write_donors(struct proto_writer *w, const char *text)
{
    HloWire__DonorList *list = PROTO_NEW(w, DonorList, DONOR_LIST);

    list->entries = PROTO_LIST(w, Donor, strlen(text) / 4 + 1);
    for (const char *at = strchr(text, '('); at; at = strchr(at, '(')) {
        HloWire__Donor *d = PROTO_NEW(w, Donor, DONOR);
        const char *end = at + strcspn(at, ")");
        char *number;

        d->parameter_number = strtoll(at + 1, &number, 10);
        d->parameter_shape_index = arena_array(w->arena, (size_t)(end - at), sizeof(int64_t));
        for (at = number; at < end; at += *at < '0' || *at > '9') {
            if (*at < '0' || *at > '9')
                continue;
            d->parameter_shape_index[d->n_parameter_shape_index++] = strtoll(at, &number, 10);
            at = number;
        }
        list->entries[list->n_entries++] = d;
    }
    return list;
}

/* Instructions run in the order in which they stand. */
static HloWire__Schedule *write_schedule(struct proto_writer *w, const HloWire__Module *made)
{
    HloWire__Schedule *s = PROTO_NEW(w, Schedule, SCHEDULE);

    s->n_sequences = made->n_computations;
    s->sequences = PROTO_LIST(w, Sequence, made->n_computations);
    for (size_t c = 0; c < made->n_computations; c++) {
        const HloWire__Computation *from = made->computations[c];
        HloWire__Sequence *q = PROTO_NEW(w, Sequence, SEQUENCE);

        q->computation_id = from->id;
        q->instructions = PROTO_NEW(w, InstructionIds, INSTRUCTION_IDS);
        q->instructions->n_instruction_ids = from->n_instructions;
        q->instructions->instruction_ids = arena_array(w->arena, from->n_instructions,
                                                       sizeof(int64_t));
        for (size_t i = 0; i < from->n_instructions; i++)
            q->instructions->instruction_ids[i] = from->instructions[i]->id;
        s->sequences[c] = q;
    }
    return s;
}

/* partition p of replica r on device r * partitions + p */
static HloWire__DeviceAssignment *write_assignment(struct proto_writer *w)
{
    HloWire__DeviceAssignment *a = PROTO_NEW(w, DeviceAssignment, DEVICE_ASSIGNMENT);
    int64_t partitions = w->module->partition_count, replicas = w->module->replica_count;

    if (replicas > HLO_DEVICES_MAX / partitions)
        return NULL;
    a->replica_count = (int32_t)replicas;
    a->computation_count = (int32_t)partitions;
    a->n_computation_devices = (size_t)partitions;
    a->computation_devices = PROTO_LIST(w, ComputationDevices, partitions);
    for (int64_t p = 0; p < partitions; p++) {
        HloWire__ComputationDevices *d = PROTO_NEW(w, ComputationDevices, COMPUTATION_DEVICES);

        d->n_replica_device_ids = (size_t)replicas;
        d->replica_device_ids = arena_array(w->arena, (size_t)replicas, sizeof(int64_t));
        for (int64_t r = 0; r < replicas; r++)
            d->replica_device_ids[r] = r * partitions + p;
        a->computation_devices[p] = d;
    }
    return a;
}

static void write_head(struct proto_writer *w, HloWire__Module *made)
{
    const struct hlo_module *m = w->module;

    made->name = proto_copy_text(w, m->name);
    made->entry_computation_name = proto_copy_text(w, m->computation[m->entry].name);
    made->entry_computation_id = w->number[m->entry];
    made->host_program_shape = write_entry(w);
    made->frontend_attributes = proto_write_pairs(w, &m->frontend);
    if (m->alias_count)
        made->input_output_alias = write_aliases(w);
    if (m->is_scheduled)
        made->schedule = write_schedule(w, made);
    if (m->tables)
        made->stack_frame_index = proto_write_frames(w, m->tables);
    for (int i = 0; i < m->other.count; i++) {
        if (strcmp(m->other.item[i].key, "buffer_donor") == 0)
            made->buffer_donor = write_donors(w, m->other.item[i].value);
    }
    if (m->replica_count > 1 || m->partition_count > 1)
        made->device_assignment = write_assignment(w);
}

static HloWire__Module *write_module(struct proto_writer *w)
{
    const struct hlo_module *m = w->module;
    HloWire__Module *made = PROTO_NEW(w, Module, MODULE);

    order_computations(w);
    made->n_computations = (size_t)m->computation_count;
    made->computations = PROTO_LIST(w, Computation, m->computation_count);
    for (int c = 0; c < m->computation_count; c++) {
        made->computations[c] = write_computation(w, w->order[c]);
        if (!made->computations[c])
            return NULL;
    }
    name_instructions(w, made);
    write_head(w, made);
    for (size_t c = 0; c < made->n_computations; c++) {
        name_parameters(w, w->order[c], made->computations[c]->program_shape,
                        made->computations[c]);
        if (w->order[c] == m->entry)
            name_parameters(w, m->entry, made->host_program_shape, made->computations[c]);
    }
    return made;
}

int hlo_proto_write(const struct hlo_module *m, unsigned char **bytes, size_t *count,
                    struct err *e)
{
    struct arena a;
    struct proto_writer w = {.module = m, .arena = &a, .file = m->file ? m->file : "", .err = e};
    HloWire__Module *made;

    if (m->entry < 0)
        return err_at(e, w.file, 0, 0, "the module has no entry");
    arena_init(&a);
    made = write_module(&w);
    if (made) {
        *count = hlo_wire__module__get_packed_size(made);
        *bytes = mem_alloc_unset(*count + 1);
        hlo_wire__module__pack(made, *bytes);
    }
    arena_fini(&a);
    return made ? 0 : -1;
}
