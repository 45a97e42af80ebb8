import { StyleSheet, View } from 'react-native'
import { space } from '../../theme/tokens.ts'
import { Button } from './button.tsx'
import { describeProblem } from './describe-problem.ts'
import { Icon } from './icon.tsx'
import { Text } from './text.tsx'

export interface ErrorStateProps {
  readonly error: unknown
  readonly onRetry?: () => void
}

/** In place of content that could not be loaded: what is wrong, and what to do. */
export function ErrorState({ error, onRetry }: ErrorStateProps) {
  const { title, text, icon, canRetry } = describeProblem(error)
  return (
    <View style={styles.state} role="alert">
      <Icon name={icon} size={28} color="textMuted" />
      <Text variant="title" center level={2}>
        {title}
      </Text>
      <Text color="textMuted" center style={styles.text}>
        {text}
      </Text>
      {canRetry && onRetry && (
        <View>
          <Button label="Retry" icon="refresh" onPress={onRetry} />
        </View>
      )}
    </View>
  )
}

const styles = StyleSheet.create({
  state: {
    alignItems: 'center',
    gap: space.m,
    paddingHorizontal: space.xl,
    paddingVertical: space.xxxl * 1.5,
  },
  text: { maxWidth: 460 },
})
