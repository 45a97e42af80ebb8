import { existsSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/** Where a module with handlers is looked for, in this order. */
const FOLDERS = ['.', 'src', 'oncue', 'src/oncue', 'lib', 'app', 'server'] as const
const NAMES = ['workers', 'jobs', 'workers/index', 'jobs/index'] as const
const EXTENSIONS = ['ts', 'mts', 'cts', 'js', 'mjs', 'cjs'] as const

/**
 * The module of a project that exports `workers`, as a path from `folder`; null if there is none. A file of that name that
 * never says `workers` belongs to something else.
 */
export function findModule(folder: string): string | null {
  const files = FOLDERS.flatMap((home) =>
    NAMES.flatMap((name) => EXTENSIONS.map((extension) => join(folder, home, `${name}.${extension}`))),
  )
  const found = files.find((file) => existsSync(file) && /\bworkers\b/.test(readFileSync(file, 'utf8')))
  return found === undefined ? null : `./${relative(folder, found)}`
}

/** The smallest file that works. */
export const MINIMAL_MODULE = `import { defineJobs, defineWorkers, job } from 'oncue'
import { z } from 'zod'

export const jobs = defineJobs({
  greet: job({ input: z.object({ name: z.string() }), output: z.string() }),
})

export const workers = defineWorkers(jobs, {
  async greet({ payload }) {
    return \`Hello, \${payload.name}\`
  },
})
`
