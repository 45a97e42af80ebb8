import { useEffect, useRef, useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { Text } from '../../components/ui/text.tsx'

const EVERY_MS = 10_000

/** The sentence for screen readers, at a bearable rate. */
export function Spoken({ text }: { readonly text: string }) {
  const [spoken, setSpoken] = useState(text)
  const last = useRef(Date.now())
  useEffect(() => {
    if (text === spoken) return
    const wait = Math.max(0, last.current + EVERY_MS - Date.now())
    const timer = setTimeout(() => {
      last.current = Date.now()
      setSpoken(text)
    }, wait)
    return () => clearTimeout(timer)
  }, [text, spoken])
  return (
    <View aria-live="polite" style={styles.unseen}>
      <Text>{spoken}</Text>
    </View>
  )
}

const styles = StyleSheet.create({
  unseen: { position: 'absolute', width: 1, height: 1, overflow: 'hidden', opacity: 0 },
})
