#include "cli/explain.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/folder_view.h"

/* ----- what kind of run it is */

static const char *setting(const struct explain_source *s, const char *name)
{
    const char *value = run_folder_setting(&s->folder, name);

    return value ? value : "";
}

static void read_train(struct explain_source *s)
{
    const char *precision = setting(s, "numerics.precision");

    if (text_parse_int(setting(s, "data.batch"), 1, INT32_MAX, &s->input.batch))
        s->input.batch = 0;
    s->input.passes = strcmp(precision, "highest") == 0 ? 6
                      : strcmp(precision, "high") == 0 ? 3 : 1;
}

static void describe(struct explain_source *s)
{
    s->input.view = &s->view;
    s->input.passes = 1;
    s->input.command = EXPLAIN_RUN;
    if (*setting(s, "model.file")) {
        s->input.command = EXPLAIN_TRAIN;
        read_train(s);
    }
}

/* ----- the command again */

static void add_word(struct explain_source *s, const char *word)
{
    if (s->word_count < EXPLAIN_COMMAND_MAX)
        s->word[s->word_count++] = word;
}

/* "data.batch" = 512 -> --batch 512; what a run leaves behind is left out */
static void add_option(struct explain_source *s, const struct run_setting *o)
{
    const char *dot = strchr(o->name, '.');
    bool is_model = strncmp(o->name, "model.", 6) == 0;

    assert(dot);
    if (o->is_chip || is_model || strncmp(o->name, "output.", 7) == 0 ||
        strncmp(o->name, "command.", 8) == 0 ||
        strcmp(o->value, "no") == 0 || strcmp(o->value, "drawn digits") == 0)
        return;
    add_word(s, arena_printf(s->arena, "--%s", dot + 1));
    if (strcmp(o->value, "yes") != 0)
        add_word(s, o->value);
}

/* parameters that differ from those of the built-in chip */
static int add_sets(struct explain_source *s, struct err *e)
{
    struct chip chip;

    if (chip_load_builtin(&chip, s->view.slice->chip_name, NULL, s->arena, e))
        return -1;
    for (size_t i = 0; i < chip_param_count; i++) {
        char standard[64], value[64];

        chip_print_param(&chip, i, standard, sizeof(standard));
        chip_print_param(s->view.chip, i, value, sizeof(value));
        if (strcmp(standard, value) == 0)
            continue;
        add_word(s, "--set");
        add_word(s, arena_printf(s->arena, "%s.%s=%s", chip_params[i].section, chip_params[i].key,
                                 value));
    }
    return 0;
}

static int rebuild_train(struct explain_source *s, struct err *e)
{
    add_word(s, "train");
    add_word(s, setting(s, "model.file"));
    for (size_t i = 0; i < s->folder.setting_count; i++)
        add_option(s, &s->folder.setting[i]);
    return add_sets(s, e);
}

int explain_source_open(struct explain_source *s, const char *path, struct arena *a,
                        struct err *e)
{
    *s = (struct explain_source){.arena = a};
    if (run_folder_open(&s->folder, path, a, e))
        return -1;
    if (folder_view(&s->folder, a, &s->view, e)) {
        run_folder_close(&s->folder);
        return -1;
    }
    describe(s);
    if (s->input.command == EXPLAIN_TRAIN && rebuild_train(s, e)) {
        run_folder_close(&s->folder);
        return -1;
    }
    return 0;
}

void explain_source_close(struct explain_source *s)
{
    run_folder_close(&s->folder);
}
