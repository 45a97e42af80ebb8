import { createElement, type ReactNode } from 'react'
import { Platform } from 'react-native'

/** Characters that turn what follows them around: in a name or a question they could make it read as another one. */
const TURNING = /[\u202a-\u202e\u2066-\u2069]/g

export function inOrder(text: string): string {
  return text.replace(TURNING, '')
}

/** A long name, which a browser may break after one of these characters or before a capital. Phones break it by themselves. */
export function breakable(name: string): ReactNode {
  if (Platform.OS !== 'web') return name
  const parts = inOrder(name).split(/(?<=[_/.-])|(?<=[\p{Ll}\d])(?=\p{Lu})/u)
  return parts.flatMap((part, at) =>
    at === 0 ? [part] : [createElement('wbr', { key: parts.slice(0, at).join('') }), part],
  )
}
