import { expect, test } from 'vitest'
import { auditedNumbers, audit } from '../support/audit.js'

test('a child has exactly the standard descriptors and those named [P-1, M-04]', async () => {
  const report = await audit({ fds: { 5: 'null' } })
  expect(auditedNumbers(report)).toEqual([0, 1, 2, 5])
})
