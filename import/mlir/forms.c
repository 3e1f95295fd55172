/* The table of pretty forms and the words in it. */
#include "import/mlir/forms.h"

#include "base/text.h"

#include <string.h>

static const struct mlir_form forms[] = {
#define FORM(name, text, results) {name, text, MLIR_RESULTS_##results},
#include "import/mlir/forms.def"
};
static const struct mlir_form plain = {"", "%* {} :", MLIR_RESULTS_SAME};
static const struct mlir_form chlo = {"", "%* {} :", MLIR_RESULTS_ARROW};
static const struct mlir_form check = {"", "%* {} :?", MLIR_RESULTS_NONE};

enum { FORM_COUNT = sizeof(forms) / sizeof(forms[0]) };

static const struct mlir_form *row_of(const char *dialect, const char *name)
{
    size_t n = strlen(dialect);
    for (size_t i = 0; i < FORM_COUNT; i++)
        if (!strncmp(forms[i].name, dialect, n) && !strcmp(forms[i].name + n, name))
            return &forms[i];
    return NULL;
}

const struct mlir_form *mlir_form_of(const char *name)
{
    const struct mlir_form *f = row_of("", name);

    if (!f && !strncmp(name, "mhlo.", 5)) f = row_of("stablehlo.", name + 5);
    if (f) return f;
    if (!strncmp(name, "stablehlo.", 10) || !strncmp(name, "mhlo.", 5)) return &plain;
    if (!strncmp(name, "chlo.", 5)) return &chlo;
    return strncmp(name, "check.", 6) ? NULL : &check;
}

struct near_text mlir_form_nearest(const char *name)
{
    const char *names[FORM_COUNT];
    for (size_t i = 0; i < FORM_COUNT; i++) names[i] = forms[i].name;
    return text_did_you_mean(name, names, FORM_COUNT);
}

struct mlir_word mlir_first_word(const char *text)
{
    while (*text == ' ') text++;
    return (struct mlir_word){text, strcspn(text, " ")};
}

bool mlir_word_is(struct mlir_word w, const char *s)
{
    return w.length == strlen(s) && !memcmp(w.text, s, w.length);
}

bool mlir_word_is_value(struct mlir_word w)
{
    return w.length > 2 && memchr(w.text, ':', w.length);
}

struct mlir_word mlir_word_name(struct mlir_word w)
{
    const char *colon = memchr(w.text, ':', w.length);
    return (struct mlir_word){w.text, (size_t)(colon - w.text)};
}

struct mlir_word mlir_word_kind(struct mlir_word w)
{
    const char *colon = memchr(w.text, ':', w.length);
    return (struct mlir_word){colon + 1, w.length - (size_t)(colon + 1 - w.text)};
}
