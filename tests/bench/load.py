"""What drives the servers: wrk for many connections, drive for exact counts."""
import json
import re
import subprocess

from servers import Failed, tool


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise Failed('%s:\n%s' % (' '.join(command), done.stdout))
    return done.stdout


def wrk(server, connections, keep, seconds):
    """Requests per second of `/`; anything but 200 is an error."""
    command = ['wrk', '-t', '1', '-c', str(connections), '-d', str(seconds)]
    if not keep:
        command += ['-H', 'Connection: close']
    said = run(command + ['http://127.0.0.1:%d/' % server.port])
    if 'Non-2xx' in said or re.search(r'connect [1-9]|timeout [1-9]', said):
        raise Failed('%s:\n%s' % (server.name, said))
    return float(re.search(r'Requests/sec: +([\d.]+)', said).group(1))


def drive(server, path, seconds=0.0, count=1, warm_up=1, keep=True, body=0,
          expect=None, received=False):
    """One connection after or for many requests; see tests/tools/drive.c."""
    command = [tool('drive'), '-s', str(seconds), '-n', str(count),
               '-w', str(warm_up), '-b', str(body)]
    if keep:
        command.append('-k')
    if received:
        command.append('-r')
    if expect is not None:
        command += ['-e', str(expect)]
    try:
        done = json.loads(run(command + [str(server.port), path]))
    except Failed as failed:
        raise Failed('%s: %s\n%s' % (server.name, failed, server.log()))
    done['warm_up'] = warm_up
    done['rate'] = done['requests'] / done['seconds']
    return done
