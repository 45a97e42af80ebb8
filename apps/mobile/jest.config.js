const preset = require('jest-expo/jest-preset')

/** Packages that are published as ES modules only, in addition to those of the preset. */
const MODULES = ['@trpc', 'eventsource', 'eventsource-parser', 'lucide-react-native']

module.exports = {
  preset: 'jest-expo',
  // Vitest runs the tests that need no device: *.test.ts.
  testMatch: ['<rootDir>/src/**/*.test.tsx'],
  // The first test of a file compiles what it imports.
  testTimeout: 60_000,
  // Nothing else runs beside it.
  maxWorkers: '100%',
  setupFilesAfterEnv: ['<rootDir>/src/testing/setup.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.tsx?$': '$1' },
  transform: { '\\.mjs$': preset.transform['\\.[jt]sx?$'] },
  transformIgnorePatterns: preset.transformIgnorePatterns.map((pattern) =>
    pattern.replace('(?!(', `(?!(${MODULES.join('|')}|`),
  ),
}
