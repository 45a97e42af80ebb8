import { stripVTControlCharacters, styleText } from 'node:util'
import type { JobError } from '@oncue/core'
import { plain } from '@oncue/db/cli'
import { formatDuration } from '@oncue/runtime'

type Style = Parameters<typeof styleText>[0]

/** Coloured on a terminal that shows colours, unless NO_COLOR is set. */
export function styled(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout })
}

/** Several lines, for payloads and stacks. */
export function plainLines(text: string): string {
  return text
    .split('\n')
    .map((line) => (/^ */.exec(line)?.[0] ?? '') + plain(line))
    .join('\n')
}

const widthOf = (text: string) => [...stripVTControlCharacters(text)].length

export function pad(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const gap = ' '.repeat(Math.max(0, width - widthOf(text)))
  return align === 'left' ? text + gap : gap + text
}

/** As much of a line as fits. A line that is cut loses its colours: they might be cut in half. */
export function cut(line: string, width: number): string {
  const characters = [...stripVTControlCharacters(line)]
  return characters.length <= width ? line : `${characters.slice(0, Math.max(0, width - 1)).join('')}…`
}

/** Columns as wide as their contents; `>` before a title aligns its column to the right. */
export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const heads = titles.map((title) => title.replace(/^>/, ''))
  const widths = heads.map((head, n) => Math.max(head.length, ...rows.map((row) => widthOf(row[n] ?? ''))))
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, n) => pad(cell, widths[n] ?? 0, titles[n]?.startsWith('>') ? 'right' : 'left'))
      .join('  ')
      .trimEnd()
  return [styled('dim', line(heads)), ...rows.map(line)].join('\n')
}

/** Names on the left, values on the right. */
export function fields(
  values: readonly (readonly [name: string, value: string | null | undefined])[],
): string {
  const shown = values.filter(([, value]) => value !== null && value !== undefined && value !== '')
  const width = Math.max(...shown.map(([name]) => name.length))
  return shown.map(([name, value]) => `${styled('dim', name.padEnd(width))}  ${value}`).join('\n')
}

/** `OncueError INVALID_PAYLOAD: payload.user: is missing`: the code first, because the end of a long message is cut. */
export function errorInWords({ class: name, code, message }: Partial<JobError>): string {
  const isSaid = code === undefined || message?.includes(code)
  return [[name, isSaid ? '' : code].filter(Boolean).join(' '), message].filter(Boolean).join(': ')
}

export function formatTime(date: Date | null | undefined): string {
  return date ? `${date.toISOString().slice(0, 19).replace('T', ' ')}Z` : ''
}

/** A sentence of the store, with its durations as the terminal writes them: `3h`, not `3 h`. */
export function terse(sentence: string): string {
  return plain(sentence).replace(
    /(?<=(?:\bin|\babout|\banother|\bper|;) )(\d+) (s|min|h|d)\b/g,
    (_, value: string, unit: string) => value + (unit === 'min' ? 'm' : unit),
  )
}

/** `3m 12s ago`, `in 2h`. */
export function fromNow(date: Date | null | undefined, now: Date): string {
  if (!date) return ''
  const ms = now.getTime() - date.getTime()
  return ms >= 0 ? `${formatDuration(ms)} ago` : `in ${formatDuration(-ms)}`
}
