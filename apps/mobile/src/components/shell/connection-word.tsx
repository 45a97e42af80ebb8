import { StyleSheet, View } from 'react-native'
import { describeConnection, type Phase } from '../../lib/connection.ts'
import { useConnection, useConnectionState } from '../../lib/connection-provider.tsx'
import { timeOfDay } from '../../lib/format.ts'
import { radius, space, type Tone, toneOf } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { Pressable } from '../ui/pressable.tsx'
import { Text } from '../ui/text.tsx'

const TONES: Readonly<Record<Phase, Tone>> = {
  connecting: 'neutral',
  live: 'good',
  polling: 'good',
  reconnecting: 'warn',
  offline: 'bad',
  paused: 'paused',
}

/** How fresh the data is, in words. A press pauses or resumes updates. */
export function ConnectionWord() {
  const { colors } = useTheme()
  const connection = useConnection()
  const state = useConnectionState()
  // The offline banner says it, with a retry button.
  if (state.phase === 'offline') return null
  const words = describeConnection(state, timeOfDay)
  const next = { paused: 'resume', reconnecting: 'retry' } as const
  const verb = state.phase in next ? next[state.phase as keyof typeof next] : 'pause'
  const onPress = () => {
    if (verb === 'resume') connection?.resume()
    else if (verb === 'pause') connection?.pause()
    else connection?.retryNow()
  }
  return (
    <Pressable
      role="button"
      aria-label={`${words}. Press to ${verb}.`}
      onPress={onPress}
      style={styles.target}
    >
      <View style={[styles.dot, { backgroundColor: toneOf(colors, TONES[state.phase]).ink }]} />
      <Text variant="label" color="textMuted" style={styles.words}>
        {words}
      </Text>
    </Pressable>
  )
}

const styles = StyleSheet.create({
  target: {
    flexDirection: 'row',
    alignItems: 'center',
    gap: space.s,
    paddingHorizontal: space.s,
    borderRadius: radius.m,
    flexShrink: 1,
  },
  // Wraps beside a long badge: the age of the data must never be cut off.
  words: { flexShrink: 1 },
  dot: { width: 8, height: 8, borderRadius: radius.full },
})
