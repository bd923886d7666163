/** What the package leaves as it was in its host, and whom it lets work beside it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { hostSays, runHost } from '../support/host.js'
import { tmpFolder } from '../support/tmp.js'
import { rounds } from './worker-host.js'

// Everything of a process that a start changes for its child, as the kernel has it for the host.
const state = `
  const fs = require('node:fs');
  const os = require('node:os');
  const state = () => {
    const status = fs.readFileSync('/proc/self/status', 'latin1');
    const line = (name) => new RegExp('^' + name + ':.*', 'm').exec(status)?.[0];
    const numbers = fs.readdirSync('/proc/self/fd').filter((name) => fs.existsSync('/proc/self/fd/' + name));
    const flags = (name) => /flags:.*/.exec(fs.readFileSync('/proc/self/fdinfo/' + name, 'latin1'))[0];
    return {
      status: ['Umask', 'Uid', 'Gid', 'Groups', 'SigBlk', 'SigIgn', 'SigCgt', 'NoNewPrivs', 'CapEff'].map(line),
      dumpable: [fs.statSync('/proc/self/fd').uid, line('CoreDumping')],
      affinity: line('Cpus_allowed_list'),
      cwd: process.cwd(),
      root: fs.readlinkSync('/proc/self/root'),
      limits: fs.readFileSync('/proc/self/limits', 'latin1'),
      ids: fs.readFileSync('/proc/self/stat', 'latin1').replace(/^.*[)] . /s, '').split(' ').slice(0, 4),
      priority: os.getPriority(),
      cgroup: fs.readFileSync('/proc/self/cgroup', 'latin1'),
      standard: [0, 1, 2].map((fd) => [fs.readlinkSync('/proc/self/fd/' + fd), flags(fd)]),
      inheritable: numbers.filter((fd) => Number(fd) > 2 && (parseInt(flags(fd).slice(6), 8) & 0o2000000) === 0),
      environment: Object.keys(process.env).sort().join(),
    };
  };
`

test('two hundred starts, failures among them, change nothing of the host [P-10, N-12]', async () => {
  const [said] = await hostSays<{ before: object; after: object; outcomes: Record<string, number> }>(`
    ${state}
    const before = state();
    const all = { umask: 0, nice: 5, group: 'session', noNewPrivs: true, limits: { nofile: 64, core: 0 }, affinity: [0] };
    const kinds = [
      {}, { ...all }, { cwd: '/' }, { guard: true }, { owner: 'detached' }, { uid: process.getuid(), gid: process.getgid() },
      { program: '/nowhere' }, { cwd: '/nowhere' }, { program: '/etc/passwd' }, { affinity: [8000] },
    ];
    const outcomes = {};
    const one = async (kind) => {
      const spec = { program: '/bin/true', env: {}, ...kinds[kind] };
      const outcome = await spawn(spec).then((child) => child.wait()).then(({ code }) => code, ({ details }) => details.stage);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    };
    for (let round = 0; round < ${rounds(20)}; round++) await Promise.all(kinds.map((_, kind) => one(kind)));
    say({ before, after: state(), outcomes });
  `)
  expect(said?.after).toEqual(said?.before)
  const each = rounds(20)
  expect(said?.outcomes).toEqual({ 0: 6 * each, exec: 2 * each, chdir: each, affinity: each })
}, 60_000)

test('no handler for SIGCHLD comes with the package, as one comes with child_process [P-10]', async () => {
  const [said] = await hostSays(`
    const handled = () => BigInt('0x' + /^SigCgt:\\s*(\\w+)/m.exec(require('node:fs').readFileSync('/proc/self/status', 'latin1'))[1]);
    const sigchld = 1n << BigInt(require('node:os').constants.signals.SIGCHLD - 1);
    await (await spawn({ program: '/bin/true', env: {} })).wait();
    const ours = (handled() & sigchld) !== 0n;
    require('node:child_process').spawn('/bin/true');
    say({ ours, theirs: (handled() & sigchld) !== 0n });
  `)
  expect(said).toEqual({ ours: false, theirs: true })
})

test('every exit reaches who asked for it, beside a hundred children of child_process [P-10]', async () => {
  const [said] = await hostSays(`
    const child_process = require('node:child_process');
    const codes = Array.from({ length: 100 }, (_, index) => index);
    const theirs = codes.map((code) => new Promise((resolve) => {
      child_process.spawn(fixture, ['exit', String(code)], { stdio: 'ignore' }).on('exit', resolve);
    }));
    const ours = codes.map(async (code) => {
      const child = await spawn({ program: fixture, args: ['exit', String(code)], env: {} });
      if (code % 10 === 0) child_process.spawnSync('/bin/true');
      return (await child.wait()).code;
    });
    const same = (list) => list.join() === codes.join();
    say({ theirs: same(await Promise.all(theirs)), ours: same(await Promise.all(ours)) });
  `)
  expect(said).toEqual({ theirs: true, ours: true })
})

test('a host without 0, 1 and 2 starts children, and stays without them [P-10, M-10]', async () => {
  const path = join(tmpFolder(), 'said')
  const { code } = await runHost(`
    const fs = require('node:fs');
    const out = fs.openSync(${JSON.stringify(path)}, 'w');
    for (const fd of [0, 1, 2]) fs.closeSync(fd);
    const { child, host } = pipe('childReads');
    const fds = { 1: capture({ headBytes: 65536 }), 3: child };
    const started = await spawn({ program: fixture, args: ['audit', '1', '--', 'cat', '3', '1'], env: {}, fds });
    await host.write(Buffer.from('sent'));
    host.close();
    const exit = await started.wait();
    const open = fs.readdirSync('/proc/self/fd').filter((fd) => fd < 3 && fs.existsSync('/proc/self/fd/' + fd));
    fs.writeSync(out, JSON.stringify({ code: exit.code, log: exit.logs[1].text(), open }));
  `)
  const said = JSON.parse(readFileSync(path, 'utf8')) as { code: number; log: string; open: string[] }
  const [report, sent] = said.log.split('\n')
  expect({ code, exit: said.code, sent, open: said.open }).toEqual({ code: 0, exit: 0, sent: 'sent', open: [] })
  const audited = JSON.parse(report ?? '') as { fds: { fd: number }[] }
  expect(audited.fds.map(({ fd }) => fd)).toEqual([0, 1, 2, 3])
})
