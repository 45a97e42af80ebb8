import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const TSC = fileURLToPath(import.meta.resolve('typescript/lib/tsc.js'))

/** How many types the compiler makes for a module with that many definitions. */
async function typesOf(count: number): Promise<number> {
  // Below this package, so that zod is found.
  const folder = await mkdtemp(join(HERE, 'type-cost-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const jobs = Array.from(
    { length: count },
    (_, n) => `topic_${n}: job({ input: z.object({ userId: z.string(), n${n}: z.number() }) }),`,
  )
  await writeFile(
    join(folder, 'jobs.ts'),
    `import { z } from 'zod'
import { defineJobs, job } from '@oncue/core'
export const jobs = defineJobs({ ${jobs.join('\n')} })`,
  )
  const config = { extends: '../../tsconfig.json', compilerOptions: { noEmit: true }, include: ['jobs.ts'] }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const { stdout } = await promisify(execFile)(process.execPath, [TSC, '-p', folder, '--extendedDiagnostics'])
  return Number(/^Types: +(\d+)$/m.exec(stdout)?.[1])
}

it('a definition costs the compiler few types, so that hundreds of them are checked in about a second', async () => {
  const [one, many] = await Promise.all([typesOf(1), typesOf(101)])
  expect((many - one) / 100).toBeLessThan(100)
}, 120_000)
