import { readFileSync, writeFileSync } from 'node:fs'
import { renderAll, renderSummary } from './render.ts'
import type { PeersRun } from './summary.ts'

const RESULTS = new URL('../../results/peers.json', import.meta.url)

/** The parts of documents that are written from the last recorded run, and nothing else. */
const SECTIONS: readonly {
  readonly document: string
  readonly name: string
  render(run: PeersRun): string
}[] = [
  { document: 'README.md', name: 'summary', render: renderSummary },
  { document: 'bench/README.md', name: 'all', render: renderAll },
]
const NOT_RECORDED = 'No run is recorded yet: `pnpm bench peers` measures on your machine.'

/** The run whose figures the documents show, if one was recorded. */
export function recordedRun(): PeersRun | undefined {
  try {
    return JSON.parse(readFileSync(RESULTS, 'utf8')) as PeersRun
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** The text with the content between `<!-- bench:peers NAME -->` and `<!-- /bench:peers -->` replaced. */
export function replaceSection(text: string, name: string, content: string): string {
  const [open, close] = [`<!-- bench:peers ${name} -->`, '<!-- /bench:peers -->']
  const start = text.indexOf(open)
  const end = text.indexOf(close, start)
  if (start < 0 || end < 0) throw new Error(`There is no section ${open} … ${close}`)
  return `${text.slice(0, start + open.length)}\n\n${content}\n\n${text.slice(end)}`
}

/** The documents as they should be, by the last recorded run. */
export function renderDocuments(
  run = recordedRun(),
): { document: string; file: URL; before: string; after: string }[] {
  return SECTIONS.map(({ document, name, render }) => {
    const file = new URL(`../../../${document}`, import.meta.url)
    const before = readFileSync(file, 'utf8')
    return { document, file, before, after: replaceSection(before, name, run ? render(run) : NOT_RECORDED) }
  })
}

export function writeDocuments(): string {
  const changed = renderDocuments().filter(({ before, after }) => before !== after)
  for (const { file, after } of changed) writeFileSync(file, after)
  const names = changed.map(({ document }) => document).join(', ')
  return changed.length === 0 ? 'The documents were up to date.\n' : `Wrote ${names}.\n`
}
