const GRAPHEMES = new Intl.Segmenter('en', { granularity: 'grapheme' })

/**
 * The beginning of a text that fits into so many UTF-16 units, with an ellipsis for the rest. What a reader sees as one
 * character, such as a flag or a family, is kept or left out as a whole.
 */
export function shorten(text: string, max: number): string {
  if (text.length <= max) return text
  let end = 0
  // One grapheme may be of any length, so what is read is bounded too.
  for (const { index, segment } of GRAPHEMES.segment(text.slice(0, max + 1))) {
    if (index + segment.length > max - 1) break
    end = index + segment.length
  }
  return `${text.slice(0, end)}…`
}
