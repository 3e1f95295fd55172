/*
 * A recursive-descent parser of Python calls, which makes the JSON that Keras would write of the
 * same object.
 */
#include "keras/call/call.h"

#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 16

struct parser {
    const char *text, *at;
    int depth;
    struct err *e;
};

static json_t *fail(struct parser *p, const char *what)
{
    int column = (int)(p->at - p->text) + 1;

    if (*p->at)
        err_at(p->e, "", 1, column, "%s, found '%c' at column %d of \"%.200s\"", what, *p->at,
               column, p->text);
    else
        err_at(p->e, "", 1, column, "%s, found the end of \"%.200s\"", what, p->text);
    return NULL;
}

static void skip_spaces(struct parser *p)
{
    while (isspace((unsigned char)*p->at))
        p->at++;
}

/* the character that follows, after spaces, is taken if it is `c` */
static bool take(struct parser *p, char c)
{
    skip_spaces(p);
    if (*p->at != c)
        return false;
    p->at++;
    return true;
}

static bool begins_name(char c) { return isalpha((unsigned char)c) || c == '_'; }

/* length of the name here, with dots: "keras.layers.Dense"; 0: none */
static size_t name_length(const char *at)
{
    size_t length = 0;

    if (!begins_name(*at))
        return 0;
    while (begins_name(at[length]) || isdigit((unsigned char)at[length]) ||
           (at[length] == '.' && begins_name(at[length + 1])))
        length++;
    return length;
}

static json_t *parse_value(struct parser *p);

/* ---- numbers, and what is reckoned with them: 1./255, 2**3 * (4 + 1) ---- */

struct number {
    double real;
    long long whole;
    bool is_real;
};

static int parse_sum(struct parser *p, struct number *to);

static int fail_number(struct parser *p, const char *what)
{
    fail(p, what);
    return -1;
}

static int parse_literal(struct parser *p, struct number *to)
{
    bool begins = isdigit((unsigned char)*p->at) ||
                  (*p->at == '.' && isdigit((unsigned char)p->at[1]));
    size_t length = strspn(p->at, "0123456789.");
    char *end;

    errno = 0;
    to->real = begins ? text_to_double(p->at, &end) : 0.0;
    if (!begins || end < p->at + length || isalnum((unsigned char)*end) || *end == '_' ||
        *end == '.' || (errno && fabs(to->real) > 1.0))
        return fail_number(p, "expected a number");
    to->is_real = strcspn(p->at, ".eE") < (size_t)(end - p->at);
    errno = 0;
    to->whole = to->is_real ? 0 : strtoll(p->at, NULL, 10);
    if (errno)
        return fail_number(p, "expected a whole number of 64 bits");
    p->at = end;
    return 0;
}

/* whole numbers stay whole, unless their result has no 64 bits */
static int reckon(struct parser *p, char op, struct number *a, const struct number *b)
{
    bool is_whole = !a->is_real && !b->is_real, overflows = false;

    if (op == '/' && b->real == 0.0)
        return fail_number(p, "expected no division by 0");
    switch (op) {
    case '+':
        a->real += b->real;
        overflows = __builtin_add_overflow(a->whole, b->whole, &a->whole);
        break;
    case '-':
        a->real -= b->real;
        overflows = __builtin_sub_overflow(a->whole, b->whole, &a->whole);
        break;
    case '*':
        a->real *= b->real;
        overflows = __builtin_mul_overflow(a->whole, b->whole, &a->whole);
        break;
    case '/':
        a->real /= b->real;
        is_whole = false;
        break;
    default:
        a->real = pow(a->real, b->real);
        is_whole = is_whole && fabs(a->real) < 0x1p53 && a->real == floor(a->real);
        a->whole = is_whole ? (long long)a->real : 0;
        break;
    }
    a->is_real = !is_whole;
    if (!isfinite(a->real))             /* 0**-1, 10.0**400, (-8)**0.5 */
        return fail_number(p, "expected a finite number");
    return overflows && is_whole ? fail_number(p, "expected a whole number of 64 bits") : 0;
}

