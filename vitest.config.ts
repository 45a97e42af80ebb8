import { defineConfig } from 'vitest/config'

const shared = {
  pool: 'forks',
  testTimeout: 60_000,
  hookTimeout: 60_000,
  // What a test prints, it has to expect.
  setupFiles: ['packages/db/src/testing/quiet.ts'],
} as const

export default defineConfig({
  test: {
    // Some tests start processes and servers of their own; more at once would only wait for each other.
    maxWorkers: 2,
    projects: [
      {
        test: { ...shared, name: 'core', include: ['packages/core/{src,test}/**/*.test.ts'] },
      },
      {
        // What needs no device and no browser. Screens are tested by jest, in apps/mobile.
        test: { ...shared, name: 'mobile', include: ['apps/mobile/src/**/*.test.ts'] },
      },
      {
        // The built app in a real browser, against the real API, worker and database.
        test: {
          ...shared,
          name: 'e2e',
          include: ['apps/mobile/e2e/web/**/*.e2e.ts'],
          globalSetup: ['packages/db/src/testing/global-setup.ts'],
          fileParallelism: false,
          // As long as the browser may take for each of the things that a test does.
          testTimeout: 240_000,
          expect: { poll: { timeout: 60_000 } },
        },
      },
      {
        // A Postgres is started for these, and only when one of them runs.
        test: {
          ...shared,
          name: 'database',
          include: [
            '{packages,apps}/*/{src,test}/**/*.test.ts',
            'prisma/**/*.test.ts',
            'examples/**/*.test.ts',
            'scripts/**/*.test.ts',
          ],
          exclude: ['packages/core/**', 'apps/mobile/**', '**/node_modules/**', '**/dist/**'],
          globalSetup: ['packages/db/src/testing/global-setup.ts'],
        },
      },
    ],
  },
})
