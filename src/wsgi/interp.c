/*
 * interp.c -- the Python interpreter of this worker.
 *
 * It is set up as `python` sets itself up for a script: environment variables
 * count, site runs, sys.executable is an interpreter (so that subprocess and
 * multiprocessing start that and not another server), sys.path has the current
 * directory.  Signals are left as they are: they are the server's until the
 * application takes some for itself.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "wsgi/interp.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "wsgi/fault.h"

#define STRINGIFY(x) #x
#define VERSION_OF(major, minor) STRINGIFY(major) "." STRINGIFY(minor)
#define PYTHON_VERSION VERSION_OF(PY_MAJOR_VERSION, PY_MINOR_VERSION)

static nw_server *server;
static void *libpython; /* never closed */

static void __attribute__((format(printf, 2, 3)))
say(nw_level level, const char *fmt, ...)
{
	char line[PATH_MAX + 256];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = PyOS_vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n >= (int)sizeof(line))
		n = sizeof(line) - 1;
	if (n > 0)
		nw_log(server, level, line, (size_t)n);
}

/*
 * Extension modules take Python's symbols from the process as a whole, while
 * a library that came with ours is visible to ours only.
 */
static void
promote_libpython(void)
{
	Dl_info info;

	if (dladdr((void *)&PyType_Type, &info) && info.dli_fname)
		libpython = dlopen(
			info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

/* ---- the virtual environment ---- */

static bool
exists(const char *folder, const char *name, int mode, char *path)
{
	int n = PyOS_snprintf(path, PATH_MAX, "%s/%s", folder, name);

	return n < PATH_MAX && access(path, mode) == 0;
}

/* Its interpreter into path, if it is one of ours. */
static bool
check_environment(const char *folder, char *path, nw_level level)
{
	if (!exists(folder, "pyvenv.cfg", R_OK, path)) {
		say(level, "virtualenv '%s' has no pyvenv.cfg", folder);
		return false;
	}
	if (!exists(folder, "lib/python" PYTHON_VERSION, R_OK, path) &&
		!exists(folder, "lib64/python" PYTHON_VERSION, R_OK, path)) {
		say(level,
			"virtualenv '%s' is not of Python " PYTHON_VERSION
			", which this gateway was built for",
			folder);
		return false;
	}
	if (exists(folder, "bin/python", X_OK, path) ||
		exists(folder, "bin/python3", X_OK, path))
		return true;
	say(level, "virtualenv '%s' has no bin/python", folder);
	return false;
}

/*
 * The interpreter that this one takes the place of: the environment's, else
 * the one it was built for.  A $VIRTUAL_ENV that does not fit was not meant
 * for us.
 */
static int
choose_executable(char *path)
{
	const char *asked = nw_setting(server, "virtualenv"),
		   *active = getenv("VIRTUAL_ENV");
	bool meant = asked && *asked;
	bool by_key = meant && !(active && strcmp(asked, active) == 0);

	if (meant &&
		check_environment(asked, path, by_key ? NW_ERROR : NW_WARNING))
		return 0;
	PyOS_snprintf(path, PATH_MAX, "%s", NW_PYTHON);
	return by_key ? -1 : 0;
}

/* ---- start ---- */

static int
check(PyStatus status)
{
	if (!PyStatus_Exception(status))
		return 0;
	say(NW_ERROR, "cannot start Python: %s",
		status.err_msg ? status.err_msg : "no reason given");
	return -1;
}

static int
preinitialize(void)
{
	PyPreConfig c;

	PyPreConfig_InitPythonConfig(&c);
	c.parse_argv = 0;
	return check(Py_PreInitialize(&c));
}

static int
initialize(const char *executable)
{
	static char name[] = "narwhal", *argv[] = {name};
	PyConfig c;
	int r = -1;

	PyConfig_InitPythonConfig(&c);
	c.parse_argv = 0;
	c.install_signal_handlers = 0;
	if (check(PyConfig_SetBytesArgv(&c, 1, argv)) == 0 &&
		check(PyConfig_SetBytesString(
			&c, &c.program_name, executable)) == 0 &&
		check(PyConfig_SetBytesString(&c, &c.executable, executable)) ==
			0)
		r = check(Py_InitializeFromConfig(&c));
	PyConfig_Clear(&c);
	return r;
}

/* ---- sys.path ---- */

static int
insert(PyObject *path, Py_ssize_t at, const char *p, size_t n)
{
	PyObject *o = PyUnicode_DecodeFSDefaultAndSize(p, (Py_ssize_t)n);
	int r;

	if (!o)
		return -1;
	r = PyList_Insert(path, at, o);
	Py_DECREF(o);
	return r;
}

/* The folders of pythonpath (commas between them), then the current one. */
static int
extend_path(void)
{
	const char *p = nw_setting(server, "pythonpath");
	PyObject *path = PySys_GetObject("path");
	char here[PATH_MAX];
	Py_ssize_t at = 0;

	if (!path || !PyList_Check(path))
		return -1;
	while (p && *p) {
		size_t n = strcspn(p, ",");

		if (n && insert(path, at++, p, n) == -1)
			return -1;
		p += n + strspn(p + n, ", \t");
	}
	if (!getcwd(here, sizeof(here))) {
		PyErr_SetFromErrno(PyExc_OSError);
		return -1;
	}
	return insert(path, at, here, strlen(here));
}

/*
 * When the master aborts a worker that is stuck, the stacks of all Python
 * threads go to the error log.
 */
static int
enable_faulthandler(void)
{
	PyObject *module = PyImport_ImportModule("faulthandler"), *none = NULL;

	if (module)
		none = PyObject_CallMethod(
			module, "enable", "i", nw_log_fd(server));
	Py_XDECREF(module);
	Py_XDECREF(none);
	return none ? 0 : -1;
}

int
interp_open(nw_server *s)
{
	char executable[PATH_MAX];

	server = s;
	promote_libpython();
	if (choose_executable(executable) == -1 || preinitialize() == -1)
		return -1;
	if (fault_register() == -1) {
		say(NW_ERROR, "cannot start Python: no memory");
		return -1;
	}
	if (initialize(executable) == -1)
		return -1;
	if (extend_path() == 0 && enable_faulthandler() == 0)
		return 0;
	PyErr_Print();
	say(NW_ERROR, "cannot set up Python");
	return -1;
}

void
interp_close(void)
{
	if (Py_IsInitialized())
		Py_FinalizeEx();
}
