import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { ROOT } from '../start/root.ts'

export const name = 'screens'
export const summary = 'the pictures in docs/screens are younger than the screens of the app'

/** Every picture shows live data, so pictures are not compared: the last commits are. */
export async function run({ done }: { done(step: string): void }): Promise<void> {
  const git = async (...args: string[]) =>
    (await promisify(execFile)('git', args, { cwd: ROOT, maxBuffer: 10_000_000 })).stdout.trim()
  const taken = await git('log', '-1', '--format=%H', '--', 'docs/screens')
  const screens = [
    'apps/mobile/src/**/*.tsx',
    ':(exclude)apps/mobile/src/**/*.test.tsx',
    'apps/mobile/src/theme',
  ]
  const since = await git('log', '--oneline', `${taken}..HEAD`, '--', ...screens)
  if (since !== '')
    throw new Error(
      `the app changed after its pictures: pnpm export:web && pnpm --filter @oncue/mobile screens\n${since}`,
    )
  done('no screen changed after its picture')
}
