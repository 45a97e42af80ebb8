import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '../start/root.ts'

export const name = 'site'
export const summary = 'the documents as a site: no dead link, search, llms.txt'

/** A third of a minute, so no part of CI; links and anchors of the documents are checked there. */
export async function run({ done }: { done(step: string): void }): Promise<void> {
  await promisify(execFile)('pnpm', ['docs:build'], { cwd: ROOT })
  const dist = join(ROOT, 'site/.vitepress/dist')
  for (const [file, text] of [
    ['index.html', 'Oncue'],
    ['docs/guides/getting-started.html', 'VPLocalSearch'],
    ['llms.txt', '/docs/guides/getting-started.html'],
    ['llms-full.txt', 'createQueue'],
    ['files/compose.yaml.txt', 'services'],
  ] as const) {
    if (!(await readFile(join(dist, file), 'utf8')).includes(text))
      throw new Error(`${file} of the site has no ${text}`)
  }
  done('built, every link leads to a page')
}
