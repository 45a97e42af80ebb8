import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { addressOf, ENTRIES, PAGES, read, titleOf } from './pages.ts'

/** For language models: an index, and everything that a user of Oncue may ask about in one file. */
export async function writeLlms(folder: string): Promise<void> {
  const lines = ENTRIES.map(({ page, about }) => `- [${titleOf(page)}](${addressOf(page)}): ${about}`)
  const [, summary = ''] = /^# .+\n+([^#]+?)\n\n/m.exec(read('README.md')) ?? []
  const index = ['# Oncue', `> ${summary.replaceAll('\n', ' ')}`, '## Documents', lines.join('\n')]
  await writeFile(join(folder, 'llms.txt'), `${index.join('\n\n')}\n`)
  const guides = ENTRIES.map(({ page }) => page).filter(
    (page) => page.startsWith('docs/') && PAGES.includes(page),
  )
  const whole = ['README.md', ...guides].map((page) => `<!-- ${addressOf(page)} -->\n\n${read(page)}`)
  await writeFile(join(folder, 'llms-full.txt'), whole.join('\n\n'))
}
