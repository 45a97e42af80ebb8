/** Unchanged lines that are shown around a change. */
const CONTEXT = 3

/** The lines of two texts: `+` added, `-` removed, with some unchanged ones around them; `…` where others are left out. */
export function diffLines(before: string, after: string): string[] {
  const [a, b] = [split(before), split(after)]
  // common[i][j]: how many lines a.slice(i) and b.slice(j) have in common, in order.
  const common = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0))
  const at = (i: number, j: number) => common[i]?.[j] ?? 0
  for (let i = a.length - 1; i >= 0; i--) {
    const row = common[i] ?? []
    for (let j = b.length - 1; j >= 0; j--)
      row[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
  }
  const lines: string[] = []
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push(`  ${a[i]}`)
      i += 1
      j += 1
    } else if (i < a.length && (j === b.length || at(i + 1, j) >= at(i, j + 1))) {
      lines.push(`- ${a[i]}`)
      i += 1
    } else {
      lines.push(`+ ${b[j]}`)
      j += 1
    }
  }
  return shorten(lines)
}

const split = (text: string) => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))

function shorten(lines: readonly string[]): string[] {
  const isNear = (n: number) =>
    lines.slice(Math.max(0, n - CONTEXT), n + CONTEXT + 1).some((line) => !line.startsWith(' '))
  return lines.flatMap((line, n) => {
    if (isNear(n)) return [line]
    return n === 0 || isNear(n - 1) ? ['  …'] : []
  })
}
