import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Real processes: a test that loses descriptors, signals or a crash of the addon must not reach another file.
    pool: 'forks',
    testTimeout: 30_000,
  },
})
