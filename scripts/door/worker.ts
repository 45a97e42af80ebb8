import { join } from 'node:path'
import { createAndRun } from '../release/try-create.ts'
import type { Place } from './place.ts'

export const name = 'worker'
export const summary = 'npm create oncue, template worker: first job, types, tests'

export async function run({ folder, env, npm, done }: Place): Promise<void> {
  const home = join(folder, 'jobs')
  await createAndRun(home, env)
  done('created, installed, first job completed')
  await npm(home, 'run', 'typecheck')
  await npm(home, 'test')
  done('compiles strictly, tests pass')
}
