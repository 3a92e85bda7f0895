/*
 * load.c -- find the application in Python's modules.
 *
 * This happens once in a worker's life, and taking a Python expression apart
 * is best done in Python.  The code object's file name, <narwhal>, tells
 * errors.c which frames of a traceback are not the application's.
 */
#include "wsgi/load.h"

#include "wsgi/errors.h"

static const char source[] =
	"import ast, importlib\n"
	"\n"
	"class Wrong(Exception):\n"
	"    'the spec or what it names is wrong; no traceback needed'\n"
	"\n"
	"def names_of(node, what):\n"
	"    names = []\n"
	"    while isinstance(node, ast.Attribute):\n"
	"        names.insert(0, node.attr)\n"
	"        node = node.value\n"
	"    if not isinstance(node, ast.Name):\n"
	"        raise Wrong(f'{what!r} is neither a name nor a call')\n"
	"    return [node.id] + names\n"
	"\n"
	"def take_apart(what):\n"
	"    '-> names, None or (args, kwargs)'\n"
	"    try:\n"
	"        node = ast.parse(what, mode='eval').body\n"
	"    except SyntaxError:\n"
	"        raise Wrong(f'{what!r} is not a name or a call') from None\n"
	"    if not isinstance(node, ast.Call):\n"
	"        return names_of(node, what), None\n"
	"    try:\n"
	"        args = [ast.literal_eval(a) for a in node.args]\n"
	"        kwargs = {k.arg: ast.literal_eval(k.value)\n"
	"                  for k in node.keywords}\n"
	"    except ValueError:\n"
	"        raise Wrong(f'the arguments of {what!r} must be literals') "
	"from None\n"
	"    return names_of(node.func, what), (args, kwargs)\n"
	"\n"
	"def load(spec):\n"
	"    if spec.startswith('wsgi:'):\n"
	"        spec = spec[5:]\n"
	"    module, _, what = spec.partition(':')\n"
	"    names, call = take_apart(what or 'application')\n"
	"    app = importlib.import_module(module)\n"
	"    for name in names:\n"
	"        try:\n"
	"            app = getattr(app, name)\n"
	"        except AttributeError:\n"
	"            raise Wrong(f'{module!r} has no {\".\".join(names)!r}') "
	"from None\n"
	"    if call:\n"
	"        if not callable(app):\n"
	"            raise Wrong(f'{spec!r}: it cannot be called')\n"
	"        app = app(*call[0], **call[1])\n"
	"    if not callable(app):\n"
	"        raise Wrong(f'{spec!r} is not callable: {app!r}')\n"
	"    return app\n";

/* The namespace with what the source defines. */
static PyObject *
run_source(void)
{
	PyObject *code, *names = PyDict_New(), *none = NULL;

	code = Py_CompileString(source, "<narwhal>", Py_file_input);
	if (code && names &&
		PyDict_SetItemString(names, "__name__", Py_None) == 0)
		none = PyEval_EvalCode(code, names, names);
	Py_XDECREF(code);
	if (none) {
		Py_DECREF(none);
		return names;
	}
	Py_XDECREF(names);
	return NULL;
}

/* One line for a mistake in the spec, the traceback for all else. */
static void
log_failure(const char *spec, PyObject *wrong)
{
	PyObject *type, *value, *tb;
	const char *text;
	char what[256];

	if (wrong && PyErr_ExceptionMatches(wrong)) {
		PyErr_Fetch(&type, &value, &tb);
		PyErr_NormalizeException(&type, &value, &tb);
		Py_XSETREF(value, PyObject_Str(value));
		text = value ? PyUnicode_AsUTF8(value) : NULL;
		errors_say(NW_ERROR, "cannot load '%s': %s", spec,
			text ? text : "?");
		PyErr_Clear();
		Py_XDECREF(type);
		Py_XDECREF(value);
		Py_XDECREF(tb);
		return;
	}
	PyOS_snprintf(what, sizeof(what), "cannot load '%.200s':", spec);
	errors_log(what);
}

PyObject *
load_app(const char *spec)
{
	PyObject *names = run_source(), *load, *app = NULL, *wrong = NULL;

	if (names) {
		load = PyDict_GetItemString(names, "load");
		wrong = PyDict_GetItemString(names, "Wrong");
		if (load)
			app = PyObject_CallFunction(load, "s", spec);
	}
	if (!app)
		log_failure(spec, wrong);
	Py_XDECREF(names);
	return app;
}
