"""The text of an INI file: what it says, and the same with a key changed.

It finds the keys of a file that the server takes, the way the server does; it
judges nothing, the server does that.  Whatever is not changed stays as it is,
byte for byte.
"""
import re

SECTION = re.compile(r'[ \t]*\[([^\]]*)\]')
PAIR = re.compile(r'''
    (?P<before> [ \t]* (?P<key> [A-Za-z0-9._-]+ ) [ \t]* = [ \t]* )
    (?P<value> "(?:[^"]|"")*" | (?: [^\r\n;#] | (?<![ \t]) [;#] )*? )
    (?P<after> [ \t]* (?: [ \t][;#] .* )? )
    (?P<end> \r?\n? )''', re.VERBOSE)

# Their keys are the user's own.
FREE = ('options', 'env')


def decoded(value):
    if value.startswith('"'):
        return value[1:-1].replace('""', '"')
    return value


class Line:
    def __init__(self, number, section, match):
        self.number, self.section, self.match = number, section, match
        self.key = match and match.group('key')

    def value(self):
        return decoded(self.match.group('value'))


class Ini:
    """Bytes in, bytes out; between them Latin-1, which loses none."""

    def __init__(self, data):
        self.bom = b'\xef\xbb\xbf' if data.startswith(b'\xef\xbb\xbf') else b''
        text = data[len(self.bom):].decode('latin-1')
        self.lines = re.findall(r'[^\n]*\n|[^\n]+', text)

    def data(self):
        return self.bom + ''.join(self.lines).encode('latin-1')

    def walk(self):
        """Every line, known by its section, and by its key if it has one."""
        section = ''
        for i, text in enumerate(self.lines):
            opened = SECTION.match(text)
            if opened:
                section = opened.group(1)
            pair = not opened and PAIR.fullmatch(text)
            yield Line(i + 1, section, pair or None)

    def find(self, key):
        for line in self.walk():
            if line.key == key and line.section not in FREE:
                return line
        return None

    def get(self, key):
        line = self.find(key)
        if line is None:
            return None
        return line.value().encode('latin-1').decode('utf-8', 'replace')

    def set(self, section, key, value):
        line = self.find(key)
        if line is not None:
            m = line.match
            self.lines[line.number - 1] = ''.join([
                m.group('before'), value, m.group('after'), m.group('end')])
            return
        self.add(section, key, value)

    def add(self, section, key, value):
        """Behind the section's last key, else in a section at the end."""
        inside = [n for n in self.walk() if n.section == section
                  and (n.key or SECTION.match(self.lines[n.number - 1]))]
        newline = self.newline()
        if self.lines and not self.lines[-1].endswith('\n'):
            self.lines[-1] += newline
        if not inside:
            if self.lines:
                self.lines.append(newline)
            self.lines.append('[%s]%s' % (section, newline))
            at = len(self.lines)
        else:
            at = inside[-1].number
        indent = re.match(r'[ \t]*', self.lines[at - 1]).group()
        self.lines.insert(at, '%s%s = %s%s' % (indent, key, value, newline))

    def newline(self):
        crlf = self.lines and self.lines[0].endswith('\r\n')
        return '\r\n' if crlf else '\n'


def changed(data, section, settings):
    """The file with these keys set."""
    ini = Ini(data)
    for key, value in settings.items():
        ini.set(section, key, value)
    return ini.data()
