/** Widths in em, of the widest system font in bold: guessed too wide, a number is a little smaller; never cut. */
const DIGIT = 0.7
const GAP = 0.36
/** How much smaller a unit is than its number. */
const UNIT = 0.42

/** The largest size, of a few, in which a number and its unit fit: every digit counts, so none is left out. */
export function numberSize(
  value: string,
  unit: string,
  { width, sizes }: { readonly width: number; readonly sizes: readonly number[] },
): number {
  const em = emOf(value) + (unit === '' ? 0 : UNIT * (emOf(unit) + GAP))
  return sizes.find((size) => size * em <= width) ?? sizes.at(-1) ?? 16
}

function emOf(text: string): number {
  const gaps = text.match(/[\s.,:]/g)?.length ?? 0
  return gaps * GAP + (text.length - gaps) * DIGIT
}
