import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { posix } from 'node:path'

/** A part of a document that is written from the recorded run of a benchmark, and from nothing else. */
interface Section<Run> {
  readonly document: string
  readonly name: string
  render(run: Run): string
}

interface Options<Run> {
  readonly sections: readonly Section<Run>[]
  /** Of the plot beside them, which stands at the head of the sections. */
  readonly plot?: { readonly alt: string; render(run: Run): string }
  /** Whether a run is large enough to be recorded, and no smoke test. */
  isWhole(run: Run): boolean
}

/** A file as it is and as it should be. */
interface Written {
  readonly path: string
  /** Null when it does not exist. */
  readonly before: string | null
  readonly after: string
}

/** What the documents show of bench/results/NAME.json. */
export interface Recorded {
  readonly name: string
  /** Null when no run was recorded. */
  readonly isWhole: boolean | null
  files(): Written[]
}

const fileOf = (path: string) => new URL(`../../${path}`, import.meta.url)

export function recorded<Run>(name: string, { sections, plot, isWhole }: Options<Run>): Recorded {
  const run = readRun<Run>(name)
  const svg = `docs/bench/${name}.svg`
  const content = ({ document, render }: Section<Run>) => {
    if (!run) return `No run is recorded yet: \`pnpm bench ${name}\` measures on your machine.`
    const image = plot ? `![${plot.alt}](${posix.relative(posix.dirname(document), svg)})\n\n` : ''
    return `${image}${render(run)}`
  }
  return {
    name,
    isWhole: run ? isWhole(run) : null,
    files: () => [
      ...sections.map((section) => {
        const before = readFileSync(fileOf(section.document), 'utf8')
        const after = replaceSection(before, `${name} ${section.name}`, content(section))
        return { path: section.document, before, after }
      }),
      ...(run && plot ? [{ path: svg, before: readIfThere(svg), after: plot.render(run) }] : []),
    ],
  }
}

function readRun<Run>(name: string): Run | undefined {
  const text = readIfThere(`bench/results/${name}.json`)
  return text === null ? undefined : (JSON.parse(text) as Run)
}

function readIfThere(path: string): string | null {
  return existsSync(fileOf(path)) ? readFileSync(fileOf(path), 'utf8') : null
}

/** The text with the content between `<!-- bench:NAME SECTION -->` and `<!-- /bench:NAME -->` replaced. */
export function replaceSection(text: string, mark: string, content: string): string {
  const [open, close] = [`<!-- bench:${mark} -->`, `<!-- /bench:${mark.split(' ')[0]} -->`]
  const start = text.indexOf(open)
  const end = text.indexOf(close, start)
  if (start < 0 || end < 0) throw new Error(`There is no section ${open} … ${close}`)
  return `${text.slice(0, start + open.length)}\n\n${content}\n\n${text.slice(end)}`
}

export function writeDocuments(of: Recorded): string {
  const changed = of.files().filter(({ before, after }) => before !== after)
  for (const { path, after } of changed) {
    mkdirSync(new URL('.', fileOf(path)), { recursive: true })
    writeFileSync(fileOf(path), after)
  }
  const names = changed.map(({ path }) => path).join(', ')
  return changed.length === 0 ? 'The documents were up to date.\n' : `Wrote ${names}.\n`
}
