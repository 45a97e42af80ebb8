import { useWindowDimensions } from 'react-native'

/** The user's text size: 2 for twice the size. */
export function useFontScale(): number {
  return useWindowDimensions().fontScale
}
