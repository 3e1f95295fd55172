/*
 * Learning rates by the epoch as text: a table, or a formula, evaluated by recursive descent each
 * time it is asked.
 */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "train/fit/callbacks.h"

#define DEPTH_MAX 32

struct formula {
    const char *text, *at;
    double epoch, lr;
    int depth;
    struct err *e;                      /* said where it is wrong, once */
    bool is_wrong;
};

static double wrong(struct formula *f, const char *what)
{
    if (!f->is_wrong)
        err_set(f->e, "%s at column %d of \"%.200s\"", what, (int)(f->at - f->text) + 1, f->text);
    f->is_wrong = true;
    return NAN;
}

static bool take(struct formula *f, const char *what)
{
    size_t length = strlen(what);

    while (isspace((unsigned char)*f->at))
        f->at++;
    if (f->is_wrong || strncmp(f->at, what, length) != 0)
        return false;
    f->at += length;
    return true;
}

static double sum(struct formula *f);
static double power(struct formula *f);

/* of one number, or of two */
static double call(struct formula *f, const char *name, size_t length)
{
    static const struct { const char *name; double (*of)(double), (*of_two)(double, double); }
        functions[] = {{"exp", exp, NULL}, {"log", log, NULL}, {"sqrt", sqrt, NULL},
                       {"cos", cos, NULL}, {"min", NULL, fmin}, {"max", NULL, fmax}};
    double a = sum(f), b = 0;

    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        if (strlen(functions[i].name) != length || strncmp(functions[i].name, name, length) != 0)
            continue;
        if (functions[i].of_two && !take(f, ","))
            return wrong(f, "expected ','");
        b = functions[i].of_two ? sum(f) : 0;
        if (!take(f, ")"))
            return wrong(f, "expected ')'");
        return functions[i].of ? functions[i].of(a) : functions[i].of_two(a, b);
    }
    return wrong(f, "expected one of exp, log, sqrt, cos, min, max");
}

static double atom(struct formula *f)
{
    const char *name;
    char *end;
    double value;

    if (take(f, "(")) {
        value = sum(f);
        return take(f, ")") ? value : wrong(f, "expected ')'");
    }
    name = f->at;
    if (isalpha((unsigned char)*name)) {
        while (isalnum((unsigned char)*f->at) || *f->at == '_')
            f->at++;
        if (f->at - name == 5 && strncmp(name, "epoch", 5) == 0)
            return f->epoch;
        if (f->at - name == 2 && strncmp(name, "lr", 2) == 0)
            return f->lr;
        if (take(f, "("))
            return call(f, name, strcspn(name, " ("));
        f->at = name;
        return wrong(f, "expected epoch, lr, a number or a function");
    }
    value = text_to_double(f->at, &end);
    if (end == f->at || !strchr("0123456789.", *f->at))
        return wrong(f, "expected a number");
    f->at = end;
    return value;
}

static double sign(struct formula *f)
{
    return take(f, "-") ? -sign(f) : take(f, "+") ? sign(f) : power(f);
}

static double power(struct formula *f)
{
    double a;

    if (++f->depth > DEPTH_MAX)
        return wrong(f, "expected fewer brackets in each other");
    a = atom(f);
    a = take(f, "**") ? pow(a, sign(f)) : a;
    f->depth--;
    return a;
}

static double product(struct formula *f)
{
    double a = sign(f);

    for (;;) {
        if (take(f, "//"))
            a = floor(a / sign(f));
        else if (take(f, "*"))
            a *= sign(f);
        else if (take(f, "/"))
            a /= sign(f);
        else
            return a;
    }
}

static double sum(struct formula *f)
{
    double a = product(f);

    for (;;) {
        if (take(f, "+"))
            a += product(f);
        else if (take(f, "-"))
            a -= product(f);
        else
            return a;
    }
}

/* "0=0.1, 10=0.01": the rate of the last row that has come; before the first as it is */
static double look_up(struct formula *f)
{
    double rate = f->lr, last = -1;

    do {
        double from = atom(f), value;

        if (f->is_wrong || !take(f, "="))
            return wrong(f, "expected EPOCH=RATE");
        value = sum(f);
        if (from <= last || from != floor(from))
            return wrong(f, "expected epochs that are whole and rise");
        rate = f->epoch >= from ? value : rate;
        last = from;
    } while (take(f, ","));
    return rate;
}

static int evaluate(const char *text, double epoch, double lr, double *rate, struct err *e)
{
    struct formula f = {.text = text, .at = text, .epoch = epoch, .lr = lr, .e = e};

    *rate = strchr(text, '=') ? look_up(&f) : sum(&f);
    take(&f, "");                       /* spaces */
    if (!f.is_wrong && *f.at)
        wrong(&f, "expected nothing more");
    return f.is_wrong ? -1 : 0;
}

/* ----- the callback */

struct rates {
    const char *text;
    bool is_verbose;
};

static int begin_epoch(void *context, struct fit *f, int64_t epoch, struct err *e)
{
    const struct rates *r = context;
    double rate;

    if (fit_learning_rate(f, &rate, e) ||
        evaluate(r->text, (double)epoch - 1, rate, &rate, e))
        return -1;
    if (r->is_verbose)
        text_print_file(stdout, "epoch %" PRId64 ": learning rate is %g\n", epoch, rate);
    return fit_set_learning_rate(f, rate, e);
}

int callback_rate_text(struct fit_callback *c, const char *text, bool is_verbose, struct arena *a,
                       struct err *e)
{
    struct rates *r = arena_alloc(a, sizeof(*r));
    struct err why;
    double rate;

    *r = (struct rates){text, is_verbose};
    *c = (struct fit_callback){.epoch_begin = begin_epoch, .context = r};
    if (evaluate(text, 0, 1, &rate, &why))
        return err_set(e, "LearningRateScheduler: %s", why.msg);
    return 0;
}
