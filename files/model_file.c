/* Finds the JSON of a Keras model inside the file that holds it. */
#include "files/model_file.h"

#include <string.h>

#include "files/h5.h"
#include "files/zipfile.h"
#include "isa/file.h"

static int take_member(const char *path, struct arena *a, uint8_t **bytes, size_t *size,
                       struct err *e)
{
    struct zipfile z;
    char list[300];
    int i, status;

    if (zipfile_open(&z, *bytes, *size, path, a, e) != 0)
        return -1;
    i = zipfile_find(&z, "config.json");
    status = i < 0 ? err_at(e, path, 0, 0, "holds no model: it is a zip archive of %s, without "
                            "the config.json of a .keras", zipfile_print(&z, list, sizeof(list)))
                   : zipfile_read(&z, i, a, bytes, size, e);
    zipfile_close(&z);
    return status;
}

static int take_attribute(const char *path, struct arena *a, uint8_t **bytes, size_t *size,
                          const char **training, struct err *e)
{
    const struct h5_item *config, *compiled;
    struct h5_file f;

    if (h5_read(*bytes, *size, path, a, &f, e) != 0)
        return -1;
    config = h5_find(&f, "", "model_config");
    if (!config || config->text_count != 1)
        return err_at(e, path, 0, 0, "holds no model: it is an HDF5 file of %s without the "
                      "attribute \"model_config\"", h5_find(&f, "", "layer_names") ||
                      h5_find(&f, "vars", "name") ? "weights alone," : "something else,");
    compiled = h5_find(&f, "", "training_config");
    *training = compiled && compiled->text_count == 1 ? compiled->text[0] : NULL;
    *bytes = (uint8_t *)arena_strdup(a, config->text[0]);
    *size = strlen(config->text[0]);
    return 0;
}

int model_file_read(struct model *m, struct arena *a, const char *path, const char *input_sizes,
                    struct model_file *text, struct err *e)
{
    const char *training = NULL;
    uint8_t *bytes;
    size_t size;

    model_init(m, a, "model");
    if (isa_file_read(path, a, &bytes, &size, e) != 0)
        return -1;
    if ((zipfile_is(bytes, size) && take_member(path, a, &bytes, &size, e) != 0) ||
        (h5_is(bytes, size) && take_attribute(path, a, &bytes, &size, &training, e) != 0))
        return -1;
    if (text)
        *text = (struct model_file){(const char *)bytes, training};
    if (model_from_json_text(m, a, path, (const char *)bytes, size, input_sizes, e) != 0)
        return -1;
    if (m->file_policy)
        fprintf(stderr, "systole: %s: layers of policy %s are computed as %s, for TPU cores have no "
                "%s\n", path, m->file_policy, keras_policy_name(m->policy),
                strcmp(m->file_policy, "float64") == 0 ? "float64" : "float16");
    return 0;
}
