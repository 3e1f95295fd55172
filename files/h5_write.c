/* Writes HDF5 files in memory, as h5py writes those of Keras. */
#include "files/h5.h"

#include <hdf5.h>
#include <string.h>

/* the group of this path, made with those above it where it is not there yet */
static hid_t open_group(hid_t file, const char *path, hid_t making)
{
    if (!*path)
        return H5Gopen(file, "/", H5P_DEFAULT);
    if (H5Lexists(file, path, H5P_DEFAULT) > 0)
        return H5Gopen(file, path, H5P_DEFAULT);
    return H5Gcreate(file, path, making, H5P_DEFAULT, H5P_DEFAULT);
}

/* are all the groups above a path there? H5Lexists asks that of its caller */
static bool has_groups(hid_t file, const char *path)
{
    char part[512];

    for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/')) {
        snprintf(part, sizeof(part), "%.*s", (int)(at - path), path);
        if (H5Lexists(file, part, H5P_DEFAULT) <= 0)
            return false;
    }
    return true;
}

static int write_attribute(hid_t file, const struct h5_output *o, hid_t making)
{
    hid_t group = has_groups(file, o->path)
                      ? open_group(file, o->path, making)
                      : H5Gcreate(file, o->path, making, H5P_DEFAULT, H5P_DEFAULT);
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR), attribute;
    int status;

    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    attribute = H5Acreate(group, o->attribute, type, space, H5P_DEFAULT, H5P_DEFAULT);
    status = H5Awrite(attribute, type, &o->text) < 0;
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
    H5Gclose(group);
    return status;
}

static int write_array(hid_t file, const struct h5_output *o, hid_t making)
{
    hid_t type = o->is_s32 ? H5T_STD_I32LE : H5T_IEEE_F32LE, how = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t dim[H5_RANK_MAX] = {0};
    hid_t space, array;
    int status;

    for (int i = 0; i < o->rank; i++)
        dim[i] = (hsize_t)o->dim[i];
    space = o->rank ? H5Screate_simple(o->rank, dim, NULL) : H5Screate(H5S_SCALAR);
    H5Pset_obj_track_times(how, false);         /* the same file at any time */
    array = H5Dcreate(file, o->path, type, space, making, how, H5P_DEFAULT);
    status = H5Dwrite(array, o->is_s32 ? H5T_NATIVE_INT32 : H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL,
                      H5P_DEFAULT, o->value) < 0;
    H5Dclose(array);
    H5Sclose(space);
    H5Pclose(how);
    return status;
}

static int take_image(hid_t file, struct bytes *image)
{
    ssize_t size = H5Fflush(file, H5F_SCOPE_GLOBAL) < 0 ? -1 : H5Fget_file_image(file, NULL, 0);

    if (size < 0)
        return -1;
    *image = (struct bytes){mem_alloc((size_t)size + 1), (size_t)size, (size_t)size + 1};
    return H5Fget_file_image(file, image->data, image->size) == size ? 0 : -1;
}

int h5_write(const struct h5_output *item, int count, struct bytes *image, struct err *e)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), making = H5Pcreate(H5P_LINK_CREATE), file;
    int status = 0;

    H5Eset_auto(H5E_DEFAULT, NULL, NULL);
    *image = (struct bytes){0};
    H5Pset_fapl_core(access, 1 << 24, 0);
    H5Pset_create_intermediate_group(making, 1);
    file = H5Fcreate("image", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    for (int i = 0; i < count && status == 0; i++)
        status = item[i].attribute ? write_attribute(file, &item[i], making)
                                   : write_array(file, &item[i], making);
    if (status || take_image(file, image))
        status = err_set(e, "libhdf5 cannot make the file in memory");
    H5Fclose(file);
    H5Pclose(making);
    H5Pclose(access);
    if (status)
        mem_free(image->data);
    return status ? -1 : 0;
}
