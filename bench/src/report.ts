export function say(text: string): void {
  process.stdout.write(text)
}

/** Progress, for the person who waits, with the time since the start. Never mixed with the report. */
export function progress(text: string): void {
  const seconds = Math.floor(process.uptime())
  const [minutes, rest] = [Math.floor(seconds / 60), String(seconds % 60).padStart(2, '0')]
  process.stderr.write(`${minutes}:${rest} ${text}\n`)
}

/** Columns as wide as their widest cell; the first is text, the others numbers. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)))
  const line = (cells: readonly string[]) =>
    widths
      .map((width, i) => (i === 0 ? (cells[i] ?? '').padEnd(width) : (cells[i] ?? '').padStart(width)))
      .join('  ')
      .trimEnd()
  return `${[line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')}\n`
}

/** The same as Markdown, for documents. Padded, so that a change is a small diff. */
export function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, i) => Math.max(3, title.length, ...rows.map((row) => row[i]?.length ?? 0)))
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, i) => (i === 0 ? (cells[i] ?? '').padEnd(width) : (cells[i] ?? '').padStart(width))).join(' | ')} |`
  const rule = `| ${widths.map((width, i) => (i === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`
  return [line(head), rule, ...rows.map(line)].join('\n')
}

export function percent(ratio: number): string {
  return `${Math.round(ratio * 100)}%`
}

export function count(value: number): string {
  return Math.round(value).toLocaleString('en')
}

/** Of a row with a goal. */
export const isMet = (met: boolean) => (met ? 'yes' : 'NO')
