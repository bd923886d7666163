/** A folder of its own for a test, removed after it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

export function tmpFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'exactspawn-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
