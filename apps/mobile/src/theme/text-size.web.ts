const ROOT = 16

/** A size of text as styles take it: in rem, so that it grows with the font size of the browser. */
export function textSize(points: number): number {
  // React Native's types know numbers alone; react-native-web takes any length.
  return `${points / ROOT}rem` as unknown as number
}
