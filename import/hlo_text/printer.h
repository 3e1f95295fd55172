/* The printer's parts, a file each, and what they share. */
#ifndef IMPORT_HLO_TEXT_PRINTER_H
#define IMPORT_HLO_TEXT_PRINTER_H
#include "import/hlo_text/attributes.h"
#include "import/hlo_text/hlo_text.h"

struct hlo_printer {
    FILE *to;
    const struct hlo_text_options *options;
    const struct hlo_module *module;
    const struct hlo_computation *computation;
    bool no_layouts;                    /* in types of heads */
};

void hlo_print_type(struct hlo_printer *p, const struct hlo_type *t);
void hlo_print_literal(struct hlo_printer *p, const struct hlo_literal *l);
/* the shortest digits that are read as this element; "-inf", "nan(0x1)" */
void hlo_print_element(struct hlo_printer *p, enum hlo_element e, const void *element);
void hlo_print_attributes(struct hlo_printer *p, const struct hlo_instruction *i);

void hlo_print_name(struct hlo_printer *p, const char *name);   /* of an instruction, a computation */
void hlo_print_ints(struct hlo_printer *p, struct hlo_ints list);       /* "1,2" */
void hlo_print_string(struct hlo_printer *p, const char *text, size_t bytes);   /* in quotes */
void hlo_print_pairs(struct hlo_printer *p, const struct hlo_pairs *pairs);     /* "{a="b"}" */
void hlo_print_other(struct hlo_printer *p, const struct hlo_pairs *pairs);     /* ", a="b"" */
/* as it stands; what came from another format and would not be read, as a string */
void hlo_print_value(struct hlo_printer *p, const char *value);
#endif
