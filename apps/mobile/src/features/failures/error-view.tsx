import type { JobError } from '@oncue/sdk'
import { useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { CopyButton } from '../../components/ui/copy-button.tsx'
import { Icon } from '../../components/ui/icon.tsx'
import { Pressable } from '../../components/ui/pressable.tsx'
import { Text } from '../../components/ui/text.tsx'
import { breakable } from '../../lib/breakable.ts'
import { count } from '../../lib/format.ts'
import { radius, space } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { framesOf } from './stack.ts'

/** An error: frames of the user's code open, those of libraries folded, and its causes. */
export function ErrorView({ error }: { readonly error: JobError }) {
  const { colors } = useTheme()
  const { causes = [] } = error
  return (
    <View style={[styles.error, { backgroundColor: colors.surfaceRaised, borderColor: colors.line }]}>
      <View style={styles.head}>
        <View style={styles.words}>
          <Text variant="heading">
            {breakable(error.class)}
            {error.code !== undefined && (
              <Text variant="label" color="textMuted">
                {' '}
                {error.code}
              </Text>
            )}
          </Text>
          <Message text={error.message} />
        </View>
        <CopyButton label="Copy the error" text={textOf(error)} />
      </View>
      <Stack stack={error.stack} />
      {causes.map((cause, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they never change their order.
        <View key={index} style={[styles.cause, { borderTopColor: colors.line }]}>
          <Text variant="label" color="textMuted">
            Caused by
          </Text>
          <Text variant="heading">{breakable(cause.class)}</Text>
          <Message text={cause.message} />
          <Stack stack={cause.stack} />
        </View>
      ))}
    </View>
  )
}

/** Folds a long message: an SQL statement or an HTML page would push everything else off the screen. */
function Message({ text }: { readonly text: string }) {
  const [isOpen, setOpen] = useState(false)
  const short = shortened(text)
  return (
    <View>
      <Text selectable>{isOpen ? text : short}</Text>
      {short !== text && (
        <Pressable role="button" aria-expanded={isOpen} onPress={() => setOpen(!isOpen)} style={styles.fold}>
          <Text variant="label" color="accent">
            {isOpen ? 'Show less' : 'Show all'}
          </Text>
        </Pressable>
      )}
    </View>
  )
}

/** What fits on about eight lines of a phone. */
function shortened(text: string): string {
  const short = [...text.split('\n').slice(0, 8).join('\n')].slice(0, 360).join('')
  return short === text ? text : `${short.trimEnd()}…`
}

function Stack({ stack }: { readonly stack: string | undefined }) {
  const runs = framesOf(stack ?? '')
  if (runs.length === 0)
    return (
      <Text variant="small" color="textMuted">
        No stack trace was stored.
      </Text>
    )
  return (
    <View style={styles.stack}>
      {runs.map(({ isOwn, lines }) =>
        isOwn ? <Lines key={lines[0]} lines={lines} /> : <Folded key={lines[0]} lines={lines} />,
      )}
    </View>
  )
}

function Lines({
  lines,
  isMuted = false,
}: {
  readonly lines: readonly string[]
  readonly isMuted?: boolean
}) {
  return (
    <Text variant="code" selectable color={isMuted ? 'textMuted' : 'text'}>
      {lines.join('\n')}
    </Text>
  )
}

function Folded({ lines }: { readonly lines: readonly string[] }) {
  const [isOpen, setOpen] = useState(false)
  const words = count(lines.length, 'library frame')
  return (
    <View>
      <Pressable
        role="button"
        aria-expanded={isOpen}
        aria-label={words}
        onPress={() => setOpen(!isOpen)}
        style={styles.fold}
      >
        <Icon name={isOpen ? 'down' : 'open'} size={16} color="textMuted" />
        <Text variant="label" color="textMuted">
          {words}
        </Text>
      </Pressable>
      {isOpen && <Lines lines={lines} isMuted />}
    </View>
  )
}

function textOf(error: JobError): string {
  const all = [error, ...(error.causes ?? [])]
  return all.map(wholeOf).join('\n\ncaused by ')
}

function wholeOf({ class: name, message, stack }: Pick<JobError, 'class' | 'message' | 'stack'>): string {
  if (stack?.includes(message)) return stack
  return [`${name}: ${message}`, stack].filter(Boolean).join('\n')
}

const styles = StyleSheet.create({
  error: { borderWidth: 1, borderRadius: radius.l, padding: space.l, gap: space.s },
  head: { flexDirection: 'row', alignItems: 'flex-start', gap: space.s },
  words: { flex: 1, gap: 2 },
  stack: { gap: 2 },
  fold: { flexDirection: 'row', alignItems: 'center', gap: space.xs, borderRadius: radius.s },
  cause: { borderTopWidth: StyleSheet.hairlineWidth, paddingTop: space.m, gap: 2 },
})
