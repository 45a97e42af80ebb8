import { useWindowDimensions } from 'react-native'

/** How much larger the reader wants all text: 2 for twice the size. */
export function useFontScale(): number {
  return useWindowDimensions().fontScale
}
