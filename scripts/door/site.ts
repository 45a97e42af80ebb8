import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '../start/root.ts'

export const name = 'site'
export const summary = 'the documents as a site: no dead link, search, reference, versions, llms.txt'

/** A third of a minute, so no part of CI; links and anchors of the documents are checked there. */
export async function run({ done }: { done(step: string): void }): Promise<void> {
  const build = (setting: string) =>
    promisify(execFile)('env', [setting, 'pnpm', 'docs:build'], { cwd: ROOT, maxBuffer: 10_000_000 })
  await build('ONCUE_SITE_OLDER=0.0')
  const dist = join(ROOT, 'site/.vitepress/dist')
  const [searchIndex = ''] = globSync('assets/chunks/@localSearchIndex*.js', { cwd: dist })
  for (const [file, text] of [
    ['index.html', 'Oncue'],
    ['docs/guides/getting-started.html', 'id="local-search"'],
    [searchIndex, 'defineWorkers'],
    ['docs/guides/getting-started.html', '/v/0.0/'],
    ['reference/oncue.html', 'defineWorkers'],
    ['reference/oncue-react.html', 'oncue-client.html#type-client'],
    ['llms.txt', '/docs/guides/getting-started.html'],
    ['llms.txt', '/reference/oncue-client.html'],
    ['llms-full.txt', 'interface ClientOptions'],
    ['llms-full.txt', 'createQueue'],
    ['files/compose.yaml.txt', 'services'],
  ] as const) {
    if (!(await readFile(join(dist, file), 'utf8')).includes(text))
      throw new Error(`${file} of the site has no ${text}`)
  }
  done('built, every link leads to a page')

  await build('ONCUE_SITE_BASE=/v/0.0/')
  const home = await readFile(join(dist, 'index.html'), 'utf8')
  const outside = [...home.matchAll(/(?:href|src)="(\/[^"]*)"/g)].filter(
    ([, link = '']) => !link.startsWith('/v/0.0/'),
  )
  if (outside.length > 0) throw new Error(`leaves the folder of its version: ${outside.join(', ')}`)
  done('built for the folder of an older version')
}
