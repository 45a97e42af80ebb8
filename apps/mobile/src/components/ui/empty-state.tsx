import { Children, type ReactNode } from 'react'
import { StyleSheet, View } from 'react-native'
import { space } from '../../theme/tokens.ts'
import { Button } from './button.tsx'
import { Icon, type IconName } from './icon.tsx'
import { Text } from './text.tsx'

export interface EmptyStateProps {
  readonly title: string
  readonly text?: string
  readonly icon?: IconName
  readonly action?: { readonly label: string; readonly onPress: () => void }
  /** More to do, below it. */
  readonly children?: ReactNode
}

/** Nothing to show, and nothing wrong: says why, and what would appear here. */
export function EmptyState({ title, text, icon = 'good', action, children }: EmptyStateProps) {
  return (
    <View style={styles.state}>
      <Icon name={icon} size={28} color="textMuted" />
      <Text variant="title" center level={2}>
        {title}
      </Text>
      {text !== undefined && (
        <Text color="textMuted" center style={styles.text}>
          {text}
        </Text>
      )}
      {action && (
        <View>
          <Button label={action.label} onPress={action.onPress} />
        </View>
      )}
      {Children.map(children, (child) => child && <View>{child}</View>)}
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
  text: { maxWidth: 420 },
})
