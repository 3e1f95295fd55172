/*
 * Feeds files to a fuzz target that is built without libFuzzer: TARGET FILE...
 * A target reports what it finds by aborting; the last name printed is the
 * file that it had then.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int feed(const char *path)
{
    static const size_t most = 1 << 20;
    uint8_t *data = malloc(most);
    FILE *f = fopen(path, "rb");
    size_t size;

    if (!f || !data) {
        fprintf(stderr, "%s: cannot read\n", path);
        free(data);
        return -1;
    }
    size = fread(data, 1, most, f);
    fclose(f);
    fprintf(stderr, "%s\n", path);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 0;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (feed(argv[i]))
            return 1;
    }
    return argc > 1 ? 0 : 1;
}
