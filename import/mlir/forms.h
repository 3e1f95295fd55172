/* The table of pretty forms, forms.def, which the reader and the printer of text go by. */
#ifndef IMPORT_MLIR_FORMS_H
#define IMPORT_MLIR_FORMS_H
#include <stdbool.h>
#include <stddef.h>

enum mlir_results {
    MLIR_RESULTS_NONE, MLIR_RESULTS_SAME, MLIR_RESULTS_FUNC, MLIR_RESULTS_ARROW, MLIR_RESULTS_EACH,
    MLIR_RESULTS_GENERAL
};

struct mlir_form {
    const char *name, *text;
    enum mlir_results results;
};

/* a word of a form's text */
struct mlir_word {
    const char *text;
    size_t length;
};

/* the form of an operation; NULL: none is known */
const struct mlir_form *mlir_form_of(const char *name);
/* " (did you mean ..?)" */
struct near_text mlir_form_nearest(const char *name);
/* the first word of a form's text; length 0 at its end */
struct mlir_word mlir_first_word(const char *text);
bool mlir_word_is(struct mlir_word w, const char *s);
bool mlir_word_is_value(struct mlir_word w);            /* `name:kind` */
/* the parts of `name:kind` */
struct mlir_word mlir_word_name(struct mlir_word w);
struct mlir_word mlir_word_kind(struct mlir_word w);
#endif
