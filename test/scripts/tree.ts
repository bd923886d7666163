import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { onTestFinished } from 'vitest'

const repository = resolve(__dirname, '../..')

/** How a check ended; `found` are the lines that name something to mend. */
export interface Checked {
  code: number | null
  found: string[]
  printed: string
}

/** A small repository of a test's own, in which it runs the checks. Removed when the test ends. */
export class Tree {
  readonly root = mkdtempSync(join(tmpdir(), 'exactspawn-checks-'))

  constructor(files: Record<string, string>) {
    onTestFinished(() => rmSync(this.root, { recursive: true }))
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.root, path)), { recursive: true })
      writeFileSync(join(this.root, path), text)
    }
  }

  read(path: string): string {
    return readFileSync(join(this.root, path), 'utf8')
  }

  compile(...args: string[]): void {
    execFileSync('cc', args, { cwd: this.root })
  }

  /** Runs scripts/<name>.mjs here. */
  check(name: string, ...args: string[]): Checked {
    return runCheck(this.root, name, args)
  }
}

/** What a check finds in this repository. */
export function checkRepository(name: string): string[] {
  return runCheck(repository, name, []).found
}

function runCheck(cwd: string, name: string, args: string[]): Checked {
  const script = join(repository, `scripts/${name}.mjs`)
  const result = spawnSync(process.execPath, [script, ...args], { cwd, encoding: 'utf8' })
  const found = result.stderr.split('\n').filter((line) => line !== '')
  return { code: result.status, found, printed: result.stdout }
}