/* a number, one with a sign, one in brackets, or a power of them */
static int parse_factor(struct parser *p, struct number *to)
{
    static const struct number zero = {0};
    struct number right;
    int status;

    if (++p->depth > DEPTH_MAX)
        return fail_number(p, "expected at most 16 brackets in each other");
    skip_spaces(p);
    if (*p->at == '-' || *p->at == '+') {
        char sign = *p->at++;

        status = parse_factor(p, &right);
        *to = zero;
        status = status ? status : reckon(p, sign, to, &right);
        if (to->real == 0.0 && sign == '-')
            to->real = -right.real;     /* not 0 - 0 */
    } else if (take(p, '(')) {
        status = parse_sum(p, to);
        if (status == 0 && !take(p, ')'))
            status = fail_number(p, "expected ')'");
    } else {
        status = parse_literal(p, to);
    }
    skip_spaces(p);
    if (status == 0 && strncmp(p->at, "**", 2) == 0) {
        p->at += 2;
        status = parse_factor(p, &right) || reckon(p, '^', to, &right) ? -1 : 0;
    }
    p->depth--;
    return status;
}

/* a op b op c, of what `next` parses */
static int parse_row(struct parser *p, const char *ops, int (*next)(struct parser *, struct number *),
                     struct number *to)
{
    struct number right;

    if (next(p, to))
        return -1;
    for (skip_spaces(p); *p->at && strchr(ops, *p->at); skip_spaces(p)) {
        char op = *p->at++;

        if (next(p, &right) || reckon(p, op, to, &right))
            return -1;
    }
    return 0;
}

static int parse_product(struct parser *p, struct number *to)
{
    return parse_row(p, "*/", parse_factor, to);
}

static int parse_sum(struct parser *p, struct number *to)
{
    return parse_row(p, "+-", parse_product, to);
}

static json_t *parse_number(struct parser *p)
{
    struct number n;

    if (parse_sum(p, &n))
        return NULL;
    return n.is_real ? json_real(n.real) : json_integer(n.whole);
}

json_t *call_number(const char *text, struct err *e)
{
    struct parser p = {.text = text, .at = text, .e = e};
    json_t *number = parse_number(&p);

    skip_spaces(&p);
    if (number && *p.at) {
        fail(&p, "expected nothing more");
        json_decref(number);
        return NULL;
    }
    return number;
}

static json_t *parse_text(struct parser *p)
{
    char quote = *p->at;
    const char *begin = p->at + 1, *end = strchr(begin, quote);
    json_t *value;

    if (!end) {
        p->at += strlen(p->at);
        return fail(p, quote == '"' ? "expected a closing \"" : "expected a closing '");
    }
    value = json_stringn(begin, (size_t)(end - begin));
    if (!value)
        return fail(p, "expected text in UTF-8");
    p->at = end + 1;
    return value;
}

/* values up to `close`, which may follow a comma */
static json_t *parse_list(struct parser *p, char close)
{
    json_t *list = json_array();

    p->at++;
    while (!take(p, close)) {
        json_t *value = parse_value(p);

        if (!value || json_array_append_new(list, value)) {
            json_decref(list);
            return NULL;
        }
        skip_spaces(p);
        if (*p->at != close && !take(p, ',')) {
            json_decref(list);
            return fail(p, close == ')' ? "expected ',' or ')'" : "expected ',' or ']'");
        }
    }
    return list;
}

/* "name=" here? then the name, on the heap, and p behind it */
static char *take_keyword(struct parser *p)
{
    size_t length = name_length(p->at);
    const char *behind = p->at + length;
    char *name;

    while (isspace((unsigned char)*behind))
        behind++;
    if (length == 0 || behind[0] != '=')
        return NULL;
    name = strndup(p->at, length);
    p->at = behind + 1;
    return name;
}

static int parse_argument(struct parser *p, json_t *args, json_t *config)
{
    char *name = take_keyword(p);
    json_t *value;
    int status;

    if (name && json_object_get(config, name)) {
        fail(p, "expected each argument once");
        free(name);
        return -1;
    }
    if (!name && json_object_size(config)) {
        fail(p, "expected name=value behind arguments with names");
        return -1;
    }
    value = parse_value(p);
    status = !value ? -1 : name ? json_object_set_new(config, name, value)
                                : json_array_append_new(args, value);
    free(name);
    return status;
}

