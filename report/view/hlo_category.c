/* Finds XProf's category of an operation by a table of words that its name may contain. */
#include "report/view/hlo_category.h"

#include "base/units.h"

#include <stddef.h>
#include <string.h>

/* the first that the name contains; products are convolutions to XProf */
static const struct {
    const char *part, *category;
} rules[] = {
    {"all-reduce", "all-reduce"},       {"AllReduce", "all-reduce"},
    {"reduce-scatter", "reduce-scatter"}, {"all-gather", "all-gather"},
    {"collective-permute", "collective-permute"},
    {"MatMul", "convolution fusion"},   {"matmul", "convolution fusion"},
    {"product", "convolution fusion"},  {"convolution", "convolution fusion"},
    {"copies", "copy"},                 {"copy", "copy"},
    {"between kernels", "overlay"},     {"transpose", "transpose"},
};

const char *hlo_category(const char *note, bool has_products)
{
    if (!note || !*note)
        return "custom-call";
    for (size_t i = 0; i < COUNT_OF(rules); i++)
        if (strstr(note, rules[i].part))
            return rules[i].category;
    return has_products ? "convolution fusion" : "loop fusion";
}
