/** A host that sees no /proc: its children are as exact, and their members end with them, only uncounted. */
import { expect, test } from 'vitest'
import { denysys } from '../../support/fixture.js'
import { hostSays } from '../../support/host.js'
import { alive } from '../../support/process-table.js'
import { until } from '../../support/until.js'

// In a mount namespace of its own; 17 is a stray that the child must not get.
const privileges = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user']
const noProc = ['unshare', ...privileges, '--mount', '/bin/bash', '-c', 'umount -l /proc; exec 17</dev/null; exec "$@"', 'bash']

test.each([
  ['', []],
  [', nor close_range', [denysys(), 'ENOSYS', 'close_range', '--']],
  [', nor pidfds', [denysys(), 'ENOSYS', 'pidfd_send_signal', '--']],
])('without /proc%s the map is exact and no member outlives a wait [N-5, N-8, M-44]', async (_, denied) => {
  const [said] = await hostSays<{ fds: number[]; exit: object; members: number[] }>(
    `const fds = { 1: capture({ headBytes: 65536 }), 9: 'null' };
    // With the numbers to ask for, an audit needs no /proc either.
    const audited = await (await spawn({ program: fixture, args: ['audit', '1', '64'], env: {}, fds })).wait();
    const child = await spawn({ program: fixture, args: ['fork-pause', '2', '--', 'exit', '5'], env: {}, fds });
    const { code, groupLeft, logs } = await child.wait();
    const members = logs[1].text().match(/[0-9]+/g).map(Number);
    say({ fds: JSON.parse(audited.logs[1].text()).fds.map(({ fd }) => fd), exit: { code, groupLeft }, members });`,
    { wrapper: [...noProc, ...denied] },
  )
  expect(said).toMatchObject({ fds: [0, 1, 2, 9], exit: { code: 5, groupLeft: 0 } })
  expect(said?.members).toHaveLength(2)
  await until('no member is left', () => !said?.members.some(alive))
})