/* "(...)" here */
static int parse_arguments(struct parser *p, json_t *args, json_t *config)
{
    p->at++;
    while (!take(p, ')')) {
        if (parse_argument(p, args, config))
            return -1;
        skip_spaces(p);
        if (*p->at != ')' && !take(p, ',')) {
            fail(p, "expected ',' or ')'");
            return -1;
        }
    }
    return 0;
}

/* p stands behind the name, which is `length` long */
static json_t *parse_call(struct parser *p, const char *name, size_t length)
{
    json_t *args = json_array(), *config = json_object(), *call = NULL;
    const char *last = name + length;

    while (last > name && last[-1] != '.')
        last--;
    if (*p->at != '(' || parse_arguments(p, args, config) == 0) {
        call = json_object();
        json_object_set_new(call, "class_name",
                            json_stringn(last, (size_t)(name + length - last)));
        json_object_set(call, "config", config);
        if (json_array_size(args))
            json_object_set(call, "args", args);
    }
    json_decref(args);
    json_decref(config);
    return call;
}

static json_t *parse_name(struct parser *p)
{
    static const struct { const char *name; json_t *(*make)(void); } constants[] = {
        {"True", json_true}, {"False", json_false}, {"None", json_null},
    };
    const char *name = p->at;
    size_t length = name_length(name);

    p->at += length;
    for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++)
        if (strlen(constants[i].name) == length && strncmp(name, constants[i].name, length) == 0)
            return constants[i].make();
    skip_spaces(p);
    return *p->at == '(' ? parse_call(p, name, length) : json_stringn(name, length);
}

static json_t *parse_value(struct parser *p)
{
    json_t *value;

    skip_spaces(p);
    if (p->depth == DEPTH_MAX)
        return fail(p, "expected at most 16 brackets in each other");
    p->depth++;
    if (*p->at == '\'' || *p->at == '"')
        value = parse_text(p);
    else if (*p->at == '(')
        value = parse_list(p, ')');
    else if (*p->at == '[')
        value = parse_list(p, ']');
    else if (isdigit((unsigned char)*p->at) || strchr("+-.", *p->at ? *p->at : 'x'))
        value = parse_number(p);
    else if (begins_name(*p->at))
        value = parse_name(p);
    else
        value = fail(p, "expected a value");
    p->depth--;
    return value;
}

int call_parse(const char *text, json_t **call, struct err *e)
{
    struct parser p = {.text = text, .at = text, .e = e};
    const char *name;
    size_t length;

    *call = NULL;
    skip_spaces(&p);
    name = p.at;
    length = name_length(name);
    if (length == 0) {
        fail(&p, "expected a name, like Dense(128, activation='relu')");
        return -1;
    }
    p.at += length;
    skip_spaces(&p);
    *call = parse_call(&p, name, length);
    skip_spaces(&p);
    if (*call && *p.at) {
        fail(&p, "expected nothing more");
        json_decref(*call);
        *call = NULL;
    }
    return *call ? 0 : -1;
}

int call_name_args(json_t *call, const char *const *names, struct err *e)
{
    json_t *args = json_object_get(call, "args"), *config = json_object_get(call, "config");
    const char *class = json_string_value(json_object_get(call, "class_name"));
    size_t count = 0;

    while (names[count])
        count++;
    if (json_array_size(args) > count)
        return err_set(e, "%s takes %zu argument%s without a name, not %zu", class, count,
                       count == 1 ? "" : "s", json_array_size(args));
    for (size_t i = 0; i < json_array_size(args); i++) {
        if (json_object_get(config, names[i]))
            return err_set(e, "%s: %s is given twice, as argument %zu and by name", class,
                           names[i], i + 1);
        json_object_set(config, names[i], json_array_get(args, i));
    }
    json_object_del(call, "args");
    return 0;
}

int call_check_names(const json_t *call, const char *const *names, struct err *e)
{
    json_t *config = json_object_get(call, "config"), *value;
    char near[TEXT_NEAR_BYTES];
    const char *key;
    size_t count = 0;

    while (names[count])
        count++;
    json_object_foreach(config, key, value)
        if (text_find(key, names, sizeof(*names), count, near) < 0)
            return err_set(e, "%s has no argument %s%s",
                           json_string_value(json_object_get(call, "class_name")), key, near);
    return 0;
}
