/** A size of text as styles take it: points, which a phone scales to what its reader chose. */
export function textSize(points: number): number {
  return points
}
