/* Finds the path of systole-view beside the running program. */
#include "cli/live/viewer.h"

#include <string.h>
#include <unistd.h>

int viewer_path(char *path, size_t path_bytes)
{
    static const char name[] = "systole-view";
    ssize_t length = readlink("/proc/self/exe", path, path_bytes);
    char *slash;

    if (length < 0 || (size_t)length + sizeof(name) > path_bytes)
        return -1;
    path[length] = '\0';
    slash = strrchr(path, '/');
    strcpy(slash ? slash + 1 : path, name);
    return 0;
}
