"""A Django project in one file: sessions, admin, uploads, streams, files.

$SITE is its folder.  `python3 django_site.py` makes the database there.
"""
import hashlib
import os

import django
from django.conf import settings

SITE = os.environ['SITE']

settings.configure(
    DEBUG=False, ALLOWED_HOSTS=['*'], SECRET_KEY='for tests',
    ROOT_URLCONF='django_site', STATIC_URL='/static/', USE_TZ=True,
    DEFAULT_AUTO_FIELD='django.db.models.AutoField',
    FILE_UPLOAD_TEMP_DIR=SITE, FILE_UPLOAD_MAX_MEMORY_SIZE=1 << 20,
    DATABASES={'default': {'ENGINE': 'django.db.backends.sqlite3',
                           'NAME': os.path.join(SITE, 'db.sqlite3'),
                           'OPTIONS': {'timeout': 30}}},
    INSTALLED_APPS=['django.contrib.admin', 'django.contrib.auth',
                    'django.contrib.contenttypes', 'django.contrib.sessions',
                    'django.contrib.messages', 'django.contrib.staticfiles'],
    MIDDLEWARE=['django.contrib.sessions.middleware.SessionMiddleware',
                'django.middleware.common.CommonMiddleware',
                'django.middleware.csrf.CsrfViewMiddleware',
                'django.contrib.auth.middleware.AuthenticationMiddleware',
                'django.contrib.messages.middleware.MessageMiddleware'],
    TEMPLATES=[{'BACKEND': 'django.template.backends.django.DjangoTemplates',
                'APP_DIRS': True, 'OPTIONS': {'context_processors': [
                    'django.template.context_processors.request',
                    'django.contrib.auth.context_processors.auth',
                    'django.contrib.messages.context_processors.messages']}}])
django.setup()

from django.contrib import admin                                # noqa: E402
from django.contrib.staticfiles.views import serve              # noqa: E402
from django.core.wsgi import get_wsgi_application               # noqa: E402
from django.http import FileResponse, HttpResponse, JsonResponse, \
    StreamingHttpResponse                                       # noqa: E402
from django.template import Context, Engine                     # noqa: E402
from django.urls import path, re_path                           # noqa: E402
from django.views.decorators.csrf import csrf_protect           # noqa: E402

FORM = Engine().from_string(
    '<form method=post enctype=multipart/form-data>'
    '<input type=hidden name=csrfmiddlewaretoken value="{{ token }}">'
    '<input name=note><input type=file name=file></form>')


def count(request):
    request.session['n'] = request.session.get('n', 0) + 1
    return HttpResponse(str(request.session['n']))


@csrf_protect
def upload(request):
    from django.middleware.csrf import get_token
    if request.method == 'GET':
        return HttpResponse(FORM.render(Context(
            {'token': get_token(request)})))
    f = request.FILES['file']
    digest = hashlib.sha256()
    for block in f.chunks():
        digest.update(block)
    return JsonResponse({'size': f.size, 'sha256': digest.hexdigest(),
                         'note': request.POST['note']})


def stream(request):
    return StreamingHttpResponse(('line %d\n' % i for i in range(10000)),
                                 content_type='text/plain')


def download(request):
    return FileResponse(open(os.path.join(SITE, 'large'), 'rb'))


def fail(request):
    raise RuntimeError('in a view')


urlpatterns = [
    path('count', count), path('upload', upload), path('stream', stream),
    path('download', download), path('fail', fail),
    path('admin/', admin.site.urls),
    re_path(r'^static/(?P<path>.*)$', serve, {'insecure': True}),
]

application = get_wsgi_application()

if __name__ == '__main__':
    from django.core.management import call_command
    call_command('migrate', verbosity=0)
    from django.contrib.auth.models import User
    User.objects.create_superuser('root', 'root@example.test', 'secret')
