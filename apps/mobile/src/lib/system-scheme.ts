import { useColorScheme } from 'react-native'

export function useSystemIsDark(): boolean {
  return useColorScheme() === 'dark'
}
