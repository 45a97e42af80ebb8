import { Children, type ReactNode, useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { radius, space } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { CrosshairProvider } from './crosshair.tsx'

/** From which width on charts stand in pairs, or all in a row. */
const PAIRS = 680
const ROW = 1_700

/** The charts of a page, each on a card, with one crosshair: in as many columns as there is room for. */
export function ChartGrid({ children }: { readonly children: ReactNode }) {
  const { colors } = useTheme()
  const [width, setWidth] = useState(0)
  const share = width >= ROW ? 'quarter' : width >= PAIRS ? 'half' : 'whole'
  return (
    <CrosshairProvider>
      <View style={styles.grid} onLayout={({ nativeEvent }) => setWidth(nativeEvent.layout.width)}>
        {Children.map(
          children,
          (chart) =>
            chart && (
              // Measured anew in another place: at its old width it would be drawn over its edge for a moment.
              <View key={share} style={styles[share]}>
                <View
                  style={[styles.card, { backgroundColor: colors.surfaceRaised, borderColor: colors.line }]}
                >
                  {chart}
                </View>
              </View>
            ),
        )}
      </View>
    </CrosshairProvider>
  )
}

const styles = StyleSheet.create({
  // Half of the gap at each side of a chart, so that shares add up to the whole width.
  grid: { flexDirection: 'row', flexWrap: 'wrap', margin: -space.m / 2 },
  whole: { width: '100%', padding: space.m / 2 },
  half: { width: '50%', padding: space.m / 2 },
  quarter: { width: '25%', padding: space.m / 2 },
  // A chart keeps the width of the last layout until it is measured again: it must not cover its neighbours.
  card: {
    borderWidth: 1,
    borderRadius: radius.l,
    padding: space.l,
    flexGrow: 1,
    gap: space.m,
    overflow: 'hidden',
  },
})
