/* Writes the explanation as JSON, whose keys docs/explain.md names. */
#include "report/explain/explain_print.h"

#include "report/explain/explain_rules.h"

#include <jansson.h>

#define FORMAT "systole-explain"
#define VERSION 1
#define PLACES 10

/* takes over `value`, which may be NULL after a failed allocation */
static void put(json_t *object, const char *key, json_t *value)
{
    json_object_set_new(object, key, value ? value : json_null());
}

static json_t *make_places(const struct explain_input *in, enum cause c, bool bundles)
{
    size_t index[PLACES], count = explain_top_places(in, c, bundles, index, PLACES);
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        const struct explain_place *p = &in->place[index[i]];
        json_t *o = json_object();

        put(o, "operation", json_string(p->note));
        if (bundles) {
            put(o, "bundle", json_integer(p->bundle));
            put(o, "line", p->line ? json_integer(p->line) : json_null());
        }
        put(o, "cycles", json_integer(explain_place_cycles(p, c)));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *make_arguments(const struct explain_change *c)
{
    json_t *list = json_array();

    for (int i = 0; i < c->argument_count; i++)
        json_array_append_new(list, json_string(c->argument[i]));
    return list;
}

static json_t *make_cause(const struct explain_text *t, enum cause c)
{
    static const char *const families[CAUSE_FAMILY_COUNT] = {
        "work", "matrix", "vector", "memory", "network", "control", "host"};
    const struct explain *x = t->x;
    const struct cause_info *info = cause_info(c);
    const struct explain_change *change = explain_change_for(t->change, t->change_count, c);
    bool is_host = cause_is_host(c);
    json_t *o = json_object();

    put(o, "id", json_string(info->key));
    put(o, "name", json_string(info->name));
    put(o, "family", json_string(families[info->family]));
    put(o, "cycles", json_integer(x->row[c].cycles));
    put(o, is_host ? "once_cycles" : "all_cores_cycles", json_integer(x->row[c].core_cycles));
    put(o, "share_of_step", is_host ? json_null() : json_real(explain_share(x, c)));
    put(o, "share_of_host_step", json_real(explain_host_share(x, c)));
    put(o, "meaning", json_string(info->meaning));
    put(o, "why", json_string(x->row[c].why));
    put(o, "what_to_change", json_string(info->change));
    put(o, "most_to_gain_cycles", json_real(x->row[c].gain_cycles));
    put(o, "limited_by", x->row[c].limit == BOUND_LATENCY
                             ? json_null() : json_string(bound_name(x->row[c].limit)));
    put(o, "change", change ? json_string(change->key) : json_null());
    put(o, "operations", make_places(x->input, c, false));
    put(o, "bundles", make_places(x->input, c, true));
    return o;
}

static json_t *make_change(const struct explain_text *t, const struct explain_change *c)
{
    json_t *o = json_object(), *removes = json_object();

    put(o, "id", json_string(c->key));
    put(o, "what", json_string(c->what));
    put(o, "is_hardware", json_boolean(c->is_hardware));
    put(o, "arguments", make_arguments(c));
    put(o, "work", json_real(c->work));
    put(o, "predicted_gain_cycles", json_real(c->gain_cycles));
    for (int i = 0; i < CAUSE_COUNT; i++)
        if (c->removes[i] > 0.0 && t->x->row[i].cycles > 0)
            put(removes, cause_info((enum cause)i)->key, json_real(c->removes[i]));
    put(o, "removes", removes);
    return o;
}

static json_t *make_verified(const struct explain_verified *v)
{
    json_t *o = json_object();

    put(o, "change", json_string(v->change->key));
    put(o, "predicted_gain_cycles", json_real(v->change->gain_cycles));
    put(o, "measured_gain_cycles", v->is_known ? json_real(v->gain_cycles) : json_null());
    put(o, "step_cycles", v->is_known ? json_integer(v->step_cycles) : json_null());
    put(o, "message", v->is_known ? json_null() : json_string(v->message));
    return o;
}

static json_t *make_rules(const struct explain *x)
{
    struct explain_rule rule[EXPLAIN_RULE_COUNT];
    json_t *list = json_array();

    explain_rules(x, rule);
    for (size_t i = 0; i < EXPLAIN_RULE_COUNT; i++) {
        json_t *o = json_object();

        put(o, "name", json_string(rule[i].name));
        put(o, "percent", json_real(rule[i].percent));
        put(o, "threshold_percent", json_real(rule[i].threshold_percent));
        put(o, "is_below", json_boolean(rule[i].is_below));
        put(o, "is_silent", json_boolean(rule[i].is_silent));
        put(o, "suggestion", explain_rule_speaks(&rule[i]) ? json_string(rule[i].suggestion)
                                                           : json_null());
        json_array_append_new(list, o);
    }
    return list;
}

int explain_print_json(const struct explain_text *t, FILE *to)
{
    json_t *root = json_object(), *causes = json_array(), *changes = json_array();
    json_t *verified = json_array();
    int status;

    put(root, "format", json_string(FORMAT));
    put(root, "version", json_integer(VERSION));
    put(root, "title", json_string(t->title));
    put(root, "command", t->command ? json_string(t->command) : json_null());
    put(root, "step_cycles", json_integer(t->x->step_cycles));
    put(root, "host_cycles", json_integer(t->x->host_cycles));
    put(root, "cores", json_integer(t->x->input->view->active_count));
    for (size_t i = 0; i < t->x->ranked_count; i++)
        json_array_append_new(causes, make_cause(t, t->x->ranked[i]));
    json_array_append_new(causes, make_cause(t, CAUSE_USEFUL));
    for (size_t i = 0; i < t->change_count; i++)
        json_array_append_new(changes, make_change(t, &t->change[i]));
    for (size_t i = 0; i < t->verified_count; i++)
        json_array_append_new(verified, make_verified(&t->verified[i]));
    put(root, "causes", causes);
    put(root, "changes", changes);
    put(root, "verified", t->is_verified ? verified : json_null());
    if (!t->is_verified)
        json_decref(verified);
    put(root, "xprof", make_rules(t->x));
    status = json_dumpf(root, to, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
    json_decref(root);
    fputc('\n', to);
    return status == 0 && !ferror(to) ? 0 : -1;
}
