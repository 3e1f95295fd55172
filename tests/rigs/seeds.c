/* Chooses the seeds of tests that draw what they run: fixed ones, those of the clock, or those asked for. */
#include "tests/rigs/seeds.h"

#include "tests/test.h"

#include <stdlib.h>
#include <time.h>

#define ROLLING_MIN 1000                /* behind the fixed ones */
#define ROLLING_STARTS 1000000          /* seconds until they come again */
#define ROLLING_STEP 100                /* seeds of a second */

static uint64_t given;
static int given_count;

void seeds_read(int argc, char **argv)
{
    given = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    given_count = argc > 2 ? atoi(argv[2]) : 0;
}

int seeds_count(int usual) { return given_count ? given_count : usual; }

uint64_t seeds_at(int i)
{
    static uint64_t rolling;

    if (given)
        return given + (uint64_t)i;
    if (!rolling)
        rolling = ROLLING_MIN + (uint64_t)time(NULL) % ROLLING_STARTS * ROLLING_STEP;
    return (i % 2 ? rolling : 1) + (uint64_t)i;
}

void seeds_print(int count)
{
    print_message("seeds %lld..%lld\n", (long long)seeds_at(0), (long long)seeds_at(count - 1));
}
