import { createElement, type ReactNode } from 'react'
import { Platform } from 'react-native'

/** A long name, which a browser may break after one of these characters. Phones do so by themselves. */
export function breakable(name: string): ReactNode {
  if (Platform.OS !== 'web') return name
  const parts = name.split(/(?<=[_/.-])/)
  return parts.flatMap((part, at) =>
    at === 0 ? [part] : [createElement('wbr', { key: parts.slice(0, at).join('') }), part],
  )
}
