/* nohandle.c -- an application that could not answer anything. */
#include "narwhal/app.h"

const nw_app narwhal_app = {NW_APP_ABI};
