import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  resolve: {
    // Tests name the package as its users do, and run its sources.
    alias: { exactspawn: fileURLToPath(new URL('lib/index.ts', import.meta.url)) },
  },
  test: {
    include: ['test/**/*.test.ts'],
    // A process for each file: real signals, process.chdir and a crash concern that file alone.
    pool: 'forks',
    execArgv: ['--expose-gc'],
    setupFiles: ['test/support/leak-check.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
