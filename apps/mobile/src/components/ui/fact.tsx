import type { ReactNode } from 'react'
import { StyleSheet, View } from 'react-native'
import { space } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { Text } from './text.tsx'

/** A name and what there is to say about it, with a fine line below. */
export function Fact({ name, value }: { readonly name: string; readonly value: ReactNode }) {
  const { colors } = useTheme()
  return (
    <View style={[styles.fact, { borderBottomColor: colors.line }]}>
      <Text variant="label" color="textMuted" style={styles.name}>
        {name}
      </Text>
      <Text style={styles.value}>{value}</Text>
    </View>
  )
}

const styles = StyleSheet.create({
  fact: {
    flexDirection: 'row',
    flexWrap: 'wrap',
    columnGap: space.m,
    paddingVertical: space.m,
    borderBottomWidth: StyleSheet.hairlineWidth,
  },
  name: { width: 112, paddingTop: 2 },
  value: { flex: 1, minWidth: 180 },
})
