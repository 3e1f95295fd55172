/* Variants of a function of a script of the user's, lowered by examples/jax/lower_variants.py. */
#include "cli/tune/tune.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/common/scratch.h"
#include "cli/python/python.h"

/* script.py:function */
static bool names_function(const char *text)
{
    return strstr(text, ".py:") != NULL;
}

static int make_arguments(struct tune *t, const char *helper, char **to)
{
    int count = 0;

    to[count++] = arena_strdup(&t->arena, helper);
    to[count++] = arena_strdup(&t->arena, t->folder);
    for (int i = 0; i < t->vary.count; i++) {
        to[count++] = arena_strdup(&t->arena, "--vary");
        to[count++] = arena_strdup(&t->arena, t->vary.item[i]);
    }
    for (int i = 0; i < t->array.count; i++) {
        to[count++] = arena_strdup(&t->arena, "--arg");
        to[count++] = arena_strdup(&t->arena, t->array.item[i]);
    }
    if (t->is_for_chip) {
        char *chip = arena_strdup(&t->arena, t->kernel.exec.run.target.tpu);

        chip[strcspn(chip, "-")] = '\0';
        to[count++] = arena_strdup(&t->arena, "--tpu");
        to[count++] = chip;
    }
    return count;
}

static int run_script(const char *interpreter, char *const *argument, int count, struct err *e)
{
    const struct python_variable cpu = {"JAX_PLATFORMS", "cpu"};    /* it lowers, and runs nothing */
    int status = -1;
    pid_t child;

    fflush(NULL);
    child = fork();
    if (child == 0) {
        struct err why;

        python_become(interpreter, argument, count, &cpu, 1, &why);
        fprintf(stderr, "systole: %s\n", why.msg);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0)
        return err_set(e, "cannot start %s", interpreter);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return err_set(e, "the variants could not be lowered: %s ended with status %d", interpreter,
                       WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return 0;
}

int tune_lower(struct tune *t, const char **made, struct err *e)
{
    const char *interpreter, *helper, *folder = t->keep;
    char *argument[4 * CLI_LIST_MAX + 8];
    int count;

    *made = NULL;
    if (!names_function(t->folder))
        return t->vary.count || t->array.count || t->keep || t->is_for_chip
                   ? err_set(e, "--vary, --arg, --keep and --for-chip are for SCRIPT.py:FUNCTION, not "
                             "for a folder of variants") : 0;
    if (!t->vary.count)
        return err_set(e, "which parameters of %s vary? --vary block_m=128,256", t->folder);
    interpreter = python_interpreter(t->python, &t->arena, e);
    helper = interpreter ? python_example("lower_variants.py", &t->arena, e) : NULL;
    if (!helper)
        return -1;
    if (!folder && !(folder = *made = scratch_make(&t->arena, e)))
        return -1;
    count = make_arguments(t, helper, argument);
    argument[count++] = arena_strdup(&t->arena, "--out");
    argument[count++] = arena_strdup(&t->arena, folder);
    t->folder = folder;
    return run_script(interpreter, argument, count, e);
}
