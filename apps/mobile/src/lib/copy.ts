import { setStringAsync } from 'expo-clipboard'

/** Whether it is in the clipboard now. */
export function copyText(text: string): Promise<boolean> {
  return setStringAsync(text)
}
