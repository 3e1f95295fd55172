/* Looks a name up in known.def, whose rows are sorted. */
#include "import/stablehlo/known.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
#define KNOWN(name) name,
#include "import/stablehlo/known.def"
};

static int compare(const void *key, const void *row)
{
    return strcmp(key, *(const char *const *)row);
}

bool known_attribute(const char *name)
{
    return bsearch(name, names, sizeof(names) / sizeof(names[0]), sizeof(names[0]), compare) != NULL;
}
