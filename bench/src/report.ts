export function say(text: string): void {
  process.stdout.write(text)
}

/** Progress, for the person who waits. Never mixed with the report. */
export function progress(text: string): void {
  process.stderr.write(`${text}\n`)
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

/** The same as Markdown, for documents. */
export function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${head.map((_, i) => cells[i] ?? '').join(' | ')} |`
  const rule = head.map((_, i) => (i === 0 ? '---' : '---:'))
  return `${[line(head), line(rule), ...rows.map(line)].join('\n')}\n`
}

export function percent(ratio: number): string {
  return `${Math.round(ratio * 100)}%`
}

export function count(value: number): string {
  return Math.round(value).toLocaleString('en')
}
