/* Which systole this is: systole --version, and part of what a sweep's points are known by. */
#ifndef CLI_VERSION_H
#define CLI_VERSION_H

#define SYSTOLE_VERSION "0.1.0"
#endif
