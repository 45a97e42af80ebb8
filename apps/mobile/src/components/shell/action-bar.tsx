import { useIsFocused } from 'expo-router'
import type { ReactNode } from 'react'
import { StyleSheet, View } from 'react-native'
import { useSafeAreaInsets } from 'react-native-safe-area-context'
import { space } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { Tight } from '../ui/button.tsx'
import { useToastsAbove } from '../ui/toast.tsx'

/** Within reach of a thumb: Retry · Cancel · More. Give it to a page as its `bar`. */
export function ActionBar({ children }: { readonly children: ReactNode }) {
  const { colors } = useTheme()
  const insets = useSafeAreaInsets()
  const onLayout = useToastsAbove(useIsFocused())
  return (
    <View
      role="toolbar"
      onLayout={onLayout}
      style={[
        styles.bar,
        {
          backgroundColor: colors.surfaceRaised,
          borderTopColor: colors.line,
          paddingBottom: insets.bottom + space.m,
        },
      ]}
    >
      <Tight.Provider value={true}>{children}</Tight.Provider>
    </View>
  )
}

const styles = StyleSheet.create({
  bar: {
    flexDirection: 'row',
    flexWrap: 'wrap',
    gap: space.s,
    borderTopWidth: StyleSheet.hairlineWidth,
    paddingHorizontal: space.l,
    paddingTop: space.m,
  },
})
