/*
 * XProf's hlo_category of a source operation: "convolution fusion",
 * "all-reduce", "copy", … Tools sum time by these words. From its name, and from
 * whether it is known to multiply matrices, which XProf calls convolution.
 */
#ifndef REPORT_HLO_CATEGORY_H
#define REPORT_HLO_CATEGORY_H
#include <stdbool.h>

/* `note` may be NULL: a program that names no operations is a custom call */
const char *hlo_category(const char *note, bool has_products);
#endif
