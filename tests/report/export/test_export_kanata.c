/* Kanata's log of a real run: stages begin and end, in time, and their lengths are the core's. */
#include "tests/test.h"

#include "tests/rigs/export_rig.h"
#include "tests/rigs/toy.h"

#define ID_MAX 20000

struct instruction {
    bool is_begun, is_retired, is_bundle;
    char stage[2][32];                  /* by lane; "" none is open */
    int64_t since[2];
};

struct log {
    struct instruction i[ID_MAX];
    int64_t now, issue, wait, stalls[STALL_COUNT], executing, retired, begun;
};

static void end_stage(struct log *l, struct instruction *i, int lane)
{
    int64_t cycles = l->now - i->since[lane];

    if (lane == 1) {
        for (int r = 0; r < STALL_COUNT; r++)
            if (strcmp(stall_name((enum stall_reason)r), i->stage[1]) == 0)
                l->stalls[r] += cycles;
    } else if (strcmp(i->stage[0], "I") == 0) {
        l->issue += cycles;
    } else if (strcmp(i->stage[0], "W") == 0) {
        l->wait += cycles;
    } else if (strcmp(i->stage[0], "X") == 0) {
        l->executing += cycles;
    }
    i->stage[lane][0] = '\0';
}

static struct instruction *instruction(struct log *l, const char *word)
{
    long id = strtol(word, NULL, 10);

    assert_true(id >= 0 && id < ID_MAX);
    return &l->i[id];
}

static void read_stage(struct log *l, char **word)
{
    struct instruction *i = instruction(l, word[1]);
    int lane = (int)strtol(word[2], NULL, 10);

    assert_true(i->is_begun && !i->is_retired && (lane == 0 || lane == 1));
    if (*word[0] == 'S') {
        assert_string_equal(i->stage[lane], "");
        snprintf(i->stage[lane], sizeof(i->stage[lane]), "%s", word[3]);
        i->since[lane] = l->now;
    } else {
        assert_string_equal(i->stage[lane], word[3]);
        end_stage(l, i, lane);
    }
}

static void read_line(struct log *l, char **word, int count)
{
    struct instruction *i;

    switch (*word[0]) {
    case 'C':
        assert_true(strtol(word[1], NULL, 10) > 0 || strcmp(word[0], "C=") == 0);
        l->now += strtol(word[1], NULL, 10);
        break;
    case 'I':
        i = instruction(l, word[1]);
        assert_false(i->is_begun);
        i->is_begun = true;
        l->begun++;
        break;
    case 'L':
        assert_true(instruction(l, word[1])->is_begun);
        break;
    case 'S': case 'E':
        assert_int_equal(count, 4);
        read_stage(l, word);
        break;
    default:
        assert_string_equal(word[0], "R");
        i = instruction(l, word[1]);
        assert_true(i->is_begun && !i->is_retired && !*i->stage[0] && !*i->stage[1]);
        i->is_retired = true;
        l->retired++;
    }
}

/* cuts the next line off; NULL at the end */
static char *next_line(char **rest)
{
    char *line = *rest, *end = strchr(line, '\n');

    if (!end)
        return NULL;
    *end = '\0';
    *rest = end + 1;
    return line;
}

static void read_log(struct log *l, const char *path)
{
    char *text = toy_read_text(path), *rest = text, *line;

    memset(l, 0, sizeof(*l));
    assert_string_equal(next_line(&rest), "Kanata\t0004");
    while ((line = next_line(&rest)) != NULL) {
        char *word[5] = {line};
        int count = 1;

        for (char *c = line; *c && count < 5; c++)
            if (*c == '\t') {
                *c = '\0';
                word[count++] = c + 1;
            }
        read_line(l, word, count);
    }
    free(text);
}

TEST(kanata_stages_pair_and_add_up_to_the_cycles_of_the_core)
{
    static struct log l;
    struct export_options o = export_everything;
    struct export_result result;
    struct export_rig x;
    char path[300];

    export_rig_open(&x, TRACE_BUNDLE);
    for (o.core = 3; o.core < EXPORT_CORES; o.core += 2) {
        int64_t waits = 0;

        read_log(&l, export_rig_write(&x, "kanata", &o, &result, path, 300));
        assert_int_equal(l.begun, result.event_count);
        assert_int_equal(l.retired, l.begun);
        assert_int_equal(l.issue, x.sums.bundles[o.core]);
        for (int r = 0; r < STALL_COUNT; r++) {
            assert_int_equal(l.stalls[r], x.sums.stalls[o.core][r]);
            waits += l.stalls[r];
        }
        assert_int_equal(l.wait, waits);
        assert_int_equal(l.executing, 0);
    }
    export_rig_close(&x);
}

TEST(kanata_at_level_slot_has_what_every_operation_occupies)
{
    static struct log l;
    struct export_options o = export_everything;
    struct export_result result;
    int64_t busy = 0, executed = 0;
    struct export_rig x;
    char path[300];

    export_rig_open(&x, TRACE_SLOT);
    o.level = TRACE_SLOT;
    o.core = 5;
    read_log(&l, export_rig_write(&x, "kanata", &o, &result, path, 300));
    assert_int_equal(l.retired, l.begun);
    assert_int_equal(l.issue, x.sums.bundles[5]);
    for (int unit = 0; unit < MACHINE_UNIT_MAX; unit++)
        busy += unit == 6 ? 0 : x.sums.busy[5][unit];
    for (int code = 0; code < OP_COUNT; code++)
        executed += machine_counters(x.rig.m, 5)->op_count[code];
    /* more than the units' busy cycles: scalar slots and VALUs work side by side */
    assert_true(l.executing >= busy && busy > 0);
    assert_true(l.begun - x.sums.bundles[5] <= EXPORT_LAUNCHES * executed);
    export_rig_close(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kanata_stages_pair_and_add_up_to_the_cycles_of_the_core),
        cmocka_unit_test(kanata_at_level_slot_has_what_every_operation_occupies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
