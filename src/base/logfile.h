/*
 * logfile.h -- open a log.
 */
#ifndef BASE_LOGFILE_H
#define BASE_LOGFILE_H

#include <sys/types.h>

/*
 * Open path for appending, and make it with this mode if it is not there:
 * close-on-exec, never a controlling terminal.  It may be a file, a pipe that
 * somebody reads, or a device such as a terminal.  Root follows only symbolic
 * links that root has made, and refuses a file with several names where others
 * can write to its folder.  Returns -1 with a reason.
 */
int logfile_open(const char *path, mode_t mode, const char **ret_why);

/*
 * Is there something at path that logfile_open would refuse?  Nothing is
 * opened or made to find out, and what is missing is no fault, nor is a pipe
 * without a reader.  -1 with a reason.
 */
int logfile_check(const char *path, const char **ret_why);

#endif
