#include "tests/test.h"

#include "base/arena.h"
#include "tests/rigs/pipeline_rig.h"

static void add(struct bytes *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add(struct bytes *to, const char *fmt, ...)
{
    char text[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    bytes_append(to, text, strlen(text));
}

static void add_scalar(struct bytes *to, const struct data_tensor *t, int64_t i)
{
    const struct data_string *s = t->data;

    switch (t->spec.dtype) {
    case DATA_F32: add(to, "%g", (double)((const float *)t->data)[i]); break;
    case DATA_S32: add(to, "%d", ((const int32_t *)t->data)[i]); break;
    case DATA_U8: add(to, "%d", ((const uint8_t *)t->data)[i]); break;
    default:
        add(to, "'");
        bytes_append(to, s[i].byte, (size_t)s[i].size);
        assert_int_equal(s[i].byte[s[i].size], 0);
        add(to, "'");
    }
}

static void add_element(struct bytes *to, const struct data_element *x)
{
    for (int i = 0; i < x->tensor_count; i++) {
        const struct data_tensor *t = &x->tensor[i];
        int64_t count = data_spec_elems(&t->spec);

        add(to, "%s%s", i ? "," : "", t->spec.rank ? "[" : "");
        for (int64_t k = 0; k < count; k++) {
            add(to, "%s", k ? " " : "");
            add_scalar(to, t, k);
        }
        add(to, "%s", t->spec.rank ? "]" : "");
    }
}

char *rest_text(struct data_iterator *it, int64_t most)
{
    struct bytes text = {0};
    struct data_element *x;
    struct err e = {.msg = ""};
    int status = 0;
    char buf[800];

    for (int64_t i = 0; i < most && (status = data_iterator_next(it, &x, &e)) > 0; i++) {
        if (i)
            add(&text, " ");
        add_element(&text, x);
        element_release(x);
    }
    if (status < 0)
        add(&text, "%serror: %.200s", text.size ? " " : "", err_format(&e, buf, sizeof(buf)));
    bytes_append(&text, "", 1);
    return (char *)text.data;
}

char *pipeline_text(struct dataset *d, int64_t pass, int64_t most)
{
    struct err e;
    struct data_iterator *it = dataset_iterate(d, pass, &e);
    char *text;

    assert_non_null(it);
    text = rest_text(it, most);
    data_iterator_destroy(it);
    return text;
}

void assert_gives(struct dataset *d, const char *text)
{
    char *is;

    assert_non_null(d);
    is = pipeline_text(d, 0, 1000);
    assert_string_equal(is, text);
    mem_free(is);
    dataset_release(d);
}

static void assert_rest(struct data_iterator *it, const char *rest, int64_t most)
{
    char *text;

    assert_non_null(it);
    text = rest_text(it, most);
    assert_string_equal(text, rest);
    mem_free(text);
    data_iterator_destroy(it);
}

/* two positions in a row: a resumed iterator can be saved as well */
static void assert_resumed(struct dataset *d, const struct bytes *state, const char *rest,
                           int64_t most)
{
    struct bytes again = {0};
    struct err e = {.msg = ""};
    struct data_iterator *it = dataset_resume(d, state->data, state->size, &e);

    if (!it)
        fail_msg("%s", e.msg);
    assert_int_equal(data_iterator_save(it, &again, &e), 0);
    assert_rest(it, rest, most);
    assert_rest(dataset_resume(d, again.data, again.size, &e), rest, most);
    mem_free(again.data);
}

void assert_resumes(struct dataset *d, int64_t pass, int64_t most)
{
    struct err e;
    int64_t at = 0;
    int status = 1;

    assert_non_null(d);
    for (; status > 0 && at <= most; at++) {
        struct data_iterator *it = dataset_iterate(d, pass, &e);
        struct data_iterator *over = dataset_iterate(d, pass, &e);
        struct bytes state = {0};
        struct data_element *x;
        char *rest;

        for (int64_t i = 0; i < at && (status = data_iterator_next(it, &x, &e)) > 0; i++)
            element_release(x);
        assert_true(status >= 0);
        assert_int_equal(data_iterator_save(it, &state, &e), 0);
        rest = rest_text(it, most);
        assert_resumed(d, &state, rest, most);
        assert_int_equal(data_iterator_skip(over, at, &e), status ? at : at - 1);
        assert_rest(over, rest, most);
        mem_free(rest);
        mem_free(state.data);
        data_iterator_destroy(it);
    }
    assert_true(at > 1);
    dataset_release(d);
}

void assert_refused(struct dataset *d, const struct err *e, const char *message)
{
    assert_null(d);
    assert_string_equal(e->msg, message);
}

struct dataset *numbers(int64_t count)
{
    struct err e;

    return dataset_range(0, count, 1, &e);
}
