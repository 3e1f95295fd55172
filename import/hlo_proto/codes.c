/* Numbers of types and algorithms, both ways. */
#include "import/hlo_proto/read.h"

#include <string.h>

static const struct { enum hlo_element element; int code; } elements[] = {
#define ELEMENT_CODE(id, code, how, list) {ELEMENT_##id, code},
#define ALGORITHM_CODE(code, name)
#include "import/hlo_proto/codes.def"
};
static const struct { int code; const char *name; } algorithms[] = {
#define ELEMENT_CODE(id, code, how, list)
#define ALGORITHM_CODE(code, name) {code, name},
#include "import/hlo_proto/codes.def"
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum hlo_comparison proto_usual_comparison(enum hlo_element e)
{
    enum hlo_element_kind kind = hlo_element_kind(e);

    return kind == ELEMENT_KIND_SIGNED ? HLO_COMPARE_SIGNED
           : kind == ELEMENT_KIND_FLOAT || kind == ELEMENT_KIND_COMPLEX ? HLO_COMPARE_FLOAT
           : HLO_COMPARE_UNSIGNED;
}

enum hlo_element proto_element_of(int code)
{
    for (size_t i = 0; i < COUNT(elements); i++) {
        if (elements[i].code == code)
            return elements[i].element;
    }
    return ELEMENT_COUNT;
}

int proto_code_of(enum hlo_element e)
{
    for (size_t i = 0; i < COUNT(elements); i++) {
        if (elements[i].element == e)
            return elements[i].code;
    }
    return 0;
}

const char *proto_algorithm_name(int code)
{
    for (size_t i = 0; i < COUNT(algorithms); i++) {
        if (algorithms[i].code == code)
            return algorithms[i].name;
    }
    return NULL;
}

int proto_algorithm_code(const char *name)
{
    for (size_t i = 0; i < COUNT(algorithms); i++) {
        if (strcmp(algorithms[i].name, name) == 0)
            return algorithms[i].code;
    }
    return 0;
}
