import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The largest files come first, and these are small: the suite that they run is elsewhere. So none of them is left for the end, alone. */
const RUNS_CONFORMANCE =
  /packages\/db\/test\/(pgbouncer|postgres|postgres-settings|schema-conformance|sqlite)\.test\.ts$/

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isLong = ({ moduleId }: TestSpecification) => RUNS_CONFORMANCE.test(moduleId)
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}

const shared = {
  pool: 'forks',
  testTimeout: 60_000,
  hookTimeout: 60_000,
  // What a test prints, it has to expect.
  setupFiles: ['packages/testing/src/quiet.ts'],
} as const

const NOT_OURS = ['**/node_modules/**', '**/dist/**']
const SCRIPTS = 'scripts/test/**/*.test.ts'
const TYPES = ['{packages,apps}/*/test/*types.test.ts']
const SQLITE = 'packages/db/test/sqlite.test.ts'

export default defineConfig({
  test: {
    // On two cores one more than cores: many tests wait for processes and servers of their own.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        // Tests beside their source: no database, no process. Screens are tested by jest, in apps/mobile.
        test: {
          ...shared,
          name: 'units',
          include: ['{packages,apps}/*/src/**/*.test.ts', 'bench/src/**/*.test.ts', 'scripts/**/*.test.ts'],
          exclude: [...NOT_OURS, SCRIPTS],
        },
      },
      {
        // What the compiler knows of a client, a queue and the router; tsc alone runs these.
        test: {
          name: 'types',
          include: [],
          typecheck: {
            enabled: true,
            only: true,
            include: TYPES,
            tsconfig: 'tsconfig.types.json',
          },
        },
      },
      {
        test: { ...shared, name: 'sqlite', include: [SQLITE] },
      },
      {
        // The built app in a real browser, against the real API, worker and database.
        test: {
          ...shared,
          name: 'e2e',
          include: ['apps/mobile/e2e/web/**/*.e2e.ts'],
          globalSetup: ['packages/db/test/support/global-setup.ts'],
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
          include: [SCRIPTS, '{packages,apps}/*/test/**/*.test.ts', 'examples/**/*.test.ts'],
          exclude: [...NOT_OURS, ...TYPES, SQLITE],
          globalSetup: ['packages/db/test/support/global-setup.ts'],
        },
      },
    ],
  },
})
