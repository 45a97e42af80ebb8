import type { ReactNode } from 'react'
import { StyleSheet, View } from 'react-native'
import { Text } from '../../components/ui/text.tsx'
import { radius, space } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'

export interface SectionProps {
  readonly title: string
  readonly children: ReactNode
  /** Rows reach from edge to edge. */
  readonly isList?: boolean
}

/** A titled card. */
export function Section({ title, children, isList = false }: SectionProps) {
  const { colors } = useTheme()
  const face = { backgroundColor: colors.surfaceRaised, borderColor: colors.line }
  return (
    <View style={styles.section}>
      <Text variant="label" color="textMuted" level={2} style={styles.title}>
        {title}
      </Text>
      <View style={[styles.card, !isList && styles.padded, face]}>{children}</View>
    </View>
  )
}

const styles = StyleSheet.create({
  section: { paddingHorizontal: space.l, paddingBottom: space.xl, gap: space.s, maxWidth: 720 },
  title: { paddingHorizontal: space.xs },
  card: { borderWidth: 1, borderRadius: radius.l, overflow: 'hidden' },
  padded: { padding: space.l, gap: space.m },
})
