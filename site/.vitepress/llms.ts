import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { addressOf, ENTRIES, PAGES, REFERENCE, ROOT, read, titleOf } from './pages.ts'

/** For language models: an index, and everything that a user of Oncue may ask about in one file. */
export async function writeLlms(folder: string, base: string): Promise<void> {
  const lineOf = (title: string, link: string, about: string) =>
    `- [${title}](${base}${link.slice(1)}): ${about}`
  const lines = ENTRIES.map(({ page, about }) => lineOf(titleOf(page), addressOf(page), about))
  const reference = REFERENCE.map(({ title, link, about }) => lineOf(title, link, about))
  const [, summary = ''] = /^# .+\n+([^#]+?)\n\n/m.exec(read('README.md')) ?? []
  const index = [
    '# Oncue',
    `> ${summary.replaceAll('\n', ' ')}`,
    '## Documents',
    lines.join('\n'),
    '## Reference',
    reference.join('\n'),
  ]
  await writeFile(join(folder, 'llms.txt'), `${index.join('\n\n')}\n`)
  const guides = ENTRIES.map(({ page }) => page).filter(
    (page) => page.startsWith('docs/') && PAGES.includes(page),
  )
  const whole = ['README.md', ...guides].map((page) => `<!-- ${addressOf(page)} -->\n\n${read(page)}`)
  const types = REFERENCE.map(
    ({ page, link }) => `<!-- ${link} -->\n\n${readFileSync(`${ROOT}site/reference/${page}.md`, 'utf8')}`,
  )
  await writeFile(join(folder, 'llms-full.txt'), [...whole, ...types].join('\n\n'))
}
