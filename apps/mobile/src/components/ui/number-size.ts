import type { Quantity } from '../../lib/format.ts'

/** Widths in em, of the widest system font in bold: too wide a guess makes a number smaller, but never cuts it. */
const DIGIT = 0.7
const GAP = 0.36
/** How much smaller a unit is than its number. */
export const UNIT = 0.42

/** The largest size, of a few, in which numbers and their units fit: every digit counts, so none is left out. */
export function numberSize(
  parts: readonly Quantity[],
  { width, sizes }: { readonly width: number; readonly sizes: readonly number[] },
): number {
  const gaps = UNIT * GAP * (parts.length - 1)
  const em = parts.reduce((sum, { value, unit }) => sum + emOf(value) + UNIT * unitOf(unit), gaps)
  return sizes.find((size) => size * em <= width) ?? sizes.at(-1) ?? 16
}

const unitOf = (unit: string) => (unit === '' ? 0 : emOf(unit) + GAP)

function emOf(text: string): number {
  const gaps = text.match(/[\s.,:]/g)?.length ?? 0
  return gaps * GAP + (text.length - gaps) * DIGIT
}
